//! Phase 2: the units become one program: sections and symbols in nvlink's order of creation, duplicates resolved,
//! relocations and call edges in terms of the merged symbols. Nothing is dropped here but losing definitions.
//!
//! Order of creation, for each input: functions, variables, other sections, attribute sections of device functions,
//! relocation sections. It decides symbol numbers, section numbers and string tables.

use std::borrow::Cow;
use std::collections::HashMap;

use super::read::{Edge, RawAttribute, Role, Unit, relocation, unsupported};
use crate::error::{Code, Diagnostic, Error, Result};
use crate::format::cubin::{Binding, Place, Space, Symbol as InputSymbol, SymbolKind};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])* #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub u32);

        impl $name {
            pub fn at(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

ids! {
    /// A section of the program, numbered by creation.
    SectionId,
    /// A symbol of the program, numbered by creation.
    SymbolId,
    /// A defined function or kernel.
    FunctionId,
    /// A shared variable: static, or external and of unknown size.
    SharedId,
    /// A text in [`Program::prototype_texts`].
    PrototypeId,
}

pub(super) const ATTRIBUTES: u32 = 0x7000_0000;
pub(super) const NOBITS: u32 = 8;
pub(super) const PROGBITS: u32 = 1;
pub(super) const RELA: u32 = 4;
pub(super) const REL: u32 = 9;

/// Place of a section in the file; within one rank they stand by creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rank {
    Debug,
    ToolNote,
    CudaNote,
    Info,
    Compat,
    FunctionInfo,
    CallGraph,
    Prototype,
    RelocationActions,
    Relocations,
    Constants,
    Text,
    GlobalInit,
    ZeroFill,
}

/// What `sh_info` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Info {
    None,
    Section(SectionId),
    /// The function's symbol, with the register byte of the input above it.
    Symbol(SymbolId, u32),
}

#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    pub name: Cow<'a, str>,
    pub kind: u32,
    pub flags: u64,
    pub align: u64,
    pub entry_size: u64,
    pub rank: Rank,
    pub data: Cow<'a, [u8]>,
    /// Bytes in memory; of zero-fill sections the only size.
    pub size: u64,
    pub info: Info,
    pub symbol: Option<SymbolId>,
    /// The function whose code this is.
    pub owner: Option<FunctionId>,
}

/// What a symbol stands for, beyond its ELF fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Plain,
    Section,
    Function(FunctionId),
    Shared(SharedId),
    /// A place in a function's compiler constants; it has no symbol in the result.
    CompilerConstant,
}

#[derive(Debug, Clone)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    /// `st_info`.
    pub info: u8,
    /// `st_other`.
    pub other: u8,
    pub section: Option<SectionId>,
    pub value: u64,
    pub size: u64,
    pub meaning: Meaning,
}

impl Symbol<'_> {
    pub fn kind(&self) -> u8 {
        self.info & 15
    }

    pub fn is_weak(&self) -> bool {
        self.info >> 4 == 2
    }

    pub fn is_undefined(&self) -> bool {
        self.section.is_none()
    }
}

#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Bytes(Cow<'a, [u8]>),
    /// PARAM_CBANK: the symbol of the constant bank, and what follows it.
    ParameterBank(SymbolId, &'a [u8]),
    /// EXTERNS: functions that are called and not defined.
    Externals(Vec<SymbolId>),
}

#[derive(Debug, Clone)]
pub(super) struct Attribute<'a> {
    pub format: u8,
    pub number: u8,
    pub value: Value<'a>,
}

impl Attribute<'_> {
    pub fn bytes(&self) -> &[u8] {
        match &self.value {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// Constants the compiler made for one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompilerConstants<'a> {
    pub data: &'a [u8],
    pub align: u64,
}

#[derive(Debug)]
pub(super) struct Function<'a> {
    pub symbol: SymbolId,
    pub text: SectionId,
    pub is_kernel: bool,
    pub registers: u32,
    pub frame: u32,
    pub barriers: u8,
    /// Barriers told by section flags alone (ABI 7): a device function gets an attribute for them.
    pub add_barriers: bool,
    /// ABI 7 code for sm_90 without the sparse-matrix mask, which newer code always has.
    pub lacks_sparse_mask: bool,
    pub calls: Vec<SymbolId>,
    pub takes_address: Vec<SymbolId>,
    pub indirect: Vec<PrototypeId>,
    pub info: Option<SectionId>,
    pub attributes: Vec<Attribute<'a>>,
    pub constants: Option<CompilerConstants<'a>>,
    /// A kernel's `.nv.constant2`, when it has constants of its own.
    pub constants_section: Option<SectionId>,
    /// A kernel's `.nv.shared`.
    pub shared: Option<SectionId>,
}

