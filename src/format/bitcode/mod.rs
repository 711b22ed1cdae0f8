//! NVVM IR, which is LLVM IR with rules of its own: as bitcode, and as text. Of either only what tells where it is
//! from and what it is for is read. The bitstream's layout is that of LLVM's documentation.

mod assembly;
mod symbols;

use memchr::memmem;

pub use assembly::exports;
pub use symbols::{Contents, Symbol, SymbolKind};

use crate::bytes::Reader;
use crate::error::Malformed;

/// `BC`, then 0xC0DE.
pub const MAGIC: [u8; 4] = [b'B', b'C', 0xC0, 0xDE];
/// The first four bytes of the wrapper that some compilers put around bitcode.
pub const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

/// What a module says about itself. Modules need not say any of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// `LLVM22.1.0`, or what another compiler calls itself.
    pub producer: Option<String>,
    /// Changes when bitcode becomes incompatible; 0 so far.
    pub epoch: Option<u64>,
    /// `nvptx64-nvidia-cuda`.
    pub triple: Option<String>,
}

impl Module {
    /// The first module of raw or wrapped bitcode. Damage behind the magic only makes for fewer answers.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut module = Self::default();
        module.read(Bits::new(stream(bytes)?));
        Ok(module)
    }

    /// The release (major) of LLVM that wrote it, if LLVM did.
    pub fn llvm(&self) -> Option<u32> {
        let version = self.producer.as_deref()?.strip_prefix("LLVM")?;
        version.split('.').next()?.parse().ok()
    }

    /// Whether it is for NVIDIA GPUs; none if it does not say.
    pub fn is_nvvm(&self) -> Option<bool> {
        self.triple.as_deref().map(is_nvvm_triple)
    }

    fn read(&mut self, mut bits: Bits<'_>) -> Option<()> {
        // Outside all blocks there are only blocks.
        while self.triple.is_none() && bits.fixed(OUTER_WIDTH)? == ENTER_BLOCK {
            let block = Block::enter(&mut bits)?;
            match block.id {
                BLOCK_IDENTIFICATION => self.read_identification(block),
                BLOCK_MODULE => self.read_module(block),
                _ => None,
            };
        }
        Some(())
    }

    fn read_identification(&mut self, mut block: Block<'_>) -> Option<()> {
        loop {
            let record = block.next_record()?;
            match record.code {
                IDENTIFICATION_STRING => self.producer = record.text(),
                IDENTIFICATION_EPOCH => self.epoch = record.values.first().copied(),
                _ => {}
            }
        }
    }

    fn read_module(&mut self, mut block: Block<'_>) -> Option<()> {
        while self.triple.is_none() {
            let record = block.next_record()?;
            if record.code == MODULE_TRIPLE {
                self.triple = record.text();
            }
        }
        Some(())
    }
}

/// What follows the magic of raw or wrapped bitcode.
fn stream(bytes: &[u8]) -> Result<&[u8], Malformed> {
    unwrapped(bytes)?
        .strip_prefix(&MAGIC)
        .ok_or_else(|| Malformed::new(0, "expected LLVM bitcode (42 43 C0 DE)"))
}

fn is_nvvm_triple(triple: &str) -> bool {
    triple.starts_with("nvptx")
}

/// The bitcode within the wrapper, if there is one: magic, version, offset, size, CPU type.
fn unwrapped(bytes: &[u8]) -> Result<&[u8], Malformed> {
    if !bytes.starts_with(&WRAPPER_MAGIC) {
        return Ok(bytes);
    }
    let mut header = Reader::new(bytes);
    header.skip(8, "bitcode wrapper")?;
    let (at, size) = (header.u32("bitcode offset")?, header.u32("bitcode size")?);
    let mut reader = Reader::new(bytes);
    reader.seek(at as usize, "wrapped bitcode")?;
    // What is cut off is no reason not to read the rest.
    let left = reader.remaining();
    reader.bytes(left.min(size as usize), "wrapped bitcode")
}

/// What NVVM IR as text says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    pub triple: &'a str,
    /// Of the NVVM IR, from `!nvvmir.version`.
    pub version: Option<(u32, u32)>,
    /// Of its debug metadata, from the same place.
    pub debug_version: Option<(u32, u32)>,
}

