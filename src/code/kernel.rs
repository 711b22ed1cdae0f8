//! Kernels and device functions with what they need, from a cubin or from PTX.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::symbol::Binding;
use crate::error::Malformed;
use crate::format::cubin::{Cubin, Section, SectionKind, Stage, SymbolKind, SymbolTable};
use crate::format::nv_info::{Attribute, FunctionInfo};
use crate::format::ptx::{self, Item, Ptx};

/// A function that the host can launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kernel {
    /// As in the file, mangled.
    pub name: String,
    /// The readable name, where it is a mangled one and was asked for.
    pub demangled: Option<String>,
    pub binding: Binding,
    #[serde(flatten)]
    pub resources: Resources,
    /// In order; offsets count from the start of the parameters.
    pub params: Vec<Param>,
    /// Bytes of all parameters together.
    pub param_bytes: u32,
    /// The cap that launch bounds or the compiler's options put on registers; null when there is none.
    pub max_registers: Option<u32>,
    /// Most threads of a block in x, y and z.
    pub max_threads: Option<[u32; 3]>,
    /// The only block shape that can be launched.
    pub required_threads: Option<[u32; 3]>,
    /// The only cluster shape that can be launched.
    pub cluster: Option<[u32; 3]>,
    /// The launch must give a cluster shape.
    pub explicit_cluster: bool,
    pub max_cluster_rank: Option<u32>,
    /// The grid of a launch counts clusters (`.blocksareclusters`).
    pub blocks_are_clusters: bool,
    /// `__launch_bounds__`' second argument; only PTX keeps it.
    pub min_blocks: Option<u32>,
    /// Whether it synchronises the whole grid and so needs a cooperative launch; null when unknown, as it
    /// always is for a cubin.
    pub uses_grid_sync: Option<bool>,
    /// Index in the symbol table.
    #[serde(skip)]
    pub symbol: Option<u32>,
    /// Place in the order of the file, among kernels and functions alike.
    #[serde(skip)]
    pub order: u32,
}

/// A device function that was not inlined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Function {
    pub name: String,
    pub demangled: Option<String>,
    pub binding: Binding,
    #[serde(flatten)]
    pub resources: Resources,
    #[serde(skip)]
    pub symbol: Option<u32>,
    #[serde(skip)]
    pub order: u32,
}

/// What running a function takes. Null is unknown; PTX tells next to nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of stack of a thread with all it calls; null when recursion makes it unknowable, and before
    /// the link.
    pub stack: Option<u32>,
    /// Bytes of stack of a thread for this function alone.
    pub frame: Option<u32>,
    /// Register spilling; null where the compiler left no list of it. Registers that a device function
    /// saves for its caller do not count.
    pub spills: Option<Spills>,
    /// Bytes of static shared memory of a block; for sm_90 and later with the 1,024 that are reserved.
    pub shared: Option<u64>,
    /// Bytes of local memory beside the stack; only old cubins have any.
    pub local: Option<u64>,
    /// Bytes of each constant bank that are this function's own; bank 0 holds the parameters.
    pub constant: Option<BTreeMap<u8, u64>>,
    /// Named barriers.
    pub barriers: Option<u32>,
    /// Legacy texture, surface and sampler references.
    pub textures: Option<u32>,
    pub surfaces: Option<u32>,
    pub samplers: Option<u32>,
    pub code_bytes: Option<u64>,
    /// Whether it has tensor core instructions for one block (`.cta_group::1`), and for a pair (`::2`).
    #[serde(skip)]
    pub cta_groups: [bool; 2],
}

/// Register spilling: the bytes moved by each spilling or refilling instruction, once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spills {
    pub stores: u64,
    pub loads: u64,
}

