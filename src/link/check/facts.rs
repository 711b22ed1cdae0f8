//! What one image brings to a link and asks of it. A cubin and the PTX it is made from give the same facts,
//! so that everything after this file need not know which one it was.

use std::collections::HashMap;

use crate::code::{
    self, Arch, Binding, Functions, Kernel, Param, Resources, Space, SymbolKind, Symbols,
};
use crate::error::Malformed;
use crate::format::cubin::{Cubin, Place, Section, Stage};
use crate::format::ptx::{Item, Ptx};

/// The symbols of one image that a linker looks at, and its part of the call graph. Functions are named by
/// their place in `symbols`.
#[derive(Debug, Default)]
pub struct Facts {
    pub symbols: Vec<Symbol>,
    /// Caller and callee.
    pub calls: Vec<(u32, u32)>,
    /// Functions whose address is taken, with their prototype.
    pub taken: Vec<(u32, String)>,
    /// Functions that call through a pointer, with the prototype of the call.
    pub indirect: Vec<(u32, String)>,
    /// Functions and the shared variables that they name.
    pub shared_uses: Vec<(u32, u32)>,
    /// Bytes of static variables in constant memory.
    pub static_constant: u64,
    /// Virtual architecture that it was compiled for.
    pub virtual_arch: Option<u16>,
}

/// A symbol that other images can see, or a static function, which can call and be called, or a static
/// variable in shared memory, which its kernels pay for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// Its number in a cubin's symbol table, or its place among the declarations of a PTX text.
    pub number: u32,
    pub is_static: bool,
    pub state: State,
    pub kind: Kind,
    pub managed: bool,
    /// Of a variable in bytes; 0 where the image does not say.
    pub size: u64,
    /// Whether a variable has initial values beside zero.
    pub initialised: bool,
    pub prototype: Option<String>,
    /// Registers that a function needs by itself.
    pub registers: Option<u32>,
    /// Bytes of shared memory that a function declares in its own body.
    pub own_shared: u64,
    /// Whether a function has tensor core instructions for one block, and for a pair of blocks.
    pub cta_groups: [bool; 2],
    pub kernel: Option<Box<KernelFacts>>,
    /// A hash of a definition's code or value, to tell whether two are equal.
    pub content: Option<Content>,
}

/// Whether and how a symbol is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Undefined,
    Common,
    Weak,
    Strong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Kernel,
    Function,
    Variable(Option<Space>),
    /// An undefined symbol that does not say what it should be.
    Unknown,
}

/// What a kernel's launch depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFacts {
    /// The most registers it may use, where there is a limit.
    pub max_registers: Option<u32>,
    pub param_bytes: u32,
    pub params: Vec<Param>,
    /// Launch bounds: most threads, required threads, cluster.
    pub bounds: [Option<[u32; 3]>; 3],
}

impl Symbol {
    pub fn is_defined(&self) -> bool {
        self.state != State::Undefined
    }

    pub fn is_code(&self) -> bool {
        matches!(self.kind, Kind::Kernel | Kind::Function)
    }

    pub fn is_kernel(&self) -> bool {
        self.kind == Kind::Kernel
    }

    pub fn is_variable(&self) -> bool {
        matches!(self.kind, Kind::Variable(_))
    }

    fn is_in_shared_memory(&self) -> bool {
        self.kind == Kind::Variable(Some(Space::Shared))
    }

    /// A variable in shared memory, of known size.
    fn is_sized_shared(&self) -> bool {
        self.is_in_shared_memory() && self.size > 0
    }

    /// `extern __shared__ x[]`: each launch gives it its memory.
    pub fn is_dynamic_shared(&self) -> bool {
        self.is_in_shared_memory() && self.size == 0
    }

    fn take_resources(&mut self, resources: &Resources) {
        self.registers = resources.registers;
        self.own_shared = resources.shared.unwrap_or(0);
        self.cta_groups = resources.cta_groups;
    }
}

/// A hash of a definition. Code of a cubin and text of PTX cannot be compared with one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Bytes(u128),
    Text(u128),
}

