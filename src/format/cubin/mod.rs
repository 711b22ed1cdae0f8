//! A cubin: the linked or relocatable machine code of one architecture, in CUDA's dialect of ELF.
//!
//! Two dialects exist. ABI 7 (OSABI 0x33) is written by CUDA up to 12.9 for architectures below sm_100,
//! ABI 8 (OSABI 0x41) by 12.8 and 12.9 for sm_100 and up and by 13.x for all. The layout of the header
//! flags differs, so the ABI decides how to read them. Layouts, names and rules were measured on
//! cuobjdump, nvdisasm and nvlink 11.8 to 13.5.

mod call_graph;
mod note;
mod peek;
mod relocation;
mod section;
mod strings;
mod symbol;

use std::fmt;

use object::LittleEndian as LE;
use object::elf::{FileHeader64, ProgramHeader64, SectionHeader64};
use object::pod::{from_bytes, slice_from_bytes};

pub use call_graph::CallGraph;
pub use note::{CudaNote, Release, ToolRun};
pub use peek::Peek;
pub use relocation::{Relocation, RelocationKind};
pub use section::{Section, SectionKind};
pub use symbol::{Binding, Place, Space, Symbol, SymbolKind, SymbolTable};

use super::nv_info::{Attribute, Records};
use super::text::text;
use crate::error::Malformed;
use strings::{Budget, string_at};

#[cfg(test)]
mod tests;

/// `e_machine` of every cubin.
pub const EM_CUDA: u16 = 190;
/// A parsed cubin. Header and section table are checked; everything else is read when asked for.
#[derive(Debug, Clone)]
pub struct Cubin<'a> {
    bytes: &'a [u8],
    header: &'a FileHeader64<LE>,
    sections: Vec<Section<'a>>,
    program_headers_end: u64,
    section_headers_end: u64,
}

/// Whether a cubin can be linked again or loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Relocatable,
    Executable,
    Other(u16),
}

/// An architecture as the file says it. [`crate::code`] has the type with the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// 75, 90, 121.
    pub number: u16,
    /// `a`, `f` or none.
    pub suffix: Option<char>,
    /// Which part of the file told the suffix, or the number where there is no suffix.
    pub source: &'static str,
}

/// How much debug information there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Debug {
    None,
    Lines,
    Full,
}

impl<'a> Cubin<'a> {
    /// Whether `bytes` start like a cubin: a little-endian 64-bit ELF for machine 190.
    pub fn is_cubin(bytes: &[u8]) -> bool {
        bytes.starts_with(b"\x7fELF\x02\x01") && bytes.get(18..20) == Some(&EM_CUDA.to_le_bytes())
    }