#[derive(Debug, Clone)]
pub(super) struct SharedVariable {
    pub size: u64,
    pub align: u64,
    /// Named by other units (`.nv_debug.shared`), rather than private to one function.
    pub is_public: bool,
    pub is_external: bool,
    /// Declared with a size and not defined yet.
    pub is_undefined: bool,
    /// Some relocation names it, in code that is kept or not.
    pub is_referenced: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: SymbolId,
    pub addend: Option<i64>,
    /// Against a section symbol or dropped code: resolved in debug sections, meaningless elsewhere.
    pub against_section: bool,
}

/// The relocations of one section, of one form.
#[derive(Debug)]
pub(super) struct RelocationList {
    pub section: SectionId,
    pub target: SectionId,
    pub records: Vec<Relocation>,
}

/// One record of `.nv.info`.
#[derive(Debug, Clone, Copy)]
pub(super) enum InfoRecord<'a> {
    PerSymbol {
        number: u8,
        symbol: SymbolId,
        value: u32,
    },
    Global(RawAttribute<'a>),
}

/// A name entered into a string table, kept only if the function it came with is.
pub(super) type Named<'a> = (Cow<'a, str>, Option<FunctionId>);

#[derive(Debug, Default)]
pub(super) struct Program<'a> {
    pub number: u16,
    pub virtual_number: u16,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    pub functions: Vec<Function<'a>>,
    pub shared: Vec<SharedVariable>,
    pub locals: Vec<SymbolId>,
    pub globals: Vec<SymbolId>,
    pub info: Vec<InfoRecord<'a>>,
    pub relocations: Vec<RelocationList>,
    /// Functions whose address is taken, with their prototypes.
    pub address_taken: Vec<(SymbolId, PrototypeId)>,
    pub prototypes: Vec<(SymbolId, PrototypeId)>,
    pub prototype_texts: Vec<&'a str>,
    pub names: Vec<Named<'a>>,
    pub section_names: Vec<Named<'a>>,
    /// Functions with compiler constants, in the order in which the constants appeared.
    pub with_constants: Vec<FunctionId>,
    pub tool_notes: Vec<&'a [u8]>,
    /// `.nv.compat` of sm_90, merged.
    pub compat: Option<Vec<(u8, u8, Vec<u8>)>>,
    /// The first input had `.nv.compat` itself.
    pub compat_was_given: bool,
    pub tool_note: Option<SectionId>,
    pub cuda_note: Option<SectionId>,
    pub info_section: Option<SectionId>,
    pub compat_section: Option<SectionId>,
    pub public_shared_section: Option<SectionId>,
    highest_level: u32,
    with_debug: u32,
    globals_by_name: HashMap<&'a str, SymbolId>,
    shared_by_name: HashMap<&'a str, SymbolId>,
    external_shared_by_name: HashMap<&'a str, SymbolId>,
    sections_by_name: HashMap<&'a str, SectionId>,
    prototype_ids: HashMap<&'a str, PrototypeId>,
    defined_in: HashMap<SymbolId, &'a str>,
}

/// A section to create; the rest is filled in by whoever asks for it.
struct New<'a> {
    name: Cow<'a, str>,
    kind: u32,
    flags: u64,
    align: u64,
    rank: Rank,
    with_symbol: bool,
    /// The function that the name belongs to in the string tables.
    of: Option<FunctionId>,
}

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

