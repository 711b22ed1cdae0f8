//! What bitcode defines and what it needs. Global values are records of the module. Their names are in a string table
//! behind it since LLVM 5, and before that, as in libdevice, in a block of the module.

use std::collections::HashMap;

use super::{BLOCK_MODULE, Bits, Block, ENTER_BLOCK, Item, OUTER_WIDTH, Operand, Record, stream};
use crate::error::Malformed;
use crate::format::text::text;

const BLOCK_INFO: u64 = 0;
const BLOCK_SYMBOLS: u64 = 14;
const BLOCK_METADATA: u64 = 15;
const BLOCK_STRTAB: u64 = 23;
const MODULE_VERSION: u64 = 1;
const MODULE_VARIABLE: u64 = 7;
const MODULE_FUNCTION: u64 = 8;
const MODULE_ALIAS: u64 = 14;
const MODULE_ALIAS_OLD: u64 = 9;
const MODULE_IFUNC: u64 = 15;
const INFO_SET_BLOCK: u64 = 1;
const SYMBOLS_ENTRY: u64 = 1;
const SYMBOLS_FUNCTION: u64 = 3;
const METADATA_STRING_OLD: u64 = 1;
const METADATA_VALUE: u64 = 2;
const METADATA_NODE: u64 = 3;
const METADATA_DISTINCT_NODE: u64 = 5;
const METADATA_STRINGS: u64 = 35;
/// Records that are no metadata of their own and so have no number: names and kinds, named nodes, attachments, the
/// index, and lists of arguments.
const METADATA_UNNUMBERED: [u64; 8] = [4, 6, 10, 11, 36, 38, 39, 46];
const STRTAB_BLOB: u64 = 1;
/// From this version of the module on its names are in the string table.
const WITH_STRING_TABLE: u64 = 2;

/// The calling convention `ptx_kernel`.
const KERNEL: u64 = 71;
const AVAILABLE_EXTERNALLY: u64 = 12;
/// `internal`, and three ways in which `private` is stored.
const LOCAL: [u64; 4] = [3, 9, 13, 14];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    Function,
    Variable,
    Alias,
}

/// A function or variable that other modules can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    pub defined: bool,
    /// Of a variable: 1 global, 3 shared, 4 constant.
    pub address_space: u64,
    /// By its calling convention or by metadata.
    pub is_kernel: bool,
}

/// The symbols of a module, and whether it has kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub symbols: Vec<Symbol>,
    /// By calling convention, or maybe by metadata: a module with the string `kernel` in its metadata counts.
    pub has_kernels: bool,
}

impl Contents {
    /// Reads the first module.
    ///
    /// # Errors
    /// Where it is no bitcode, has no module, or lacks its names.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut bits = Bits::new(stream(bytes)?);
        let mut reading = Reading::default();
        while !reading.is_complete() && bits.fixed(OUTER_WIDTH) == Some(ENTER_BLOCK) {
            let Some(mut block) = Block::enter(&mut bits) else {
                break;
            };
            match block.id {
                BLOCK_MODULE if !reading.seen => reading.module(block),
                BLOCK_STRTAB => {
                    let record = block.next_record();
                    let blob = record.filter(|record| record.code == STRTAB_BLOB);
                    reading.table = blob.map(|record| record.blob);
                }
                _ => {}
            }
        }
        if !reading.is_complete() {
            return Err(Malformed::new(
                0,
                "the bitcode has no module with the names of its symbols",
            ));
        }
        let values = reading.values.iter().enumerate();
        let symbols = values.filter_map(|(number, value)| reading.symbol(number, value));
        Ok(Self {
            symbols: symbols.collect(),
            has_kernels: reading.has_kernels,
        })
    }

    pub fn defines<'a>(&'a self, name: &str) -> Option<&'a Symbol> {
        let mut symbols = self.symbols.iter();
        symbols.find(|symbol| symbol.defined && symbol.name == name)
    }
}

