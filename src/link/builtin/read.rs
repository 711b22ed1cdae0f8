//! Phase 1: a cubin as a typed unit, with everything it uses checked against what the linker knows.

use std::borrow::Cow;

use super::Input;
use super::known::{self, Role, relocation};
use crate::code::{Arch, Suffix};
use crate::error::{Category, Code, Error, Malformed, Result};
use crate::format::cubin::{Binding, Cubin, Place, SectionKind, Stage, Symbol, SymbolKind};
use crate::format::nv_info::Attribute;
use crate::link::findings;

/// One input after reading.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub name: &'a str,
    pub number: u16,
    pub virtual_number: u16,
    /// Written by CUDA 12.9 or older: registers of barriers and suffix stand elsewhere.
    pub old_abi: bool,
    pub accelerated: bool,
    /// Header flags below their top byte, as ABI 8 writes them.
    pub flags: u32,
    /// Top byte of the header flags: how much there is for debuggers.
    pub debug_level: u32,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    pub relocations: Vec<Relocations>,
    pub calls: Vec<Edge<'a>>,
    pub prototypes: Vec<(usize, &'a str)>,
    pub compat: Option<Vec<RawAttribute<'a>>>,
    pub tool_note: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub role: Role,
    pub kind: u32,
    pub flags: u64,
    pub align: u64,
    pub size: u64,
    /// Empty for zero-fill sections.
    pub data: &'a [u8],
    /// The section this one belongs to, where `sh_info` names one.
    pub of: usize,
    /// Raw `sh_info`; its high byte is a register count for text below sm_90.
    pub info: u32,
    pub attributes: Vec<RawAttribute<'a>>,
}

impl Section<'_> {
    pub fn has_bytes(&self) -> bool {
        SectionKind(self.kind).has_bytes()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RawAttribute<'a> {
    pub format: u8,
    pub number: u8,
    pub value: &'a [u8],
}

impl RawAttribute<'_> {
    pub fn u32(&self, at: usize) -> Option<u32> {
        self.value
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u32::from_le_bytes)
    }
}

#[derive(Debug)]
pub(super) struct Relocations {
    /// The section they apply to.
    pub target: usize,
    pub with_addends: bool,
    pub records: Vec<Record>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub offset: u64,
    pub kind: u32,
    pub symbol: usize,
    pub addend: Option<i64>,
}

/// One pair of `.nv.callgraph`, in file order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edge<'a> {
    Call(usize, usize),
    AddressTaken(usize, &'a str),
    Indirect(usize, &'a str),
    TakesAddress(usize, usize),
}

/// The refusal of something the linker does not know.
pub(super) fn unsupported(input: &str, what: impl std::fmt::Display) -> Error {
    Error::failed(
        Code::BuiltinUnsupported,
        format!("the built-in linker does not know {what}"),
    )
    .input(input)
    .hint("link with `--backend nvjitlink`")
}

pub(super) fn unit<'a>(input: Input<'a>, target: Arch) -> Result<Unit<'a>> {
    let name = input.name;
    let damaged = |error: Malformed| error.in_input(name);
    let cubin = Cubin::parse(input.cubin).map_err(damaged)?;
    check_header(name, &cubin, target)?;
    let sections = cubin
        .sections()
        .iter()
        .map(|section| {
            let data = cubin.data(section).map_err(damaged)?;
            read_section(name, section, data, cubin.sections().len())
        })
        .collect::<Result<Vec<_>>>()?;
    let symbols = cubin.symbols().map_err(damaged)?;
    for symbol in &symbols {
        check_symbol(name, symbol, &sections)?;
    }
    let mut relocations = Vec::new();
    for section in cubin
        .relocation_sections()
        .filter(|section| section.size > 0)
    {
        let records: Vec<Record> = cubin
            .relocations(section)
            .map_err(damaged)?
            .map(|r| Record {
                offset: r.offset,
                kind: r.kind.0,
                symbol: r.symbol as usize,
                addend: r.addend,
            })
            .collect();
        let target =
            &sections[checked_index(name, section.info, sections.len(), "relocated section")?];
        for record in &records {
            check_relocation(name, record, target, symbols.len())?;
        }
        relocations.push(Relocations {
            target: section.info as usize,
            with_addends: section.kind == SectionKind::RELA,
            records,
        });
    }
    let compat = match cubin.section(".nv.compat") {
        Some(section) => Some(attributes(name, cubin.data(section).map_err(damaged)?)?),
        None => None,
    };
    let tool_note = match cubin.section(".note.nv.tkinfo") {
        Some(section) => cubin.data(section).map_err(damaged)?,
        None => &[],
    };
    let number = cubin.target().number;
    let is_old = cubin.abi() < 8;
    Ok(Unit {
        name,
        number,
        virtual_number: cubin.virtual_number().unwrap_or(number),
        old_abi: is_old,
        accelerated: cubin.target().suffix == Some('a'),
        flags: if is_old {
            4 | u32::from(number) << 8
        } else {
            cubin.flags() & 0xFF_FFFF
        },
        debug_level: debug_level(&cubin),
        calls: call_edges(name, &cubin, symbols.len())?,
        prototypes: prototypes(name, &cubin, symbols.len())?,
        sections,
        symbols,
        relocations,
        compat,
        tool_note,
    })
}

