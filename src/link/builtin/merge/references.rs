//! What refers to symbols: attributes, relocations, the call graph.

use super::super::known::{Role, relocation};
use super::super::program::{
    Attribute, FunctionId, Info, InfoRecord, Meaning, New, REL, RELA, Rank, Relocation,
    RelocationList, SectionId, SymbolId, Value,
};
use super::super::read::{Edge, RawAttribute, Record, Section};
use super::Adder;
use crate::error::{Error, Result};
use crate::format::cubin::SymbolKind;

impl<'a> Adder<'_, 'a> {
    pub(super) fn add_attributes(&mut self) -> Result<()> {
        const NUM_BARRIERS: u8 = 0x4C;
        const SPARSE_MMA_MASK: u8 = 0x50;
        for section in self.function_infos() {
            if self.dropped[section.of] {
                continue;
            }
            let id = self.owner_of(section.of, section.name)?;
            if self.program.function(id).info.is_none() {
                let text = self.program.function(id).text;
                let info = self.add_info_section(section.name.into(), text, Some(id));
                self.program.functions[id.at()].info = Some(info);
            }
            let has_mask = section
                .attributes
                .iter()
                .any(|a| a.number == SPARSE_MMA_MASK);
            let barriers = section.attributes.iter().find(|a| a.number == NUM_BARRIERS);
            let in_flags = (self.unit.sections[section.of].flags >> 20 & 0x7F) as u8;
            let function = &mut self.program.functions[id.at()];
            if let Some(&count) = barriers.and_then(|a| a.value.first()) {
                function.barriers = count;
            }
            if self.unit.number >= 90 && self.unit.old_abi && !has_mask {
                function.lacks_sparse_mask = true;
            }
            if in_flags != 0 && function.barriers == 0 {
                function.barriers = in_flags;
                function.add_barriers = !function.is_kernel;
            }
        }
        Ok(())
    }

    pub(super) fn map_section_symbols(&mut self) {
        for (index, symbol) in self.unit.symbols.iter().enumerate() {
            if symbol.kind == SymbolKind::Section
                && let Some(section) = self
                    .section_of(symbol)
                    .and_then(|section| self.sections[section])
            {
                self.symbols[index] = self.program.section(section).symbol;
            }
        }
    }

    pub(super) fn add_relocations(&mut self) -> Result<()> {
        for list in &self.unit.relocations {
            let input = &self.unit.sections[list.target];
            if self.dropped[list.target] {
                for record in &list.records {
                    self.mark_referenced(record.symbol);
                }
                continue;
            }
            let Some(target) = self.sections[list.target] else {
                return Err(self.unsupported(format_args!("relocations of `{}`", input.name)));
            };
            let place = self.relocation_list(target, input.name, list.with_addends);
            let base = self.base[list.target].unwrap_or(0);
            let lost = self.lost.remove(&list.target).unwrap_or_default();
            for record in &list.records {
                let is_lost = lost.iter().any(|range| range.contains(&record.offset));
                if is_lost || relocation::DROPPED.contains(&record.kind) {
                    continue;
                }
                let merged = self.relocation(record, input, base)?;
                self.program.relocations[place].records.push(merged);
            }
            self.lost.insert(list.target, lost);
        }
        Ok(())
    }

    pub(super) fn mark_referenced(&mut self, symbol: usize) {
        if let Some(id) = self.symbols[symbol]
            && let Some(variable) = self.shared_mut(id)
        {
            variable.is_referenced = true;
        }
    }

    pub(super) fn relocation_list(
        &mut self,
        target: SectionId,
        name: &str,
        with_addends: bool,
    ) -> usize {
        let kind = if with_addends { RELA } else { REL };
        if let Some(&place) = self.lists.get(&(target, kind)) {
            return place;
        }
        let prefix = if with_addends { ".rela" } else { ".rel" };
        let section = self.program.add_section(New {
            name: format!("{prefix}{name}").into(),
            kind,
            flags: 0x40,
            align: 8,
            rank: Rank::Relocations,
            with_symbol: false,
            of: self.program.section(target).owner,
        });
        self.program.sections[section.at()].info = Info::Section(target);
        self.program.relocations.push(RelocationList {
            section,
            target,
            records: Vec::new(),
        });
        let place = self.program.relocations.len() - 1;
        self.lists.insert((target, kind), place);
        place
    }

    pub(super) fn relocation(
        &mut self,
        record: &Record,
        input: &Section,
        base: u64,
    ) -> Result<Relocation> {
        if record.symbol == 0 {
            return Err(self.unsupported(format_args!(
                "a relocation of `{}` without a symbol",
                input.name
            )));
        }
        self.mark_referenced(record.symbol);
        let symbol = self.mapped(record.symbol)?;
        let offset = base + record.offset;
        if self.program.symbol(symbol).meaning == Meaning::Section {
            let section = self.section_of(&self.unit.symbols[record.symbol]);
            let start = section.and_then(|section| self.base[section]).unwrap_or(0);
            let at = record.offset as usize;
            let stored = || {
                let bytes = input
                    .data
                    .get(at..at + 8)
                    .and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, i64::from_le_bytes)
            };
            let addend = record
                .addend
                .unwrap_or_else(stored)
                .wrapping_add_unsigned(start);
            return Ok(Relocation {
                offset,
                kind: record.kind,
                symbol,
                addend: Some(addend),
                against_section: true,
            });
        }
        // Debug information of code that lost is left as it is.
        let against_section = self.is_dropped(record.symbol) && input.role == Role::Debug;
        let is_data = matches!(input.role, Role::GlobalInit | Role::Constants);
        if is_data
            && record.kind != relocation::UNIFIED
            && !relocation::FOR_DRIVER.contains(&record.kind)
        {
            return Err(self.unsupported(format_args!(
                "relocation {} in `{}`",
                record.kind, input.name
            )));
        }
        Ok(Relocation {
            offset,
            kind: record.kind,
            symbol,
            addend: record.addend,
            against_section,
        })
    }

    pub(super) fn add_info(&mut self) -> Result<()> {
        const FRAME_SIZE: u8 = 0x11;
        const MIN_STACK_SIZE: u8 = 0x12;
        const MAX_STACK_SIZE: u8 = 0x23;
        const REGCOUNT: u8 = 0x2F;
        let Some(section) = self
            .unit
            .sections
            .iter()
            .find(|section| section.role == Role::Info)
        else {
            return Ok(());
        };
        for &record in &section.attributes {
            if record.format != 4
                || ![FRAME_SIZE, MIN_STACK_SIZE, MAX_STACK_SIZE, REGCOUNT].contains(&record.number)
            {
                self.program.info.push(InfoRecord::Global(record));
                continue;
            }
            let (Some(index), Some(value)) = (record.u32(0), record.u32(4)) else {
                return Err(Error::damaged(format!(
                    "attribute {:#x} of `.nv.info` is cut",
                    record.number
                ))
                .input(self.unit.name));
            };
            let index = index as usize;
            if index >= self.unit.symbols.len() {
                return Err(Error::damaged(format!("`.nv.info` names symbol {index}"))
                    .input(self.unit.name));
            }
            if self.is_dropped(index) || record.number == MAX_STACK_SIZE {
                continue;
            }
            let symbol = self.mapped(index)?;
            let function = self.program.function_of(symbol);
            if let Some(function) = function.and_then(|id| self.program.functions.get_mut(id.at()))
            {
                match record.number {
                    REGCOUNT => function.registers = value,
                    FRAME_SIZE => function.frame = value,
                    _ => {}
                }
            }
            self.program.info.push(InfoRecord::PerSymbol {
                number: record.number,
                symbol,
                value,
            });
        }
        Ok(())
    }

    pub(super) fn resolve_attributes(&mut self) -> Result<()> {
        const PARAM_CBANK: u8 = 0x0A;
        const EXTERNS: u8 = 0x0F;
        for section in self.function_infos() {
            if self.dropped[section.of] {
                continue;
            }
            let function = self.owner_of(section.of, section.name)?;
            for attribute in &section.attributes {
                let value = match attribute.number {
                    PARAM_CBANK => {
                        let symbol = self.attribute_symbol(attribute, 0)?;
                        Value::ParameterBank(symbol, &attribute.value[4..])
                    }
                    EXTERNS => Value::Externals(
                        (0..attribute.value.len() / 4)
                            .map(|word| self.attribute_symbol(attribute, 4 * word))
                            .collect::<Result<_>>()?,
                    ),
                    _ => Value::Bytes(attribute.value.into()),
                };
                self.program.functions[function.at()]
                    .attributes
                    .push(Attribute {
                        format: attribute.format,
                        number: attribute.number,
                        value,
                    });
            }
        }
        Ok(())
    }

    pub(super) fn attribute_symbol(&self, attribute: &RawAttribute, at: usize) -> Result<SymbolId> {
        let index = attribute
            .u32(at)
            .map(|index| index as usize)
            .filter(|&index| index < self.symbols.len());
        let Some(index) = index else {
            return Err(Error::damaged(format!(
                "attribute {:#x} names no symbol",
                attribute.number
            ))
            .input(self.unit.name));
        };
        self.mapped(index)
    }

    pub(super) fn add_call_graph(&mut self) -> Result<()> {
        for edge in &self.unit.calls {
            match *edge {
                Edge::Call(caller, callee) => {
                    if let Some(caller) = self.caller(caller)? {
                        let callee = self.mapped(callee)?;
                        self.program.functions[caller.at()].calls.push(callee);
                    }
                }
                Edge::AddressTaken(function, text) => {
                    let (symbol, text) = (self.mapped(function)?, self.program.prototype(text));
                    self.program.address_taken.push((symbol, text));
                }
                Edge::Indirect(caller, text) => {
                    if let Some(caller) = self.caller(caller)? {
                        let text = self.program.prototype(text);
                        self.program.functions[caller.at()].indirect.push(text);
                    }
                }
                Edge::TakesAddress(caller, taken) => {
                    if let Some(caller) = self.caller(caller)? {
                        let taken = self.mapped(taken)?;
                        self.program.functions[caller.at()]
                            .takes_address
                            .push(taken);
                    }
                }
            }
        }
        let mut known: std::collections::HashSet<SymbolId> = self
            .program
            .prototypes
            .iter()
            .map(|(symbol, _)| *symbol)
            .collect();
        for (symbol, text) in &self.unit.prototypes {
            let (symbol, text) = (self.mapped(*symbol)?, self.program.prototype(text));
            if known.insert(symbol) {
                self.program.prototypes.push((symbol, text));
            }
        }
        Ok(())
    }

    /// The function of a call graph's left side; none when its definition lost.
    pub(super) fn caller(&self, symbol: usize) -> Result<Option<FunctionId>> {
        if self.is_dropped(symbol) {
            return Ok(None);
        }
        match self.program.function_of(self.mapped(symbol)?) {
            Some(function) => Ok(Some(function)),
            None => Err(
                Error::damaged("the call graph names a caller that is no function")
                    .input(self.unit.name),
            ),
        }
    }
}
