//! Fatbins: a row of containers, each a 16-byte header and entries of header and payload. All offsets in
//! results are absolute. The layout was measured on 78,000 containers of CUDA 7.5 to 13.5 and by altering
//! single fields under `cuobjdump` 13.5.
//!
//! Only headers are read, so that a list of a large library touches a page an entry. Of what is damaged, all that
//! can be read is given, and the damage beside it.

use memchr::memmem;

use super::compress::Codec;
use crate::bytes::Reader;
use crate::error::Malformed;

/// The first four bytes of a container, 0xBA55ED50.
pub const MAGIC: [u8; 4] = [0x50, 0xED, 0x55, 0xBA];

const CONTAINER_HEADER: usize = 16;
const ENTRY_HEADER: usize = 64;

/// Kinds of entries, as `cuobjdump` 13.5 names them.
pub mod kind {
    pub const PTX: u16 = 1;
    pub const ELF: u16 = 2;
    /// LTO-IR; the dumper calls it nvvm.
    pub const LTO_IR: u16 = 8;
    pub const INDEX: u16 = 32;
    pub const RELOCATABLE_PTX: u16 = 64;
    pub const TILE_IR: u16 = 128;
    /// Several images compressed together (`fatbinary -concat`, CUDA 13.5).
    pub const CONCATENATED: u16 = 256;
}

/// Bits of an entry's flags.
pub mod flag {
    pub const BITS_64: u64 = 0x1;
    pub const DEBUG: u64 = 0x2;
    pub const LINUX: u64 = 0x10;
    pub const ZLIB: u64 = 0x1000;
    pub const LZ4: u64 = 0x2000;
    /// Counts as compressed, but no tool reads it.
    pub const UNKNOWN_CODEC: u64 = 0x4000;
    pub const ZSTD: u64 = 0x8000;
    /// The payload is scrambled as well (LTO-IR).
    pub const SCRAMBLED: u64 = 0x1_0000;
    pub const ACCELERATED: u64 = 0x10_0000;
    pub const FAMILY: u64 = 0x20_0000;
    /// The cubin carries Mercury sections (sm_100 and later).
    pub const MERCURY: u64 = 0x100_0000;
}

/// One container of a fatbin. Empty ones exist.
#[derive(Debug, Clone)]
pub struct Container<'a> {
    /// Absolute offset of the container's header.
    pub offset: u64,
    /// 1 in every file seen; no tool checks it.
    pub version: u16,
    /// Header and entries; shorter than declared when the file ends before.
    pub bytes: &'a [u8],
    /// Where the first entry starts in `bytes`.
    pub header_size: usize,
    /// Set when the container says that it is longer than what is there.
    pub damage: Option<Malformed>,
}

impl<'a> Container<'a> {
    /// Reads the container at `bytes[at..]`; `base` is the absolute offset of `bytes[0]`.
    pub fn parse(bytes: &'a [u8], at: usize, base: u64) -> Result<Self, Malformed> {
        let offset = base + at as u64;
        let mut reader = Reader::with_base(bytes, base);
        reader.seek(at, "fatbin")?;
        if reader.array::<4>("fatbin magic")? != MAGIC {
            return Err(Malformed::new(offset, "expected a fatbin (50 ED 55 BA)"));
        }
        let version = reader.u16("fatbin version")?;
        let header_size = usize::from(reader.u16("fatbin header size")?);
        let size = reader.u64("fatbin size")?;
        if header_size < CONTAINER_HEADER {
            return Err(Malformed::new(
                offset + 6,
                format!("fatbin header size is {header_size}, expected 16 or more"),
            ));
        }
        let available = bytes.len() - at;
        let declared = size.saturating_add(header_size as u64);
        let length = usize::try_from(declared)
            .unwrap_or(usize::MAX)
            .min(available);
        let damage = (declared > available as u64).then(|| {
            Malformed::new(
                offset + 8,
                format!("fatbin claims {declared} bytes, but the data ends after {available}"),
            )
        });
        Ok(Self {
            offset,
            version,
            bytes: &bytes[at..at + length],
            header_size: header_size.min(length),
            damage,
        })
    }

    /// The entries, lazily.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            bytes: self.bytes,
            at: self.header_size,
            base: self.offset,
            damage: None,
            ended: false,
        }
    }

    /// How much of `bytes` whole entries fill.
    fn tiled(&self) -> usize {
        let mut entries = self.entries();
        while entries.at < self.bytes.len()
            && let Ok(entry) = entries.read()
            && entry.damage.is_none()
        {
            entries.at += entry.header.len() + entry.payload.len();
        }
        entries.at
    }
}

