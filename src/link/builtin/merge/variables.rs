//! Variables: global, constant and shared ones.

use super::super::known::Role;
use super::super::program::{
    Meaning, NOBITS, New, Rank, SharedId, SharedVariable, Symbol, SymbolId,
};
use super::{Adder, st_info};
use crate::error::{Category, Error, Result};
use crate::format::cubin::{Binding, Space, Symbol as InputSymbol, SymbolKind};
use crate::link::findings;

impl<'a> Adder<'_, 'a> {
    pub(super) fn add_variables(&mut self) -> Result<()> {
        for (index, symbol) in self.unit.symbols.iter().enumerate() {
            if !matches!(symbol.kind, SymbolKind::Object | SymbolKind::CudaObject) {
                continue;
            }
            self.symbols[index] = match self.section_of(symbol) {
                None if symbol.space() == Space::Shared => Some(self.declare_shared(symbol)),
                None => Some(self.declare_variable(symbol)?),
                Some(section) => match self.unit.sections[section].role {
                    Role::Parameters => {
                        self.add_parameters(section);
                        None
                    }
                    Role::CompilerConstants => {
                        self.add_compiler_constants(section);
                        Some(self.program.add_symbol(self.new_symbol(
                            symbol,
                            None,
                            Meaning::CompilerConstant,
                        )))
                    }
                    Role::Shared | Role::DebugShared => Some(self.define_shared(symbol, section)?),
                    _ => Some(self.define_variable(symbol, section)?),
                },
            };
        }
        Ok(())
    }

    pub(super) fn declare_variable(&mut self, symbol: &'a InputSymbol<'a>) -> Result<SymbolId> {
        match self.program.globals_by_name.get(self.name_of(symbol)) {
            Some(&known) => self.same_size(known, symbol),
            None => Ok(self
                .program
                .add_global(self.new_symbol(symbol, None, Meaning::Plain))),
        }
    }

    /// Units must agree on the size of a variable; `extern int x[]` has none.
    fn same_size(&self, known: SymbolId, symbol: &InputSymbol) -> Result<SymbolId> {
        let sizes = [self.program.symbol(known).size, symbol.size];
        if sizes[0] != sizes[1] && !sizes.contains(&0) {
            let finding = findings::size_mismatch(&symbol.name)
                .detail(format!("{} bytes and {} bytes", sizes[0], sizes[1]))
                .input(self.unit.name)
                .input(self.program.defined_in(known));
            return Err(Error::new(Category::Failed, finding));
        }
        Ok(known)
    }

    pub(super) fn new_shared(
        &mut self,
        symbol: &'a InputSymbol<'a>,
        variable: SharedVariable,
    ) -> SymbolId {
        let shared = SharedId(self.program.shared.len() as u32);
        self.program.shared.push(variable);
        self.program
            .add_symbol(self.new_symbol(symbol, None, Meaning::Shared(shared)))
    }

    pub(super) fn shared_mut(&mut self, symbol: SymbolId) -> Option<&mut SharedVariable> {
        match self.program.symbol(symbol).meaning {
            Meaning::Shared(id) => self.program.shared.get_mut(id.at()),
            _ => None,
        }
    }

    /// `extern __shared__ x[]`, or a sized shared variable of another unit.
    pub(super) fn declare_shared(&mut self, symbol: &'a InputSymbol<'a>) -> SymbolId {
        let name = self.name_of(symbol);
        let variable = SharedVariable {
            size: symbol.size,
            align: 1,
            is_public: true,
            is_external: false,
            is_undefined: true,
            is_referenced: false,
        };
        if symbol.size > 0 {
            return match self.program.shared_by_name.get(name) {
                Some(&known) => known,
                None => {
                    let id = self.new_shared(symbol, variable);
                    self.program.shared_by_name.insert(name, id);
                    id
                }
            };
        }
        let id = match self.program.external_shared_by_name.get(name) {
            Some(&known) => known,
            None => {
                let id = self.new_shared(
                    symbol,
                    SharedVariable {
                        is_external: true,
                        align: 0,
                        ..variable
                    },
                );
                self.program.external_shared_by_name.insert(name, id);
                id
            }
        };
        let mut align = symbol.value;
        if let Some(variable) = self.shared_mut(id) {
            align = align.max(variable.align);
            align = if align == 0 { 16 } else { align };
            variable.align = align;
        }
        self.public_shared_section(3, align);
        id
    }

    /// The section of shared variables with names; it is empty in the result, but its alignment counts.
    pub(super) fn public_shared_section(&mut self, flags: u64, align: u64) {
        let id = match self.program.public_shared_section {
            Some(id) => id,
            None => {
                let id = self.program.add_section(New {
                    name: ".nv_debug.shared".into(),
                    kind: NOBITS,
                    flags,
                    align: 1,
                    rank: Rank::ZeroFill,
                    with_symbol: true,
                    of: None,
                });
                self.program.public_shared_section = Some(id);
                id
            }
        };
        let section = &mut self.program.sections[id.at()];
        section.align = section.align.max(align);
    }

    pub(super) fn define_shared(
        &mut self,
        symbol: &'a InputSymbol<'a>,
        section: usize,
    ) -> Result<SymbolId> {
        let name = self.name_of(symbol);
        let is_global = symbol.binding != Binding::Local;
        let input = &self.unit.sections[section];
        let is_public = input.role == Role::DebugShared;
        let known = self
            .program
            .shared_by_name
            .get(name)
            .copied()
            .filter(|_| is_global);
        let variable = SharedVariable {
            size: symbol.size,
            // The alignment stands where other symbols have their value.
            align: symbol.value.max(1),
            is_public,
            is_external: false,
            is_undefined: false,
            is_referenced: false,
        };
        if !variable.align.is_power_of_two() || variable.align > 1 << 16 {
            return Err(Error::damaged(format!(
                "shared variable `{name}` has alignment {}",
                symbol.value
            ))
            .input(self.unit.name));
        }
        let id = match known {
            None => {
                let id = self.new_shared(symbol, variable);
                if is_global {
                    self.program.shared_by_name.insert(name, id);
                }
                id
            }
            Some(known) => {
                let is_strong = symbol.binding == Binding::Global;
                let known_is_undefined = self.shared_mut(known).is_some_and(|v| v.is_undefined);
                if !known_is_undefined && is_strong {
                    return Err(self.duplicate(known));
                }
                if let Some(old) = self.shared_mut(known) {
                    *old = SharedVariable {
                        is_referenced: old.is_referenced,
                        ..variable
                    };
                }
                known
            }
        };
        self.program.defined_in.entry(id).or_insert(self.unit.name);
        if is_public {
            self.public_shared_section(input.flags, input.align);
        }
        Ok(id)
    }

    pub(super) fn define_variable(
        &mut self,
        symbol: &'a InputSymbol<'a>,
        section: usize,
    ) -> Result<SymbolId> {
        let name = self.name_of(symbol);
        let is_global = symbol.binding != Binding::Local;
        let known = self
            .program
            .globals_by_name
            .get(name)
            .copied()
            .filter(|_| is_global);
        let input = &self.unit.sections[section];
        if let Some(known) = known {
            self.same_size(known, symbol)?;
        }
        if let Some(known) = known.filter(|&known| !self.program.symbol(known).is_undefined()) {
            if symbol.binding != Binding::Weak {
                if self.program.symbol(known).is_weak() {
                    return Err(self.unsupported(format_args!(
                        "how the strong variable `{name}` replaces a weak one"
                    )));
                }
                return Err(self.duplicate(known));
            }
            // The bytes of initialised duplicates stay in the result, unused.
            if input.has_bytes() {
                self.append(section);
            }
            self.lost
                .entry(section)
                .or_default()
                .push(symbol.value..symbol.value.saturating_add(symbol.size));
            return Ok(known);
        }
        let merged = self.append(section);
        let base = self.base[section].unwrap_or(0);
        let new = Symbol {
            name,
            info: st_info(symbol) & 0xF0 | 1,
            other: symbol.other & 0x1F,
            section: Some(merged),
            value: base.saturating_add(symbol.value),
            size: symbol.size,
            meaning: Meaning::Plain,
        };
        let id = match known {
            Some(id) => {
                self.program.symbols[id.at()] = new;
                id
            }
            None if is_global => self.program.add_global(new),
            None => {
                let id = self.program.add_symbol(new);
                self.program.locals.push(id);
                self.program.names.push((name.into(), None));
                id
            }
        };
        self.program.defined_in.insert(id, self.unit.name);
        Ok(id)
    }
}
