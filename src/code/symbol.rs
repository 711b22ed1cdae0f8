//! Symbols and who calls whom: what a linker's checks need, from a cubin or from PTX alike.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Malformed;
use crate::format::cubin::{self, Cubin, Place, Stage};
use crate::format::ptx::{self, Item, Linkage, Ptx};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// Private to its input: never matches a symbol of another one.
    Local,
    Global,
    /// The first of several definitions wins, a global one over all.
    Weak,
    Unknown,
}

impl Binding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Global => "global",
            Self::Weak => "weak",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Linkage> for Binding {
    fn from(linkage: Linkage) -> Self {
        match linkage {
            Linkage::Local => Self::Local,
            Linkage::Visible | Linkage::Extern | Linkage::Common => Self::Global,
            Linkage::Weak => Self::Weak,
        }
    }
}

impl From<cubin::Binding> for Binding {
    fn from(binding: cubin::Binding) -> Self {
        match binding {
            cubin::Binding::Local => Self::Local,
            cubin::Binding::Global => Self::Global,
            cubin::Binding::Weak => Self::Weak,
            cubin::Binding::Other(_) => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolKind {
    Kernel,
    Function,
    Variable,
    Texture,
    Sampler,
    Surface,
    Section,
    /// Says nothing of itself, as undefined symbols and assembly labels do.
    Untyped,
    Unknown,
}

impl SymbolKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Function => "function",
            Self::Variable => "variable",
            Self::Texture => "texture",
            Self::Sampler => "sampler",
            Self::Surface => "surface",
            Self::Section => "section",
            Self::Untyped => "untyped",
            Self::Unknown => "unknown",
        }
    }
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    Global,
    Shared,
    Local,
    Constant,
    /// Shared memory that the system keeps for itself.
    ReservedShared,
}

impl Space {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Constant => "constant",
            Self::ReservedShared => "reserved-shared",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Symbol {
    /// As in the file, mangled.
    pub name: String,
    pub demangled: Option<String>,
    pub binding: Binding,
    pub kind: SymbolKind,
    pub space: Option<Space>,
    pub defined: bool,
    /// A tentative definition: the largest of all inputs wins.
    pub common: bool,
    pub managed: bool,
    /// Whether a variable has initial values of its own; without, it starts as zero.
    #[serde(skip)]
    pub initialised: bool,
    /// In bytes: of a function its code, of an undefined variable what its users believe.
    pub size: u64,
    pub section: Option<Arc<str>>,
    /// A device function's signature as linkers compare it, `#ii`; null for others and where the file
    /// has none.
    pub prototype: Option<String>,
}

impl Symbol {
    /// Whether other inputs can see it: global or weak, with a name, of no bookkeeping kind.
    pub fn is_shared(&self) -> bool {
        matches!(self.binding, Binding::Global | Binding::Weak)
            && self.kind != SymbolKind::Section
            && !self.name.is_empty()
            && !self.name.starts_with(".nv.")
    }
}

/// The symbols of one image and their call graph, which names symbols by their place in the list. Of a
/// linked cubin the graph is left out: it has served its purpose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Every symbol, for a cubin the null symbol and the section symbols too, so that a symbol's place
    /// is its number in the file.
    pub list: Vec<Symbol>,
    pub calls: CallGraph,
}

/// Who calls whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallGraph {
    /// Caller and callee; a pair of one function is recursion.
    pub direct: Vec<(u32, u32)>,
    /// Functions whose address is taken, each with its prototype.
    pub address_taken: Vec<(u32, String)>,
    /// Functions that call through a pointer, with the prototype of the call: they reach every function
    /// of that prototype whose address is taken.
    pub indirect: Vec<(u32, String)>,
}

impl Symbols {
    pub fn from_cubin(cubin: &Cubin<'_>) -> Result<Self, Malformed> {
        // Many symbols can share one section, whose name may be long.
        let sections = cubin
            .sections()
            .iter()
            .map(|section| Arc::from(&*section.name));
        let sections: Vec<Arc<str>> = sections.collect();
        let mut list: Vec<Symbol> = cubin
            .symbols()?
            .into_iter()
            .map(|symbol| from_cubin_symbol(&sections, symbol))
            .collect();
        // Linkers leave call graphs behind whose prototypes point nowhere (bitsandbytes of CUDA 12.1).
        if cubin.stage() == Stage::Executable {
            let calls = CallGraph::default();
            return Ok(Self { list, calls });
        }
        let graph = cubin.call_graph()?;
        let taken = &graph.address_taken;
        for (index, prototype) in cubin.prototypes()?.iter().chain(taken) {
            if let Some(symbol) = list.get_mut(*index as usize) {
                symbol.prototype = Some(prototype.clone().into_owned());
            }
        }
        let owned = |pairs: Vec<(u32, Cow<'_, str>)>| {
            pairs
                .into_iter()
                .map(|(symbol, prototype)| (symbol, prototype.into_owned()))
                .collect()
        };
        Ok(Self {
            list,
            calls: CallGraph {
                direct: graph.calls,
                address_taken: owned(graph.address_taken),
                indirect: owned(graph.indirect_callers),
            },
        })
    }
}