impl<'a> Program<'a> {
    pub fn symbol(&self, id: SymbolId) -> &Symbol<'a> {
        &self.symbols[id.at()]
    }

    pub fn section(&self, id: SectionId) -> &Section<'a> {
        &self.sections[id.at()]
    }

    pub fn function(&self, id: FunctionId) -> &Function<'a> {
        &self.functions[id.at()]
    }

    pub fn function_of(&self, symbol: SymbolId) -> Option<FunctionId> {
        match self.symbol(symbol).meaning {
            Meaning::Function(id) => Some(id),
            _ => None,
        }
    }

    pub fn function_ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// The input that defined a symbol first, for messages.
    fn defined_in(&self, id: SymbolId) -> &'a str {
        self.defined_in.get(&id).copied().unwrap_or("")
    }

    fn add_symbol(&mut self, symbol: Symbol<'a>) -> SymbolId {
        self.symbols.push(symbol);
        SymbolId(self.symbols.len() as u32 - 1)
    }

    fn add_global(&mut self, symbol: Symbol<'a>) -> SymbolId {
        let name = symbol.name;
        let id = self.add_symbol(symbol);
        self.globals.push(id);
        self.globals_by_name.insert(name, id);
        id
    }

    fn add_section(&mut self, new: New<'a>) -> SectionId {
        let id = SectionId(self.sections.len() as u32);
        self.section_names.push((new.name.clone(), new.of));
        // nvlink enters the name of a relocation section beside every parameter bank, though none exists.
        if new.name.starts_with(".nv.constant0.") {
            let relocations: Cow<str> = format!(".rel{}", new.name).into();
            self.section_names.push((relocations.clone(), new.of));
            self.names.push((relocations, new.of));
        }
        self.names.push((new.name.clone(), new.of));
        let symbol = new.with_symbol.then(|| {
            let symbol = self.add_symbol(Symbol {
                name: "",
                info: 3,
                other: 0,
                section: Some(id),
                value: 0,
                size: 0,
                meaning: Meaning::Section,
            });
            self.locals.push(symbol);
            symbol
        });
        self.sections.push(Section {
            name: new.name,
            kind: new.kind,
            flags: new.flags,
            align: new.align,
            entry_size: match new.kind {
                RELA => 24,
                REL => 16,
                _ => 0,
            },
            rank: new.rank,
            data: Cow::Borrowed(&[]),
            size: 0,
            info: Info::None,
            symbol,
            owner: None,
        });
        id
    }

    /// Header flags, notes and compatibility attributes.
    fn adopt_header(&mut self, unit: &Unit<'a>, is_first: bool) {
        if is_first {
            self.number = unit.number;
            self.virtual_number = unit.virtual_number;
            self.flags = if unit.old_abi {
                0x0600_0004 | u32::from(unit.number) << 8
            } else {
                unit.flags
            };
            self.highest_level = 6;
            self.create_notes(unit);
        }
        self.virtual_number = self.virtual_number.min(unit.virtual_number);
        if !unit.tool_note.is_empty() {
            self.tool_notes.push(unit.tool_note);
        }
        if !unit.old_abi {
            // The top byte is the highest of all inputs, plus one for each input with line information after the first.
            self.highest_level = self.highest_level.max(unit.flags >> 24);
            self.with_debug += u32::from(unit.flags >> 24 >= 8);
            let level = self.highest_level + self.with_debug.saturating_sub(1);
            self.flags = self.flags & 0x00FF_FFFF | level << 24;
        }
        self.merge_compat(unit, is_first);
    }

    fn create_notes(&mut self, unit: &Unit<'a>) {
        let note = |name: &'static str, flags, rank| New {
            name: name.into(),
            kind: 7,
            flags,
            align: 4,
            rank,
            with_symbol: true,
            of: None,
        };
        let has_compat = unit.compat.is_some() || unit.number >= 90 && unit.old_abi;
        self.tool_note =
            Some(self.add_section(note(".note.nv.tkinfo", 0x200_0000, Rank::ToolNote)));
        let linked = if has_compat { 0x40 } else { 0 };
        self.cuda_note =
            Some(self.add_section(note(".note.nv.cuinfo", 0x100_0000 | linked, Rank::CudaNote)));
        let plain = |name: &'static str, kind, rank| New {
            name: name.into(),
            kind,
            flags: 0,
            align: 4,
            rank,
            with_symbol: false,
            of: None,
        };
        self.info_section = Some(self.add_section(plain(".nv.info", ATTRIBUTES, Rank::Info)));
        if has_compat {
            self.compat_section =
                Some(self.add_section(plain(".nv.compat", 0x7000_0086, Rank::Compat)));
        }
    }

    /// The first input's list without attribute 6; attribute 2 is the maximum; what is missing is appended.
    fn merge_compat(&mut self, unit: &Unit<'a>, is_first: bool) {
        const ISA_CLASS: u8 = 2;
        const FINALIZATION: u8 = 6;
        if is_first {
            self.compat_was_given = unit.compat.is_some();
            self.compat = match &unit.compat {
                Some(list) => Some(
                    list.iter()
                        .filter(|a| a.number != FINALIZATION)
                        .map(|a| (a.format, a.number, a.value.to_vec()))
                        .collect(),
                ),
                None if self.compat_section.is_some() => {
                    Some(vec![(2, 9, vec![u8::from(unit.accelerated), 0])])
                }
                None => None,
            };
            return;
        }
        let (Some(merged), Some(list)) = (&mut self.compat, &unit.compat) else {
            return;
        };
        let known: Vec<u8> = merged.iter().map(|(_, number, _)| *number).collect();
        for attribute in list {
            if !known.contains(&attribute.number) && ![5, FINALIZATION].contains(&attribute.number)
            {
                merged.push((attribute.format, attribute.number, attribute.value.to_vec()));
            }
        }
        if let (Some(ours), Some(theirs)) = (
            merged
                .iter_mut()
                .find(|(_, number, _)| *number == ISA_CLASS),
            list.iter().rfind(|a| a.number == ISA_CLASS),
        ) {
            ours.2 = theirs.value.to_vec().max(std::mem::take(&mut ours.2));
        }
    }

    fn prototype(&mut self, text: &'a str) -> PrototypeId {
        let next = PrototypeId(self.prototype_texts.len() as u32);
        *self.prototype_ids.entry(text).or_insert_with(|| {
            self.prototype_texts.push(text);
            next
        })
    }

    /// nvlink prepends to its lists, so that later inputs come first; here they were appended.
    fn turn_lists_round(&mut self) {
        self.info.reverse();
        for list in &mut self.relocations {
            list.records.reverse();
        }
        for function in &mut self.functions {
            function.attributes.reverse();
            function.calls.reverse();
            function.indirect.reverse();
            function.takes_address.reverse();
        }
    }
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
    fn new(program: &'p mut Program<'a>, unit: &'a Unit<'a>) -> Self {
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

    fn add(mut self) -> Result<()> {
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

    fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        unsupported(self.unit.name, what)
    }

    fn duplicate(&self, symbol: SymbolId) -> Error {
        let name = self.program.symbol(symbol).name;
        Error::failed(Code::DuplicateSymbol, format!("`{name}` is defined twice"))
            .input(self.unit.name)
            .input(self.program.defined_in(symbol))
            .symbol(name)
    }

    fn mapped(&self, index: usize) -> Result<SymbolId> {
        self.symbols[index].ok_or_else(|| {
            let symbol = &self.unit.symbols[index];
            self.unsupported(format_args!(
                "a use of symbol `{}` of type {:?}",
                symbol.name, symbol.kind
            ))
        })
    }

    fn name_of(&self, symbol: &'a InputSymbol<'a>) -> &'a str {
        &symbol.name
    }

    fn section_of(&self, symbol: &InputSymbol) -> Option<usize> {
        match symbol.place {
            Place::Section(index) => Some(index as usize),
            _ => None,
        }
    }

    fn is_dropped(&self, symbol: usize) -> bool {
        self.section_of(&self.unit.symbols[symbol])
            .is_some_and(|section| self.dropped[section])
    }

    fn new_symbol(
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

    // ---- functions

    fn add_functions(&mut self) -> Result<()> {
        for (index, symbol) in self.unit.symbols.iter().enumerate() {
            if symbol.kind == SymbolKind::Function {
                self.symbols[index] = Some(self.add_function(symbol)?);
            }
        }
        Ok(())
    }

    fn add_function(&mut self, symbol: &'a InputSymbol<'a>) -> Result<SymbolId> {
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

    fn kind_mismatch(&self, symbol: SymbolId) -> Error {
        let name = self.program.symbol(symbol).name;
        Error::failed(
            Code::KindMismatch,
            format!("`{name}` is a function here and a variable elsewhere"),
        )
        .input(self.unit.name)
        .input(self.program.defined_in(symbol))
        .symbol(name)
    }

    fn define_function(
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

    fn add_info_section(
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
    fn replace_weak(
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

    fn add_variables(&mut self) -> Result<()> {
        for (index, symbol) in self.unit.symbols.iter().enumerate() {
            if !matches!(symbol.kind, SymbolKind::Object | SymbolKind::CudaObject) {
                continue;
            }
            self.symbols[index] = match self.section_of(symbol) {
                None if symbol.space() == Space::Shared => Some(self.declare_shared(symbol)),
                None => Some(self.declare_variable(symbol)),
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

    fn declare_variable(&mut self, symbol: &'a InputSymbol<'a>) -> SymbolId {
        match self.program.globals_by_name.get(self.name_of(symbol)) {
            Some(&known) => known,
            None => self
                .program
                .add_global(self.new_symbol(symbol, None, Meaning::Plain)),
        }
    }

    fn new_shared(&mut self, symbol: &'a InputSymbol<'a>, variable: SharedVariable) -> SymbolId {
        let shared = SharedId(self.program.shared.len() as u32);
        self.program.shared.push(variable);
        self.program
            .add_symbol(self.new_symbol(symbol, None, Meaning::Shared(shared)))
    }

    fn shared_mut(&mut self, symbol: SymbolId) -> Option<&mut SharedVariable> {
        match self.program.symbol(symbol).meaning {
            Meaning::Shared(id) => self.program.shared.get_mut(id.at()),
            _ => None,
        }
    }

    /// `extern __shared__ x[]`, or a sized shared variable of another unit.
    fn declare_shared(&mut self, symbol: &'a InputSymbol<'a>) -> SymbolId {
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
    fn public_shared_section(&mut self, flags: u64, align: u64) {
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

    fn define_shared(&mut self, symbol: &'a InputSymbol<'a>, section: usize) -> Result<SymbolId> {
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

    fn define_variable(&mut self, symbol: &'a InputSymbol<'a>, section: usize) -> Result<SymbolId> {
        let name = self.name_of(symbol);
        let is_global = symbol.binding != Binding::Local;
        let known = self
            .program
            .globals_by_name
            .get(name)
            .copied()
            .filter(|_| is_global);
        let input = &self.unit.sections[section];
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

    /// Appends a data section to the merged one of its name, once, and returns that.
    fn append(&mut self, section: usize) -> SectionId {
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

    fn add_parameters(&mut self, section: usize) {
        let input = &self.unit.sections[section];
        if self.sections[section].is_none() && !self.dropped[input.of] {
            self.sections[section] = self.add_constants(section, input.flags);
        }
    }

    /// Constants of a kernel get a section; those of a device function are placed behind its kernels' own.
    fn add_compiler_constants(&mut self, section: usize) {
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

    fn add_constants(&mut self, section: usize, flags: u64) -> Option<SectionId> {
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

    // ---- the rest

    fn add_other_sections(&mut self) -> Result<()> {
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

    fn owner_of(&self, text: usize, what: &str) -> Result<FunctionId> {
        self.sections
            .get(text)
            .copied()
            .flatten()
            .and_then(|text| self.program.section(text).owner)
            .ok_or_else(|| {
                Error::damaged(format!("`{what}` belongs to no function")).input(self.unit.name)
            })
    }

    fn function_infos(&self) -> impl Iterator<Item = &'a super::read::Section<'a>> + use<'a> {
        self.unit
            .sections
            .iter()
            .filter(|section| section.role == Role::FunctionInfo)
    }

    fn add_attributes(&mut self) -> Result<()> {
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

    fn map_section_symbols(&mut self) {
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

    fn add_relocations(&mut self) -> Result<()> {
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

    fn mark_referenced(&mut self, symbol: usize) {
        if let Some(id) = self.symbols[symbol]
            && let Some(variable) = self.shared_mut(id)
        {
            variable.is_referenced = true;
        }
    }

    fn relocation_list(&mut self, target: SectionId, name: &str, with_addends: bool) -> usize {
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

    fn relocation(
        &mut self,
        record: &super::read::Record,
        input: &super::read::Section,
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

    fn add_info(&mut self) -> Result<()> {
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

    fn resolve_attributes(&mut self) -> Result<()> {
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

    fn attribute_symbol(&self, attribute: &RawAttribute, at: usize) -> Result<SymbolId> {
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

    fn add_call_graph(&mut self) -> Result<()> {
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
    fn caller(&self, symbol: usize) -> Result<Option<FunctionId>> {
        if self.is_dropped(symbol) {
            return Ok(None);
        }
        match self.program.function_of(self.mapped(symbol)?) {
            Some(function) => Ok(Some(function)),
            None => Err(Error::new(
                crate::error::Category::Damaged,
                Diagnostic::error(
                    Code::Damaged,
                    "the call graph names a caller that is no function",
                )
                .input(self.unit.name),
            )),
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
