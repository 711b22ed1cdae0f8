//! One leaf of device code: where it sits, what it is for, who made it, and its bytes on demand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Arch;
use crate::bytes::Blob;
use crate::error::Diagnostic;

/// The kind of an image. Numbers that no tool names are kept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ImageKind {
    Cubin,
    Ptx,
    LtoIr,
    NvvmIr,
    TileIr,
    Index,
    Unknown,
}

impl ImageKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "lto-ir",
            Self::NvvmIr => "nvvm-ir",
            Self::TileIr => "tile-ir",
            Self::Index => "index",
            Self::Unknown => "unknown",
        }
    }
}

/// How an image's bytes are stored in its container.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    None,
    Zlib,
    Lz4,
    Zstd,
    /// Compressed and scrambled (LTO-IR entries): only NVIDIA's libraries can read it.
    Opaque,
    Unknown,
}

/// Whether the driver would find an image, told from where it sits.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Loadable {
    /// Registered or stand-alone: the driver can load it.
    Yes,
    /// Relocatable code kept for a device link (`__nv_relfatbin`): input of a link only.
    RelocatableOnly,
    /// Found by content in a data section; whether anything registers it is unknown.
    Unregistered,
    /// Of a kind that no driver loads (LTO-IR, NVVM IR, index).
    No,
}

/// Who made an image, as far as it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Producer {
    /// CUDA toolkit release, `13.5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's command line or the options recorded with the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// PTX ISA, `9.5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx_isa: Option<String>,
    /// LTO-IR container version, `1.67`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ltoir_version: Option<String>,
}

/// The bytes of an image: at hand, or stored compressed until asked for.
#[derive(Debug, Clone)]
pub enum ImageData {
    Plain(Blob),
    Packed {
        stored: Blob,
        compression: Compression,
        /// Exact size once unpacked, as the container claims.
        size: u64,
    },
    /// A whole fatbin entry, header and payload, that can only be handed on to NVIDIA's libraries.
    Opaque {
        entry: Blob,
    },
}

/// One leaf of device code inside an [`ObjectCode`](super::ObjectCode).
#[derive(Debug, Clone)]
pub struct Image {
    /// Unique within its input and stable: `libx.a(b.o):.nv_fatbin[3]`.
    pub id: String,
    /// Path of containers inside the input, outermost first: `pkg/lib.so`, `b.o`.
    pub member: Option<String>,
    /// Section of the host file, `.nv_fatbin`; none for a bare image or fatbin.
    pub section: Option<String>,
    /// Offset of the fatbin entry or image in the innermost file.
    pub offset: u64,
    /// Which container (fatbin) of the innermost file this came from, from 0; none outside fatbins.
    pub container: Option<u32>,
    pub kind: ImageKind,
    /// The entry's kind number when `kind` is unknown.
    pub kind_number: Option<u16>,
    pub arch: Option<Arch>,
    /// Where the architecture was read: `fatbin entry`, `e_flags`, `.nv.compat`, `.target`, `LTO-IR header`.
    pub arch_source: Option<&'static str>,
    pub loadable: Loadable,
    pub compression: Compression,
    /// Bytes in the file, padding included.
    pub stored_size: u64,
    /// Bytes once unpacked.
    pub size: u64,
    /// Identifier recorded with the entry, often a source path.
    pub name: Option<String>,
    /// Options recorded with the entry (ptxas or front-end options).
    pub options: Option<String>,
    /// Whether the container marks it as having debug information.
    pub debug: bool,
    pub producer: Producer,
    pub data: ImageData,
    /// What is wrong with it, short of making it unreadable.
    pub warnings: Vec<Diagnostic>,
}
