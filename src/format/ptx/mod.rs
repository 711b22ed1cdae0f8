//! PTX text: what it declares, defines and uses. Instructions are only looked at for the names in them.
//!
//! The reader is one pass over the tokens. PTX demands that a name is declared before it is used, so a
//! name in a function body or an initialiser is a reference exactly if it is known by then.

mod lexer;
mod parser;
mod types;

use crate::error::Malformed;
pub use types::{Extent, Parameter, Type};

/// A parsed PTX text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ptx<'a> {
    /// PTX ISA: 9, 5.
    pub version: (u16, u16),
    /// `sm_90a`.
    pub target: &'a str,
    /// What else `.target` says: `debug`, `texmode_independent`.
    pub options: Vec<&'a str>,
    /// 64 or 32.
    pub address_size: Option<u32>,
    /// Whether instructions carry source lines (`.loc`).
    pub has_lines: bool,
    /// Every function and variable of the module, in order of first appearance. References name them by
    /// their place in this list.
    pub symbols: Vec<Symbol<'a>>,
}

/// A function or variable that a module declares or defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub linkage: Linkage,
    /// Whether the definition is here.
    pub defined: bool,
    /// A function's body or a variable's initial value as it stands in the text; empty without.
    pub text: &'a [u8],
    pub item: Item<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// No word: private to the module.
    Local,
    Visible,
    Extern,
    Weak,
    Common,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    Function(Box<Function<'a>>),
    Variable(Variable<'a>),
}

/// An `.entry` or `.func`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function<'a> {
    pub is_entry: bool,
    pub returns: Vec<Parameter<'a>>,
    pub parameters: Vec<Parameter<'a>>,
    /// `#ii`; see the type's rules. Kernels have one too, which no linker compares.
    pub prototype: String,
    pub bounds: Bounds,
    /// Functions called by name.
    pub calls: Vec<u32>,
    /// Other symbols that it names: variables, and functions whose address it takes.
    pub references: Vec<u32>,
    /// Prototypes of its calls through a pointer; `None` in the list is one that is not spelt out.
    pub indirect_calls: Vec<Option<String>>,
    /// Reads `%envreg1` or `%envreg2`, which the driver fills for cooperative launches alone.
    pub reads_grid_registers: bool,
}

/// The directives between a kernel's signature and its body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    pub min_blocks: Option<u32>,
    pub max_registers: Option<u32>,
    pub cluster: Option<[u32; 3]>,
    pub explicit_cluster: bool,
    pub max_cluster_rank: Option<u32>,
    pub blocks_are_clusters: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    Global,
    Constant,
    Shared,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable<'a> {
    pub space: Space,
    pub kind: Type<'a>,
    pub extent: Extent,
    /// In bytes; `None` for `[]` and for a size that is an expression.
    pub size: Option<u64>,
    /// In bytes.
    pub align: u64,
    pub managed: bool,
    pub initialised: bool,
    /// Symbols named by the initialiser.
    pub references: Vec<u32>,
}

impl<'a> Ptx<'a> {
    /// Whether `bytes` look like PTX: after blanks and comments comes `.version`.
    pub fn is_ptx(bytes: &[u8]) -> bool {
        parser::starts_with_version(bytes)
    }

    /// Parses the text up to its first NUL, which fatbins pad with.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        parser::parse(bytes)
    }

    /// Parses no further than `.target`, so there are no symbols.
    pub fn parse_header(bytes: &'a [u8]) -> Result<Self, Malformed> {
        parser::parse_header(bytes)
    }

    pub fn functions(&self) -> impl Iterator<Item = (&Symbol<'a>, &Function<'a>)> {
        self.symbols.iter().filter_map(|symbol| match &symbol.item {
            Item::Function(function) => Some((symbol, &**function)),
            Item::Variable(_) => None,
        })
    }

    /// For each symbol, whether anything in the module names it. Only used `.extern` symbols reach a
    /// cubin and so need a definition.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.symbols.len()];
        for symbol in &self.symbols {
            let lists = match &symbol.item {
                Item::Function(function) => [&function.calls, &function.references],
                Item::Variable(variable) => [&variable.references, &variable.references],
            };
            for &index in lists.into_iter().flatten() {
                used[index as usize] = true;
            }
        }
        used
    }
}

impl Function<'_> {
    /// Bytes of all parameters together.
    pub fn parameter_bytes(&self) -> u64 {
        self.parameters
            .last()
            .map_or(0, |last| last.offset.saturating_add(last.size))
    }
}
