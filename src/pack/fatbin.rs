//! The fatbin writer. Headers are laid out as `fatbinary` 13.5 lays them out: with
//! [`Codec::None`] and no identifiers the result is byte-identical to its `--compress-mode=none`, but
//! for PTX, whose text is kept as it is instead of being minified.

use rayon::prelude::*;

use crate::code::{Arch, Suffix};
use crate::error::{Code, Error, Result};

const MAGIC: u32 = 0xBA55_ED50;
const ENTRY_HEADER: usize = 64;
const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
const KIND_LTO_IR: u16 = 8;

const FLAG_64_BIT: u64 = 0x1;
const FLAG_DEBUG: u64 = 0x2;
const FLAG_LINUX: u64 = 0x10;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ACCELERATED: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
const FLAG_MERCURY: u64 = 0x100_0000;

/// How the payloads of a fatbin are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Codec {
    None,
    /// What drivers and tools before CUDA 12.4 read.
    Lz4,
    /// The smallest; the default of CUDA 13's own tools.
    #[default]
    Zstd,
}

/// The code of one entry.
#[derive(Debug, Clone, Copy)]
pub enum Payload<'a> {
    Cubin {
        elf: &'a [u8],
        /// EI_ABIVERSION, 7 or 8.
        abi: u8,
        /// Contents of `.nv.compat` when the cubin has Mercury sections (sm_100 and later).
        mercury: Option<&'a [u8]>,
    },
    Ptx {
        /// Without a NUL at the end.
        text: &'a [u8],
        /// PTX ISA, major and minor.
        isa: (u16, u16),
    },
    LtoIr {
        blob: &'a [u8],
        /// Container version, major and minor.
        version: (u16, u16),
    },
    /// A whole entry of another fatbin, header and payload, copied as it is. Compressed LTO-IR can only
    /// be handed on this way, because its payload is scrambled.
    Opaque(&'a [u8]),
}

/// One image to put into a fatbin.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub arch: Arch,
    pub payload: Payload<'a>,
    /// A name to record with the image.
    pub name: Option<&'a str>,
    /// ptxas options to record with PTX, e.g. `--compile-only`.
    pub options: Option<&'a str>,
    pub debug: bool,
}