/// The containers in a section or a bare file: one after another with zero bytes between them. Damage is
/// reported and the search goes on at the next magic.
pub fn containers(bytes: &[u8], base: u64) -> Containers<'_> {
    Containers {
        bytes,
        at: 0,
        base,
        is_lost: false,
    }
}

#[derive(Debug, Clone)]
pub struct Containers<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
    /// Behind damage, where the next container need not start at once.
    is_lost: bool,
}

impl<'a> Iterator for Containers<'a> {
    type Item = Result<Container<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..)?;
        self.at += if self.is_lost {
            memmem::find(rest, &MAGIC)?
        } else {
            rest.iter().position(|&byte| byte != 0)?
        };
        let container = Container::parse(self.bytes, self.at, self.base);
        self.at += match &container {
            // A wrong size must not hide what follows.
            Ok(container) => {
                let tiled = container.tiled();
                self.is_lost = container.damage.is_some() || tiled < container.bytes.len();
                tiled
            }
            Err(_) => {
                self.is_lost = true;
                1
            }
        };
        Some(container)
    }
}

/// One entry: a fixed header, extras (identifier, options), and a payload of code.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Absolute offset of the entry's header.
    pub offset: u64,
    /// One of [`kind`], or a number that no tool names.
    pub kind: u16,
    /// 0x0101 in every file seen; no tool checks it.
    pub version: u16,
    header: &'a [u8],
    payload: &'a [u8],
    /// Bytes of the compressed stream; 0 when stored plain.
    pub compressed_size: u32,
    /// By kind: PTX ISA, 1.(ELF ABI version), LTO-IR container version.
    pub code_version: (u16, u16),
    /// Architecture number without its suffix; see [`Entry::is_accelerated`], [`Entry::is_family`].
    pub arch: u32,
    pub flags: u64,
    /// Zero but for scrambled LTO-IR.
    pub scramble: u64,
    uncompressed_size: u64,
}

impl<'a> Entry<'a> {
    /// `header` is the whole header with its extras.
    fn parse(header: &'a [u8], payload: &'a [u8], offset: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::with_base(header, offset);
        let kind = reader.u16("entry kind")?;
        let version = reader.u16("entry version")?;
        reader.skip(12, "entry sizes")?;
        let compressed_size = reader.u32("compressed size")?;
        reader.skip(4, "aux offset")?;
        let minor = reader.u16("minor version")?;
        let major = reader.u16("major version")?;
        let arch = reader.u32("architecture")?;
        reader.skip(8, "identifier")?;
        let flags = reader.u64("flags")?;
        let scramble = reader.u64("field 48")?;
        let uncompressed_size = reader.u64("uncompressed size")?;
        let code_version = (major, minor);
        Ok(Self {
            offset,
            kind,
            version,
            header,
            payload,
            compressed_size,
            code_version,
            arch,
            flags,
            scramble,
            uncompressed_size,
        })
    }

    /// Bytes of the entry in the file, header, extras and padding included.
    pub fn stored_size(&self) -> u64 {
        (self.header.len() + self.payload.len()) as u64
    }

    /// Absolute offset of the payload.
    pub fn payload_offset(&self) -> u64 {
        self.offset + self.header.len() as u64
    }

    pub fn is_accelerated(&self) -> bool {
        self.flags & flag::ACCELERATED != 0
    }

    pub fn is_family(&self) -> bool {
        self.flags & flag::FAMILY != 0
    }

    pub fn is_debug(&self) -> bool {
        self.flags & flag::DEBUG != 0
    }

    /// How the payload is stored. Of several codec bits zlib wins over LZ4 over zstd, as in the tools.
    pub fn codec(&self) -> Codec {
        let has = |bit| self.flags & bit != 0;
        match () {
            () if has(flag::SCRAMBLED) => Codec::Scrambled,
            () if has(flag::ZLIB) => Codec::Zlib,
            () if has(flag::LZ4) => Codec::Lz4,
            () if has(flag::ZSTD) => Codec::Zstd,
            () if has(flag::UNKNOWN_CODEC) => Codec::Unknown,
            () => Codec::None,
        }
    }

    /// Size once unpacked, as the header says; for plain payloads what is stored, padding included.
    pub fn unpacked_size(&self) -> u64 {
        match self.codec() {
            Codec::None => self.payload.len() as u64,
            _ => self.uncompressed_size,
        }
    }

