//! Offsets, section headers, program headers and the file header.

use super::super::program::{ATTRIBUTES, Info, NOBITS, REL, RELA, Rank};
use super::numbers::{Numbers, Strings};
use super::{Key, Section, Writer};
use crate::error::{Code, Error, Result};

impl Writer<'_> {
    pub(super) fn header(
        &self,
        headers_at: u64,
        sections: usize,
        segments: usize,
    ) -> Result<Vec<u8>> {
        let count = |count: usize| {
            u16::try_from(count).map_err(|_| {
                Error::failed(
                    Code::BuiltinUnsupported,
                    format!("the built-in linker does not write {count} sections"),
                )
                .hint("link with `--backend nvjitlink`")
            })
        };
        let mut out = vec![
            0x7F, b'E', b'L', b'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0,
        ];
        out.extend(2u16.to_le_bytes());
        out.extend(190u16.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend((headers_at + 64 * sections as u64).to_le_bytes());
        out.extend(headers_at.to_le_bytes());
        out.extend(self.program.flags.to_le_bytes());
        for field in [64, 56, count(segments)?, 64, count(sections)?, 1] {
            out.extend(field.to_le_bytes());
        }
        Ok(out)
    }

    pub(super) fn section_header(
        &self,
        section: &Section,
        numbers: &Numbers,
        names: &Strings,
    ) -> Result<Vec<u8>> {
        let merged = match section.key {
            Key::Merged(id) => Some((id, self.program.section(id))),
            _ => None,
        };
        let is_cuda_note = merged.is_some_and(|(id, _)| self.program.cuda_note == Some(id));
        let link = match (section.key, section.kind, section.rank) {
            (Key::Null | Key::SectionNames | Key::Names, ..) => 0,
            (Key::Symbols, ..) => 2,
            (Key::CallGraph | Key::Prototypes, ..)
            | (_, ATTRIBUTES | REL | RELA, _)
            | (_, _, Rank::Text) => 3,
            _ if is_cuda_note => self
                .program
                .tool_note
                .map_or(0, |note| numbers.section(note)),
            _ => 0,
        };
        let info = match (section.key, merged.map(|(_, section)| section.info)) {
            (Key::Symbols, _) => numbers.locals.len() as u32,
            (Key::Constants(kernel), _) => numbers.section(self.program.function(kernel).text),
            (_, Some(Info::Section(target))) => numbers.section(target),
            (_, Some(Info::Symbol(symbol, registers))) => numbers.symbol(symbol)? | registers,
            _ if is_cuda_note => self
                .program
                .compat_section
                .map_or(0, |compat| numbers.section(compat)),
            _ => 0,
        };
        let mut out = Vec::with_capacity(64);
        out.extend(names.offset(&section.name).to_le_bytes());
        out.extend(section.kind.to_le_bytes());
        for field in [section.flags, 0, section.offset, section.size] {
            out.extend(field.to_le_bytes());
        }
        out.extend(link.to_le_bytes());
        out.extend(info.to_le_bytes());
        out.extend(section.align.to_le_bytes());
        out.extend(section.entry_size.to_le_bytes());
        Ok(out)
    }
}

/// Gives every section its offset and size; returns the end of the last one.
pub(super) fn place(sections: &mut [Section]) -> u64 {
    let mut at = 64u64;
    for section in sections.iter_mut().skip(1) {
        if section.kind != NOBITS {
            section.size = section.data.len() as u64;
        }
        at = at.next_multiple_of(section.align.max(1));
        section.offset = at;
        if section.kind != NOBITS {
            at += section.size;
        }
    }
    at
}

/// Program headers: their own table, constants and code, variables, and the table again.
pub(super) fn segments(sections: &[Section], headers_at: u64) -> Vec<Vec<u8>> {
    const READ_EXECUTE: u32 = 5;
    const READ_WRITE: u32 = 6;
    let of = |ranks: [Rank; 2]| {
        sections
            .iter()
            .filter(move |s| s.offset > 0 && ranks.contains(&s.rank) && s.flags & 2 != 0)
    };
    let code: Vec<&Section> = of([Rank::Constants, Rank::Text]).collect();
    let data: Vec<&Section> = of([Rank::GlobalInit, Rank::ZeroFill]).collect();
    let mut loads = Vec::new();
    if let (Some(first), Some(last)) = (code.first(), code.last()) {
        let size = last.offset + last.size - first.offset;
        loads.push((READ_EXECUTE, first.offset, size, size));
    }
    if let (Some(first), Some(last)) = (data.first(), data.last()) {
        let in_file = if last.kind == NOBITS { 0 } else { last.size };
        let file_size = last.offset + in_file - first.offset;
        let zero_fill = data.iter().filter(|section| section.kind == NOBITS);
        let memory = zero_fill.fold(file_size, |end, section| {
            end.next_multiple_of(section.align.max(1)) + section.size
        });
        loads.push((READ_WRITE, first.offset, file_size, memory));
    }
    let table_at = headers_at + 64 * sections.len() as u64;
    let table_size = 56 * (loads.len() as u64 + 2);
    let table = |kind: u32| (kind, READ_EXECUTE, table_at, table_size, table_size);
    let loads = loads
        .into_iter()
        .map(|(flags, offset, file, memory)| (1, flags, offset, file, memory));
    std::iter::once(table(6))
        .chain(loads)
        .chain([table(1)])
        .map(|(kind, flags, offset, file, memory)| {
            let mut out = Vec::with_capacity(56);
            out.extend(kind.to_le_bytes());
            out.extend(flags.to_le_bytes());
            for field in [offset, 0, 0, file, memory, 8] {
                out.extend(field.to_le_bytes());
            }
            out
        })
        .collect()
}
