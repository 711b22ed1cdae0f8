//! Phase 2: the units become one program: sections and symbols in nvlink's order of creation, duplicates resolved,
//! relocations and call edges in terms of the merged symbols. Nothing is dropped here but losing definitions.
//!
//! Order of creation, for each input: functions, variables, other sections, attribute sections of device functions,
//! relocation sections. It decides symbol numbers, section numbers and string tables.

mod functions;
mod header;
mod references;
mod sections;
mod variables;

use std::collections::HashMap;

use super::program::{Meaning, Program, SectionId, Symbol, SymbolId};
use super::read::{Edge, Unit, unsupported};
use crate::error::{Category, Error, Result};
use crate::format::cubin::{Binding, Place, Symbol as InputSymbol, SymbolKind};
use crate::link::findings;

pub(super) fn merge<'a>(units: &'a [Unit<'a>]) -> Result<Program<'a>> {
    let mut program = Program::default();
    for name in [".shstrtab", ".strtab", ".symtab", ".symtab_shndx"] {
        program.names.push((name.into(), None));
        program.section_names.push((name.into(), None));
    }
    for (index, unit) in units.iter().enumerate() {
        program.adopt_header(unit, index == 0);
        Adder::new(&mut program, unit).add()?;
    }
    program.turn_lists_round();
    Ok(program)
}

/// Adds one unit to the program: maps of its symbols and sections to the merged ones.
struct Adder<'p, 'a> {
    program: &'p mut Program<'a>,
    unit: &'a Unit<'a>,
    symbols: Vec<Option<SymbolId>>,
    sections: Vec<Option<SectionId>>,
    /// Text sections that lost against an earlier definition.
    dropped: Vec<bool>,
    /// Where a merged section's share of this unit starts.
    base: Vec<Option<u64>>,
    /// Ranges of data sections whose variables lost; their relocations are dropped.
    lost: HashMap<usize, Vec<std::ops::Range<u64>>>,
    lists: HashMap<(SectionId, u32), usize>,
}

impl<'p, 'a> Adder<'p, 'a> {
    pub(super) fn new(program: &'p mut Program<'a>, unit: &'a Unit<'a>) -> Self {
        let (symbols, sections) = (unit.symbols.len(), unit.sections.len());
        let lists = program
            .relocations
            .iter()
            .enumerate()
            .map(|(index, list)| {
                (
                    (list.target, program.sections[list.section.at()].kind),
                    index,
                )
            })
            .collect();
        Self {
            program,
            unit,
            symbols: vec![None; symbols],
            sections: vec![None; sections],
            dropped: vec![false; sections],
            base: vec![None; sections],
            lost: HashMap::new(),
            lists,
        }
    }

    pub(super) fn add(mut self) -> Result<()> {
        // Prototype texts come first in the string table, in the order of the call graph.
        for edge in &self.unit.calls {
            if let Edge::AddressTaken(_, text) | Edge::Indirect(_, text) = edge {
                self.program.prototype(text);
            }
        }
        for (_, text) in &self.unit.prototypes {
            self.program.prototype(text);
        }
        self.add_functions()?;
        self.add_variables()?;
        self.add_other_sections()?;
        self.add_attributes()?;
        self.map_section_symbols();
        self.add_relocations()?;
        self.add_info()?;
        self.resolve_attributes()?;
        self.add_call_graph()
    }

    pub(super) fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        unsupported(self.unit.name, what)
    }

    pub(super) fn duplicate(&self, symbol: SymbolId) -> Error {
        let name = self.program.symbol(symbol).name;
        let finding = findings::duplicate_symbol(name)
            .input(self.unit.name)
            .input(self.program.defined_in(symbol));
        Error::new(Category::Failed, finding)
    }

    pub(super) fn mapped(&self, index: usize) -> Result<SymbolId> {
        self.symbols[index].ok_or_else(|| {
            let symbol = &self.unit.symbols[index];
            self.unsupported(format_args!(
                "a use of symbol `{}` of type {:?}",
                symbol.name, symbol.kind
            ))
        })
    }

    pub(super) fn name_of(&self, symbol: &'a InputSymbol<'a>) -> &'a str {
        &symbol.name
    }

    pub(super) fn section_of(&self, symbol: &InputSymbol) -> Option<usize> {
        match symbol.place {
            Place::Section(index) => Some(index as usize),
            _ => None,
        }
    }

    pub(super) fn is_dropped(&self, symbol: usize) -> bool {
        self.section_of(&self.unit.symbols[symbol])
            .is_some_and(|section| self.dropped[section])
    }

    pub(super) fn new_symbol(
        &self,
        symbol: &'a InputSymbol<'a>,
        section: Option<SectionId>,
        meaning: Meaning,
    ) -> Symbol<'a> {
        Symbol {
            name: self.name_of(symbol),
            info: st_info(symbol),
            other: symbol.other,
            section,
            value: symbol.value,
            size: symbol.size,
            meaning,
        }
    }
}

fn st_info(symbol: &InputSymbol) -> u8 {
    let binding = match symbol.binding {
        Binding::Local => 0,
        Binding::Global => 1,
        Binding::Weak => 2,
        Binding::Other(other) => other,
    };
    let kind = match symbol.kind {
        SymbolKind::None => 0,
        SymbolKind::Object => 1,
        SymbolKind::Function => 2,
        SymbolKind::Section => 3,
        SymbolKind::File => 4,
        SymbolKind::Texture => 10,
        SymbolKind::Sampler => 11,
        SymbolKind::Surface => 12,
        SymbolKind::CudaObject => 13,
        SymbolKind::Other(other) => other,
    };
    binding << 4 | kind
}