    /// The name given at build time, often a source path; never to be used as a path.
    pub fn identifier(&self) -> Option<&'a [u8]> {
        self.find_identifier().ok()?
    }

    /// What the aux descriptor points at: ptxas or front-end options, or a copy of `.nv.compat` for cubins with
    /// Mercury sections.
    pub fn aux(&self) -> Option<&'a [u8]> {
        self.find_aux().ok()?
    }

    fn find_identifier(&self) -> Result<Option<&'a [u8]>, Malformed> {
        self.extra(self.header_u32(32), self.header_u32(36), "identifier")
    }

    fn find_aux(&self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.kind == kind::CONCATENATED {
            return Ok(None);
        }
        let Some(descriptor) = self.extra(self.header_u32(20), 8, "aux descriptor")? else {
            return Ok(None);
        };
        let mut reader = Reader::new(descriptor);
        self.extra(reader.u32("offset")?, reader.u32("length")?, "aux data")
    }

    /// What is wrong with the extras; everything else can be used.
    fn damage(&self) -> Option<Malformed> {
        self.find_identifier().and(self.find_aux()).err()
    }

    fn header_u32(&self, at: usize) -> u32 {
        self.header
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    /// A part of the header; an offset or length of zero means that there is none.
    fn extra(&self, at: u32, length: u32, what: &str) -> Result<Option<&'a [u8]>, Malformed> {
        if at == 0 || length == 0 {
            return Ok(None);
        }
        let end = at as usize + length as usize;
        let extra = self.header.get(at as usize..end).ok_or_else(|| {
            let size = self.header.len();
            Malformed::new(
                self.offset,
                format!("{what} lies at {at}..{end} of an entry header of {size} bytes"),
            )
        })?;
        Ok(Some(extra))
    }

    /// The stored code without padding: exactly the compressed stream, or the plain image.
    pub fn stored(&self) -> Result<&'a [u8], Malformed> {
        if self.codec() == Codec::None {
            return Ok(self.payload);
        }
        let size = usize::try_from(self.compressed_size).unwrap_or(usize::MAX);
        self.payload.get(..size).ok_or_else(|| {
            Malformed::new(
                self.offset + 16,
                format!(
                    "compressed size is {size}, but the payload has {} bytes",
                    self.payload.len()
                ),
            )
        })
    }

    /// The entry, header and payload, as a fatbin of its own: the only way to hand on scrambled LTO-IR.
    pub fn as_container(&self) -> Vec<u8> {
        single_entry_container(self.header, self.payload)
    }

    /// The members of a concatenated entry, from its table: a count, the table's size, and sub-headers.
    pub fn members(&self) -> Result<Vec<Member<'a>>, Malformed> {
        let at = self.header_u32(20) as usize;
        let mut table = Reader::with_base(self.header, self.offset);
        table.seek(at, "table of concatenated images")?;
        let count = table.u32("number of concatenated images")?;
        let size = table.u32("size of the table of concatenated images")? as usize;
        let mut table = table.sub(size.saturating_sub(8), "table of concatenated images")?;
        // Each member takes at least its fixed header, so the table's size bounds the count.
        if count as usize > table.remaining() / ENTRY_HEADER {
            return Err(table.malformed(format!(
                "{count} concatenated images do not fit in a table of {size} bytes"
            )));
        }
        (0..count).map(|_| Member::parse(&mut table)).collect()
    }
}

/// A container with one entry, copied as it is.
pub fn single_entry_container(header: &[u8], payload: &[u8]) -> Vec<u8> {
    let size = (header.len() + payload.len()) as u64;
    let mut out = Vec::with_capacity(CONTAINER_HEADER + header.len() + payload.len());
    out.extend(MAGIC);
    out.extend([1, 0, 16, 0]);
    out.extend(size.to_le_bytes());
    out.extend(header);
    out.extend(payload);
    out
}

/// One image of a concatenated entry. Its bytes are a range of the entry's unpacked payload.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Where it starts in the unpacked payload.
    pub start: u32,
    /// Its bytes there, rounded up to 8.
    pub size: u64,
    /// Everything but the payload, in the form of an ordinary entry.
    pub entry: Entry<'a>,
}