impl Spills {
    pub fn any(self) -> bool {
        self.stores + self.loads > 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Param {
    pub ordinal: u32,
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// What a whole image needs beside its functions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Common {
    /// Bytes of device variables.
    pub global: u64,
    /// Bytes of each constant bank that all functions share; bank 3 holds `__constant__` variables.
    pub constant: BTreeMap<u8, u64>,
}

/// The functions of one image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    pub kernels: Vec<Kernel>,
    pub functions: Vec<Function>,
    pub common: Common,
}

impl Functions {
    /// Reads a cubin. Static functions of one name stay apart.
    pub fn from_cubin(cubin: &Cubin<'_>) -> Result<Self, Malformed> {
        let mut collector = Collector::new(cubin)?;
        collector.read_sections()?;
        collector.read_global_info()?;
        collector.finish()
    }
}

impl Functions {
    /// Reads PTX, which knows signatures and launch bounds but no machine resources. Only functions with
    /// a body count.
    pub fn from_ptx(ptx: &Ptx<'_>) -> Self {
        let grid_sync = grid_sync(ptx);
        let mut all = Self::default();
        let defined = ptx.symbols.iter().enumerate();
        for (index, symbol) in defined.filter(|(_, symbol)| symbol.defined) {
            let Item::Function(function) = &symbol.item else {
                continue;
            };
            // Symbols were counted in u32 by the parser.
            let order = index as u32;
            if function.is_entry {
                let grid_sync = grid_sync[index];
                all.kernels
                    .push(ptx_kernel(symbol, function, grid_sync, order));
            } else {
                all.functions.push(Function {
                    name: symbol.name.to_owned(),
                    demangled: None,
                    binding: symbol.linkage.into(),
                    resources: Resources::default(),
                    symbol: None,
                    order,
                });
            }
        }
        all
    }
}

fn ptx_kernel(
    symbol: &ptx::Symbol<'_>,
    function: &ptx::Function<'_>,
    uses_grid_sync: Option<bool>,
    order: u32,
) -> Kernel {
    let bounds = &function.bounds;
    let small = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let params = (0..)
        .zip(&function.parameters)
        .map(|(ordinal, parameter)| Param {
            ordinal,
            offset: small(parameter.offset),
            size: small(parameter.size),
        });
    Kernel {
        name: symbol.name.to_owned(),
        demangled: None,
        binding: symbol.linkage.into(),
        resources: Resources::default(),
        params: params.collect(),
        param_bytes: small(function.parameter_bytes()),
        max_registers: bounds.max_registers,
        max_threads: bounds.max_threads,
        required_threads: bounds.required_threads,
        cluster: bounds.cluster,
        explicit_cluster: bounds.explicit_cluster,
        max_cluster_rank: bounds.max_cluster_rank,
        blocks_are_clusters: bounds.blocks_are_clusters,
        min_blocks: bounds.min_blocks,
        uses_grid_sync,
        symbol: None,
        order,
    }
}

/// For each symbol of the module: whether running it synchronises the grid. A function does that itself
/// if it reads the registers that only cooperative launches fill; through calls it may, and what is
/// outside of the module is unknown.
fn grid_sync(ptx: &Ptx<'_>) -> Vec<Option<bool>> {
    let count = ptx.symbols.len();
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); count];
    let (mut certain, mut unknown) = (Vec::new(), Vec::new());
    for (index, symbol) in ptx.symbols.iter().enumerate() {
        let Item::Function(function) = &symbol.item else {
            continue;
        };
        for &callee in &function.calls {
            callers[callee as usize].push(index as u32);
        }
        if function.reads_grid_registers || symbol.name.starts_with("cudaCG") {
            certain.push(index as u32);
        } else if !function.indirect_calls.is_empty()
            || (!symbol.defined && !is_system_call(symbol.name))
        {
            unknown.push(index as u32);
        }
    }
    let mut out = vec![Some(false); count];
    // Certainty is spread last, so that it wins.
    for (mut reached, value) in [(unknown, None), (certain, Some(true))] {
        let mut seen = vec![false; count];
        while let Some(index) = reached.pop() {
            if !std::mem::replace(&mut seen[index as usize], true) {
                out[index as usize] = value;
                reached.extend(&callers[index as usize]);
            }
        }
    }
    out
}

