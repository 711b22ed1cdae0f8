//! Numbers of sections and symbols, string tables, and the symbol table.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::live::Live;
use super::super::program::{Meaning, NOBITS, Named, SectionId, SymbolId};
use super::choose::made_sections;
use super::{Key, Writer};
use crate::error::{Code, Error, Result};

/// A local symbol of the result.
#[derive(Clone, Copy)]
pub(super) enum Local {
    Null,
    Merged(SymbolId),
    /// The symbol of a section made here.
    Section(Key),
}

/// Numbers of sections and symbols in the result.
pub(super) struct Numbers {
    pub sections: HashMap<Key, u32>,
    pub symbols: HashMap<SymbolId, u32>,
    pub locals: Vec<Local>,
    pub globals: Vec<SymbolId>,
}

impl Numbers {
    pub(super) fn section(&self, id: SectionId) -> u32 {
        self.sections.get(&Key::Merged(id)).copied().unwrap_or(0)
    }

    pub(super) fn symbol(&self, id: SymbolId) -> Result<u32> {
        self.symbols.get(&id).copied().ok_or_else(|| {
            Error::failed(
                Code::Internal,
                "the result refers to a symbol that was dropped",
            )
        })
    }
}

/// A string table, and where each name is.
pub(super) struct Strings<'p> {
    pub bytes: Vec<u8>,
    pub offsets: HashMap<Cow<'p, str>, u32>,
}

impl<'p> Strings<'p> {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0],
            offsets: HashMap::from([(Cow::Borrowed(""), 0)]),
        }
    }

    pub(super) fn offset(&self, name: &str) -> u32 {
        self.offsets.get(name).copied().unwrap_or(0)
    }

    pub(super) fn append(&mut self, text: &'p str) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self.offsets.entry(text.into()).or_insert(at);
        at
    }

    pub(super) fn add(&mut self, name: Cow<'p, str>) -> u32 {
        let next = self.bytes.len() as u32;
        let bytes = &mut self.bytes;
        *self.offsets.entry(name).or_insert_with_key(|name| {
            bytes.extend(name.as_bytes());
            bytes.push(0);
            next
        })
    }
}

impl<'p> Writer<'p> {
    pub(super) fn number(&self) -> Numbers {
        let tables = [Key::Null, Key::SectionNames, Key::Names, Key::Symbols];
        let keys = tables
            .into_iter()
            .chain(self.sections.iter().map(|section| section.key));
        let sections: HashMap<Key, u32> = keys.zip(0..).collect();
        let empty: HashSet<SectionId> = self
            .sections
            .iter()
            .filter(|section| section.kind == NOBITS && section.size == 0)
            .filter_map(|section| {
                if let Key::Merged(id) = section.key {
                    Some(id)
                } else {
                    None
                }
            })
            .collect();
        let stays = |id: &SymbolId| {
            let symbol = self.program.symbol(*id);
            let of_section = symbol.kind() == 3;
            let is_there = |section: SectionId| {
                sections.contains_key(&Key::Merged(section)) && !empty.contains(&section)
            };
            !self.live.drops(*id) && (!of_section || symbol.section.is_some_and(is_there))
        };
        let mut locals = vec![Local::Null];
        locals.extend(
            self.program
                .locals
                .iter()
                .copied()
                .filter(stays)
                .map(Local::Merged),
        );
        let made = made_sections(self.program, self.layout)
            .into_iter()
            .map(|section| section.key);
        locals.extend(
            made.filter(|key| sections.contains_key(key))
                .map(Local::Section),
        );
        let hidden = |name: &str| name.starts_with("__U") || name == ".nv.ptx.const0.size";
        let globals: Vec<SymbolId> = self
            .program
            .globals
            .iter()
            .copied()
            .filter(|&id| !self.live.drops(id) && !hidden(self.program.symbol(id).name))
            .collect();
        let merged = locals.iter().map(|local| {
            if let Local::Merged(id) = local {
                Some(*id)
            } else {
                None
            }
        });
        let symbols = merged
            .chain(globals.iter().copied().map(Some))
            .zip(0..)
            .filter_map(|(id, number)| Some((id?, number)))
            .collect();
        Numbers {
            sections,
            symbols,
            locals,
            globals,
        }
    }