impl<'a> Text<'a> {
    /// Reads LLVM assembly; none if it has no target triple, which every module for a GPU has.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let numbers = version_numbers(text).unwrap_or_default();
        let pair = |at: usize| Some((*numbers.get(at)?, *numbers.get(at + 1)?));
        Some(Self {
            triple: quoted(statement(text, b"target triple")?)?,
            version: pair(0),
            debug_version: pair(2),
        })
    }

    pub fn is_nvvm(&self) -> bool {
        is_nvvm_triple(self.triple)
    }
}

/// Whether LLVM assembly has pointers without the type of what they point to (`ptr`), which LLVM before 15 does not
/// know.
pub fn has_opaque_pointers(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let mut quoted = false;
        // A quoted string does not go over lines; a semicolon outside of one starts a comment.
        let code = line.iter().map_while(|&byte| {
            quoted ^= byte == b'"';
            match byte {
                b';' if !quoted => None,
                _ if quoted => Some(b'_'),
                _ => Some(byte),
            }
        });
        let code: Vec<u8> = code.collect();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"%@._-$!#".contains(byte);
        code.split(|byte| !is_word(byte)).any(|word| word == b"ptr")
    })
}

/// What stands behind the equals sign of the line that starts with `name`.
fn statement<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    memmem::find_iter(text, name)
        .filter(|&at| at == 0 || text[at - 1] == b'\n')
        .find_map(|at| {
            let rest = text[at + name.len()..].trim_ascii_start();
            Some(rest.strip_prefix(b"=")?.trim_ascii_start())
        })
}

fn quoted(text: &[u8]) -> Option<&str> {
    let text = text.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\n', text)?;
    std::str::from_utf8(&text[..end]).ok()
}

/// The numbers in the metadata node that `!nvvmir.version` names: `!0 = !{i32 2, i32 0, i32 3, i32 2}`.
fn version_numbers(text: &[u8]) -> Option<Vec<u32>> {
    let node = node_content(statement(text, b"!nvvmir.version")?)?;
    let content = node_content(statement(text, node.trim_ascii())?)?;
    content
        .split(|&byte| byte == b',')
        .map(|number| {
            let digits = number.trim_ascii().strip_prefix(b"i32 ")?;
            std::str::from_utf8(digits).ok()?.trim().parse().ok()
        })
        .collect()
}

/// What is between the braces of `!{…}`.
fn node_content(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"!{")?;
    let end = memchr::memchr2(b'}', b'\n', text)?;
    Some(&text[..end])
}

const BLOCK_MODULE: u64 = 8;
const BLOCK_IDENTIFICATION: u64 = 13;
const IDENTIFICATION_STRING: u64 = 1;
const IDENTIFICATION_EPOCH: u64 = 2;
const MODULE_TRIPLE: u64 = 2;

/// Numbers of the abbreviations that need no definition.
const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED: u64 = 3;
const FIRST_DEFINED: u64 = 4;

/// Width of abbreviation numbers outside all blocks.
const OUTER_WIDTH: u32 = 2;

/// A record's values beyond these are read, but not kept: what is of interest here is short.
const KEPT_VALUES: usize = 4096;
/// LLVM's own abbreviations have up to ten or so. Without a bound a few bits could stand for very many values.
const MOST_OPERANDS: u64 = 64;

/// A bit cursor; the lowest bit of each byte comes first. None is the end of the stream.
#[derive(Debug, Clone)]
struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn bit(&mut self) -> Option<u64> {
        let byte = self.bytes.get(usize::try_from(self.at / 8).ok()?)?;
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        Some(bit.into())
    }

    /// An integer of up to 64 bits.
    fn fixed(&mut self, width: u32) -> Option<u64> {
        let start = usize::try_from(self.at / 8).ok()?;
        let shift = (self.at % 8) as u32;
        if let Some(word) = self.bytes.get(start..).and_then(|rest| rest.first_chunk())
            && width + shift < u64::BITS
        {
            self.at += u64::from(width);
            return Some(u64::from_le_bytes(*word) >> shift & ((1 << width) - 1));
        }
        let mut value = 0;
        for index in 0..width {
            value |= self.bit()?.checked_shl(index)?;
        }
        Some(value)
    }

    /// An integer in groups of `width` bits, the highest of which says that another group follows.
    fn variable(&mut self, width: u32) -> Option<u64> {
        let payload = width.checked_sub(1).filter(|&bits| bits > 0)?;
        let mut value = 0;
        let mut shift = 0;
        loop {
            value |= self.fixed(payload)?.checked_shl(shift)?;
            if self.bit()? == 0 {
                return Some(value);
            }
            shift += payload;
        }
    }

    /// Goes on at the next multiple of 32 bits. The magic has 32, so that the stream behind it counts alike.
    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// The next bytes, which start at a multiple of 32 bits; fewer at the end.
    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        self.align();
        let start = usize::try_from(self.at / 8).ok()?;
        let rest = self.bytes.get(start..)?;
        let count = rest.len().min(usize::try_from(count).ok()?);
        self.at += count as u64 * 8;
        self.align();
        Some(&rest[..count])
    }
}