    /// `bytes` may run on after the cubin, see [`Cubin::extent`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header = header(bytes)?;
        let program_headers_end = table_end(
            bytes,
            header.e_phoff.get(LE),
            header.e_phnum.get(LE).into(),
            size_of::<ProgramHeader64<LE>>(),
            header.e_phentsize.get(LE),
            "program header table",
        )?;
        let headers = section_headers(bytes, header)?;
        let start = header.e_shoff.get(LE);
        let mut cubin = Self {
            bytes,
            header,
            sections: Vec::new(),
            program_headers_end,
            section_headers_end: start + size_of_val(headers) as u64,
        };
        cubin.sections = cubin.read_sections(headers)?;
        Ok(cubin)
    }

    fn read_sections(
        &self,
        headers: &'a [SectionHeader64<LE>],
    ) -> Result<Vec<Section<'a>>, Malformed> {
        let names_index = match self.header.e_shstrndx.get(LE).0 {
            0xffff => headers.first().map_or(0, |first| first.sh_link.get(LE)),
            index => index.into(),
        };
        let (names, names_offset) = match headers.get(names_index as usize) {
            Some(section) => (
                self.range(
                    section.sh_offset.get(LE),
                    section.sh_size.get(LE),
                    "section name table",
                )?,
                section.sh_offset.get(LE),
            ),
            None if headers.is_empty() => (&[][..], 0),
            None => {
                return Err(Malformed::new(
                    62,
                    format!(
                        "section {names_index} should hold the section names, but there are {}",
                        headers.len()
                    ),
                ));
            }
        };
        let mut budget = Budget::new("section names", self.bytes.len());
        let mut overlap = Budget::new("sections", self.bytes.len());
        let mut sections = Vec::with_capacity(headers.len());
        for (index, header) in headers.iter().enumerate() {
            let name = string_at(names, names_offset, header.sh_name.get(LE), "section name")?;
            budget.spend(name.len(), names_offset)?;
            let section = Section {
                // The table lies in memory, so its length fits.
                index: index as u32,
                name: text(name),
                kind: SectionKind(header.sh_type.get(LE).0),
                flags: header.sh_flags.get(LE).0,
                address: header.sh_addr.get(LE),
                offset: header.sh_offset.get(LE),
                size: header.sh_size.get(LE),
                link: header.sh_link.get(LE),
                info: header.sh_info.get(LE),
                align: header.sh_addralign.get(LE),
                entry_size: header.sh_entsize.get(LE),
            };
            // A section that does not fit in the file means that the file is cut or corrupt, whatever
            // was asked for.
            let data = self.data(&section)?;
            // Only the Mercury twin shares bytes with others.
            overlap.spend(data.len(), section.offset)?;
            sections.push(section);
        }
        Ok(sections)
    }

    /// `what` names the range in the error.
    fn range(
        &self,
        offset: u64,
        size: u64,
        what: impl fmt::Display,
    ) -> Result<&'a [u8], Malformed> {
        let range = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(size).ok())
            .and_then(|(offset, size)| self.bytes.get(offset..offset.checked_add(size)?));
        range.ok_or_else(|| {
            Malformed::new(
                offset,
                format!(
                    "{what} of {size} bytes reaches past the end at {:#x}",
                    self.bytes.len()
                ),
            )
        })
    }

    /// The bytes of a section; none for a zero-fill section, whatever its size.
    pub fn data(&self, section: &Section<'_>) -> Result<&'a [u8], Malformed> {
        if !section.kind.has_bytes() || section.size == 0 {
            return Ok(&[]);
        }
        self.range(
            section.offset,
            section.size,
            format_args!("section `{}`", section.name),
        )
    }

    /// All sections in file order, the null section first.
    pub fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// The first section of this name outside the Mercury twin.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections
            .iter()
            .find(|section| section.name == name && !section.is_mercury())
    }

    /// The bytes that belong to the cubin; fatbins pad behind it.
    pub fn extent(&self) -> u64 {
        let sections = self
            .sections
            .iter()
            .filter(|section| section.kind.has_bytes() && section.size > 0)
            .map(|section| section.offset.saturating_add(section.size));
        sections
            .chain([
                self.program_headers_end,
                self.section_headers_end,
                size_of::<FileHeader64<LE>>() as u64,
            ])
            .max()
            .unwrap_or(0)
    }

    pub fn stage(&self) -> Stage {
        match self.header.e_type.get(LE).0 {
            1 => Stage::Relocatable,
            2 => Stage::Executable,
            other => Stage::Other(other),
        }
    }

    /// `EI_ABIVERSION`: 7 or 8 so far.
    pub fn abi(&self) -> u8 {
        self.header.e_ident.abi_version
    }

    /// Whether the header flags have the layout of ABI 8 and later.
    fn is_new_layout(&self) -> bool {
        self.header.e_ident.os_abi.0 == 0x41 || self.abi() >= 8
    }

    /// Raw `e_flags`.
    pub fn flags(&self) -> u32 {
        self.header.e_flags.get(LE).0
    }

    /// The architecture that it runs on. The suffix `f` stands in no header, only in the command line
    /// that the compiler or linker noted, so a bare cubin without one may be `f` all the same.
    pub fn target(&self) -> Target {
        let flags = self.flags();
        if !self.is_new_layout() {
            let number = (flags & 0xff) as u16;
            // Below sm_90 the same bit marks a workaround (CUDA 8 and 9).
            let accelerated = flags & 0x800 != 0 && number >= 90;
            return Target {
                number,
                suffix: accelerated.then_some('a'),
                source: "e_flags",
            };
        }
        let number = (flags >> 8 & 0xffff) as u16;
        let (accelerated, source) = match self.compat_accelerated() {
            Some(accelerated) => (accelerated, ".nv.compat"),
            None => (flags & 8 != 0, "e_flags"),
        };
        if !accelerated && self.noted_family_target(number) {
            return Target {
                number,
                suffix: Some('f'),
                source: ".note.nv.tkinfo",
            };
        }
        Target {
            number,
            suffix: accelerated.then_some('a'),
            source: if accelerated { source } else { "e_flags" },
        }
    }

    /// Attribute 9 of `.nv.compat`, written by CUDA 13.
    fn compat_accelerated(&self) -> Option<bool> {
        const ACCELERATOR_TARGET: Attribute = Attribute(9);
        self.compat()
            .filter_map(Result::ok)
            .find(|record| record.attribute == ACCELERATOR_TARGET)
            .and_then(|record| record.number().ok())
            .map(|value| value == 1)
    }

    fn noted_family_target(&self, number: u16) -> bool {
        let wanted = format!("sm_{number}f");
        self.noted_target().is_some_and(|target| target == wanted)
    }

    /// The architecture in the command line of the last tool, `sm_100f`.
    fn noted_target(&self) -> Option<String> {
        let runs = self.tool_runs().ok()?;
        let words = runs
            .first()?
            .command
            .split(|c: char| c == '=' || c == ',' || c.is_ascii_whitespace());
        words
            .filter(|word| word.starts_with("sm_"))
            .map(str::to_owned)
            .next()
    }

    /// Whether it may be for a family although [`Cubin::target`] says otherwise: no header tells, and the
    /// tool that made it noted no architecture. A fatbin around it would know.
    pub fn may_be_family(&self) -> bool {
        let target = self.target();
        target.number >= 100 && target.suffix.is_none() && self.noted_target().is_none()
    }

    /// The virtual architecture it was compiled from, `None` when it does not say.
    pub fn virtual_number(&self) -> Option<u16> {
        if self.is_new_layout() {
            return self
                .cuda_note()
                .ok()
                .flatten()
                .map(|note| note.virtual_number);
        }
        let number = (self.flags() >> 16 & 0xff) as u16;
        (number != 0).then_some(number)
    }

    /// The CUDA release that made it.
    pub fn release(&self) -> Option<Release> {
        if !self.is_new_layout() {
            return Release::from_tenfold(self.header.e_version.get(LE));
        }
        if let Ok(Some(note)) = self.cuda_note()
            && note.release.is_some()
        {
            return note.release;
        }
        let run = self.tool_runs().ok()?.into_iter().next()?;
        Release::from_tool_version(&run.version).or_else(|| {
            Release::from_tenfold(run.note_version).filter(|release| release.major >= 12)
        })
    }

    pub fn debug(&self) -> Debug {
        let has = |name| self.section(name).is_some_and(|section| section.size > 0);
        if has(".debug_info") {
            Debug::Full
        } else if has(".debug_line") {
            Debug::Lines
        } else {
            Debug::None
        }
    }

    pub fn has_mercury(&self) -> bool {
        self.sections.iter().any(Section::is_mercury)
    }

    /// `.target texmode_independent`.
    pub fn is_texmode_independent(&self) -> bool {
        if !self.is_new_layout() {
            return self.flags() & 0x200 != 0;
        }
        self.global_info()
            .filter_map(Result::ok)
            .any(|record| record.attribute == Attribute::TEXMODE_INDEPENDENT)
    }

    /// The records of `.nv.info`, which are about the whole cubin or name a symbol.
    pub fn global_info(&self) -> Records<'a> {
        self.records_of(".nv.info")
    }

    /// The records of `.nv.compat`. Their attribute numbers are a list of their own.
    pub fn compat(&self) -> Records<'a> {
        self.records_of(".nv.compat")
    }

    fn records_of(&self, name: &str) -> Records<'a> {
        match self.section(name) {
            Some(section) => self.info(section),
            None => Records::new(&[], 0),
        }
    }

    /// The records of one `.nv.info…` section.
    pub fn info(&self, section: &Section<'_>) -> Records<'a> {
        // `parse` has checked the range.
        Records::new(self.data(section).unwrap_or_default(), section.offset)
    }
}

