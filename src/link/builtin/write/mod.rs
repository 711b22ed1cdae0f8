//! Phase 7: the executable cubin: section order, numbers, string tables, tables, and headers.

mod choose;
mod contents;
mod headers;
mod numbers;

use std::borrow::Cow;
use std::collections::HashSet;

use super::Identity;
use super::layout::Layout;
use super::live::Live;
use super::program::{FunctionId, NOBITS, Program, Rank, SectionId, SymbolId};
use super::relocate::Relocated;
use super::resources::Resources;
use crate::error::Result;

/// A section of the result: one of the program's, or one that only a linked cubin has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Null,
    SectionNames,
    Names,
    Symbols,
    Merged(SectionId),
    CallGraph,
    Prototypes,
    /// Bank 2 of a kernel that has none of its own.
    Constants(FunctionId),
    RelocationActions,
}

struct Section<'p> {
    key: Key,
    name: Cow<'p, str>,
    kind: u32,
    flags: u64,
    align: u64,
    entry_size: u64,
    rank: Rank,
    data: Cow<'p, [u8]>,
    size: u64,
    offset: u64,
}

pub(super) fn write(
    program: &Program,
    live: &Live,
    layout: &Layout,
    resources: &Resources,
    relocated: &Relocated,
    identity: Identity,
) -> Result<Vec<u8>> {
    let sections = choose::choose_sections(program, live, layout, relocated);
    let writer = Writer {
        program,
        live,
        layout,
        resources,
        relocated,
        identity,
        sections,
    };
    writer.write()
}
struct Writer<'p> {
    program: &'p Program<'p>,
    live: &'p Live,
    layout: &'p Layout,
    resources: &'p Resources<'p>,
    relocated: &'p Relocated,
    identity: Identity<'p>,
    sections: Vec<Section<'p>>,
}

impl<'p> Writer<'p> {
    fn write(mut self) -> Result<Vec<u8>> {
        let prototypes = self.kept_prototypes();
        if prototypes.is_empty() {
            self.sections
                .retain(|section| section.key != Key::Prototypes);
        }
        let numbers = self.number();
        let (names, prototype_offsets) = self.names(&numbers);
        let section_names = self.section_names();
        let tables = [
            (Key::Null, "", 0, 0, Cow::Borrowed(&[][..])),
            (
                Key::SectionNames,
                ".shstrtab",
                3,
                1,
                section_names.bytes.as_slice().into(),
            ),
            (Key::Names, ".strtab", 3, 1, names.bytes.as_slice().into()),
            (
                Key::Symbols,
                ".symtab",
                2,
                8,
                self.symbol_table(&numbers, &names)?.into(),
            ),
        ];
        let mut sections: Vec<Section> = Vec::new();
        for (key, name, kind, align, data) in tables {
            sections.push(Section {
                key,
                name: name.into(),
                kind,
                flags: 0,
                align,
                entry_size: if key == Key::Symbols { 24 } else { 0 },
                rank: Rank::Debug,
                data,
                size: 0,
                offset: 0,
            });
        }
        let contents = self.contents(&numbers, &prototypes, &prototype_offsets)?;
        sections.extend(
            std::mem::take(&mut self.sections)
                .into_iter()
                .map(|section| Section {
                    data: contents
                        .get(&section.key)
                        .map_or(section.data, |data| Cow::Borrowed(data.as_slice())),
                    ..section
                }),
        );
        let end = headers::place(&mut sections);
        let headers_at = end.next_multiple_of(8);
        let segments = headers::segments(&sections, headers_at);
        let mut out =
            Vec::with_capacity((headers_at as usize) + 64 * sections.len() + 56 * segments.len());
        out.extend(self.header(headers_at, sections.len(), segments.len())?);
        for section in sections
            .iter()
            .skip(1)
            .filter(|section| section.kind != NOBITS)
        {
            out.resize(section.offset as usize, 0);
            out.extend_from_slice(&section.data);
        }
        out.resize(headers_at as usize, 0);
        for section in &sections {
            out.extend(self.section_header(section, &numbers, &section_names)?);
        }
        for segment in segments {
            out.extend(segment);
        }
        Ok(out)
    }

    /// Prototypes of functions that stay, but for those whose address is taken.
    fn kept_prototypes(&self) -> Vec<(SymbolId, usize)> {
        let taken: HashSet<SymbolId> = self
            .program
            .address_taken
            .iter()
            .map(|(symbol, _)| *symbol)
            .collect();
        let kept = self
            .program
            .prototypes
            .iter()
            .filter(|(id, _)| !taken.contains(id) && !self.live.drops(*id));
        kept.map(|(id, prototype)| (*id, prototype.at())).collect()
    }
}
