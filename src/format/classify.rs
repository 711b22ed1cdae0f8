//! Which kind of file this is, told from its bytes alone. Names lie: a `.ptx` may hold a cubin.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Tells the kind of `bytes`.
pub fn classify(bytes: &[u8]) -> Classified {
    let (kind, format, evidence) = if bytes.is_empty() {
        (Kind::Empty, "", "has no bytes")
    } else {
        (Kind::Unknown, "", "no known signature")
    };
    Classified {
        kind,
        format: format.to_owned(),
        evidence: evidence.to_owned(),
    }
}