/// ABI 7 does not say it, but nvlink 13.5 takes such inputs for what ABI 8 would say: 9 with line numbers, 10 if some
/// lines are of inlined functions.
fn debug_level(cubin: &Cubin) -> u32 {
    let has = |name| cubin.section(name).is_some();
    match (cubin.abi(), has(".debug_line"), has(".debug_str")) {
        (8, ..) => cubin.flags() >> 24,
        (_, false, _) => 6,
        (_, true, false) => 9,
        (_, true, true) => 10,
    }
}

fn check_header(name: &str, cubin: &Cubin, target: Arch) -> Result<()> {
    if cubin.stage() != Stage::Relocatable {
        return Err(Error::new(
            Category::Failed,
            findings::not_relocatable().input(name),
        ));
    }
    let from = cubin.target();
    let suffix = match from.suffix {
        Some('a') => Suffix::Accelerated,
        Some(_) => Suffix::Family,
        None => Suffix::None,
    };
    let arch = Arch {
        number: from.number,
        suffix,
    };
    if !known::ARCHITECTURES.contains(&from.number) || suffix == Suffix::Family {
        return Err(unsupported(
            name,
            format_args!("code for {arch}; it links sm_75 to sm_90a"),
        ));
    }
    if !arch.cubin_fits(target) {
        return Err(Error::failed(
            Code::ArchMissing,
            format!("is for {arch} and cannot be linked for {target}"),
        )
        .input(name));
    }
    if arch != target {
        return Err(unsupported(
            name,
            format_args!("how to link {arch} code for {target}"),
        ));
    }
    match cubin.abi() {
        7 if from.number == 90 && cubin.release().is_some_and(|release| release.major < 12) => {
            Err(Error::failed(
                Code::InputTooOld,
                "was made by CUDA 11, whose sm_90 code cannot be linked with newer code",
            )
            .input(name)
            .hint("compile it again with CUDA 12.0 or newer"))
        }
        // Full debug information refers to shared and constant symbols in ways that are not understood yet.
        8 if cubin.flags() >> 24 >= 0x0E => Err(unsupported(name, "full debug information (`-G`)")),
        7 if cubin.section(".debug_info").is_some() => {
            Err(unsupported(name, "full debug information (`-G`)"))
        }
        7 | 8 => Ok(()),
        other => Err(unsupported(name, format_args!("cubins of ABI {other}"))),
    }
}

