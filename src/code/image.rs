//! One leaf of device code: where it sits, what it is for, who made it, and its bytes on demand.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Arch;
use crate::bytes::Blob;
use crate::error::{Code, Diagnostic, Error, Result};
use crate::format::compress::{self, Codec};
use crate::format::cubin::Cubin;
use crate::format::fatbin;
use crate::format::text::until_nul;

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
    /// By the kind number of a fatbin entry.
    pub fn of_entry(number: u16) -> Self {
        match number {
            fatbin::kind::PTX | fatbin::kind::RELOCATABLE_PTX => Self::Ptx,
            fatbin::kind::ELF => Self::Cubin,
            fatbin::kind::LTO_IR => Self::LtoIr,
            fatbin::kind::INDEX => Self::Index,
            fatbin::kind::TILE_IR => Self::TileIr,
            _ => Self::Unknown,
        }
    }

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

impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Zlib => Self::Zlib,
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
            Codec::Scrambled => Self::Opaque,
            Codec::Unknown => Self::Unknown,
        }
    }
}

impl std::str::FromStr for ImageKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const NAMED: [ImageKind; 6] = [
            ImageKind::Cubin,
            ImageKind::Ptx,
            ImageKind::LtoIr,
            ImageKind::NvvmIr,
            ImageKind::TileIr,
            ImageKind::Index,
        ];
        NAMED
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                let names = NAMED.map(ImageKind::as_str).join(", ");
                format!("`{text}` is no kind of image; expected one of {names}")
            })
    }
}

impl Compression {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zlib => "zlib",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Opaque => "opaque",
            Self::Unknown => "unknown",
        }
    }
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

impl Loadable {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::RelocatableOnly => "relocatable-only",
            Self::Unregistered => "unregistered",
            Self::No => "no",
        }
    }
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
    /// May run on into the padding behind the image.
    Plain(Blob),
    Packed {
        stored: Blob,
        compression: Compression,
        /// Exact size once unpacked, as the container claims.
        size: u64,
    },
    /// A part of several images that were compressed together.
    Part {
        group: Arc<Group>,
        range: Range<u64>,
    },
    /// A whole fatbin entry, header and payload, that can only be handed on to NVIDIA's libraries.
    Opaque { entry: Blob },
}

/// Images that were compressed together (`fatbinary -concat`) and so are unpacked together.
#[derive(Debug)]
pub struct Group {
    /// Tells the groups of one input apart.
    pub(super) number: u32,
    pub(super) stored: Blob,
    pub(super) compression: Compression,
    pub(super) size: u64,
    pub(super) last: Arc<LastGroup>,
}

/// The group of an input that was unpacked last, with its number: its images are asked for one after another. One
/// slot for all groups bounds what is kept.
#[derive(Debug, Default)]
pub(super) struct LastGroup(Mutex<Option<(u32, Blob)>>);

impl Group {
    fn unpack(&self, limits: compress::Limits) -> Result<Blob, String> {
        let mut last = self.last.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, blob)) = &*last
            && *number == self.number
        {
            return Ok(blob.clone());
        }
        let blob = decompress(self.compression, &self.stored, self.size, limits)?;
        *last = Some((self.number, blob.clone()));
        Ok(blob)
    }
}

/// One leaf of device code inside an [`ObjectCode`](super::ObjectCode). Libraries have tens of thousands, so what
/// many share is shared.
#[derive(Debug, Clone)]
pub struct Image {
    /// The innermost file that it is in, under its full name: `x.whl(pkg/libx.a(b.o))`.
    pub file: Arc<str>,
    /// That file's place inside the input, `pkg/libx.a(b.o)`; none for the input itself.
    pub member: Option<Arc<str>>,
    /// Section of the host file, `.nv_fatbin`; none for a bare image or fatbin.
    pub section: Option<Arc<str>>,
    /// Number in its section or fatbin file, from 0; none where the file is the image.
    pub index: Option<u32>,
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
    /// Bytes in the file, headers and padding included. Images compressed together share theirs by size.
    pub stored_size: u64,
    /// Bytes once unpacked, as far as headers tell; [`Image::unpack`] may cut a NUL or some padding more.
    pub size: u64,
    /// Identifier recorded with the entry, often a source path.
    pub name: Option<String>,
    /// Options recorded with the entry (ptxas or front-end options).
    pub options: Option<String>,
    /// Whether it is marked as having debug information.
    pub debug: bool,
    pub producer: Producer,
    pub data: ImageData,
    /// What is wrong with it, short of making it unreadable. They name no input: it is this image.
    pub warnings: Vec<Diagnostic>,
}

impl Image {
    /// Its name, unique within the input and stable: `libx.a(b.o):.nv_fatbin[3]`.
    pub fn id(&self) -> String {
        let mut id = self.file.to_string();
        if let Some(section) = &self.section {
            id.push(':');
            id.push_str(section);
        }
        if let Some(index) = self.index {
            id.push_str(&format!("[{index}]"));
        }
        id
    }

    /// The bytes of the image alone: unpacked to exactly the size that its container claims, cubins without the padding
    /// behind them, PTX up to its first NUL.
    pub fn unpack(&self, limits: compress::Limits) -> Result<Blob> {
        let bytes = match &self.data {
            ImageData::Plain(blob) => Ok(blob.clone()),
            ImageData::Packed {
                stored,
                compression,
                size,
            } => decompress(*compression, stored, *size, limits),
            ImageData::Part { group, range } => {
                group.unpack(limits).and_then(|blob| part(&blob, range))
            }
            ImageData::Opaque { .. } => {
                return Err(Error::failed(
                    Code::KindUnknown,
                    "is compressed LTO-IR, which only NVIDIA's libraries can unpack",
                )
                .input(self.id()));
            }
        };
        let bytes = bytes.map_err(|message| Error::damaged(message).input(self.id()))?;
        Ok(self.trimmed(bytes))
    }

    fn trimmed(&self, bytes: Blob) -> Blob {
        let length = match self.kind {
            // What is no cubin is handed on as it is, for its reader to say why.
            ImageKind::Cubin => Cubin::parse(&bytes).ok().map(|cubin| cubin.extent()),
            ImageKind::Ptx => Some(until_nul(&bytes).len() as u64),
            _ => None,
        };
        let length = length.and_then(|length| usize::try_from(length).ok());
        let trimmed = length.and_then(|length| bytes.slice(0..length));
        trimmed.unwrap_or(bytes)
    }
}

fn decompress(
    compression: Compression,
    stored: &Blob,
    size: u64,
    limits: compress::Limits,
) -> Result<Blob, String> {
    compress::decompress(codec(compression), stored, size, limits).map(Blob::from)
}

pub(super) fn codec(compression: Compression) -> Codec {
    match compression {
        Compression::None => Codec::None,
        Compression::Zlib => Codec::Zlib,
        Compression::Lz4 => Codec::Lz4,
        Compression::Zstd => Codec::Zstd,
        Compression::Opaque => Codec::Scrambled,
        Compression::Unknown => Codec::Unknown,
    }
}

fn part(blob: &Blob, range: &Range<u64>) -> Result<Blob, String> {
    let start = usize::try_from(range.start).ok();
    let end = usize::try_from(range.end).ok();
    start
        .zip(end)
        .and_then(|(start, end)| blob.slice(start..end))
        .ok_or_else(|| format!("lies at {range:?} of {} unpacked bytes", blob.len()))
}