impl<'a> Member<'a> {
    /// A sub-header is an entry header in which offset 4 holds the start and offset 8 the size. Its length is
    /// not stored: it ends behind whichever comes last of the fixed fields, the identifier, the aux descriptor and
    /// its data. The texts end in a NUL and are padded to 8 bytes.
    fn parse(table: &mut Reader<'a>) -> Result<Self, Malformed> {
        let padded = |length: u32| (u64::from(length) + 1).next_multiple_of(8);
        let offset = table.offset();
        let mut peek = table.clone();
        peek.skip(4, "concatenated image")?;
        let start = peek.u32("start of a concatenated image")?;
        let size = peek.u64("size of a concatenated image")?;
        peek.skip(4, "concatenated image")?;
        let aux_at = peek.u32("aux offset")?;
        peek.skip(8, "concatenated image")?;
        let name_at = peek.u32("identifier offset")?;
        let name_length = peek.u32("identifier length")?;
        let mut length = ENTRY_HEADER as u64;
        if name_at > 0 {
            length = length.max(u64::from(name_at) + padded(name_length));
        }
        if aux_at > 0 {
            let mut descriptor = table.clone();
            descriptor.skip(aux_at as usize, "aux descriptor")?;
            let data_at = descriptor.u32("aux offset")?;
            let data_length = descriptor.u32("aux length")?;
            length = length.max(u64::from(aux_at) + 8);
            if data_at > 0 {
                length = length.max(u64::from(data_at) + padded(data_length));
            }
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let header = table.bytes(length, "concatenated image")?;
        Ok(Self {
            start,
            size,
            entry: Entry::parse(header, &[], offset)?,
        })
    }
}

/// The entries of a container. An error tells the damage of the entry before it, or of bytes that are no entry. Where
/// damage leaves open where the next entry starts, the iteration ends.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
    /// Of the entry that was given last.
    damage: Option<Malformed>,
    ended: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(damage) = self.damage.take() {
            return Some(Err(damage));
        }
        if self.ended || self.at >= self.bytes.len() {
            return None;
        }
        let entry = self.read().and_then(|found| {
            let entry = Entry::parse(found.header, found.payload, self.offset())?;
            self.at += found.header.len() + found.payload.len();
            self.ended = found.damage.is_some();
            self.damage = found.damage.or_else(|| entry.damage());
            Ok(entry)
        });
        self.ended |= entry.is_err();
        Some(entry)
    }
}

impl<'a> Entries<'a> {
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The entry at `at`, as far as it is there.
    fn read(&self) -> Result<EntryBytes<'a>, Malformed> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(&MAGIC) {
            return Err(Malformed::new(
                self.offset(),
                "a fatbin starts where the one before it claims to have an entry",
            ));
        }
        let mut reader = Reader::with_base(rest, self.offset());
        let mut fixed = reader.sub(ENTRY_HEADER, "fatbin entry header")?;
        fixed.skip(4, "entry kind")?;
        let header_size = fixed.u32("entry header size")? as usize;
        let payload_size = fixed.u64("entry payload size")?;
        if header_size < ENTRY_HEADER {
            return Err(Malformed::new(
                self.offset() + 4,
                format!("entry header size is {header_size}, expected {ENTRY_HEADER} or more"),
            ));
        }
        let (header, behind) = rest.split_at(header_size.min(rest.len()));
        let payload_end = usize::try_from(payload_size)
            .unwrap_or(usize::MAX)
            .min(behind.len());
        let declared = payload_size.saturating_add(header_size as u64);
        let damage = (declared > rest.len() as u64).then(|| {
            let left = rest.len();
            Malformed::new(
                self.offset(),
                format!("entry claims {declared} bytes, but its fatbin ends after {left}"),
            )
        });
        Ok(EntryBytes {
            header,
            payload: &behind[..payload_end],
            damage,
        })
    }
}

struct EntryBytes<'a> {
    /// Extras included.
    header: &'a [u8],
    payload: &'a [u8],
    /// Set when the entry claims to be longer than what is there.
    damage: Option<Malformed>,
}

/// The wrapper that the CUDA runtime registers: `.nvFatBinSegment`, 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// 1, or 2 for the object of a device link.
    pub version: u32,
    /// Address of the container; zero in objects, where a relocation fills it.
    pub data: u64,
}

impl Wrapper {
    pub const MAGIC: u32 = 0x4662_43B1;

    /// The wrappers of a section; other bytes between them are padding.
    pub fn all(section: &[u8]) -> Vec<Self> {
        section.chunks_exact(24).filter_map(Self::parse).collect()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        (reader.u32("magic").ok()? == Self::MAGIC).then_some(())?;
        Some(Self {
            version: reader.u32("version").ok()?,
            data: reader.u64("data").ok()?,
        })
    }
}

#[cfg(test)]
mod tests;
