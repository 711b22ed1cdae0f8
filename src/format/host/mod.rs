//! Host files: ELF, PE, COFF and Mach-O reduced to what matters here, their sections and where device code
//! may be in them.

mod elf;
mod linkage;

use std::borrow::Cow;
use std::ops::Range;

use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};
use object::{Architecture, FileKind, Object, ObjectSection, ObjectSymbol, SectionFlags};

pub use linkage::Linkage;

use super::claims::Claims;
use super::text::text;
use crate::error::Malformed;

/// Names of the functions and variables that a host file defines.
pub fn defined_symbols(bytes: &[u8]) -> Result<Vec<String>, Malformed> {
    let file = object::File::parse(bytes).map_err(|error| damaged(0, error))?;
    let defined = file
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global());
    // Each symbol may name the same long string.
    let mut left = bytes.len().saturating_mul(4);
    let mut names = Vec::new();
    for symbol in defined {
        let name = symbol.name_bytes().map_err(|error| damaged(0, error))?;
        left = left.checked_sub(name.len()).ok_or_else(|| {
            Malformed::new(0, "symbol names add up to more than four times the file")
        })?;
        names.push(text(name).into_owned());
    }
    Ok(names)
}

/// A host file.
#[derive(Debug, Clone)]
pub struct Host<'a> {
    /// `x86-64`, `aarch64`; see [`elf_arch`].
    pub arch: Cow<'static, str>,
    /// In file order; those without bytes in the file have an empty range.
    pub sections: Vec<Section<'a>>,
    /// What is wrong, short of making the rest unreadable.
    pub damage: Vec<Malformed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// `.nv_fatbin`; `__NV_CUDA,__nv_fatbin` in Mach-O. Names may repeat.
    pub name: Cow<'a, str>,
    pub role: Role,
    /// Where its bytes are in the file, as far as the file goes.
    pub range: Range<usize>,
}

/// What a section means for device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Fatbins that the CUDA runtime registers with the driver.
    Fatbin,
    /// Fatbins of relocatable code, kept for a device link.
    RelocatableFatbin,
    /// Wrappers that point at fatbins; see [`super::fatbin::Wrapper`].
    Wrappers,
    /// Names of modules, NUL-terminated.
    ModuleIds,
    /// Data that may hide device code.
    Data,
    /// Machine code. It holds the signatures of device code as immediates, so it is never searched.
    Code,
    /// Symbols, relocations, debug information and such.
    Bookkeeping,
}

impl Role {
    /// The names are `nvcc`'s. PE cuts them after eight bytes; the cut form of `__nv_relfatbin` and Mach-O's form of
    /// it are deduced, the others were seen.
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            ".nv_fatbin" | ".nv_fatb" | "__NV_CUDA,__nv_fatbin" => Self::Fatbin,
            "__nv_relfatbin" | "__nv_rel" | "__NV_CUDA,__nv_relfatbin" => Self::RelocatableFatbin,
            ".nvFatBinSegment" | ".nvFatBi" | "__NV_CUDA,__fatbin" => Self::Wrappers,
            "__nv_module_id" | "__nv_mod" | "__NV_CUDA,__nv_module_id" => Self::ModuleIds,
            _ => return None,
        })
    }

    fn is_debug(name: &str) -> bool {
        [".debug_", ".zdebug_", "__DWARF,"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    }

    /// Whether anybody reads the section's bytes.
    fn is_read(self) -> bool {
        !matches!(self, Self::Code | Self::Bookkeeping)
    }
}

impl<'a> Host<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let kind = FileKind::parse(bytes)
            .map_err(|_| Malformed::new(0, "expected an ELF, PE, COFF or Mach-O file"))?;
        let mut host = match kind {
            FileKind::Elf32 | FileKind::Elf64 => elf::parse(bytes)?,
            FileKind::Coff
            | FileKind::CoffBig
            | FileKind::Pe32
            | FileKind::Pe64
            | FileKind::MachO32
            | FileKind::MachO64 => Self::from_object(bytes)?,
            _ => {
                return Err(Malformed::new(
                    0,
                    "expected an ELF, PE, COFF or Mach-O file of one architecture",
                ));
            }
        };
        host.separate();
        Ok(host)
    }

    /// The sections with a given role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Section<'a>> {
        self.sections
            .iter()
            .filter(move |section| section.role == role)
    }

    fn from_object(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let file = object::File::parse(bytes).map_err(|error| damaged(0, error))?;
        let mut builder = Builder::new(bytes, arch(file.architecture()));
        for section in file.sections() {
            let segment = section.segment_name_bytes().ok().flatten();
            let name = builder.name(section.name_bytes(), segment)?;
            let is_code = is_code(section.flags());
            builder.add(name.into_owned().into(), is_code, section.file_range());
        }
        Ok(builder.host)
    }

    /// Gives each byte to one section, those that are named for device code first.
    fn separate(&mut self) {
        let mut claims = Claims::default();
        let mut order: Vec<usize> = (0..self.sections.len())
            .filter(|&index| self.sections[index].role.is_read())
            .collect();
        order.sort_by_key(|&index| self.sections[index].role == Role::Data);
        for index in order {
            let section = &mut self.sections[index];
            if !claims.claim(&section.range) {
                self.damage.push(Malformed::new(
                    section.range.start as u64,
                    format!("section `{}` overlaps another section", section.name),
                ));
                section.range = section.range.start..section.range.start;
            }
        }
    }
}

/// Collects sections and the damage found on the way.
struct Builder<'a> {
    bytes: &'a [u8],
    host: Host<'a>,
    /// Bytes of names that may still be looked at: a hostile table lets every section name one long string.
    names_left: usize,
}

