//! Sections that units share (data, debug information) and those of one function (constants).

use super::super::known::Role;
use super::super::program::{
    CompilerConstants, FunctionId, Info, NOBITS, New, PROGBITS, Rank, SectionId,
};
use super::super::read::Section;
use super::Adder;
use crate::error::{Error, Result};

impl<'a> Adder<'_, 'a> {
    /// Appends a data section to the merged one of its name, once, and returns that.
    pub(super) fn append(&mut self, section: usize) -> SectionId {
        let input = &self.unit.sections[section];
        let rank = match input.role {
            Role::GlobalInit => Rank::GlobalInit,
            Role::Global => Rank::ZeroFill,
            Role::Debug => Rank::Debug,
            _ => Rank::Constants,
        };
        let is_debug = input.role == Role::Debug;
        let id = match self.program.sections_by_name.get(input.name) {
            Some(&id) => id,
            None => {
                let kind = match (is_debug, input.has_bytes()) {
                    (true, _) => input.kind,
                    (false, true) => PROGBITS,
                    (false, false) => NOBITS,
                };
                let id = self.program.add_section(New {
                    name: input.name.into(),
                    kind,
                    flags: input.flags,
                    align: input.align,
                    rank,
                    with_symbol: true,
                    of: None,
                });
                self.program.sections_by_name.insert(input.name, id);
                id
            }
        };
        self.sections[section] = Some(id);
        if self.base[section].is_some() {
            return id;
        }
        let merged = &mut self.program.sections[id.at()];
        // Debug sections are concatenated as they are.
        let base = if is_debug {
            merged.size
        } else {
            merged.size.next_multiple_of(input.align)
        };
        if !is_debug {
            merged.align = merged.align.max(input.align);
        }
        merged.size = base + input.size;
        if input.has_bytes() && merged.kind != NOBITS {
            let data = merged.data.to_mut();
            data.resize(base as usize, 0);
            data.extend(input.data);
        }
        self.base[section] = Some(base);
        id
    }

    pub(super) fn add_parameters(&mut self, section: usize) {
        let input = &self.unit.sections[section];
        if self.sections[section].is_none() && !self.dropped[input.of] {
            self.sections[section] = self.add_constants(section, input.flags);
        }
    }

    /// Constants of a kernel get a section; those of a device function are placed behind its kernels' own.
    pub(super) fn add_compiler_constants(&mut self, section: usize) {
        let input = &self.unit.sections[section];
        let owner = self.sections[input.of].and_then(|text| self.program.section(text).owner);
        let Some(owner) = owner.filter(|_| !self.dropped[input.of]) else {
            return;
        };
        if self.program.function(owner).constants.is_some() {
            return;
        }
        self.program.with_constants.push(owner);
        self.program.functions[owner.at()].constants = Some(CompilerConstants {
            data: input.data,
            align: input.align,
        });
        if self.program.function(owner).is_kernel {
            let id = self.add_constants(section, input.flags | 0x40);
            self.program.functions[owner.at()].constants_section = id;
            self.sections[section] = id;
        }
    }

    pub(super) fn add_constants(&mut self, section: usize, flags: u64) -> Option<SectionId> {
        let input = &self.unit.sections[section];
        let text = self.sections[input.of]?;
        let id = self.program.add_section(New {
            name: input.name.into(),
            kind: PROGBITS,
            flags,
            align: input.align,
            rank: Rank::Constants,
            with_symbol: true,
            of: None,
        });
        let merged = &mut self.program.sections[id.at()];
        (merged.data, merged.size) = (input.data.into(), input.size);
        merged.info = Info::Section(text);
        Some(id)
    }

    pub(super) fn add_other_sections(&mut self) -> Result<()> {
        for (index, section) in self.unit.sections.iter().enumerate() {
            match section.role {
                Role::Parameters => self.add_parameters(index),
                Role::CompilerConstants => self.add_compiler_constants(index),
                Role::Debug if self.sections[index].is_none() => {
                    self.append(index);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn owner_of(&self, text: usize, what: &str) -> Result<FunctionId> {
        self.sections
            .get(text)
            .copied()
            .flatten()
            .and_then(|text| self.program.section(text).owner)
            .ok_or_else(|| {
                Error::damaged(format!("`{what}` belongs to no function")).input(self.unit.name)
            })
    }

    pub(super) fn function_infos(&self) -> impl Iterator<Item = &'a Section<'a>> + use<'a> {
        self.unit
            .sections
            .iter()
            .filter(|section| section.role == Role::FunctionInfo)
    }
}