/// A fatbin holding `entries` in the given order.
///
/// # Errors
/// When a payload, name or option list is too long for its 32-bit field, or a compressor fails.
pub fn write_fatbin(entries: &[Entry], codec: Codec) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.extend(MAGIC.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(16u16.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    // The compressor takes most of the time.
    let written = entries.par_iter().map(|entry| {
        let mut bytes = Vec::new();
        write_entry(&mut bytes, entry, codec).map(|()| bytes)
    });
    for bytes in written.collect::<Result<Vec<_>>>()? {
        out.extend(bytes);
    }
    let size = (out.len() - 16) as u64;
    out[8..16].copy_from_slice(&size.to_le_bytes());
    Ok(out)
}

fn write_entry(out: &mut Vec<u8>, entry: &Entry, codec: Codec) -> Result<()> {
    let (kind, version, plain, compat) = match entry.payload {
        Payload::Cubin { elf, abi, mercury } => {
            (KIND_ELF, (1, u16::from(abi)), elf.to_vec(), mercury)
        }
        Payload::Ptx { text, isa } => (KIND_PTX, isa, [text, b"\0"].concat(), None),
        Payload::LtoIr { blob, version } => (KIND_LTO_IR, version, blob.to_vec(), None),
        Payload::Opaque(whole) => {
            out.extend(whole);
            return Ok(());
        }
    };
    // LTO-IR is stored plain: compressed entries of that kind are scrambled in a way only NVIDIA's tools know.
    let codec = if kind == KIND_LTO_IR {
        Codec::None
    } else {
        codec
    };
    let extras = Extras::new(kind, compat, entry)?;
    let stored = compress(&plain, codec)?;
    let padded = stored.len().next_multiple_of(8);

    let mut flags = FLAG_64_BIT | FLAG_LINUX;
    flags |= match codec {
        Codec::None => 0,
        Codec::Lz4 => FLAG_LZ4,
        Codec::Zstd => FLAG_ZSTD,
    };
    flags |= match entry.arch.suffix {
        Suffix::None => 0,
        Suffix::Accelerated => FLAG_ACCELERATED,
        Suffix::Family => FLAG_FAMILY,
    };
    flags |= if entry.debug { FLAG_DEBUG } else { 0 };
    flags |= if compat.is_some() { FLAG_MERCURY } else { 0 };
    let compressed = codec != Codec::None;

    out.extend(kind.to_le_bytes());
    out.extend(0x0101u16.to_le_bytes());
    out.extend(field(ENTRY_HEADER + extras.bytes.len(), "entry header")?.to_le_bytes());
    out.extend((padded as u64).to_le_bytes());
    out.extend(
        if compressed {
            field(stored.len(), "compressed payload")?
        } else {
            0
        }
        .to_le_bytes(),
    );
    out.extend(extras.aux_at.to_le_bytes());
    out.extend(version.1.to_le_bytes());
    out.extend(version.0.to_le_bytes());
    out.extend(u32::from(entry.arch.number).to_le_bytes());
    out.extend(extras.name_at.to_le_bytes());
    out.extend(extras.name_length.to_le_bytes());
    out.extend(flags.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(if compressed { plain.len() as u64 } else { 0 }.to_le_bytes());
    out.extend(&extras.bytes);
    out.extend(&stored);
    out.resize(out.len() + padded - stored.len(), 0);
    Ok(())
}

/// What follows the fixed header: the identifier, then the aux descriptor with its data.
struct Extras {
    bytes: Vec<u8>,
    name_at: u32,
    name_length: u32,
    aux_at: u32,
}

impl Extras {
    fn new(kind: u16, compat: Option<&[u8]>, entry: &Entry) -> Result<Self> {
        let mut extras = Self {
            bytes: Vec::new(),
            name_at: 0,
            name_length: 0,
            aux_at: 0,
        };
        if let Some(name) = entry.name.filter(|name| !name.is_empty()) {
            extras.name_at = extras.end()?;
            extras.name_length = field(name.len(), "identifier")?;
            extras.bytes.extend(name.as_bytes());
            extras.terminate();
        }
        match (compat, entry.options) {
            // A copy of `.nv.compat` comes behind one zero byte and needs no terminator.
            (Some(compat), _) => extras.aux(compat.len(), &[&[0], compat].concat())?,
            (None, Some(options)) => {
                extras.aux(options.len(), &[options.as_bytes(), &[0]].concat())?
            }
            (None, None) if kind == KIND_ELF => {}
            // PTX and LTO-IR always have a descriptor, an empty one followed by eight zero bytes.
            (None, None) => extras.aux(0, &[0; 8])?,
        }
        Ok(extras)
    }

    fn end(&self) -> Result<u32> {
        field(ENTRY_HEADER + self.bytes.len(), "entry header")
    }

    fn terminate(&mut self) {
        self.bytes
            .resize((self.bytes.len() + 1).next_multiple_of(8), 0);
    }

    fn aux(&mut self, length: usize, data: &[u8]) -> Result<()> {
        self.aux_at = self.end()?;
        self.bytes.extend((self.aux_at + 8).to_le_bytes());
        self.bytes
            .extend(field(length, "recorded options")?.to_le_bytes());
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        Ok(())
    }
}

fn compress(plain: &[u8], codec: Codec) -> Result<Vec<u8>> {
    match codec {
        Codec::None => Ok(plain.to_vec()),
        Codec::Lz4 => Ok(lz4_flex::block::compress(plain)),
        // Level 19 is within 1% of what `--compress-mode=size` reaches and needs no larger window to unpack.
        Codec::Zstd => zstd::bulk::compress(plain, 19).map_err(|e| {
            Error::failed(
                Code::Internal,
                format!("zstd cannot compress {} bytes: {e}", plain.len()),
            )
        }),
    }
}

fn field(value: usize, what: &str) -> Result<u32> {
    u32::try_from(value).map_err(|_| {
        Error::failed(
            Code::OutputUnwritable,
            format!("{what} of {value} bytes does not fit in a fatbin entry"),
        )
    })
}