fn header(bytes: &[u8]) -> Result<&FileHeader64<LE>, Malformed> {
    let Ok((header, _)) = from_bytes::<FileHeader64<LE>>(bytes) else {
        return Err(Malformed::new(
            0,
            format!("cubin has {} bytes, but its header needs 64", bytes.len()),
        ));
    };
    let ident = &header.e_ident;
    let wrong = |offset, message: String| Err(Malformed::new(offset, message));
    if ident.magic != *b"\x7fELF" {
        return wrong(0, "no ELF file".to_owned());
    }
    if ident.class.0 != 2 {
        return wrong(4, "32-bit cubin, expected a 64-bit one".to_owned());
    }
    if ident.data.0 != 1 {
        return wrong(5, "big-endian ELF file, expected little-endian".to_owned());
    }
    match header.e_machine.get(LE).0 {
        EM_CUDA => Ok(header),
        other => wrong(
            18,
            format!("ELF file for machine {other}, expected 190 (CUDA)"),
        ),
    }
}

/// The end of a header table that is there and lies in the file.
fn table_end(
    bytes: &[u8],
    offset: u64,
    count: u64,
    entry_size: usize,
    said_entry_size: u16,
    what: &str,
) -> Result<u64, Malformed> {
    if offset == 0 || count == 0 {
        return Ok(0);
    }
    if usize::from(said_entry_size) != entry_size {
        return Err(Malformed::new(
            offset,
            format!("{what} has entries of {said_entry_size} bytes, expected {entry_size}"),
        ));
    }
    count
        .checked_mul(entry_size as u64)
        .and_then(|size| size.checked_add(offset))
        .filter(|&end| end <= bytes.len() as u64)
        .ok_or_else(|| {
            Malformed::new(
                offset,
                format!(
                    "{what} of {count} entries reaches past the end at {:#x}",
                    bytes.len()
                ),
            )
        })
}

fn section_headers<'a>(
    bytes: &'a [u8],
    header: &FileHeader64<LE>,
) -> Result<&'a [SectionHeader64<LE>], Malformed> {
    let offset = header.e_shoff.get(LE);
    let entry_size = header.e_shentsize.get(LE);
    let table = |count: u64| {
        table_end(
            bytes,
            offset,
            count,
            size_of::<SectionHeader64<LE>>(),
            entry_size,
            "section header table",
        )
    };
    if offset == 0 {
        return Ok(&[]);
    }
    // From 65,280 sections on the count stands in the first section's size.
    let count = match header.e_shnum.get(LE) {
        0 => {
            table(1)?;
            let first = bytes.get(offset as usize..).unwrap_or_default();
            from_bytes::<SectionHeader64<LE>>(first).map_or(0, |(first, _)| first.sh_size.get(LE))
        }
        count => count.into(),
    };
    table(count)?;
    let start = bytes.get(offset as usize..).unwrap_or_default();
    Ok(slice_from_bytes(start, count as usize).map_or(&[][..], |(headers, _)| headers))
}
