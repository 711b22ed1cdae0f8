//! Contents that are made anew: notes, attributes, call graph, prototypes, relocations.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::super::Identity;
use super::super::program::{FunctionId, InfoRecord, RELA, SectionId, SymbolId, Value};
use super::numbers::Numbers;
use super::{Key, Writer};
use crate::error::Result;

const REGCOUNT: u8 = 0x2F;
const MIN_STACK_SIZE: u8 = 0x12;

/// Toolkit whose rules these are, as notes hold it.
const TOOLKIT: u16 = 135;

impl Writer<'_> {
    /// Contents that are not the merged section's own bytes.
    pub(super) fn contents(
        &self,
        numbers: &Numbers,
        prototypes: &[(SymbolId, usize)],
        prototype_offsets: &[u32],
    ) -> Result<HashMap<Key, Vec<u8>>> {
        let mut contents: HashMap<Key, Vec<u8>> = self
            .relocated
            .data
            .iter()
            .map(|(id, data)| (Key::Merged(*id), data.clone()))
            .collect();
        let program = self.program;
        let mut put = |section: Option<SectionId>, data: Vec<u8>| {
            if let Some(id) = section {
                contents.insert(Key::Merged(id), data);
            }
        };
        put(program.tool_note, self.tool_note());
        put(program.cuda_note, cuda_note(program.virtual_number));
        put(program.info_section, self.info(numbers)?);
        put(program.compat_section, self.compat());
        for function in self.live.kept(program) {
            put(
                program.function(function).info,
                self.function_info(function, numbers)?,
            );
        }
        for (list, kept) in program.relocations.iter().zip(&self.relocated.kept) {
            let with_addends = program.section(list.section).kind == RELA;
            let mut data = Vec::with_capacity(kept.len() * 24);
            for record in kept {
                data.extend(record.offset.to_le_bytes());
                data.extend(
                    (u64::from(numbers.symbol(record.symbol)?) << 32 | u64::from(record.kind))
                        .to_le_bytes(),
                );
                if with_addends {
                    data.extend(record.addend.unwrap_or(0).to_le_bytes());
                }
            }
            put(Some(list.section), data);
        }
        for (kernel, constants) in &self.layout.constants {
            let key = constants
                .section
                .map_or(Key::Constants(*kernel), Key::Merged);
            contents.insert(key, constants.data.clone());
        }
        contents.insert(Key::CallGraph, self.call_graph(numbers, prototype_offsets)?);
        let mut list: Vec<(u32, u32)> = prototypes
            .iter()
            .map(|(id, text)| Ok((numbers.symbol(*id)?, prototype_offsets[*text])))
            .collect::<Result<_>>()?;
        list.sort_by_key(|(symbol, _)| *symbol);
        contents.insert(
            Key::Prototypes,
            list.into_iter()
                .flat_map(|(symbol, text)| pair(symbol, text))
                .collect(),
        );
        contents.insert(
            Key::RelocationActions,
            vec![
                0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 0x05, 0x36,
            ],
        );
        Ok(contents)
    }

    /// Our own record, then those of every input.
    pub(super) fn tool_note(&self) -> Vec<u8> {
        let Identity {
            tool,
            version,
            build,
            command,
            ..
        } = self.identity;
        let mut strings = vec![0u8];
        let mut offsets = vec![0u32];
        for text in [tool, version, build, command] {
            offsets.push(strings.len() as u32);
            strings.extend(text.as_bytes());
            strings.push(0);
        }
        let mut description: Vec<u8> = 2u32.to_le_bytes().to_vec();
        description.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        description.extend(strings);
        description.resize(description.len().next_multiple_of(4), 0);
        let mut note = note_header(description.len() as u32, 2000);
        note.extend(description);
        for input in &self.program.tool_notes {
            note.extend_from_slice(input);
        }
        note
    }

    pub(super) fn info(&self, numbers: &Numbers) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let per_symbol =
            |number: u8, symbol: u32, value: u32| attribute(4, number, &pair(symbol, value));
        let mut stacks: Vec<(u32, u32)> = self
            .resources
            .stacks
            .iter()
            .map(|(symbol, bytes)| Ok((numbers.symbol(*symbol)?, *bytes)))
            .collect::<Result<_>>()?;
        stacks.sort_by_key(|(symbol, _)| *symbol);
        for record in &self.program.info {
            match *record {
                InfoRecord::PerSymbol { symbol, .. } if self.live.drops(symbol) => {}
                InfoRecord::PerSymbol {
                    number,
                    symbol,
                    value,
                } => {
                    let value = match self.resources.registers.get(&symbol) {
                        Some(&registers) if number == REGCOUNT => registers,
                        _ => value,
                    };
                    data.extend(per_symbol(number, numbers.symbol(symbol)?, value));
                }
                InfoRecord::Global(raw) => {
                    data.extend(attribute(raw.format, raw.number, raw.value))
                }
            }
        }
        for (symbol, bytes) in stacks {
            data.extend(per_symbol(MIN_STACK_SIZE, symbol, bytes));
        }
        Ok(data)
    }

    pub(super) fn compat(&self) -> Vec<u8> {
        let mut list = self.program.compat.clone().unwrap_or_default();
        if self.program.compat_was_given {
            for (format, number, value) in [(2, 0x0C, vec![2, 0]), (3, 0x0D, vec![0, 1])] {
                if !list.iter().any(|(_, known, _)| *known == number) {
                    list.push((format, number, value));
                }
            }
        }
        list.iter()
            .flat_map(|(format, number, value)| attribute(*format, *number, value))
            .collect()
    }

    pub(super) fn function_info(&self, function: FunctionId, numbers: &Numbers) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        for entry in &self.resources.attributes[function.at()] {
            let value: Cow<[u8]> = match &entry.value {
                Value::Bytes(bytes) => Cow::Borrowed(bytes),
                Value::ParameterBank(symbol, rest) => {
                    [&numbers.symbol(*symbol)?.to_le_bytes()[..], rest]
                        .concat()
                        .into()
                }
                Value::Externals(list) => {
                    let undefined = list
                        .iter()
                        .filter(|&&id| self.program.symbol(id).is_undefined());
                    let words: Vec<u32> = undefined
                        .map(|&id| numbers.symbol(id))
                        .collect::<Result<_>>()?;
                    if words.is_empty() {
                        continue;
                    }
                    words
                        .iter()
                        .flat_map(|word| word.to_le_bytes())
                        .collect::<Vec<u8>>()
                        .into()
                }
            };
            data.extend(attribute(entry.format, entry.number, &value));
        }
        Ok(data)
    }

    /// Four groups; callers by creation, callees as they stand, address-taken functions sorted and each once.
    pub(super) fn call_graph(&self, numbers: &Numbers, prototypes: &[u32]) -> Result<Vec<u8>> {
        let program = self.program;
        let mut by_creation: Vec<FunctionId> = self.live.kept(program).collect();
        by_creation.sort_by_key(|&id| program.function(id).symbol);
        let group = |number: i32| pair(0, number as u32);
        let mut data = group(-1).to_vec();
        for function in by_creation.iter().map(|&id| program.function(id)) {
            for &callee in function
                .calls
                .iter()
                .filter(|&&callee| !self.live.drops(callee))
            {
                data.extend(pair(
                    numbers.symbol(function.symbol)?,
                    numbers.symbol(callee)?,
                ));
            }
        }
        data.extend(group(-2));
        let mut taken = BTreeSet::new();
        for (symbol, prototype) in program
            .address_taken
            .iter()
            .filter(|(symbol, _)| !self.live.drops(*symbol))
        {
            taken.insert((numbers.symbol(*symbol)?, prototypes[prototype.at()]));
        }
        data.extend(
            taken
                .into_iter()
                .flat_map(|(symbol, prototype)| pair(symbol, prototype)),
        );
        data.extend(group(-3));
        for function in by_creation.iter().map(|&id| program.function(id)) {
            for prototype in &function.indirect {
                data.extend(pair(
                    numbers.symbol(function.symbol)?,
                    prototypes[prototype.at()],
                ));
            }
        }
        data.extend(group(-4));
        for function in by_creation.iter().map(|&id| program.function(id)) {
            for &taken in function
                .takes_address
                .iter()
                .filter(|&&taken| !self.live.drops(taken))
            {
                data.extend(pair(
                    numbers.symbol(function.symbol)?,
                    numbers.symbol(taken)?,
                ));
            }
        }
        Ok(data)
    }
}

fn cuda_note(virtual_number: u16) -> Vec<u8> {
    let mut note = note_header(8, 1000);
    for field in [2, virtual_number, TOOLKIT, 0] {
        note.extend(field.to_le_bytes());
    }
    note
}

fn note_header(size: u32, kind: u32) -> Vec<u8> {
    let mut out: Vec<u8> = [12, size, kind]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    out.extend(b"NVIDIA Corp\0");
    out
}

fn attribute(format: u8, number: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![format, number];
    if format == 4 {
        out.extend((value.len() as u16).to_le_bytes());
    }
    out.extend(value);
    out
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&first.to_le_bytes());
    out[4..].copy_from_slice(&second.to_le_bytes());
    out
}