fn read_section<'a>(
    input: &str,
    section: &crate::format::cubin::Section<'a>,
    data: &'a [u8],
    count: usize,
) -> Result<Section<'a>> {
    let name = plain(input, &section.name)?;
    let Some((role, kinds, flags)) = known::section(name) else {
        return Err(unsupported(input, format_args!("section `{name}`")));
    };
    if !kinds.contains(&section.kind.0) {
        return Err(unsupported(
            input,
            format_args!("section `{name}` of type {}", section.kind),
        ));
    }
    if section.flags & !flags != 0 {
        return Err(unsupported(
            input,
            format_args!("flags {:#x} of section `{name}`", section.flags),
        ));
    }
    let belongs = matches!(
        role,
        Role::Parameters | Role::CompilerConstants | Role::FunctionInfo | Role::Relocations
    );
    let of = if belongs {
        checked_index(input, section.info, count, "owner of a section")?
    } else {
        0
    };
    let attributes = match role {
        Role::Info | Role::FunctionInfo => attributes(input, data)?,
        _ => Vec::new(),
    };
    let known = match role {
        Role::Info => known::GLOBAL_ATTRIBUTES,
        _ => known::FUNCTION_ATTRIBUTES,
    };
    if let Some(unknown) = attributes
        .iter()
        .map(|attribute| Attribute(attribute.number))
        .find(|attribute| !known.contains(attribute))
    {
        return Err(unsupported(
            input,
            format_args!("attribute {unknown} in `{name}`"),
        ));
    }
    if !section.align.max(1).is_power_of_two() || section.align > 1 << 16 {
        return Err(
            Error::damaged(format!("section `{name}` has alignment {}", section.align))
                .input(input),
        );
    }
    // Shared memory and globals are bounded by the machine; a planted size must not be believed.
    if section.size > 1 << 32 {
        return Err(
            Error::damaged(format!("section `{name}` claims {} bytes", section.size)).input(input),
        );
    }
    Ok(Section {
        name,
        role,
        kind: section.kind.0,
        flags: section.flags,
        align: section.align.max(1),
        size: section.size,
        data,
        of,
        info: section.info,
        attributes,
    })
}

fn attributes<'a>(input: &str, data: &'a [u8]) -> Result<Vec<RawAttribute<'a>>> {
    let mut rest = data;
    let mut out = Vec::new();
    while let [format, number, tail @ ..] = rest {
        let (skip, length) = match (format, tail) {
            (1..=3, [_, _, ..]) => (0, 2),
            (4, [low, high, ..]) => (2, usize::from(u16::from_le_bytes([*low, *high]))),
            _ => {
                return Err(Error::damaged(format!(
                    "attribute {number:#x} is cut or has format {format}"
                ))
                .input(input));
            }
        };
        let Some(value) = tail.get(skip..skip + length) else {
            return Err(
                Error::damaged(format!("attribute {number:#x} reaches past its section"))
                    .input(input),
            );
        };
        out.push(RawAttribute {
            format: *format,
            number: *number,
            value,
        });
        rest = &tail[skip + length..];
    }
    Ok(out)
}

fn check_symbol(input: &str, symbol: &Symbol, sections: &[Section]) -> Result<()> {
    plain(input, &symbol.name)?;
    if let SymbolKind::Texture | SymbolKind::Sampler | SymbolKind::Surface | SymbolKind::Other(_) =
        symbol.kind
    {
        return Err(unsupported(
            input,
            format_args!("symbol `{}` of type {:?}", symbol.name, symbol.kind),
        ));
    }
    if let Binding::Other(_) = symbol.binding {
        return Err(unsupported(
            input,
            format_args!("the binding of symbol `{}`", symbol.name),
        ));
    }
    match symbol.place {
        Place::Undefined => Ok(()),
        Place::Section(index) => {
            let section =
                &sections[checked_index(input, index, sections.len(), "section of a symbol")?];
            let misplaced = symbol.kind == SymbolKind::Function && section.role != Role::Text;
            if misplaced {
                return Err(Error::damaged(format!(
                    "function `{}` is not in a text section",
                    symbol.name
                ))
                .input(input));
            }
            let is_variable = matches!(symbol.kind, SymbolKind::Object | SymbolKind::CudaObject);
            let known = matches!(
                section.role,
                Role::Parameters
                    | Role::CompilerConstants
                    | Role::Constants
                    | Role::Global
                    | Role::GlobalInit
                    | Role::Shared
                    | Role::DebugShared
            );
            if is_variable && !known {
                return Err(unsupported(
                    input,
                    format_args!("variable `{}` in section `{}`", symbol.name, section.name),
                ));
            }
            Ok(())
        }
        Place::Common => Err(unsupported(
            input,
            format_args!("the common variable `{}`", symbol.name),
        )),
        _ => Err(unsupported(
            input,
            format_args!("the place of symbol `{}`", symbol.name),
        )),
    }
}