#[derive(Default)]
struct Reading<'a> {
    /// A module was there.
    seen: bool,
    version: u64,
    /// The number of a value is its place here.
    values: Vec<Value>,
    has_kernels: bool,
    table: Option<&'a [u8]>,
    /// By number, where there is no table.
    names: HashMap<usize, Vec<u8>>,
    /// Abbreviations that blocks of a kind start with.
    abbreviations: HashMap<u64, Vec<Vec<Operand>>>,
}

struct Value {
    /// In the string table: offset and size.
    name: (u64, u64),
    kind: SymbolKind,
    defined: bool,
    local: bool,
    address_space: u64,
    is_kernel: bool,
}

impl<'a> Reading<'a> {
    fn is_complete(&self) -> bool {
        self.seen && (self.version < WITH_STRING_TABLE || self.table.is_some())
    }

    fn module(&mut self, mut block: Block<'a>) {
        self.seen = true;
        while let Some(item) = block.next_item() {
            match item {
                Item::Record(record) => self.record(&record),
                Item::Block(block) => match block.id {
                    BLOCK_INFO => self.info(block),
                    BLOCK_SYMBOLS if self.version < WITH_STRING_TABLE => self.names(block),
                    BLOCK_METADATA => self.metadata(block),
                    _ => {}
                },
            }
        }
    }

    /// Takes the abbreviations behind each record that names a kind of block.
    fn info(&mut self, mut block: Block<'_>) {
        let mut kind = None;
        loop {
            let record = block.next_record();
            let defined = std::mem::take(&mut block.abbreviations);
            if let Some(kind) = kind {
                self.abbreviations.entry(kind).or_default().extend(defined);
            }
            match record {
                Some(record) if record.code == INFO_SET_BLOCK => {
                    kind = record.values.first().copied()
                }
                Some(_) => {}
                None => return,
            }
        }
    }

