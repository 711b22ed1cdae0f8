//! Phase 1: a cubin as a typed unit, with everything it uses checked against what the linker knows.

use std::borrow::Cow;

use super::Input;
use crate::code::{Arch, Suffix};
use crate::error::{Code, Error, Malformed, Result};
use crate::format::cubin::{Binding, Cubin, Place, SectionKind, Stage, Symbol, SymbolKind};

/// Architectures whose links were compared with nvlink's.
const KNOWN: [u16; 6] = [75, 80, 86, 87, 89, 90];

/// Attributes of `.nv.info` whose treatment in a link is known, by `EIATTR` number.
const KNOWN_ATTRIBUTES: &[u8] = &[
    0x04, 0x05, 0x0a, 0x0f, 0x10, 0x11, 0x12, 0x17, 0x19, 0x1b, 0x1c, 0x1d, 0x1e, 0x21, 0x23, 0x25,
    0x28, 0x29, 0x2a, 0x2e, 0x2f, 0x30, 0x31, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3d, 0x3e, 0x3f,
    0x40, 0x41, 0x44, 0x45, 0x46, 0x4a, 0x4c, 0x50, 0x55, 0x5f, 0x65, 0x66, 0x68, 0x6b, 0x6d,
];

/// One input after reading.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub name: &'a str,
    pub number: u16,
    pub virtual_number: u16,
    /// Written by CUDA 12.9 or older: registers of barriers and suffix stand elsewhere.
    pub old_abi: bool,
    pub accelerated: bool,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    pub relocations: Vec<Relocations>,
    pub calls: Vec<Edge<'a>>,
    pub prototypes: Vec<(usize, &'a str)>,
    pub compat: Option<Vec<RawAttribute<'a>>>,
    pub tool_note: &'a [u8],
}

/// What a section is for; the name decides, since one name has had several types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Tables that are made anew.
    Table,
    Text,
    /// `.nv.constant0.<kernel>`: parameters.
    Parameters,
    /// `.nv.constant2.<function>`: the compiler's own constants.
    CompilerConstants,
    /// `.nv.constant3`: `__constant__` variables.
    Constants,
    Global,
    GlobalInit,
    /// Static shared memory of one function.
    Shared,
    /// `.nv_debug.shared`: shared variables that other units may name.
    DebugShared,
    Debug,
    Info,
    FunctionInfo,
    Relocations,
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
    Ok(Unit {
        name,
        number,
        virtual_number: cubin.virtual_number().unwrap_or(number),
        old_abi: cubin.abi() < 8,
        accelerated: cubin.target().suffix == Some('a'),
        flags: cubin.flags(),
        calls: call_edges(name, &cubin, symbols.len())?,
        prototypes: prototypes(name, &cubin, symbols.len())?,
        sections,
        symbols,
        relocations,
        compat,
        tool_note,
    })
}

fn check_header(name: &str, cubin: &Cubin, target: Arch) -> Result<()> {
    if cubin.stage() != Stage::Relocatable {
        return Err(Error::failed(
            Code::NotRelocatable,
            "is already linked and cannot be linked again",
        )
        .input(name));
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
    if !KNOWN.contains(&from.number) || suffix == Suffix::Family {
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

fn role(name: &str) -> Option<Role> {
    const EXACT: &[(&str, Role)] = &[
        ("", Role::Table),
        (".shstrtab", Role::Table),
        (".strtab", Role::Table),
        (".symtab", Role::Table),
        (".symtab_shndx", Role::Table),
        (".note.nv.tkinfo", Role::Table),
        (".note.nv.cuinfo", Role::Table),
        (".note.nv.cuver", Role::Table),
        (".nv.compat", Role::Table),
        (".nv.callgraph", Role::Table),
        (".nv.prototype", Role::Table),
        (".nv.rel.action", Role::Table),
        (".nv.shared.reserved.0", Role::Table),
        (".nv.info", Role::Info),
        (".nv.constant3", Role::Constants),
        (".nv.global", Role::Global),
        (".nv.global.init", Role::GlobalInit),
        (".nv_debug.shared", Role::DebugShared),
    ];
    const PREFIX: &[(&str, Role)] = &[
        (".text.", Role::Text),
        (".nv.info.", Role::FunctionInfo),
        (".nv.constant0.", Role::Parameters),
        (".nv.constant2.", Role::CompilerConstants),
        (".nv.shared.", Role::Shared),
        (".debug_", Role::Debug),
        (".nv_debug_", Role::Debug),
        (".rel.", Role::Relocations),
        (".rela.", Role::Relocations),
    ];
    EXACT
        .iter()
        .find(|(exact, _)| *exact == name)
        .or_else(|| PREFIX.iter().find(|(prefix, _)| name.starts_with(prefix)))
        .map(|(_, role)| *role)
}

fn read_section<'a>(
    input: &str,
    section: &crate::format::cubin::Section<'a>,
    data: &'a [u8],
    count: usize,
) -> Result<Section<'a>> {
    let name = plain(input, &section.name)?;
    let Some(role) = role(name) else {
        return Err(unsupported(input, format_args!("section `{name}`")));
    };
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
    if matches!(role, Role::Info | Role::FunctionInfo)
        && let Some(unknown) = attributes
            .iter()
            .find(|attribute| !KNOWN_ATTRIBUTES.contains(&attribute.number))
    {
        return Err(unsupported(
            input,
            format_args!("attribute {:#x} in `{name}`", unknown.number),
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

/// Relocations that the driver applies, those resolved at link, and those of debug sections.
pub(super) mod relocation {
    pub const ABS32: u32 = 1;
    pub const ABS64: u32 = 2;
    pub const UNUSED_CLEAR64: u32 = 73;
    /// YIELD_OPCODE9_0, YIELD_CLEAR_PRED4_87: hints for a linker that schedules anew; they need no symbol.
    pub const DROPPED: [u32; 2] = [68, 69];
    pub const RESERVED_SHARED: u32 = 114;
    pub const UNIFIED: u32 = 102;
    /// 64, G64, FUNC_DESC_64, ABS32_LO_32, ABS32_HI_32, ABS47_34, ABS55_16_34.
    pub const FOR_DRIVER: [u32; 7] = [ABS64, 4, 35, 56, 57, 58, 75];
    pub const KNOWN: [u32; 19] = [
        ABS32,
        ABS64,
        4,
        35,
        55,
        56,
        57,
        58,
        59,
        60,
        64,
        66,
        68,
        69,
        UNUSED_CLEAR64,
        74,
        75,
        UNIFIED,
        RESERVED_SHARED,
    ];
}

fn check_relocation(input: &str, record: &Record, target: &Section, symbols: usize) -> Result<()> {
    if !relocation::KNOWN.contains(&record.kind) {
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