fn check_relocation(input: &str, record: &Record, target: &Section, symbols: usize) -> Result<()> {
    if !relocation::is_known(record.kind) {
        let kind = crate::format::cubin::RelocationKind(record.kind);
        return Err(unsupported(
            input,
            format_args!("relocation {kind} in `{}`", target.name),
        ));
    }
    if record.symbol >= symbols {
        return Err(Error::damaged(format!(
            "a relocation of `{}` names symbol {}, but there are {symbols}",
            target.name, record.symbol
        ))
        .input(input));
    }
    let width = match (target.role, record.kind) {
        (Role::Text, relocation::UNUSED_CLEAR64) => 8,
        (Role::Text, _) => 16,
        (_, relocation::ABS32) => 4,
        _ => 8,
    };
    if record.offset.saturating_add(width) > target.size {
        return Err(Error::damaged(format!(
            "a relocation of `{}` at {:#x} reaches past its {} bytes",
            target.name, record.offset, target.size
        ))
        .input(input));
    }
    Ok(())
}

fn call_edges<'a>(input: &str, cubin: &Cubin<'a>, symbols: usize) -> Result<Vec<Edge<'a>>> {
    let graph = cubin.call_graph().map_err(|error| error.in_input(input))?;
    let index = |symbol: u32| checked_index(input, symbol, symbols, "symbol of the call graph");
    let mut edges = Vec::new();
    for (caller, callee) in graph.calls {
        edges.push(Edge::Call(index(caller)?, index(callee)?));
    }
    for (function, prototype) in graph.address_taken {
        edges.push(Edge::AddressTaken(
            index(function)?,
            plain(input, &prototype)?,
        ));
    }
    for (caller, prototype) in graph.indirect_callers {
        edges.push(Edge::Indirect(index(caller)?, plain(input, &prototype)?));
    }
    for (function, taken) in graph.takes_address {
        edges.push(Edge::TakesAddress(index(function)?, index(taken)?));
    }
    Ok(edges)
}

fn prototypes<'a>(input: &str, cubin: &Cubin<'a>, symbols: usize) -> Result<Vec<(usize, &'a str)>> {
    let list = cubin.prototypes().map_err(|error| error.in_input(input))?;
    list.into_iter()
        .map(|(symbol, text)| {
            Ok((
                checked_index(input, symbol, symbols, "symbol of the prototypes")?,
                plain(input, &text)?,
            ))
        })
        .collect()
}

fn checked_index(input: &str, index: u32, count: usize, what: &str) -> Result<usize> {
    let index = index as usize;
    if index >= count {
        return Err(
            Error::damaged(format!("{what} is number {index}, but there are {count}")).input(input),
        );
    }
    Ok(index)
}

/// A name that can be written back as it was read.
fn plain<'a>(input: &str, name: &Cow<'a, str>) -> Result<&'a str> {
    match name {
        Cow::Borrowed(name) => Ok(name),
        Cow::Owned(name) => Err(unsupported(
            input,
            format_args!("the name `{name}`, which is not UTF-8"),
        )),
    }
}
