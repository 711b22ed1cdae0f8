//! Which kind of file this is, told from its bytes alone. Names lie: a `.ptx` may hold a cubin.

use std::fmt;

use memchr::memmem;
use object::FileKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cubin::Cubin;
use super::host::elf_arch;
use super::ltoir;
use super::ptx::Ptx;

/// The kind of an input, as `--kind` and reports spell it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Cubin,
    Ptx,
    LtoIr,
    Fatbin,
    NvvmIr,
    CudaSource,
    Object,
    Executable,
    SharedLibrary,
    Archive,
    ThinArchive,
    Wheel,
    Zip,
    Tar,
    Gzip,
    Directory,
    Empty,
    Unknown,
}

impl Kind {
    pub const ALL: &'static [Kind] = &[
        Self::Cubin,
        Self::Ptx,
        Self::LtoIr,
        Self::Fatbin,
        Self::NvvmIr,
        Self::CudaSource,
        Self::Object,
        Self::Executable,
        Self::SharedLibrary,
        Self::Archive,
        Self::ThinArchive,
        Self::Wheel,
        Self::Zip,
        Self::Tar,
        Self::Gzip,
        Self::Directory,
        Self::Empty,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "lto-ir",
            Self::Fatbin => "fatbin",
            Self::NvvmIr => "nvvm-ir",
            Self::CudaSource => "cuda-source",
            Self::Object => "object",
            Self::Executable => "executable",
            Self::SharedLibrary => "shared-library",
            Self::Archive => "archive",
            Self::ThinArchive => "thin-archive",
            Self::Wheel => "wheel",
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Gzip => "gzip",
            Self::Directory => "directory",
            Self::Empty => "empty",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What [`classify`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Classified {
    pub kind: Kind,
    /// The variant within the kind: `ELF64 x86-64`, `relocatable, ABI 8`, `PE32+ DLL`, `wrapped bitcode`.
    pub format: String,
    /// What told it, for messages: `starts with ED 43 4E 7F`.
    pub evidence: String,
}

/// Tells the kind of `bytes`, which may be the first few thousand bytes of a longer file.
pub fn classify(bytes: &[u8]) -> Classified {
    let found = |kind, format: String, evidence: &str| Classified {
        kind,
        format,
        evidence: evidence.to_owned(),
    };
    if bytes.is_empty() {
        return found(Kind::Empty, String::new(), "has no bytes");
    }
    by_magic(bytes)
        .or_else(|| by_structure(bytes))
        .or_else(|| by_text(bytes))
        .map_or_else(
            || found(Kind::Unknown, String::new(), "no known signature"),
            |(kind, format, evidence)| found(kind, format, evidence),
        )
}

type Found = (Kind, String, &'static str);

fn by_magic(bytes: &[u8]) -> Option<Found> {
    let plain = |kind, evidence| Some((kind, String::new(), evidence));
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => elf(bytes),
        [0x50, 0xed, 0x55, 0xba, ..] => plain(Kind::Fatbin, "starts with 50 ED 55 BA"),
        [0xed, 0x43, 0x4e, 0x7f, ..] => {
            let header = ltoir::Header::parse(bytes, 0).ok();
            let version = header.map(|header| header.container);
            let format = version.map_or_else(String::new, |(major, minor)| {
                format!("version {major}.{minor}")
            });
            Some((Kind::LtoIr, format, "starts with ED 43 4E 7F"))
        }
        [b'B', b'C', 0xc0, 0xde, ..] => Some((
            Kind::NvvmIr,
            "bitcode".to_owned(),
            "starts with 42 43 C0 DE",
        )),
        [0xde, 0xc0, 0x17, 0x0b, ..] => Some((
            Kind::NvvmIr,
            "wrapped bitcode".to_owned(),
            "starts with DE C0 17 0B",
        )),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(zip(bytes)),
        [0x1f, 0x8b, 8, ..] => plain(Kind::Gzip, "starts with 1F 8B"),
        _ if bytes.starts_with(b"!<arch>\n") => plain(Kind::Archive, "starts with `!<arch>`"),
        _ if bytes.starts_with(b"!<thin>\n") => plain(Kind::ThinArchive, "starts with `!<thin>`"),
        _ => None,
    }
}

fn elf(bytes: &[u8]) -> Option<Found> {
    const EVIDENCE: &str = "starts with 7F 45 4C 46";
    let is_64 = *bytes.get(4)? == 2;
    let is_little_endian = *bytes.get(5)? == 1;
    let half = |at: usize| {
        let pair = [*bytes.get(at)?, *bytes.get(at + 1)?];
        Some(if is_little_endian {
            u16::from_le_bytes(pair)
        } else {
            u16::from_be_bytes(pair)
        })
    };
    let (kind, machine) = (half(16)?, half(18)?);
    if Cubin::is_cubin(bytes) {
        let stage = match kind {
            1 => "relocatable",
            2 => "executable",
            _ => "of an unknown stage",
        };
        let abi = bytes.get(8)?;
        let format = format!("{stage}, ABI {abi}");
        return Some((Kind::Cubin, format, "is ELF for machine 190 (CUDA)"));
    }
    let size = if is_64 { 64 } else { 32 };
    let arch = elf_arch(machine, is_64, is_little_endian);
    let kind = match kind {
        1 => Kind::Object,
        2 => Kind::Executable,
        3 => Kind::SharedLibrary,
        _ => Kind::Unknown,
    };
    Some((kind, format!("ELF{size} {arch}"), EVIDENCE))
}

fn zip(bytes: &[u8]) -> Found {
    // The list of members stands at the end.
    const LIST: usize = 4 << 20;
    let list = &bytes[bytes.len().saturating_sub(LIST)..];
    if memmem::find(list, b".dist-info/WHEEL").is_some() {
        return (
            Kind::Wheel,
            String::new(),
            "is a zip file with `.dist-info/WHEEL`",
        );
    }
    (Kind::Zip, String::new(), "starts with 50 4B")
}

fn by_structure(bytes: &[u8]) -> Option<Found> {
    if is_tar(bytes) {
        return Some((Kind::Tar, String::new(), "has a tar header"));
    }
    let found = |kind, format: &str, evidence| Some((kind, format.to_owned(), evidence));
    match FileKind::parse(bytes).ok()? {
        kind @ (FileKind::Pe32 | FileKind::Pe64) => {
            let format = if kind == FileKind::Pe64 {
                "PE32+"
            } else {
                "PE32"
            };
            let header = u32::from_le_bytes(bytes.get(60..64)?.try_into().ok()?) as usize;
            let flags = bytes.get(header.checked_add(22)?..)?;
            let is_dll = flags.get(1)? & 0x20 != 0;
            let kind = if is_dll {
                Kind::SharedLibrary
            } else {
                Kind::Executable
            };
            found(kind, format, "starts with 4D 5A and has a PE header")
        }
        FileKind::MachO32 | FileKind::MachO64 => {
            let is_little_endian = bytes[0] != 0xfe;
            let field: [u8; 4] = bytes.get(12..16)?.try_into().ok()?;
            let kind = if is_little_endian {
                u32::from_le_bytes(field)
            } else {
                u32::from_be_bytes(field)
            };
            let kind = match kind {
                1 => Kind::Object,
                2 => Kind::Executable,
                _ => Kind::SharedLibrary,
            };
            found(kind, "Mach-O", "starts with a Mach-O magic")
        }
        FileKind::MachOFat32 | FileKind::MachOFat64 => {
            found(Kind::SharedLibrary, "fat Mach-O", "starts with CA FE BA BE")
        }
        FileKind::Coff if is_coff(bytes) => found(Kind::Object, "COFF", "has a COFF header"),
        FileKind::CoffBig => found(Kind::Object, "COFF bigobj", "has a COFF bigobj header"),
        _ => None,
    }
}

/// Two bytes of machine number are no proof, so the rest of the header must make sense too.
fn is_coff(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..20) else {
        return false;
    };
    let sections = u16::from_le_bytes([header[2], header[3]]);
    let optional_header = u16::from_le_bytes([header[16], header[17]]);
    let is_executable = header[18] & 2 != 0;
    let name = bytes.get(20..28).unwrap_or_default();
    sections > 0
        && optional_header == 0
        && !is_executable
        && name.first().is_some_and(u8::is_ascii_graphic)
}

/// Old tar files have no magic, but all have a checksum.
fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else {
        return false;
    };
    let field = header[148..156].split(|&byte| byte == 0 || byte == b' ');
    let digits: Vec<_> = field.filter(|digits| !digits.is_empty()).collect();
    let [digits] = digits[..] else {
        return false;
    };
    let stored = digits.iter().try_fold(0_u32, |sum, &digit| {
        matches!(digit, b'0'..=b'7').then(|| sum * 8 + u32::from(digit - b'0'))
    });
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    header[0] != 0
        && stored == Some(sum(&header[..148]) + 8 * u32::from(b' ') + sum(&header[156..]))
}