impl Symbols {
    /// The symbols that a relocatable cubin made from this PTX will have; declarations that nothing uses
    /// leave no trace in it, but for texture, sampler and surface references.
    pub fn from_ptx(ptx: &Ptx<'_>) -> Self {
        let used = ptx.used();
        let kept = |index: usize| {
            let symbol = &ptx.symbols[index];
            let is_reference = match &symbol.item {
                Item::Variable(variable) => variable.kind.is_reference(),
                Item::Function(_) => false,
            };
            symbol.defined || used[index] || is_reference
        };
        // A symbol's place in the new list.
        let mut places = Vec::with_capacity(used.len());
        let mut count = 0;
        for index in 0..used.len() {
            places.push(count);
            count += u32::from(kept(index));
        }
        let place = |index: u32| places[index as usize];
        let mut symbols = Self::default();
        let mut taken = BTreeSet::new();
        for (index, symbol) in ptx
            .symbols
            .iter()
            .enumerate()
            .filter(|&(index, _)| kept(index))
        {
            symbols.list.push(from_ptx_symbol(symbol));
            let references = match &symbol.item {
                Item::Function(function) => {
                    let own = places[index];
                    let calls = &mut symbols.calls;
                    let callees = function.calls.iter();
                    calls
                        .direct
                        .extend(callees.map(|&callee| (own, place(callee))));
                    let through = function.indirect_calls.iter().flatten();
                    calls
                        .indirect
                        .extend(through.map(|text| (own, text.clone())));
                    &function.references
                }
                Item::Variable(variable) => &variable.references,
            };
            taken.extend(references);
        }
        for index in taken {
            if let Item::Function(function) = &ptx.symbols[index as usize].item
                && !function.is_entry
            {
                let pair = (place(index), function.prototype.clone());
                symbols.calls.address_taken.push(pair);
            }
        }
        symbols
    }
}

fn from_ptx_symbol(symbol: &ptx::Symbol<'_>) -> Symbol {
    let mut out = Symbol {
        name: symbol.name.to_owned(),
        demangled: None,
        binding: symbol.linkage.into(),
        kind: SymbolKind::Function,
        space: None,
        defined: symbol.defined,
        common: symbol.linkage == Linkage::Common,
        managed: false,
        initialised: false,
        size: 0,
        section: None,
        prototype: None,
    };
    match &symbol.item {
        Item::Function(function) if function.is_entry => out.kind = SymbolKind::Kernel,
        Item::Function(function) => out.prototype = Some(function.prototype.clone()),
        Item::Variable(variable) => {
            out.kind = match variable.kind.name {
                "texref" => SymbolKind::Texture,
                "samplerref" => SymbolKind::Sampler,
                "surfref" => SymbolKind::Surface,
                _ => SymbolKind::Variable,
            };
            if out.kind != SymbolKind::Variable {
                // Whatever PTX says, the runtime binds them.
                out.binding = Binding::Global;
                out.defined = false;
                return out;
            }
            out.space = Some(match variable.space {
                ptx::Space::Global => Space::Global,
                ptx::Space::Constant => Space::Constant,
                ptx::Space::Shared => Space::Shared,
            });
            out.managed = variable.managed;
            out.initialised = variable.initialised;
            out.size = variable.size.unwrap_or(0);
        }
    }
    out
}

/// The memory that a section of variables lies in.
fn space_of_section(name: &str) -> Option<Space> {
    let rest = name.strip_prefix(".nv.")?;
    let kind = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    match kind.split('.').next()? {
        "global" => Some(Space::Global),
        "constant" => Some(Space::Constant),
        "shared" => Some(Space::Shared),
        _ => None,
    }
}

fn from_cubin_symbol(sections: &[Arc<str>], symbol: cubin::Symbol<'_>) -> Symbol {
    let section = match symbol.place {
        Place::Section(index) => sections.get(index as usize).cloned(),
        _ => None,
    };
    let kind = match symbol.kind {
        cubin::SymbolKind::Function if symbol.is_kernel() => SymbolKind::Kernel,
        cubin::SymbolKind::Function => SymbolKind::Function,
        cubin::SymbolKind::Object | cubin::SymbolKind::CudaObject => SymbolKind::Variable,
        cubin::SymbolKind::Texture => SymbolKind::Texture,
        cubin::SymbolKind::Sampler => SymbolKind::Sampler,
        cubin::SymbolKind::Surface => SymbolKind::Surface,
        cubin::SymbolKind::Section => SymbolKind::Section,
        cubin::SymbolKind::None => SymbolKind::Untyped,
        cubin::SymbolKind::File | cubin::SymbolKind::Other(_) => SymbolKind::Unknown,
    };
    Symbol {
        demangled: None,
        binding: symbol.binding.into(),
        kind,
        space: match symbol.space() {
            cubin::Space::Global => Some(Space::Global),
            cubin::Space::Shared => Some(Space::Shared),
            cubin::Space::Local => Some(Space::Local),
            cubin::Space::Constant => Some(Space::Constant),
            cubin::Space::ReservedShared => Some(Space::ReservedShared),
            // Linked cubins leave it out (measured on 13.5); the section tells it as well.
            cubin::Space::None if kind == SymbolKind::Variable => {
                section.as_deref().and_then(space_of_section)
            }
            cubin::Space::None | cubin::Space::Other(_) => None,
        },
        defined: !symbol.is_undefined(),
        common: symbol.place == Place::Common,
        managed: symbol.is_managed(),
        initialised: section.as_deref() == Some(".nv.global.init"),
        size: symbol.size,
        section,
        prototype: None,
        name: symbol.name.into_owned(),
    }
}
