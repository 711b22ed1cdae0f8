//! Fatbins: a row of containers, each a 16-byte header and entries of header and payload. All offsets in
//! results are absolute. The layout was measured on 78,000 containers of CUDA 7.5 to 13.5 and by altering
//! single fields under `cuobjdump` 13.5.

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
        reader.skip(2, "fatbin version")?;
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
            bytes: &bytes[at..at + length],
            header_size: header_size.min(length),
            damage,
        })
    }

    /// The entries, lazily; an error ends the iteration.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            bytes: self.bytes,
            at: self.header_size,
            base: self.offset,
            failed: false,
        }
    }
}

/// The containers in a section or a bare file: one after another with zero bytes between them. Damage is
/// reported and the search goes on at the next magic.
pub fn containers(bytes: &[u8], base: u64) -> Containers<'_> {
    Containers { bytes, at: 0, base }
}

#[derive(Debug, Clone)]
pub struct Containers<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
}

impl<'a> Iterator for Containers<'a> {
    type Item = Result<Container<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let gap = self
            .bytes
            .get(self.at..)?
            .iter()
            .position(|&byte| byte != 0)?;
        self.at += gap;
        match Container::parse(self.bytes, self.at, self.base) {
            Ok(container) => {
                self.at += container.bytes.len();
                Some(Ok(container))
            }
            Err(error) => {
                // Go on behind the damage, at the next magic.
                let rest = &self.bytes[self.at + 1..];
                self.at = memmem::find(rest, &MAGIC)
                    .map_or(self.bytes.len(), |found| self.at + 1 + found);
                Some(Err(error))
            }
        }
    }
}

/// One entry: a fixed header, extras, and a payload of code.
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
        let (at, length) = (self.header_u32(32), self.header_u32(36));
        if at == 0 || length == 0 {
            None
        } else {
            self.extra(at, length)
        }
    }

    /// What the aux descriptor points at: ptxas or front-end options, or a copy of `.nv.compat` for cubins with
    /// Mercury sections.
    pub fn aux(&self) -> Option<&'a [u8]> {
        let at = self.header_u32(20);
        if at == 0 || self.kind == kind::CONCATENATED {
            return None;
        }
        let descriptor = self.extra(at, 8)?;
        let mut reader = Reader::new(descriptor);
        let (at, length) = (reader.u32("offset").ok()?, reader.u32("length").ok()?);
        if at == 0 || length == 0 {
            None
        } else {
            self.extra(at, length)
        }
    }

    fn header_u32(&self, at: usize) -> u32 {
        self.header
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    fn extra(&self, at: u32, length: u32) -> Option<&'a [u8]> {
        let at = usize::try_from(at).ok()?;
        self.header
            .get(at..at.checked_add(usize::try_from(length).ok()?)?)
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

    /// The members of a concatenated entry, from its table.
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
    /// not stored: it is 64, grown by the identifier and by the aux descriptor and its data.
    fn parse(table: &mut Reader<'a>) -> Result<Self, Malformed> {
        let offset = table.offset();
        let mut peek = table.clone();
        peek.skip(4, "concatenated image")?;
        let start = peek.u32("start of a concatenated image")?;
        let size = peek.u64("size of a concatenated image")?;
        peek.skip(4, "concatenated image")?;
        let aux_at = peek.u32("aux offset")?;
        peek.skip(12, "concatenated image")?;
        let name_length = peek.u32("identifier length")? as usize;
        let mut length = ENTRY_HEADER;
        if name_length > 0 {
            length = length.saturating_add((name_length + 1).next_multiple_of(8));
        }
        if aux_at > 0 {
            let mut descriptor = table.clone();
            descriptor.skip(aux_at as usize + 4, "aux descriptor")?;
            let data = descriptor.u32("aux length")? as usize;
            length = length
                .saturating_add(8)
                .saturating_add((data + 1).next_multiple_of(8));
        }
        let header = table.bytes(length, "concatenated image")?;
        Ok(Self {
            start,
            size,
            entry: Entry::parse(header, &[], offset)?,
        })
    }
}

/// The entries of a container. An entry whose sizes make no sense ends the iteration with an error, since
/// nothing says where the next one starts.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
    failed: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.at >= self.bytes.len() {
            return None;
        }
        let entry = self.read();
        self.failed = entry.is_err();
        Some(entry)
    }
}

impl<'a> Entries<'a> {
    fn read(&mut self) -> Result<Entry<'a>, Malformed> {
        let offset = self.base + self.at as u64;
        let mut reader = Reader::with_base(self.bytes, self.base);
        reader.seek(self.at, "fatbin entry")?;
        let mut whole = reader.clone();
        reader.skip(4, "fatbin entry header")?;
        let header_size = reader.u32("entry header size")? as usize;
        let payload_size = reader.u64("entry payload size")?;
        if header_size < ENTRY_HEADER {
            return Err(Malformed::new(
                offset + 4,
                format!("entry header size is {header_size}, expected {ENTRY_HEADER} or more"),
            ));
        }
        let header = whole.bytes(header_size, "fatbin entry header")?;
        let payload_size = usize::try_from(payload_size).unwrap_or(usize::MAX);
        let payload = whole.bytes(payload_size, "fatbin entry payload")?;
        self.at = whole.position();
        Entry::parse(header, payload, offset)
    }
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
