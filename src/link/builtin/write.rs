//! Phase 7: the executable cubin: section order, numbers, string tables, tables, and headers.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::Identity;
use super::layout::Layout;
use super::live::Live;
use super::merge::{
    ATTRIBUTES, FunctionId, Info, InfoRecord, Meaning, NOBITS, PROGBITS, Program, REL, RELA, Rank,
    SectionId, SymbolId, Value,
};
use super::relocate::Relocated;
use super::resources::Resources;
use crate::error::{Code, Error, Result};

const REGCOUNT: u8 = 0x2F;
const MIN_STACK_SIZE: u8 = 0x12;

/// Toolkit whose rules these are, as notes hold it.
const TOOLKIT: u16 = 135;

/// Limits of the hardware for static shared memory and for `__constant__` variables, in bytes.
const SHARED_LIMIT: u64 = 0xC000;
const CONSTANT_LIMIT: u64 = 0x1_0000;

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
    check_limits(program, layout)?;
    let sections = choose_sections(program, live, layout, relocated);
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

fn check_limits(program: &Program, layout: &Layout) -> Result<()> {
    let reserved = if program.number >= 90 { 1024 } else { 0 };
    for (kernel, shared) in &layout.shared {
        let size = shared.size - reserved;
        if size > SHARED_LIMIT {
            let name = program.symbol(program.function(*kernel).symbol).name;
            let message = format!(
                "kernel `{name}` needs {size} bytes of static shared memory, more than {SHARED_LIMIT}"
            );
            return Err(Error::failed(Code::SharedMemory, message).symbol(name));
        }
    }
    let constants: u64 = program
        .sections
        .iter()
        .filter(|s| s.name == ".nv.constant3")
        .map(|s| s.size)
        .sum();
    if constants > CONSTANT_LIMIT {
        let message = format!(
            "`__constant__` variables take {constants} bytes in all, more than {CONSTANT_LIMIT}"
        );
        return Err(Error::failed(Code::ConstantMemory, message));
    }
    Ok(())
}

/// The sections of the result after the four tables, in file order.
fn choose_sections<'p>(
    program: &'p Program,
    live: &Live,
    layout: &'p Layout,
    relocated: &Relocated,
) -> Vec<Section<'p>> {
    let emptied: HashSet<SectionId> = program
        .relocations
        .iter()
        .zip(&relocated.kept)
        .filter(|(_, kept)| kept.is_empty())
        .map(|(list, _)| list.section)
        .collect();
    let shared_of: HashMap<SectionId, FunctionId> = program
        .function_ids()
        .filter_map(|id| Some((program.function(id).shared?, id)))
        .collect();
    let banks: HashMap<SectionId, u64> = layout
        .constants
        .iter()
        .filter_map(|(_, bank)| Some((bank.section?, bank.align)))
        .collect();
    let is_dead = |id: SectionId| {
        program
            .section(id)
            .owner
            .is_some_and(|owner| !live.keeps(owner))
    };
    let mut sections = Vec::new();
    for (index, section) in program.sections.iter().enumerate() {
        let id = SectionId(index as u32);
        let belongs_to_dead = matches!(section.info, Info::Section(target) if is_dead(target));
        let is_unused_info = program.info_section == Some(id) && program.info.is_empty();
        let is_unused_shared =
            program.public_shared_section == Some(id) && !layout.keeps_public_shared;
        if is_dead(id)
            || belongs_to_dead
            || emptied.contains(&id)
            || is_unused_info
            || is_unused_shared
        {
            continue;
        }
        let (mut size, mut align) = (section.size, section.align);
        if let Some(kernel) = shared_of.get(&id) {
            let Some(shared) = layout.shared.get(kernel) else {
                continue;
            };
            (size, align) = (shared.size, shared.align);
        } else if program.public_shared_section == Some(id) {
            size = 0;
        } else if let Some(bank) = banks.get(&id) {
            align = *bank;
        }
        sections.push(Section {
            key: Key::Merged(id),
            name: Cow::Borrowed(&section.name),
            kind: section.kind,
            flags: section.flags,
            align,
            entry_size: section.entry_size,
            rank: section.rank,
            data: Cow::Borrowed(&section.data),
            size,
            offset: 0,
        });
    }
    sections.extend(made_sections(program, layout));
    // Stable: within a rank the order of creation stays.
    sections.sort_by_key(|section| section.rank);
    sections
}