    /// Prototype texts, then names by creation without those of dead functions, then all global names.
    pub(super) fn names(&self, numbers: &Numbers) -> (Strings<'p>, Vec<u32>) {
        let mut strings = Strings::new();
        // Texts of prototypes are all different, and an empty one takes a place too.
        let prototypes = self
            .program
            .prototype_texts
            .iter()
            .map(|text| strings.append(text))
            .collect();
        for name in kept_names(&self.program.names, self.live).chain(self.made_names()) {
            strings.add(name);
        }
        for &id in self
            .program
            .globals
            .iter()
            .filter(|&&id| !self.live.drops(id))
        {
            let name = self.program.symbol(id).name;
            if name != ".nv.ptx.const0.size" {
                strings.add(name.into());
            }
        }
        debug_assert!(
            numbers
                .globals
                .iter()
                .all(|&id| strings.offsets.contains_key(self.program.symbol(id).name))
        );
        (strings, prototypes)
    }

    pub(super) fn section_names(&self) -> Strings<'p> {
        let mut strings = Strings::new();
        for name in kept_names(&self.program.section_names, self.live).chain(self.made_names()) {
            strings.add(name);
        }
        strings
    }

    pub(super) fn made_names(&self) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
        made_sections(self.program, self.layout)
            .into_iter()
            .map(|section| section.name)
    }

    pub(super) fn symbol_table(&self, numbers: &Numbers, names: &Strings) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut entry =
            |name: u32, info: u8, other: u8, section: u32, value: u64, size: u64| -> Result<()> {
                let section = u16::try_from(section)
                    .ok()
                    .filter(|&number| number < 0xFF00)
                    .ok_or_else(|| {
                        Error::failed(
                            Code::BuiltinUnsupported,
                            "the built-in linker does not write more than 65,279 sections",
                        )
                        .hint("link with `--backend nvjitlink`")
                    })?;
                out.extend(name.to_le_bytes());
                out.extend([info, other]);
                out.extend(section.to_le_bytes());
                out.extend(value.to_le_bytes());
                out.extend(size.to_le_bytes());
                Ok(())
            };
        let merged = |id: SymbolId| {
            let symbol = self.program.symbol(id);
            // A section's symbol has the section's name.
            let name = match (symbol.meaning, symbol.section) {
                (Meaning::Section, Some(section)) => self.program.section(section).name.as_ref(),
                _ => symbol.name,
            };
            let name = names.offset(name);
            let section = symbol.section.map_or(0, |section| numbers.section(section));
            // Reserved shared memory is weak in inputs and global in results.
            let info = if symbol.name.starts_with(".nv.reservedSmem") {
                0x11
            } else {
                symbol.info
            };
            (name, info, symbol.other, section, symbol.value, symbol.size)
        };
        for local in &numbers.locals {
            let (name, info, other, section, value, size) = match local {
                Local::Null => (0, 0, 0, 0, 0, 0),
                Local::Merged(id) => merged(*id),
                Local::Section(key) => (
                    self.sections
                        .iter()
                        .find(|section| section.key == *key)
                        .map_or(0, |section| names.offset(&section.name)),
                    3,
                    0,
                    numbers.sections.get(key).copied().unwrap_or(0),
                    0,
                    0,
                ),
            };
            entry(name, info, other, section, value, size)?;
        }
        for &id in &numbers.globals {
            let (name, info, other, section, value, size) = merged(id);
            entry(name, info, other, section, value, size)?;
        }
        Ok(out)
    }
}

pub(super) fn kept_names<'p>(
    names: &'p [Named<'p>],
    live: &'p Live,
) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
    names
        .iter()
        .filter(|(_, owner)| owner.is_none_or(|owner| live.keeps(owner)))
        .map(|(name, _)| Cow::Borrowed(name.as_ref()))
}
