//! What bitcode defines and what it needs, as LLVM 5 and later store it: global values are records of the module, with
//! their names in a string table behind it.

use super::{BLOCK_MODULE, Bits, Block, ENTER_BLOCK, Item, OUTER_WIDTH, Record, stream};
use crate::error::Malformed;
use crate::format::text::text;

const BLOCK_METADATA: u64 = 15;
const BLOCK_STRTAB: u64 = 23;
const MODULE_VERSION: u64 = 1;
const MODULE_VARIABLE: u64 = 7;
const MODULE_FUNCTION: u64 = 8;
const MODULE_ALIAS: u64 = 14;
const METADATA_STRINGS: u64 = 35;
const STRTAB_BLOB: u64 = 1;

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
    /// Where it is no bitcode or has no string table, as before LLVM 5.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut bits = Bits::new(stream(bytes)?);
        let mut reading = Reading::default();
        while reading.names.is_none() && bits.fixed(OUTER_WIDTH) == Some(ENTER_BLOCK) {
            let Some(mut block) = Block::enter(&mut bits) else {
                break;
            };
            match block.id {
                BLOCK_MODULE if reading.version.is_none() => reading.module(block),
                BLOCK_STRTAB => {
                    let record = block.next_record();
                    let blob = record.filter(|record| record.code == STRTAB_BLOB);
                    reading.names = blob.map(|record| record.blob);
                }
                _ => {}
            }
        }
        let (Some(2..), Some(names)) = (reading.version, reading.names) else {
            return Err(Malformed::new(
                0,
                "the bitcode has no string table, as LLVM 5 and later write it",
            ));
        };
        let symbols = reading
            .values
            .iter()
            .filter_map(|value| value.symbol(names));
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
    version: Option<u64>,
    values: Vec<Value>,
    has_kernels: bool,
    names: Option<&'a [u8]>,
}

struct Value {
    /// In the string table: offset and size.
    name: (u64, u64),
    kind: SymbolKind,
    defined: bool,
    address_space: u64,
}

impl<'a> Reading<'a> {
    fn module(&mut self, mut block: Block<'a>) {
        while let Some(item) = block.next_item() {
            match item {
                Item::Record(record) => {
                    self.record(&record);
                }
                Item::Block(mut block) if block.id == BLOCK_METADATA => {
                    // The strings come first.
                    let record = block.next_record();
                    let strings = record.filter(|record| record.code == METADATA_STRINGS);
                    self.has_kernels |=
                        strings.is_some_and(|strings| has_string(&strings, b"kernel"));
                }
                Item::Block(_) => {}
            }
        }
    }

    fn record(&mut self, record: &Record<'_>) -> Option<()> {
        let values = &record.values;
        let value = |index: usize| values.get(index).copied();
        let (kind, defined, linkage, address_space) = match record.code {
            MODULE_VERSION => {
                self.version = value(0);
                return None;
            }
            // Behind the name: type, flags, initial value, linkage. The second flag says that the address space
            // stands in the others.
            MODULE_VARIABLE => {
                let flags = value(3)?;
                let space = if flags & 2 != 0 { flags >> 2 } else { 0 };
                (SymbolKind::Variable, value(4)? != 0, value(5)?, space)
            }
            // Behind the name: type, calling convention, whether it is only declared, linkage.
            MODULE_FUNCTION => {
                let defined = value(4)? == 0;
                self.has_kernels |= defined && value(3)? == KERNEL;
                (SymbolKind::Function, defined, value(5)?, 0)
            }
            // Behind the name: type, address space, what it stands for, linkage.
            MODULE_ALIAS => (SymbolKind::Alias, true, value(5)?, value(3)?),
            _ => return None,
        };
        if !LOCAL.contains(&linkage) {
            self.values.push(Value {
                name: (value(0)?, value(1)?),
                kind,
                defined: defined && linkage != AVAILABLE_EXTERNALLY,
                address_space,
            });
        }
        Some(())
    }
}

impl Value {
    fn symbol(&self, names: &[u8]) -> Option<Symbol> {
        let start = usize::try_from(self.name.0).ok()?;
        let end = start.checked_add(usize::try_from(self.name.1).ok()?)?;
        let name = names.get(start..end)?;
        // What the compiler keeps for itself.
        (!name.is_empty() && !name.starts_with(b"llvm.")).then(|| Symbol {
            name: text(name).into_owned(),
            kind: self.kind,
            defined: self.defined,
            address_space: self.address_space,
        })
    }
}

/// Whether one of the strings of metadata is this one. They are a count, the size of the list of lengths, and a blob
/// with that list and then all letters.
fn has_string(record: &Record<'_>, wanted: &[u8]) -> bool {
    let [count, offset] = record.values[..] else {
        return false;
    };
    let split = usize::try_from(offset)
        .ok()
        .and_then(|offset| record.blob.split_at_checked(offset));
    let Some((lengths, mut letters)) = split else {
        return false;
    };
    let mut lengths = Bits::new(lengths);
    for _ in 0..count {
        let length = lengths
            .variable(6)
            .and_then(|length| usize::try_from(length).ok());
        let Some((string, rest)) = length.and_then(|length| letters.split_at_checked(length))
        else {
            return false;
        };
        if string == wanted {
            return true;
        }
        letters = rest;
    }
    false
}