impl Content {
    /// Whether two definitions are equal; `None` when that cannot be told.
    pub fn equals(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) | (Self::Text(a), Self::Text(b)) => Some(a == b),
            _ => None,
        }
    }
}

impl Facts {
    /// Reads a relocatable cubin; `None` for one that is linked already.
    pub fn from_cubin(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let cubin = Cubin::parse(bytes)?;
        if cubin.stage() != Stage::Relocatable {
            return Ok(None);
        }
        plausible(&cubin)?;
        let mut facts = Self {
            virtual_arch: cubin.virtual_number(),
            ..Self::default()
        };
        let places = facts.add_symbols(Symbols::from_cubin(&cubin)?);
        let functions = Functions::from_cubin(&cubin)?;
        for kernel in functions.kernels {
            if let Some(place) = kernel.symbol.and_then(|number| places.get(number)) {
                let symbol = &mut facts.symbols[place as usize];
                symbol.take_resources(&kernel.resources);
                symbol.kernel = Some(Box::new(kernel.into()));
            }
        }
        for function in functions.functions {
            if let Some(place) = function.symbol.and_then(|number| places.get(number)) {
                facts.symbols[place as usize].take_resources(&function.resources);
            }
        }
        facts.read_contents(&cubin, &places)?;
        facts.read_shared_uses(&cubin, &places)?;
        Ok(Some(facts))
    }

    pub fn from_ptx(bytes: &[u8]) -> Result<Self, Malformed> {
        let ptx = Ptx::parse(bytes)?;
        let target = ptx.target.parse::<Arch>().ok();
        let mut facts = Self {
            virtual_arch: target.map(|arch| arch.number),
            ..Self::default()
        };
        facts.add_symbols(Symbols::from_ptx(&ptx));
        let places: HashMap<String, u32> = (0..)
            .zip(&facts.symbols)
            .map(|(place, symbol)| (symbol.name.clone(), place))
            .collect();
        for kernel in Functions::from_ptx(&ptx).kernels {
            if let Some(&place) = places.get(&kernel.name) {
                facts.symbols[place as usize].kernel = Some(Box::new(kernel.into()));
            }
        }
        for symbol in &ptx.symbols {
            let Some(&place) = places.get(symbol.name) else {
                continue;
            };
            if symbol.defined {
                facts.symbols[place as usize].content = Some(Content::Text(hash(symbol.text)));
            }
            if let Item::Function(function) = &symbol.item {
                let named = function.references.iter();
                let named = named.filter_map(|&index| places.get(ptx.symbols[index as usize].name));
                let shared =
                    named.filter(|&&place| facts.symbols[place as usize].is_sized_shared());
                facts
                    .shared_uses
                    .extend(shared.map(|&variable| (place, variable)));
            }
        }
        Ok(facts)
    }

    /// Takes the symbols that a linker looks at, and the call graph between them.
    fn add_symbols(&mut self, symbols: Symbols) -> Places {
        let mut places = Places(vec![Places::DROPPED; symbols.list.len()]);
        let called = called(&symbols);
        for (number, symbol) in (0..).zip(symbols.list) {
            let is_called = called[number as usize];
            if let Some(symbol) = self.keep(number, symbol, is_called) {
                places.0[number as usize] = self.symbols.len() as u32;
                self.symbols.push(symbol);
            }
        }
        let calls = symbols.calls.direct.into_iter();
        self.calls = calls
            .filter_map(|(caller, callee)| Some((places.get(caller)?, places.get(callee)?)))
            .collect();
        let texts = |list: Vec<(u32, String)>| {
            list.into_iter()
                .filter_map(|(number, prototype)| Some((places.get(number)?, prototype)))
                .collect()
        };
        self.taken = texts(symbols.calls.address_taken);
        self.indirect = texts(symbols.calls.indirect);
        places
    }