/// Functions that the driver provides and that synchronise nothing.
pub fn is_system_call(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "vprintf",
        "vfprintf",
        "malloc",
        "free",
        "__assertfail",
        "__profile",
    ];
    NAMES.contains(&name)
}

/// One `.text.<function>` and what belongs to it.
struct Code<'c, 'a> {
    text: &'c Section<'a>,
    name: &'c str,
    symbol: Option<u32>,
    is_kernel: bool,
    info: FunctionInfo<'a>,
    registers: Option<u32>,
    /// `None` when no record says; a recursive function's is `u32::MAX`.
    stack: Option<u32>,
    frame: u32,
    shared: u64,
    local: u64,
    constant: BTreeMap<u8, u64>,
    textures: HashSet<u32>,
    surfaces: HashSet<u32>,
    samplers: HashSet<u32>,
}

struct Collector<'c, 'a> {
    cubin: &'c Cubin<'a>,
    table: SymbolTable<'a>,
    codes: Vec<Code<'c, 'a>>,
    /// For each section, its place in `codes`.
    by_section: Vec<Option<usize>>,
    by_name: HashMap<&'c str, usize>,
    common: Common,
}

impl<'c, 'a> Collector<'c, 'a> {
    fn new(cubin: &'c Cubin<'a>) -> Result<Self, Malformed> {
        let mut collector = Self {
            cubin,
            table: cubin.symbol_table()?,
            codes: Vec::new(),
            by_section: vec![None; cubin.sections().len()],
            by_name: HashMap::new(),
            common: Common::default(),
        };
        for (index, section) in cubin.sections().iter().enumerate() {
            if let Some(name) = section.text_of() {
                let place = collector.codes.len();
                collector.by_section[index] = Some(place);
                collector.by_name.entry(name).or_insert(place);
                let code = collector.code(section, name);
                collector.codes.push(code);
            }
        }
        Ok(collector)
    }

    fn code(&self, text: &'c Section<'a>, name: &'c str) -> Code<'c, 'a> {
        // The low 24 bits of a code section's `info` are its function's symbol in every file seen; the
        // high 8 the register count below sm_90.
        let symbol = text.info & 0x00ff_ffff;
        let kind = self.table.kind(symbol);
        let is_function = kind.is_some_and(|(kind, _)| kind == SymbolKind::Function);
        let registers = text.info >> 24;
        Code {
            text,
            name,
            symbol: is_function.then_some(symbol),
            is_kernel: is_function && kind.is_some_and(|(_, other)| other & 0x10 != 0),
            info: FunctionInfo::default(),
            registers: (registers != 0).then_some(registers),
            stack: None,
            frame: 0,
            shared: 0,
            local: 0,
            constant: BTreeMap::new(),
            textures: HashSet::new(),
            surfaces: HashSet::new(),
            samplers: HashSet::new(),
        }
    }

    /// The function that a section named `….<name>` belongs to. `info` names the code section; where it
    /// does not, the name alone has to do.
    fn owner(&self, section: &Section<'_>, name: &str) -> Option<usize> {
        let said = self
            .by_section
            .get(section.info as usize)
            .copied()
            .flatten();
        said.filter(|&place| self.codes[place].name == name)
            .or_else(|| self.by_name.get(name).copied())
    }

    fn read_sections(&mut self) -> Result<(), Malformed> {
        let cubin = self.cubin;
        let plain = cubin
            .sections()
            .iter()
            .filter(|section| !section.is_mercury());
        for section in plain {
            let name: &str = &section.name;
            if let Some(function) = name.strip_prefix(".nv.info.") {
                if let Some(place) = self.owner(section, function) {
                    self.codes[place].info = FunctionInfo::parse(cubin.info(section))?;
                }
            } else if let Some(function) = name.strip_prefix(".nv.shared.") {
                if let Some(place) = self.owner(section, function) {
                    self.codes[place].shared += section.size;
                }
            } else if let Some(function) = name.strip_prefix(".nv.local.") {
                if let Some(place) = self.owner(section, function) {
                    self.codes[place].local += section.size;
                }
            } else if let Some((bank, function)) = constant_bank(name) {
                self.add_constant(section, bank, function);
            } else if name == ".nv.global" || name == ".nv.global.init" {
                self.common.global = self.common.global.saturating_add(section.size);
            } else if matches!(section.kind, SectionKind::REL | SectionKind::RELA) {
                self.read_references(section)?;
            }
        }
        Ok(())
    }