/// Sections that only a linked cubin has, in order of creation.
fn made_sections<'p>(program: &'p Program, layout: &Layout) -> Vec<Section<'p>> {
    let make = |key, name: Cow<'p, str>, kind, align, rank| Section {
        key,
        name,
        kind,
        flags: 0,
        align,
        entry_size: 8,
        rank,
        data: Cow::Borrowed(&[]),
        size: 0,
        offset: 0,
    };
    let mut made = vec![
        make(
            Key::CallGraph,
            ".nv.callgraph".into(),
            0x7000_0001,
            4,
            Rank::CallGraph,
        ),
        make(
            Key::Prototypes,
            ".nv.prototype".into(),
            0x7000_0002,
            4,
            Rank::Prototype,
        ),
    ];
    for (kernel, constants) in layout
        .constants
        .iter()
        .filter(|(_, constants)| constants.section.is_none())
    {
        let name = program.symbol(program.function(*kernel).symbol).name;
        let name = format!(".nv.constant2.{name}").into();
        let section = make(
            Key::Constants(*kernel),
            name,
            PROGBITS,
            constants.align,
            Rank::Constants,
        );
        made.push(Section {
            flags: 0x42,
            entry_size: 0,
            ..section
        });
    }
    made.push(make(
        Key::RelocationActions,
        ".nv.rel.action".into(),
        0x7000_000B,
        8,
        Rank::RelocationActions,
    ));
    made
}

/// A local symbol of the result.
#[derive(Clone, Copy)]
enum Local {
    Null,
    Merged(SymbolId),
    /// The symbol of a section made here.
    Section(Key),
}

/// Numbers of sections and symbols in the result.
struct Numbers {
    sections: HashMap<Key, u32>,
    symbols: HashMap<SymbolId, u32>,
    locals: Vec<Local>,
    globals: Vec<SymbolId>,
}

impl Numbers {
    fn section(&self, id: SectionId) -> u32 {
        self.sections.get(&Key::Merged(id)).copied().unwrap_or(0)
    }

    fn symbol(&self, id: SymbolId) -> Result<u32> {
        self.symbols.get(&id).copied().ok_or_else(|| {
            Error::failed(
                Code::Internal,
                "the result refers to a symbol that was dropped",
            )
        })
    }
}

/// A string table, and where each name is.
struct Strings<'p> {
    bytes: Vec<u8>,
    offsets: HashMap<Cow<'p, str>, u32>,
}

impl<'p> Strings<'p> {
    fn new() -> Self {
        Self {
            bytes: vec![0],
            offsets: HashMap::from([(Cow::Borrowed(""), 0)]),
        }
    }

    fn offset(&self, name: &str) -> u32 {
        self.offsets.get(name).copied().unwrap_or(0)
    }

    fn append(&mut self, text: &'p str) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self.offsets.entry(text.into()).or_insert(at);
        at
    }

    fn add(&mut self, name: Cow<'p, str>) -> u32 {
        let next = self.bytes.len() as u32;
        let bytes = &mut self.bytes;
        *self.offsets.entry(name).or_insert_with_key(|name| {
            bytes.extend(name.as_bytes());
            bytes.push(0);
            next
        })
    }
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
        let end = place(&mut sections);
        let headers_at = end.next_multiple_of(8);
        let segments = segments(&sections, headers_at);
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

    fn number(&self) -> Numbers {
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
    fn names(&self, numbers: &Numbers) -> (Strings<'p>, Vec<u32>) {
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

    fn section_names(&self) -> Strings<'p> {
        let mut strings = Strings::new();
        for name in kept_names(&self.program.section_names, self.live).chain(self.made_names()) {
            strings.add(name);
        }
        strings
    }

    fn made_names(&self) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
        made_sections(self.program, self.layout)
            .into_iter()
            .map(|section| section.name)
    }

    fn symbol_table(&self, numbers: &Numbers, names: &Strings) -> Result<Vec<u8>> {
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

    /// Contents that are not the merged section's own bytes.
    fn contents(
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
    fn tool_note(&self) -> Vec<u8> {
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

    fn info(&self, numbers: &Numbers) -> Result<Vec<u8>> {
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

    fn compat(&self) -> Vec<u8> {
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

    fn function_info(&self, function: FunctionId, numbers: &Numbers) -> Result<Vec<u8>> {
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
    fn call_graph(&self, numbers: &Numbers, prototypes: &[u32]) -> Result<Vec<u8>> {
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

    fn header(&self, headers_at: u64, sections: usize, segments: usize) -> Result<Vec<u8>> {
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

    fn section_header(
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

fn kept_names<'p>(
    names: &'p [super::merge::Named<'p>],
    live: &'p Live,
) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
    names
        .iter()
        .filter(|(_, owner)| owner.is_none_or(|owner| live.keeps(owner)))
        .map(|(name, _)| Cow::Borrowed(name.as_ref()))
}

/// Gives every section its offset and size; returns the end of the last one.
fn place(sections: &mut [Section]) -> u64 {
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
fn segments(sections: &[Section], headers_at: u64) -> Vec<Vec<u8>> {
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