    /// The symbol if a linker looks at it.
    fn keep(&mut self, number: u32, symbol: code::Symbol, is_called: bool) -> Option<Symbol> {
        if symbol.name.is_empty() || symbol.name.starts_with(".nv.") {
            return None;
        }
        let is_static = symbol.binding == Binding::Local;
        let kind = match symbol.kind {
            SymbolKind::Kernel => Kind::Kernel,
            SymbolKind::Function => Kind::Function,
            SymbolKind::Variable => Kind::Variable(symbol.space),
            SymbolKind::Untyped if is_called => Kind::Function,
            SymbolKind::Untyped if !symbol.defined && !is_static => Kind::Unknown,
            // Textures, samplers and surfaces are bound by the runtime and clash with nothing.
            _ => return None,
        };
        let section = symbol.section.as_deref();
        if is_static && let Kind::Variable(space) = kind {
            // A kernel's parameters are listed as static constants too, in a bank of their own.
            if space == Some(Space::Constant) && section.is_none_or(|name| name == ".nv.constant3")
            {
                self.static_constant = self.static_constant.saturating_add(symbol.size);
            }
            // What a function declares in its own body is counted with the function.
            let in_body = section.is_some_and(|name| name.starts_with(".nv.shared."));
            if space != Some(Space::Shared) || in_body {
                return None;
            }
        }
        let is_variable = matches!(kind, Kind::Variable(_));
        // Relocatable links of LTO-IR show dynamic shared memory as if it were defined.
        let is_dynamic = kind == Kind::Variable(Some(Space::Shared)) && symbol.size == 0;
        Some(Symbol {
            number,
            is_static,
            state: match symbol.binding {
                _ if !symbol.defined || is_dynamic => State::Undefined,
                _ if symbol.common => State::Common,
                Binding::Weak => State::Weak,
                _ => State::Strong,
            },
            kind,
            managed: symbol.managed,
            size: if is_variable { symbol.size } else { 0 },
            initialised: symbol.initialised,
            prototype: symbol.prototype,
            registers: None,
            own_shared: 0,
            cta_groups: [false; 2],
            kernel: None,
            content: None,
            name: symbol.name,
        })
    }

    /// Hashes the definitions that other images may have too.
    fn read_contents(&mut self, cubin: &Cubin<'_>, places: &Places) -> Result<(), Malformed> {
        let table = cubin.symbol_table()?;
        for symbol in self.symbols.iter_mut().filter(|symbol| !symbol.is_static) {
            let raw = table.get(symbol.number)?;
            let Place::Section(section) = raw.place else {
                continue;
            };
            let Some(section) = cubin.sections().get(section as usize) else {
                continue;
            };
            let data = cubin.data(section)?;
            let bytes = if symbol.is_variable() && section.kind.has_bytes() {
                let start = usize::try_from(raw.value).unwrap_or(usize::MAX);
                let size = usize::try_from(raw.size).unwrap_or(usize::MAX);
                data.get(start..).and_then(|rest| rest.get(..size))
            } else {
                Some(data)
            };
            symbol.content = bytes.map(|bytes| Content::Bytes(hash(bytes)));
        }
        self.add_relocations(cubin, places)
    }

    /// Two functions of equal bytes may still call different ones. Weak definitions are compared without
    /// this: their relocations can name things that each image numbers for itself.
    fn add_relocations(&mut self, cubin: &Cubin<'_>, places: &Places) -> Result<(), Malformed> {
        let table = cubin.symbol_table()?;
        for section in cubin.relocation_sections() {
            let Some(function) = function_of(cubin, section, places) else {
                continue;
            };
            let symbol = &mut self.symbols[function as usize];
            let (State::Strong, Some(Content::Bytes(code))) = (symbol.state, symbol.content) else {
                continue;
            };
            let mut hasher = blake3::Hasher::new();
            hasher.update(&code.to_le_bytes());
            for relocation in cubin.relocations(section)? {
                hasher.update(&relocation.offset.to_le_bytes());
                hasher.update(&relocation.kind.0.to_le_bytes());
                hasher.update(&relocation.addend.unwrap_or(0).to_le_bytes());
                hasher.update(table.get(relocation.symbol)?.name.as_bytes());
            }
            symbol.content = Some(Content::Bytes(half(&hasher.finalize())));
        }
        Ok(())
    }