    fn add_constant(&mut self, section: &Section<'_>, bank: u8, function: Option<&str>) {
        let bytes = match function {
            None => self.common.constant.entry(bank).or_default(),
            Some(function) => match self.owner(section, function) {
                Some(place) => self.codes[place].constant.entry(bank).or_default(),
                None => return,
            },
        };
        *bytes = bytes.saturating_add(section.size);
    }

    /// Texture, sampler and surface references are relocations of the function's constants. (The vendor's
    /// tool looks at `.rel` sections alone and so prints 0 for sm_90 and later.)
    fn read_references(&mut self, section: &Section<'_>) -> Result<(), Malformed> {
        let Some(target) = self.cubin.sections().get(section.info as usize) else {
            return Ok(());
        };
        let Some((_, Some(function))) = constant_bank(&target.name) else {
            return Ok(());
        };
        let Some(place) = self.owner(target, function) else {
            return Ok(());
        };
        for relocation in self.cubin.relocations(section)? {
            let code = &mut self.codes[place];
            let list = match self.table.kind(relocation.symbol) {
                Some((SymbolKind::Texture, _)) => &mut code.textures,
                Some((SymbolKind::Surface, _)) => &mut code.surfaces,
                Some((SymbolKind::Sampler, _)) => &mut code.samplers,
                _ => continue,
            };
            list.insert(relocation.symbol);
        }
        Ok(())
    }

