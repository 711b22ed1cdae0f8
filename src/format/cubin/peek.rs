use object::LittleEndian as LE;

use super::{Cubin, SectionKind, Stage, header, section_headers};
use crate::error::Malformed;

/// What the first 64 bytes of a cubin say, for lists that must touch no more of a large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peek {
    /// Architecture number without suffix.
    pub number: u16,
    pub stage: Stage,
    /// Where the header tables end, which is the end of the cubin as every tool so far writes it.
    pub tables_end: u64,
}

impl Peek {
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let header = header(bytes)?;
        let end = |start: u64, count: u16, size: u16| {
            start.saturating_add(u64::from(count) * u64::from(size))
        };
        let sections_end = end(
            header.e_shoff.get(LE),
            header.e_shnum.get(LE),
            header.e_shentsize.get(LE),
        );
        let segments_end = end(
            header.e_phoff.get(LE),
            header.e_phnum.get(LE),
            header.e_phentsize.get(LE),
        );
        let cubin = Cubin {
            bytes,
            header,
            sections: Vec::new(),
            program_headers_end: segments_end,
            section_headers_end: sections_end,
        };
        Ok(Self {
            number: cubin.target().number,
            stage: cubin.stage(),
            tables_end: sections_end.max(segments_end),
        })
    }

    /// The end of the cubin, from its section headers too.
    pub fn extent(&self, bytes: &[u8]) -> Result<u64, Malformed> {
        let sections = section_headers(bytes, header(bytes)?)?;
        let end = sections
            .iter()
            .filter(|section| SectionKind(section.sh_type.get(LE).0).has_bytes())
            .map(|section| {
                section
                    .sh_offset
                    .get(LE)
                    .saturating_add(section.sh_size.get(LE))
            })
            .max();
        Ok(self.tables_end.max(end.unwrap_or_default()))
    }
}