impl<'a> Builder<'a> {
    fn new(bytes: &'a [u8], arch: Cow<'static, str>) -> Self {
        Self {
            bytes,
            host: Host {
                arch,
                sections: Vec::new(),
                damage: Vec::new(),
            },
            names_left: bytes.len().saturating_mul(4),
        }
    }

    fn name<'n>(
        &mut self,
        name: object::Result<&'n [u8]>,
        segment: Option<&[u8]>,
    ) -> Result<Cow<'n, str>, Malformed> {
        // An unterminated name costs a search to the end of the table.
        let cost = name.map_or(self.bytes.len(), <[u8]>::len);
        self.names_left = self.names_left.checked_sub(cost).ok_or_else(|| {
            Malformed::new(0, "the names of all sections are longer than the file")
        })?;
        let name = text(name.unwrap_or_default());
        Ok(match segment {
            Some(segment) => format!("{},{name}", text(segment)).into(),
            None => name,
        })
    }

    /// `range` is offset and size of the bytes in the file, if there are any.
    fn add(&mut self, name: Cow<'a, str>, is_code: bool, range: Option<(u64, u64)>) {
        let role = match Role::of_name(&name) {
            Some(role) => role,
            None if is_code => Role::Code,
            None if Role::is_debug(&name) => Role::Bookkeeping,
            None => Role::Data,
        };
        self.add_as(name, role, range);
    }

    fn add_as(&mut self, name: Cow<'a, str>, role: Role, range: Option<(u64, u64)>) {
        let (offset, size) = range.unwrap_or_default();
        let length = self.bytes.len() as u64;
        let end = offset.saturating_add(size);
        if size > 0 && end > length && role.is_read() {
            self.host.damage.push(Malformed::new(
                offset,
                format!("section `{name}` of {size} bytes reaches past the end at {length:#x}"),
            ));
        }
        // Both lie within the slice now, so they fit.
        let range = offset.min(length) as usize..end.min(length) as usize;
        self.host.sections.push(Section { name, role, range });
    }
}

fn damaged(offset: u64, error: object::Error) -> Malformed {
    Malformed::new(offset, format!("host file is damaged: {error}"))
}

fn is_code(flags: SectionFlags) -> bool {
    match flags {
        SectionFlags::Coff { characteristics } => {
            let code = object::pe::IMAGE_SCN_MEM_EXECUTE | object::pe::IMAGE_SCN_CNT_CODE;
            (characteristics & code).0 != 0
        }
        SectionFlags::MachO { flags, .. } => {
            let code =
                object::macho::S_ATTR_PURE_INSTRUCTIONS | object::macho::S_ATTR_SOME_INSTRUCTIONS;
            (flags & code).0 != 0
        }
        _ => false,
    }
}

/// One architecture's part of a fat Mach-O file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    pub arch: Cow<'static, str>,
    pub range: Range<usize>,
}

/// The parts of a fat Mach-O file; `None` when `bytes` are something else.
pub fn slices(bytes: &[u8]) -> Option<Result<Vec<Slice>, Malformed>> {
    match FileKind::parse(bytes).ok()? {
        FileKind::MachOFat32 => {
            let file = MachOFatFile32::parse(bytes).map_err(|error| damaged(0, error));
            Some(file.and_then(|file| read_slices(bytes, file.arches())))
        }
        FileKind::MachOFat64 => {
            let file = MachOFatFile64::parse(bytes).map_err(|error| damaged(0, error));
            Some(file.and_then(|file| read_slices(bytes, file.arches())))
        }
        _ => None,
    }
}

fn read_slices(bytes: &[u8], arches: &[impl FatArch]) -> Result<Vec<Slice>, Malformed> {
    let mut claims = Claims::default();
    let slice = |fat: &_| {
        let (offset, size) = FatArch::file_range(fat);
        let range = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(size).ok())
            .and_then(|(offset, size)| Some(offset..offset.checked_add(size)?))
            .filter(|range| range.end <= bytes.len());
        let range = range.ok_or_else(|| {
            Malformed::new(
                offset,
                format!(
                    "part of {size} bytes reaches past the end at {:#x}",
                    bytes.len()
                ),
            )
        })?;
        if !claims.claim(&range) {
            return Err(Malformed::new(offset, "part overlaps another one"));
        }
        Ok(Slice {
            arch: arch(FatArch::architecture(fat)),
            range,
        })
    };
    arches.iter().map(slice).collect()
}

fn arch(architecture: Architecture) -> Cow<'static, str> {
    Cow::Borrowed(match architecture {
        Architecture::X86_64 => "x86-64",
        Architecture::I386 => "i386",
        Architecture::Aarch64 => "aarch64",
        Architecture::Arm => "arm",
        Architecture::PowerPc => "ppc",
        Architecture::PowerPc64 => "ppc64",
        other => return format!("{other:?}").to_lowercase().into(),
    })
}

/// The name of an ELF machine, as everything here spells it; numbers that are not known stay numbers.
pub fn elf_arch(machine: u16, is_64: bool, is_little_endian: bool) -> Cow<'static, str> {
    Cow::Borrowed(match (machine, is_64, is_little_endian) {
        (3, ..) => "i386",
        (8, true, true) => "mips64el",
        (20, ..) => "ppc",
        (21, _, true) => "ppc64le",
        (21, _, false) => "ppc64",
        (22, ..) => "s390x",
        (40, ..) => "arm",
        (62, true, _) => "x86-64",
        (62, false, _) => "x32",
        (183, ..) => "aarch64",
        (190, ..) => "cuda",
        (224, ..) => "amdgpu",
        (243, true, _) => "riscv64",
        (243, false, _) => "riscv32",
        (258, ..) => "loongarch",
        _ => return format!("machine {machine}").into(),
    })
}

#[cfg(test)]
mod tests;
