//! A host object file that carries a fatbin in `.nv_fatbin` under a named symbol, so that a C program can
//! link it and hand the symbol's address to `cuModuleLoadData`.

use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

use crate::error::{Code, Error, Result};

/// What the object file is for: `x86_64-linux`, `aarch64-macos`…
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTarget {
    architecture: Architecture,
    format: BinaryFormat,
}

const ARCHITECTURES: &[(&str, Architecture)] = &[
    ("x86_64", Architecture::X86_64),
    ("aarch64", Architecture::Aarch64),
];
const SYSTEMS: &[(&str, BinaryFormat)] = &[
    ("linux", BinaryFormat::Elf),
    ("windows", BinaryFormat::Coff),
    ("macos", BinaryFormat::MachO),
];

impl HostTarget {
    /// The machine this program runs on.
    pub fn current() -> Result<Self> {
        format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
            .parse()
            .map_err(Error::usage)
    }

    /// Every spelling that parses.
    pub fn all() -> impl Iterator<Item = String> {
        ARCHITECTURES.iter().flat_map(|(arch, _)| {
            SYSTEMS
                .iter()
                .map(move |(system, _)| format!("{arch}-{system}"))
        })
    }
}

impl std::str::FromStr for HostTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            format!(
                "`{text}` is no host target; known are {}",
                Self::all().collect::<Vec<_>>().join(", ")
            )
        };
        let (arch, system) = text.split_once('-').ok_or_else(known)?;
        let architecture = ARCHITECTURES
            .iter()
            .find(|(name, _)| *name == arch)
            .ok_or_else(known)?
            .1;
        let format = SYSTEMS
            .iter()
            .find(|(name, _)| *name == system)
            .ok_or_else(known)?
            .1;
        Ok(Self {
            architecture,
            format,
        })
    }
}

/// A C identifier made from a file's name: `out/my-kernels.o` → `my_kernels`.
pub fn symbol_from_name(path: &std::path::Path) -> String {
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut symbol: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if symbol.is_empty() || symbol.starts_with(|c: char| c.is_ascii_digit()) {
        symbol.insert(0, '_');
    }
    symbol
}

/// An object file for `target` with `fatbin` in its own read-only section under the global symbol `symbol`.
/// There is no constructor and no registration: the program loads it through the driver.
pub fn write_object(fatbin: &[u8], symbol: &str, target: HostTarget) -> Result<Vec<u8>> {
    let mut object = Object::new(target.format, target.architecture, Endianness::Little);
    // COFF cuts longer names, so that nvcc's Windows objects have `.nv_fatb` too.
    let (segment, section) = match target.format {
        BinaryFormat::MachO => (&b"__NV_CUDA"[..], &b"__nv_fatbin"[..]),
        BinaryFormat::Coff => (&b""[..], &b".nv_fatb"[..]),
        _ => (&b""[..], &b".nv_fatbin"[..]),
    };
    let section = object.add_section(
        segment.to_vec(),
        section.to_vec(),
        SectionKind::ReadOnlyData,
    );
    let offset = object.append_section_data(section, fatbin, 16);
    object.add_symbol(Symbol {
        name: symbol.as_bytes().to_vec(),
        value: offset,
        size: fatbin.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    mark_stack_not_executable(&mut object, target);
    object
        .write()
        .map_err(|e| Error::failed(Code::Internal, format!("cannot write the host object: {e}")))
}

/// Without this note ELF linkers assume that the object wants an executable stack, and warn.
fn mark_stack_not_executable(object: &mut Object, target: HostTarget) {
    if target.format == BinaryFormat::Elf {
        object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    #[test]
    fn each_host_gets_its_own_format() {
        for name in HostTarget::all() {
            let bytes = write_object(b"fatbin bytes", "kernels", name.parse().unwrap()).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let section = file
                .sections()
                .find(|s| s.name().unwrap().contains("nv_fatb"))
                .unwrap();
            assert_eq!(section.data().unwrap(), b"fatbin bytes", "{name}");
            let symbol = file
                .symbols()
                .find(|s| s.name().unwrap().ends_with("kernels"))
                .unwrap();
            assert!(
                symbol.is_global() && symbol.section_index() == Some(section.index()),
                "{name}"
            );
        }
        assert!("riscv64-linux".parse::<HostTarget>().is_err());
    }

    #[test]
    fn symbols_are_c_identifiers() {
        for (path, symbol) in [("out/my-kernels.o", "my_kernels"), ("9.o", "_9"), ("", "_")] {
            assert_eq!(symbol_from_name(std::path::Path::new(path)), symbol);
        }
    }
}