    fn read_global_info(&mut self) -> Result<(), Malformed> {
        let mut by_symbol: HashMap<u32, usize> = HashMap::new();
        for (place, code) in self.codes.iter().enumerate() {
            by_symbol.extend(code.symbol.map(|symbol| (symbol, place)));
        }
        for record in self.cubin.global_info() {
            let record = record?;
            if !matches!(
                record.attribute,
                Attribute::REGCOUNT | Attribute::MIN_STACK_SIZE | Attribute::FRAME_SIZE
            ) {
                continue;
            }
            let (symbol, value) = record.per_symbol()?;
            let Some(&place) = by_symbol.get(&symbol) else {
                continue;
            };
            let code = &mut self.codes[place];
            match record.attribute {
                Attribute::REGCOUNT => code.registers = Some(value),
                Attribute::MIN_STACK_SIZE => code.stack = Some(value),
                _ => code.frame = value,
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Functions, Malformed> {
        let mut all = Functions {
            common: self.common,
            ..Functions::default()
        };
        for code in &self.codes {
            let binding = code.symbol.and_then(|symbol| self.table.binding(symbol));
            let binding = binding.map_or(Binding::Unknown, Binding::from);
            let resources = code.resources(self.cubin)?;
            let name = code.name.to_owned();
            if code.is_kernel {
                all.kernels.push(code.kernel(name, binding, resources));
            } else {
                all.functions.push(Function {
                    name,
                    demangled: None,
                    binding,
                    resources,
                    symbol: code.symbol,
                    order: code.text.index,
                });
            }
        }
        Ok(all)
    }
}

impl Code<'_, '_> {
    fn resources(&self, cubin: &Cubin<'_>) -> Result<Resources, Malformed> {
        const RECURSIVE: u32 = u32::MAX;
        let linked = cubin.stage() != Stage::Relocatable;
        Ok(Resources {
            registers: self.registers,
            stack: match self.stack {
                Some(RECURSIVE) => None,
                // No record in a linked cubin means none; a relocatable one never has it.
                None => linked.then_some(0),
                bytes => bytes,
            },
            frame: Some(self.frame),
            spills: self.spills(cubin.data(self.text)?),
            shared: Some(self.shared),
            local: Some(self.local),
            constant: Some(self.constant.clone()),
            barriers: Some(
                self.info
                    .barriers
                    .unwrap_or_else(|| self.old_barriers(cubin)),
            ),
            textures: Some(self.textures.len() as u32),
            surfaces: Some(self.surfaces.len() as u32),
            samplers: Some(self.samplers.len() as u32),
            code_bytes: Some(self.text.size),
            cta_groups: self.info.cta_groups,
        })
    }

    /// ABI 7 keeps the barriers in bits 20 to 26 of the code section's flags.
    fn old_barriers(&self, cubin: &Cubin<'_>) -> u32 {
        if cubin.abi() >= 8 {
            return 0;
        }
        (self.text.flags >> 20 & 0x7f) as u32
    }

    /// CUDA 12.6 and later list the instructions that spill; their sizes add up to what ptxas prints
    /// (measured on ptxas 12.9 and 13.5, sm_75 to sm_120).
    fn spills(&self, code: &[u8]) -> Option<Spills> {
        const FIRST_WITH_LIST: u32 = 126;
        let Some(sites) = self.info.spill_sites else {
            // Without stack nothing can have been spilled to it.
            let none = self.frame == 0 || self.info.api_version >= Some(FIRST_WITH_LIST);
            return none.then(Spills::default);
        };
        let mut spills = Spills::default();
        for offset in sites.offsets()? {
            let instruction = code.get(offset as usize..)?.first_chunk::<16>()?;
            let (is_store, bytes) = spill_instruction(u128::from_le_bytes(*instruction))?;
            if is_store {
                spills.stores += bytes;
            } else {
                spills.loads += bytes;
            }
        }
        Some(spills)
    }

    fn kernel(&self, name: String, binding: Binding, resources: Resources) -> Kernel {
        const NO_CAP: u32 = 255;
        let info = &self.info;
        let params = info.parameters.iter().map(|parameter| Param {
            ordinal: parameter.ordinal.into(),
            offset: parameter.offset.into(),
            size: parameter.size.into(),
        });
        Kernel {
            name,
            demangled: None,
            binding,
            resources,
            params: params.collect(),
            param_bytes: info.parameter_bytes.unwrap_or(0),
            max_registers: info.max_registers.filter(|&cap| cap != NO_CAP),
            max_threads: info.max_threads,
            required_threads: info.required_threads,
            cluster: info.cluster,
            explicit_cluster: info.explicit_cluster,
            max_cluster_rank: info.max_cluster_rank,
            blocks_are_clusters: info.blocks_are_clusters,
            min_blocks: None,
            uses_grid_sync: None,
            symbol: self.symbol,
            order: self.text.index,
        }
    }
}

/// Whether a 128-bit instruction stores, and the bytes it moves; `None` for an unknown one.
fn spill_instruction(instruction: u128) -> Option<(bool, u64)> {
    const STORE_LOCAL: u128 = 0x387;
    const LOAD_LOCAL: u128 = 0x983;
    let bytes = match instruction >> 73 & 7 {
        0 | 1 => 1,
        2 | 3 => 2,
        4 => 4,
        5 => 8,
        6 => 16,
        _ => return None,
    };
    match instruction & 0xfff {
        STORE_LOCAL => Some((true, bytes)),
        LOAD_LOCAL => Some((false, bytes)),
        _ => None,
    }
}

/// `.nv.constant3` → bank 3 of all; `.nv.constant0.f` → bank 0 of `f`.
fn constant_bank(name: &str) -> Option<(u8, Option<&str>)> {
    let rest = name.strip_prefix(".nv.constant")?;
    let (bank, function) = match rest.split_once('.') {
        Some((bank, function)) => (bank, Some(function)),
        None => (rest, None),
    };
    let digits = !bank.is_empty() && bank.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| bank.parse().ok())
        .flatten()
        .map(|bank| (bank, function))
}