#[derive(Debug)]
struct Block<'a> {
    id: u64,
    bits: Bits<'a>,
    /// Of abbreviation numbers.
    width: u32,
    abbreviations: Vec<Vec<Operand>>,
}

/// One place of an abbreviation.
#[derive(Debug, Clone, Copy)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Variable(u32),
    /// A count, and values in the form of the operand behind.
    Array,
    Char6,
    Blob,
}

#[derive(Debug, Default)]
struct Record<'a> {
    code: u64,
    values: Vec<u64>,
    /// The blob at its end, if it has one.
    blob: &'a [u8],
}

/// What a block is made of.
#[derive(Debug)]
enum Item<'a> {
    Record(Record<'a>),
    Block(Block<'a>),
}

impl Record<'_> {
    fn push(&mut self, value: u64) {
        if self.values.len() < KEPT_VALUES {
            self.values.push(value);
        }
    }

    fn text(&self) -> Option<String> {
        if !self.blob.is_empty() {
            return String::from_utf8(self.blob.to_vec()).ok();
        }
        let bytes: Result<Vec<u8>, _> = self.values.iter().map(|&v| u8::try_from(v)).collect();
        String::from_utf8(bytes.ok()?).ok()
    }
}

impl<'a> Block<'a> {
    /// Reads a block's header; `bits` goes on behind the block.
    fn enter(bits: &mut Bits<'a>) -> Option<Self> {
        let id = bits.variable(8)?;
        let width = u32::try_from(bits.variable(4)?).ok()?;
        bits.align();
        let words = bits.fixed(32)?;
        Some(Self {
            id,
            bits: Bits::new(bits.bytes(words * 4)?),
            width: (2..=32).contains(&width).then_some(width)?,
            abbreviations: Vec::new(),
        })
    }

    /// The next record of this block itself; blocks within are skipped.
    fn next_record(&mut self) -> Option<Record<'a>> {
        loop {
            if let Item::Record(record) = self.next_item()? {
                return Some(record);
            }
        }
    }

    fn next_item(&mut self) -> Option<Item<'a>> {
        loop {
            match self.bits.fixed(self.width)? {
                END_BLOCK => return None,
                ENTER_BLOCK => return Block::enter(&mut self.bits).map(Item::Block),
                DEFINE_ABBREVIATION => {
                    let abbreviation = self.abbreviation()?;
                    self.abbreviations.push(abbreviation);
                }
                UNABBREVIATED => return self.unabbreviated().map(Item::Record),
                number => {
                    let index = usize::try_from(number - FIRST_DEFINED).ok()?;
                    return self.abbreviated(index).map(Item::Record);
                }
            }
        }
    }

    fn abbreviation(&mut self) -> Option<Vec<Operand>> {
        let count = self.bits.variable(5)?;
        if count > MOST_OPERANDS {
            return None;
        }
        (0..count).map(|_| self.operand()).collect()
    }

    fn operand(&mut self) -> Option<Operand> {
        if self.bits.bit()? == 1 {
            return Some(Operand::Literal(self.bits.variable(8)?));
        }
        let encoding = self.bits.fixed(3)?;
        let mut width = || u32::try_from(self.bits.variable(5)?).ok();
        Some(match encoding {
            1 => match width()? {
                0 => Operand::Literal(0),
                width => Operand::Fixed(width),
            },
            2 => match width()? {
                0 => Operand::Literal(0),
                width => Operand::Variable(width),
            },
            3 => Operand::Array,
            4 => Operand::Char6,
            5 => Operand::Blob,
            _ => return None,
        })
    }

    fn unabbreviated(&mut self) -> Option<Record<'a>> {
        let mut record = Record {
            code: self.bits.variable(6)?,
            ..Record::default()
        };
        for _ in 0..self.bits.variable(6)? {
            record.push(self.bits.variable(6)?);
        }
        Some(record)
    }

    fn abbreviated(&mut self, index: usize) -> Option<Record<'a>> {
        let operands = self.abbreviations.get(index)?;
        let (&first, mut rest) = operands.split_first()?;
        let bits = &mut self.bits;
        let mut record = Record {
            code: scalar(bits, first)?,
            ..Record::default()
        };
        while let Some((&operand, behind)) = rest.split_first() {
            rest = behind;
            match operand {
                Operand::Array => {
                    let (&element, behind) = rest.split_first()?;
                    rest = behind;
                    // Elements without bits would make any count cost nothing.
                    if matches!(element, Operand::Literal(_)) {
                        return None;
                    }
                    for _ in 0..bits.variable(6)? {
                        record.push(scalar(bits, element)?);
                    }
                }
                Operand::Blob => {
                    let count = bits.variable(6)?;
                    record.blob = bits.bytes(count)?;
                }
                _ => record.push(scalar(bits, operand)?),
            }
        }
        Some(record)
    }
}

