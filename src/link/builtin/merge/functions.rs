//! Functions and kernels: first definition, lost weak copies, strong over weak.

use std::borrow::Cow;

use super::super::program::{
    ATTRIBUTES, Function, FunctionId, Info, InfoRecord, Meaning, NOBITS, New, Rank, SectionId,
    Symbol, SymbolId,
};
use super::{Adder, st_info};
use crate::error::{Category, Error, Result};
use crate::format::cubin::{Binding, Symbol as InputSymbol, SymbolKind};
use crate::link::findings;

impl<'a> Adder<'_, 'a> {
    pub(super) fn add_functions(&mut self) -> Result<()> {
        for (index, symbol) in self.unit.symbols.iter().enumerate() {
            if symbol.kind == SymbolKind::Function {
                self.symbols[index] = Some(self.add_function(symbol)?);
            }
        }
        Ok(())
    }

    pub(super) fn add_function(&mut self, symbol: &'a InputSymbol<'a>) -> Result<SymbolId> {
        let is_global = symbol.binding != Binding::Local;
        let known = self
            .program
            .globals_by_name
            .get(self.name_of(symbol))
            .copied();
        let Some(section) = self.section_of(symbol) else {
            return Ok(known.unwrap_or_else(|| {
                let symbol = Symbol {
                    value: 0,
                    size: 0,
                    ..self.new_symbol(symbol, None, Meaning::Plain)
                };
                self.program.add_global(symbol)
            }));
        };
        let known = known.filter(|_| is_global);
        if let Some(known) = known.filter(|&known| !self.program.symbol(known).is_undefined()) {
            let Some(function) = self.program.function_of(known) else {
                return Err(self.kind_mismatch(known));
            };
            if symbol.binding == Binding::Weak {
                self.dropped[section] = true;
            } else if self.program.symbol(known).is_weak() {
                self.replace_weak(function, symbol, section)?;
            } else {
                return Err(self.duplicate(known));
            }
            return Ok(known);
        }
        self.define_function(symbol, section, known)
    }

    pub(super) fn kind_mismatch(&self, symbol: SymbolId) -> Error {
        let name = self.program.symbol(symbol).name;
        let finding = findings::kind_mismatch(name)
            .input(self.unit.name)
            .input(self.program.defined_in(symbol));
        Error::new(Category::Failed, finding)
    }

    pub(super) fn define_function(
        &mut self,
        symbol: &'a InputSymbol<'a>,
        section: usize,
        known: Option<SymbolId>,
    ) -> Result<SymbolId> {
        let function = FunctionId(self.program.functions.len() as u32);
        let name = self.name_of(symbol);
        let id = match known {
            Some(id) => id,
            None => {
                let new = self.new_symbol(symbol, None, Meaning::Function(function));
                if symbol.binding == Binding::Local {
                    let id = self.program.add_symbol(new);
                    self.program.locals.push(id);
                    self.program.names.push((name.into(), Some(function)));
                    id
                } else {
                    self.program.add_global(new)
                }
            }
        };
        let input = &self.unit.sections[section];
        let text = self.program.add_section(New {
            name: input.name.into(),
            kind: input.kind,
            flags: input.flags & 0xF,
            align: input.align,
            rank: Rank::Text,
            with_symbol: true,
            of: Some(function),
        });
        let merged = &mut self.program.sections[text.at()];
        (merged.data, merged.size) = (input.data.into(), input.size);
        merged.info = Info::Symbol(id, input.info & 0xFF00_0000);
        merged.owner = Some(function);
        self.sections[section] = Some(text);
        let merged = &mut self.program.symbols[id.at()];
        (merged.info, merged.other) = (st_info(symbol), symbol.other);
        (merged.value, merged.size) = (symbol.value, symbol.size);
        (merged.section, merged.meaning) = (Some(text), Meaning::Function(function));
        self.program.defined_in.insert(id, self.unit.name);

        let is_kernel = symbol.is_kernel();
        let mut new = Function {
            symbol: id,
            text,
            is_kernel,
            registers: 0,
            frame: 0,
            barriers: 0,
            add_barriers: false,
            lacks_sparse_mask: false,
            calls: Vec::new(),
            takes_address: Vec::new(),
            indirect: Vec::new(),
            info: None,
            attributes: Vec::new(),
            constants: None,
            constants_section: None,
            shared: None,
        };
        if is_kernel {
            new.info = Some(self.add_info_section(format!(".nv.info.{name}").into(), text, None));
            let shared = self.program.add_section(New {
                name: format!(".nv.shared.{name}").into(),
                kind: NOBITS,
                flags: 0x43,
                align: 1,
                rank: Rank::ZeroFill,
                with_symbol: true,
                of: None,
            });
            self.program.sections[shared.at()].info = Info::Section(text);
            new.shared = Some(shared);
        }
        self.program.functions.push(new);
        Ok(id)
    }

    pub(super) fn add_info_section(
        &mut self,
        name: Cow<'a, str>,
        text: SectionId,
        of: Option<FunctionId>,
    ) -> SectionId {
        let id = self.program.add_section(New {
            name,
            kind: ATTRIBUTES,
            flags: 0x40,
            align: 4,
            rank: Rank::FunctionInfo,
            with_symbol: false,
            of,
        });
        self.program.sections[id.at()].info = Info::Section(text);
        id
    }

    /// A strong definition takes the place of an earlier weak one: same section, same symbol number.
    pub(super) fn replace_weak(
        &mut self,
        function: FunctionId,
        symbol: &'a InputSymbol<'a>,
        section: usize,
    ) -> Result<()> {
        if symbol.is_kernel() || self.program.function(function).is_kernel {
            return Err(self.unsupported(format_args!(
                "how the strong kernel `{}` replaces a weak one",
                symbol.name
            )));
        }
        let input = &self.unit.sections[section];
        let target = &mut self.program.functions[function.at()];
        let (id, text) = (target.symbol, target.text);
        target.attributes.clear();
        target.calls.clear();
        target.indirect.clear();
        target.takes_address.clear();
        target.constants = None;
        self.program.with_constants.retain(|&id| id != function);
        target.barriers = 0;
        let merged = &mut self.program.sections[text.at()];
        (merged.data, merged.size) = (input.data.into(), input.size);
        (merged.align, merged.flags) = (input.align, input.flags & 0xF);
        merged.info = Info::Symbol(id, input.info & 0xFF00_0000);
        let merged = &mut self.program.symbols[id.at()];
        (merged.info, merged.other) = (st_info(symbol), symbol.other);
        (merged.value, merged.size) = (symbol.value, symbol.size);
        for list in self
            .program
            .relocations
            .iter_mut()
            .filter(|list| list.target == text)
        {
            list.records.clear();
        }
        self.program.info.retain(
            |record| !matches!(record, InfoRecord::PerSymbol { symbol, .. } if *symbol == id),
        );
        self.program.defined_in.insert(id, self.unit.name);
        self.sections[section] = Some(text);
        Ok(())
    }

    // ---- variables
}