fn by_text(bytes: &[u8]) -> Option<Found> {
    if Ptx::is_ptx(bytes) {
        return Some((Kind::Ptx, String::new(), "starts with `.version`"));
    }
    const START: usize = 64 << 10;
    let start = &bytes[..bytes.len().min(START)];
    if start.contains(&0) {
        return None;
    }
    let has = |needle: &str| memmem::find(start, needle.as_bytes()).is_some();
    if has("target triple = \"nvptx") {
        return Some((
            Kind::NvvmIr,
            "text".to_owned(),
            "is LLVM assembly for nvptx",
        ));
    }
    ["__global__", "__device__"]
        .into_iter()
        .any(has)
        .then(|| (Kind::CudaSource, String::new(), "has CUDA C++ keywords"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::{PTX, container, cubin, lto_ir};

    #[test]
    fn kinds_by_content() {
        let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec();
        elf.resize(64, 0);
        let cases: [(&[u8], Kind, &str); 14] = [
            (b"", Kind::Empty, ""),
            (&cubin(90), Kind::Cubin, "executable, ABI 8"),
            (&container(&[]), Kind::Fatbin, ""),
            (&lto_ir(90), Kind::LtoIr, "version 1.67"),
            (PTX.as_bytes(), Kind::Ptx, ""),
            (b"BC\xc0\xde....", Kind::NvvmIr, "bitcode"),
            (
                b"target triple = \"nvptx64-nvidia-cuda\"",
                Kind::NvvmIr,
                "text",
            ),
            (b"__global__ void k() {}", Kind::CudaSource, ""),
            (b"!<arch>\n", Kind::Archive, ""),
            (b"!<thin>\n", Kind::ThinArchive, ""),
            (b"\x1f\x8b\x08...", Kind::Gzip, ""),
            (&elf, Kind::SharedLibrary, "ELF64 x86-64"),
            (b"#!/bin/sh\necho .version\n", Kind::Unknown, ""),
            (b"\x64\x86 is how some text starts", Kind::Unknown, ""),
        ];
        for (bytes, kind, format) in cases {
            let classified = classify(bytes);
            assert_eq!((classified.kind, &*classified.format), (kind, format));
            for cut in 0..bytes.len() {
                classify(&bytes[..cut]);
            }
        }
    }
}