    fn names(&mut self, mut block: Block<'_>) {
        if let Some(abbreviations) = self.abbreviations.get(&block.id) {
            block.abbreviations.clone_from(abbreviations);
        }
        while let Some(record) = block.next_record() {
            let letters = match record.code {
                SYMBOLS_ENTRY => 1,
                // Behind the number is where the function's body is.
                SYMBOLS_FUNCTION => 2,
                _ => continue,
            };
            let number = record
                .values
                .first()
                .and_then(|&number| usize::try_from(number).ok());
            let letters = record.values.get(letters..).unwrap_or_default().iter();
            let name: Option<Vec<u8>> = letters.map(|&letter| u8::try_from(letter).ok()).collect();
            if let (Some(number), Some(name)) = (number, name) {
                self.names.insert(number, name);
            }
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if record.code == MODULE_VERSION {
            self.version = record.values.first().copied().unwrap_or_default();
        } else if let Some(value) = self.value(record) {
            self.has_kernels |= value.is_kernel;
            self.values.push(value);
        }
    }

    /// Marks the functions that a node like `!{ptr @k, !"kernel", i32 1}` names.
    fn metadata(&mut self, block: Block<'_>) {
        let (is_there, kernels) = kernels_of_metadata(block);
        self.has_kernels |= is_there;
        for number in kernels {
            if let Some(value) = usize::try_from(number)
                .ok()
                .and_then(|number| self.values.get_mut(number))
            {
                value.is_kernel |= value.kind == SymbolKind::Function && value.defined;
            }
        }
    }

    /// A global value. What is missing counts as 0.
    fn value(&self, record: &Record<'_>) -> Option<Value> {
        let (name, fields) = match record.values.split_at_checked(2) {
            Some((name, fields)) if self.version >= WITH_STRING_TABLE => {
                ((name[0], name[1]), fields)
            }
            _ => ((0, 0), &record.values[..]),
        };
        let field = |index: usize| fields.get(index).copied().unwrap_or_default();
        let (kind, defined, linkage, address_space) = match record.code {
            // Type, flags, initial value, linkage. The second flag says that the address space stands in the others.
            MODULE_VARIABLE => {
                let space = if field(1) & 2 != 0 { field(1) >> 2 } else { 0 };
                (SymbolKind::Variable, field(2) != 0, field(3), space)
            }
            // Type, calling convention, whether it is only declared, linkage.
            MODULE_FUNCTION => (SymbolKind::Function, field(2) == 0, field(3), 0),
            // Type, address space, what it stands for, linkage.
            MODULE_ALIAS | MODULE_IFUNC => (SymbolKind::Alias, true, field(3), field(1)),
            MODULE_ALIAS_OLD => (SymbolKind::Alias, true, field(2), 0),
            _ => return None,
        };
        Some(Value {
            name,
            kind,
            defined: defined && linkage != AVAILABLE_EXTERNALLY,
            local: LOCAL.contains(&linkage),
            address_space,
            is_kernel: defined && record.code == MODULE_FUNCTION && field(1) == KERNEL,
        })
    }

    fn symbol(&self, number: usize, value: &Value) -> Option<Symbol> {
        let name = match self.table {
            Some(table) if self.version >= WITH_STRING_TABLE => {
                let start = usize::try_from(value.name.0).ok()?;
                let end = start.checked_add(usize::try_from(value.name.1).ok()?)?;
                table.get(start..end)?
            }
            _ => self.names.get(&number)?,
        };
        // What the compiler keeps for itself.
        let is_own = name.is_empty() || name.starts_with(b"llvm.");
        (!value.local && !is_own).then(|| Symbol {
            name: text(name).into_owned(),
            kind: value.kind,
            defined: value.defined,
            address_space: value.address_space,
            is_kernel: value.is_kernel,
        })
    }
}

/// Whether a block of metadata has the string `kernel`, and the numbers of the values that stand in a node with it.
fn kernels_of_metadata(mut block: Block<'_>) -> (bool, Vec<u64>) {
    /// Nodes refer to metadata by its number and 1; 0 is null.
    const FIRST: u64 = 1;
    let mut next = FIRST;
    let mut word = None;
    let mut values: HashMap<u64, u64> = HashMap::new();
    let mut kernels = Vec::new();
    while let Some(record) = block.next_record() {
        match record.code {
            // All of them in one record, before all else.
            METADATA_STRINGS => {
                word = place_among(&record, b"kernel").map(|place| next.saturating_add(place));
                next = next.saturating_add(record.values.first().copied().unwrap_or_default());
                continue;
            }
            METADATA_STRING_OLD if record.text().is_some_and(|text| text == "kernel") => {
                word = Some(next);
            }
            METADATA_VALUE => {
                values.extend(record.values.get(1).map(|&value| (next, value)));
            }
            METADATA_NODE | METADATA_DISTINCT_NODE
                if word.is_some_and(|word| record.values.contains(&word)) =>
            {
                kernels.extend(record.values.iter().filter_map(|id| values.get(id)));
            }
            code if METADATA_UNNUMBERED.contains(&code) => continue,
            _ => {}
        }
        next = next.saturating_add(1);
    }
    (word.is_some(), kernels)
}

/// Strings are a count, the size of the list of their lengths, and a blob with that list and then all letters.
fn place_among(record: &Record<'_>, wanted: &[u8]) -> Option<u64> {
    let [count, offset] = record.values[..] else {
        return None;
    };
    let offset = usize::try_from(offset).ok()?;
    let (lengths, mut letters) = record.blob.split_at_checked(offset)?;
    let mut lengths = Bits::new(lengths);
    for place in 0..count {
        let length = usize::try_from(lengths.variable(6)?).ok()?;
        let (string, rest) = letters.split_at_checked(length)?;
        if string == wanted {
            return Some(place);
        }
        letters = rest;
    }
    None
}