fn scalar(bits: &mut Bits<'_>, operand: Operand) -> Option<u64> {
    const CHAR6: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    match operand {
        Operand::Literal(value) => Some(value),
        Operand::Fixed(width) => bits.fixed(width),
        Operand::Variable(width) => bits.variable(width),
        Operand::Char6 => Some(CHAR6[bits.fixed(6)? as usize].into()),
        Operand::Array | Operand::Blob => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Writer(Vec<bool>);

    impl Writer {
        fn fixed(&mut self, width: u32, value: u64) -> &mut Self {
            self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
            self
        }

        fn variable(&mut self, width: u32, mut value: u64) -> &mut Self {
            let more = 1 << (width - 1);
            while value >= more {
                self.fixed(width, value & (more - 1) | more);
                value >>= width - 1;
            }
            self.fixed(width, value)
        }

        fn align(&mut self) -> &mut Self {
            self.0.resize(self.0.len().next_multiple_of(32), false);
            self
        }

        fn block(&mut self, own_width: u32, id: u64, width: u32, inner: &mut Self) -> &mut Self {
            inner.fixed(width, END_BLOCK).align();
            self.fixed(own_width, ENTER_BLOCK)
                .variable(8, id)
                .variable(4, width.into())
                .align()
                .fixed(32, inner.0.len() as u64 / 32);
            self.0.append(&mut inner.0);
            self
        }

        fn record(&mut self, width: u32, code: u64, values: &[u8]) -> &mut Self {
            self.fixed(width, UNABBREVIATED)
                .variable(6, code)
                .variable(6, values.len() as u64);
            for &value in values {
                self.variable(6, value.into());
            }
            self
        }

        fn bytes(&self) -> Vec<u8> {
            let byte = |bits: &[bool]| {
                bits.iter()
                    .rev()
                    .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
            };
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// As LLVM writes it: the producer in an abbreviation with six bits a letter, the triple spelt out behind other
    /// records and blocks.
    fn bitcode(triple: &str) -> Vec<u8> {
        let mut identification = Writer::default();
        identification
            .fixed(5, DEFINE_ABBREVIATION)
            .variable(5, 3)
            .fixed(1, 1)
            .variable(8, IDENTIFICATION_STRING)
            .fixed(1, 0)
            .fixed(3, 3)
            .fixed(1, 0)
            .fixed(3, 4)
            .fixed(5, 4)
            .variable(6, 6);
        for letter in [37, 37, 47, 38, 2, 59_u64] {
            identification.fixed(6, letter);
        }
        identification.record(5, IDENTIFICATION_EPOCH, &[0]);
        let mut types = Writer::default();
        types.record(4, 1, &[200; 100]);
        let mut module = Writer::default();
        module
            .record(3, 1, &[2])
            .block(3, 17, 4, &mut types)
            .record(3, MODULE_TRIPLE, triple.as_bytes());
        let mut stream = Writer::default();
        stream
            .block(2, BLOCK_IDENTIFICATION, 5, &mut identification)
            .block(2, BLOCK_MODULE, 3, &mut module);
        [&MAGIC[..], &stream.bytes()].concat()
    }

    #[test]
    fn raw_and_wrapped() {
        let raw = bitcode("nvptx64-nvidia-cuda");
        let expected = Module {
            producer: Some("LLVMc7".to_owned()),
            epoch: Some(0),
            triple: Some("nvptx64-nvidia-cuda".to_owned()),
        };
        assert_eq!(Module::parse(&raw).unwrap(), expected);
        assert_eq!(expected.is_nvvm(), Some(true));

        let mut wrapped = WRAPPER_MAGIC.to_vec();
        for field in [0, 20, raw.len() as u32, 7] {
            wrapped.extend(field.to_le_bytes());
        }
        wrapped.extend(&raw);
        wrapped.extend([0; 12]);
        assert_eq!(Module::parse(&wrapped).unwrap(), expected);
        wrapped[8] = 0xFF;
        assert!(Module::parse(&wrapped[..30]).is_err());

        let host = Module::parse(&bitcode("x86_64-pc-linux-gnu")).unwrap();
        assert_eq!(host.is_nvvm(), Some(false));
    }

    #[test]
    fn a_cut_leaves_what_was_before_it() {
        let raw = bitcode("nvptx64-nvidia-cuda");
        assert!(Module::parse(&raw[..3]).is_err());
        let mut answers = Vec::new();
        for cut in 4..=raw.len() {
            let module = Module::parse(&raw[..cut]).unwrap();
            let answer = (module.producer.is_some(), module.triple.is_some());
            if answers.last() != Some(&answer) {
                answers.push(answer);
            }
        }
        assert_eq!(answers, [(false, false), (true, false), (true, true)]);
    }

    /// A few bits must not stand for much work.
    #[test]
    fn hostile_abbreviations() {
        let array_of = |operand: fn(&mut Writer)| {
            let mut module = Writer::default();
            module
                .fixed(3, DEFINE_ABBREVIATION)
                .variable(5, 3)
                .fixed(1, 1)
                .variable(8, 5)
                .fixed(1, 0)
                .fixed(3, 3);
            operand(&mut module);
            for _ in 0..1000 {
                module.fixed(3, 4).variable(6, u64::MAX);
            }
            let mut stream = Writer::default();
            stream.block(2, BLOCK_MODULE, 3, &mut module);
            [&MAGIC[..], &stream.bytes()].concat()
        };
        let literal = array_of(|writer| {
            writer.fixed(1, 1).variable(8, 1);
        });
        let no_bits = array_of(|writer| {
            writer.fixed(1, 0).fixed(3, 1).variable(5, 0);
        });
        let array = array_of(|writer| {
            writer.fixed(1, 0).fixed(3, 3);
        });
        let blob = array_of(|writer| {
            writer.fixed(1, 0).fixed(3, 5);
        });
        for bytes in [literal, no_bits, array, blob] {
            assert_eq!(Module::parse(&bytes), Ok(Module::default()));
        }
    }

    #[test]
    fn text() {
        let text = b"; ModuleID = 'a'\nsource_filename = \"target triple\"\n\
            target triple = \"nvptx64-nvidia-cuda\"\n\n!nvvmir.version = !{!7}\n\
            !70 = !{i32 9}\n!7 = !{i32 2, i32 0, i32 3, i32 2}\n";
        let found = Text::parse(text).unwrap();
        assert_eq!(found.triple, "nvptx64-nvidia-cuda");
        assert_eq!(found.version, Some((2, 0)));
        assert_eq!(found.debug_version, Some((3, 2)));
        assert!(found.is_nvvm());
        let host = Text::parse(b"target triple=\"x86_64-linux\"\r\n").unwrap();
        assert!(!host.is_nvvm() && host.version.is_none());
        for no_module in [
            "",
            "target triple",
            "; target triple = \"nvptx\"",
            "target triple = nvptx",
        ] {
            assert_eq!(Text::parse(no_module.as_bytes()), None, "{no_module}");
        }
    }
}