    fn read_shared_uses(&mut self, cubin: &Cubin<'_>, places: &Places) -> Result<(), Malformed> {
        if !self.symbols.iter().any(Symbol::is_sized_shared) {
            return Ok(());
        }
        for section in cubin.relocation_sections() {
            let Some(function) = function_of(cubin, section, places) else {
                continue;
            };
            for relocation in cubin.relocations(section)? {
                let variable = places.get(relocation.symbol);
                let is_shared = |place: &u32| self.symbols[*place as usize].is_sized_shared();
                if let Some(variable) = variable.filter(is_shared) {
                    self.shared_uses.push((function, variable));
                }
            }
        }
        self.shared_uses.sort_unstable();
        self.shared_uses.dedup();
        Ok(())
    }
}

/// The place in [`Facts::symbols`] of each symbol of the file.
struct Places(Vec<u32>);

impl Places {
    const DROPPED: u32 = u32::MAX;

    fn get(&self, number: u32) -> Option<u32> {
        let place = self.0.get(number as usize).copied();
        place.filter(|&place| place != Self::DROPPED)
    }
}

/// The function whose code a relocation section is for.
fn function_of(cubin: &Cubin<'_>, relocations: &Section<'_>, places: &Places) -> Option<u32> {
    let code = cubin.sections().get(relocations.info as usize)?;
    // The low 24 bits of a code section's `info` are its function's symbol.
    code.text_of()
        .and_then(|_| places.get(code.info & 0x00ff_ffff))
}

fn hash(bytes: &[u8]) -> u128 {
    half(&blake3::hash(bytes))
}

fn half(hash: &blake3::Hash) -> u128 {
    hash.as_bytes()
        .iter()
        .take(16)
        .fold(0, |sum, &byte| sum << 8 | u128::from(byte))
}

impl KernelFacts {
    /// `parameters of 8 and 4 bytes, at most 128x1x1 threads`.
    pub fn in_words(&self) -> String {
        let sizes: Vec<String> = self
            .params
            .iter()
            .map(|param| param.size.to_string())
            .collect();
        let mut words = match sizes.as_slice() {
            [] => "no parameters".to_owned(),
            sizes => format!("parameters of {} bytes", sizes.join(", ")),
        };
        let names = [
            "at most {} threads",
            "exactly {} threads",
            "clusters of {} blocks",
        ];
        for (name, bound) in names.iter().zip(self.bounds) {
            if let Some([x, y, z]) = bound {
                words.push_str(", ");
                words.push_str(&name.replace("{}", &format!("{x}x{y}x{z}")));
            }
        }
        words
    }
}

/// For each symbol, whether it is called or has its address taken as a function.
fn called(symbols: &Symbols) -> Vec<bool> {
    let mut called = vec![false; symbols.list.len()];
    let callees = symbols.calls.direct.iter().map(|&(_, callee)| callee);
    let taken = symbols
        .calls
        .address_taken
        .iter()
        .map(|&(function, _)| function);
    for number in callees.chain(taken) {
        if let Some(called) = called.get_mut(number as usize) {
            *called = true;
        }
    }
    called
}

impl From<Kernel> for KernelFacts {
    fn from(kernel: Kernel) -> Self {
        Self {
            max_registers: kernel.max_registers,
            param_bytes: kernel.param_bytes,
            params: kernel.params,
            bounds: [kernel.max_threads, kernel.required_threads, kernel.cluster],
        }
    }
}
/// The largest alignment that a section may ask for; compilers ask for 1 KiB at most.
const MOST_ALIGNMENT: u64 = 1 << 20;

/// Refuses what makes nvJitLink hang or take all memory: it believes every alignment (measured on 13.5).
fn plausible(cubin: &Cubin<'_>) -> Result<(), Malformed> {
    for section in cubin.sections() {
        let align = section.align;
        if align > MOST_ALIGNMENT || (align != 0 && !align.is_power_of_two()) {
            let name = &section.name;
            return Err(Malformed::new(
                section.offset,
                format!("section `{name}` asks for an alignment of {align} bytes"),
            ));
        }
    }
    Ok(())
}
