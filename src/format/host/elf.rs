use std::borrow::Cow;

use object::elf::{self, FileHeader32, FileHeader64, SectionType};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endian, Endianness};

use super::{Builder, Host, Role, damaged, elf_arch};
use crate::error::Malformed;

pub(super) fn parse(bytes: &[u8]) -> Result<Host<'_>, Malformed> {
    match bytes.get(4) {
        Some(1) => read::<FileHeader32<Endianness>>(bytes),
        _ => read::<FileHeader64<Endianness>>(bytes),
    }
}

/// Whether a loader is asked for, which tells a position-independent program from a library.
pub fn has_interpreter(bytes: &[u8]) -> bool {
    fn has<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<bool> {
        let header = Elf::parse(bytes)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, bytes)?;
        Ok(segments
            .iter()
            .any(|segment| segment.p_type(endian) == elf::PT_INTERP))
    }
    let has = match bytes.get(4) {
        Some(1) => has::<FileHeader32<Endianness>>(bytes),
        _ => has::<FileHeader64<Endianness>>(bytes),
    };
    has.unwrap_or(false)
}

fn read<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Result<Host<'_>, Malformed> {
    let header = Elf::parse(bytes).map_err(|error| damaged(0, error))?;
    let endian = header.endian().map_err(|error| damaged(5, error))?;
    let machine = header.e_machine(endian).0;
    let arch = elf_arch(machine, header.is_type_64(), endian.is_little_endian());
    let mut builder = Builder::new(bytes, arch);
    match header.sections(endian, bytes) {
        Ok(sections) if !sections.is_empty() => {
            for section in sections.iter() {
                let name = builder.name(sections.section_name(endian, section), None)?;
                add(&mut builder, name, section, endian);
            }
        }
        // Stripped of its section headers, or cut before them: what is loaded is still known.
        Ok(_) => add_segments(&mut builder, header, endian)?,
        Err(error) => {
            let table: u64 = header.e_shoff(endian).into();
            builder.host.damage.push(damaged(table, error));
            add_segments(&mut builder, header, endian)?;
        }
    }
    Ok(builder.host)
}

fn add<'a, Section: SectionHeader<Endian = Endianness>>(
    builder: &mut Builder<'a>,
    name: Cow<'a, str>,
    section: &Section,
    endian: Endianness,
) {
    let flags = section.sh_flags(endian).0;
    let kind = section.sh_type(endian);
    let range = section.file_range(endian);
    if flags & elf::SHF_COMPRESSED.0 != 0 {
        if Role::of_name(&name).is_some() {
            builder.host.damage.push(Malformed::new(
                section.sh_offset(endian).into(),
                format!("section `{name}` is compressed, which hides its device code"),
            ));
        }
        builder.add_as(name, Role::Bookkeeping, range);
    } else if is_bookkeeping(kind) && Role::of_name(&name).is_none() {
        builder.add_as(name, Role::Bookkeeping, range);
    } else {
        let is_code = flags & elf::SHF_EXECINSTR.0 != 0;
        builder.add(name, is_code, range);
    }
}

/// Whether the type says that a section holds symbols, relocations and such.
fn is_bookkeeping(kind: SectionType) -> bool {
    const KINDS: &[SectionType] = &[
        elf::SHT_NULL,
        elf::SHT_SYMTAB,
        elf::SHT_STRTAB,
        elf::SHT_RELA,
        elf::SHT_HASH,
        elf::SHT_DYNAMIC,
        elf::SHT_NOTE,
        elf::SHT_NOBITS,
        elf::SHT_REL,
        elf::SHT_SHLIB,
        elf::SHT_DYNSYM,
        elf::SHT_INIT_ARRAY,
        elf::SHT_FINI_ARRAY,
        elf::SHT_PREINIT_ARRAY,
        elf::SHT_GROUP,
        elf::SHT_SYMTAB_SHNDX,
        elf::SHT_RELR,
        elf::SHT_GNU_HASH,
        elf::SHT_GNU_VERDEF,
        elf::SHT_GNU_VERNEED,
        elf::SHT_GNU_VERSYM,
    ];
    KINDS.contains(&kind)
}

fn add_segments<'a, Elf: FileHeader<Endian = Endianness>>(
    builder: &mut Builder<'a>,
    header: &Elf,
    endian: Endianness,
) -> Result<(), Malformed> {
    let segments = header
        .program_headers(endian, builder.bytes)
        .map_err(|error| damaged(header.e_phoff(endian).into(), error))?;
    for (index, segment) in segments.iter().enumerate() {
        if segment.p_type(endian) != elf::PT_LOAD {
            continue;
        }
        let is_code = (segment.p_flags(endian) & elf::PF_X).0 != 0;
        let range = segment.file_range(endian);
        builder.add(format!("segment {index}").into(), is_code, Some(range));
    }
    Ok(())
}
