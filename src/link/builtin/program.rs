//! The program that the units become: sections, symbols and functions, numbered in nvlink's order of creation.

use std::borrow::Cow;
use std::collections::HashMap;

use super::read::RawAttribute;

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
    /// Highest top byte of the header flags, and how many inputs have line information.
    pub highest_level: u32,
    pub with_debug: u32,
    pub globals_by_name: HashMap<&'a str, SymbolId>,
    pub shared_by_name: HashMap<&'a str, SymbolId>,
    pub external_shared_by_name: HashMap<&'a str, SymbolId>,
    pub sections_by_name: HashMap<&'a str, SectionId>,
    pub prototype_ids: HashMap<&'a str, PrototypeId>,
    pub defined_in: HashMap<SymbolId, &'a str>,
}

/// A section to create; the rest is filled in by whoever asks for it.
pub(super) struct New<'a> {
    pub name: Cow<'a, str>,
    pub kind: u32,
    pub flags: u64,
    pub align: u64,
    pub rank: Rank,
    pub with_symbol: bool,
    /// The function that the name belongs to in the string tables.
    pub of: Option<FunctionId>,
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
    pub fn defined_in(&self, id: SymbolId) -> &'a str {
        self.defined_in.get(&id).copied().unwrap_or("")
    }

    pub fn add_symbol(&mut self, symbol: Symbol<'a>) -> SymbolId {
        self.symbols.push(symbol);
        SymbolId(self.symbols.len() as u32 - 1)
    }

    pub fn add_global(&mut self, symbol: Symbol<'a>) -> SymbolId {
        let name = symbol.name;
        let id = self.add_symbol(symbol);
        self.globals.push(id);
        self.globals_by_name.insert(name, id);
        id
    }

    pub fn add_section(&mut self, new: New<'a>) -> SectionId {
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
    pub fn prototype(&mut self, text: &'a str) -> PrototypeId {
        let next = PrototypeId(self.prototype_texts.len() as u32);
        *self.prototype_ids.entry(text).or_insert_with(|| {
            self.prototype_texts.push(text);
            next
        })
    }

    /// nvlink prepends to its lists, so that later inputs come first; here they were appended.
    pub fn turn_lists_round(&mut self) {
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
