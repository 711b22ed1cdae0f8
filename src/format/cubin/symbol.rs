use std::borrow::Cow;

use object::LittleEndian as LE;
use object::elf::Sym64;
use object::pod::slice_from_all_bytes;

use super::strings::{Budget, string_at};
use super::{Cubin, SectionKind};
use crate::error::Malformed;
use crate::format::text::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binding {
    Local,
    Global,
    Weak,
    Other(u8),
}

/// An `st_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    None,
    /// A variable of an executable cubin.
    Object,
    Function,
    Section,
    File,
    Texture,
    Sampler,
    Surface,
    /// A variable of a relocatable cubin.
    CudaObject,
    Other(u8),
}

/// Where a symbol's memory lies (`st_other` bits 5 to 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    None,
    Global,
    Shared,
    Local,
    Constant,
    ReservedShared,
    Other(u8),
}

/// What a symbol is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Undefined,
    /// A tentative definition: the largest of all inputs wins.
    Common,
    Absolute,
    Section(u32),
    /// A reserved section number without meaning here.
    Reserved(u16),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub index: u32,
    pub name: Cow<'a, str>,
    pub binding: Binding,
    pub kind: SymbolKind,
    /// Raw `st_other`; see the methods.
    pub other: u8,
    pub place: Place,
    pub value: u64,
    pub size: u64,
}

impl Symbol<'_> {
    /// A function that the host can launch.
    pub fn is_kernel(&self) -> bool {
        self.kind == SymbolKind::Function && self.other & 0x10 != 0
    }

    pub fn is_variable(&self) -> bool {
        matches!(self.kind, SymbolKind::Object | SymbolKind::CudaObject)
    }

    pub fn is_managed(&self) -> bool {
        self.is_variable() && self.other & 0x04 != 0
    }

    pub fn is_undefined(&self) -> bool {
        self.place == Place::Undefined
    }

    /// 0 default, 1 internal, 2 hidden, 3 protected.
    pub fn visibility(&self) -> u8 {
        self.other & 3
    }

    pub fn space(&self) -> Space {
        match self.other >> 5 {
            0 => Space::None,
            1 => Space::Global,
            2 => Space::Shared,
            3 => Space::Local,
            4 => Space::Constant,
            5 => Space::ReservedShared,
            other => Space::Other(other),
        }
    }
}

/// The symbol table without its names, for those that need few of them.
#[derive(Debug, Clone)]
pub struct SymbolTable<'a> {
    symbols: &'a [Sym64<LE>],
    names: &'a [u8],
    names_offset: u64,
    table_offset: u64,
    /// Section numbers beyond 16 bits, one u32 a symbol; empty when there are none.
    extended: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The symbol's type and `st_other`, which need no name.
    pub fn kind(&self, index: u32) -> Option<(SymbolKind, u8)> {
        let symbol = self.symbols.get(index as usize)?;
        Some((symbol_kind(symbol.st_info.0 & 15), symbol.st_other.0))
    }

    pub fn binding(&self, index: u32) -> Option<Binding> {
        Some(binding(self.symbols.get(index as usize)?.st_info.0 >> 4))
    }

    pub fn get(&self, index: u32) -> Result<Symbol<'a>, Malformed> {
        let Some(symbol) = self.symbols.get(index as usize) else {
            return Err(Malformed::new(
                self.table_offset,
                format!(
                    "symbol {index} is asked for, but the table has {}",
                    self.symbols.len()
                ),
            ));
        };
        Ok(Symbol {
            index,
            name: text(string_at(
                self.names,
                self.names_offset,
                symbol.st_name.get(LE),
                "symbol name",
            )?),
            binding: binding(symbol.st_info.0 >> 4),
            kind: symbol_kind(symbol.st_info.0 & 15),
            other: symbol.st_other.0,
            place: self.place(index, symbol.st_shndx.get(LE).0),
            value: symbol.st_value.get(LE),
            size: symbol.st_size.get(LE),
        })
    }

    fn place(&self, index: u32, section: u16) -> Place {
        match section {
            0 => Place::Undefined,
            0xfff1 => Place::Absolute,
            0xfff2 => Place::Common,
            0xffff => {
                let at = (index as usize).saturating_mul(4);
                match self.extended.get(at..).and_then(<[u8]>::first_chunk) {
                    Some(&number) => Place::Section(u32::from_le_bytes(number)),
                    None => Place::Reserved(section),
                }
            }
            0xff00.. => Place::Reserved(section),
            _ => Place::Section(section.into()),
        }
    }
}

fn binding(number: u8) -> Binding {
    match number {
        0 => Binding::Local,
        1 => Binding::Global,
        2 => Binding::Weak,
        other => Binding::Other(other),
    }
}

fn symbol_kind(number: u8) -> SymbolKind {
    match number {
        0 => SymbolKind::None,
        1 => SymbolKind::Object,
        2 => SymbolKind::Function,
        3 => SymbolKind::Section,
        4 => SymbolKind::File,
        10 => SymbolKind::Texture,
        11 => SymbolKind::Sampler,
        12 => SymbolKind::Surface,
        13 => SymbolKind::CudaObject,
        other => SymbolKind::Other(other),
    }
}

impl<'a> Cubin<'a> {
    /// The symbol table; empty when there is none.
    pub fn symbol_table(&self) -> Result<SymbolTable<'a>, Malformed> {
        let table = self
            .sections
            .iter()
            .find(|section| section.kind == SectionKind::SYMTAB && !section.is_mercury());
        let Some(table) = table else {
            return Ok(SymbolTable {
                symbols: &[],
                names: &[],
                names_offset: 0,
                table_offset: 0,
                extended: &[],
            });
        };
        let symbols = slice_from_all_bytes(self.data(table)?).map_err(|()| {
            Malformed::new(
                table.offset,
                format!("symbol table of {} bytes is no multiple of 24", table.size),
            )
        })?;
        let Some(names) = self.sections.get(table.link as usize) else {
            return Err(Malformed::new(
                table.offset,
                format!("section {} should hold the symbol names", table.link),
            ));
        };
        let extended = self.sections.iter().find(|section| {
            section.kind == SectionKind::SYMTAB_SHNDX && section.link == table.index
        });
        Ok(SymbolTable {
            symbols,
            names: self.data(names)?,
            names_offset: names.offset,
            table_offset: table.offset,
            extended: extended.map_or(Ok(&[][..]), |section| self.data(section))?,
        })
    }

    /// All symbols with their names, by index; the null symbol is the first.
    pub fn symbols(&self) -> Result<Vec<Symbol<'a>>, Malformed> {
        let table = self.symbol_table()?;
        let mut budget = Budget::new("symbol names", self.bytes.len());
        (0..table.len() as u32)
            .map(|index| {
                let symbol = table.get(index)?;
                budget.spend(symbol.name.len(), table.names_offset)?;
                Ok(symbol)
            })
            .collect()
    }
}
