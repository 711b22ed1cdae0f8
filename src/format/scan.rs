//! Device code hidden in arbitrary data, found by its signatures: fatbins, cubins, PTX and LTO-IR. Libraries
//! keep thousands of them in `.data`, `.rodata` and sections of their own.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;
use rayon::prelude::*;

use super::cubin::{Cubin, Peek};
use super::fatbin::Container;
use super::ltoir;
use super::ptx::Ptx;
use crate::error::Malformed;

/// A piece of device code in a file.
#[derive(Debug, Clone)]
pub struct Found<'a> {
    pub kind: FoundKind<'a>,
    /// Where it is in the file.
    pub range: Range<usize>,
}

#[derive(Debug, Clone)]
pub enum FoundKind<'a> {
    Fatbin(Container<'a>),
    Cubin,
    Ptx,
    /// LTO-IR does not record its length: the range goes on to the next find or the end.
    LtoIr,
}

/// The first size of the stretch that is searched at once. It doubles as long as nothing is found, and starts again
/// behind a find, so that what lies within a find is hardly ever touched.
const FIRST_STRETCH: usize = 4 << 10;
const LAST_STRETCH: usize = 64 << 20;
/// Stretches above this size are searched on all cores, in pieces of this size.
const PIECE: usize = 1 << 20;

/// How far into PTX its `.target` may stand.
const PTX_HEADER: usize = 1024;
const LTO_IR_HEADER: usize = 0x28;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signature {
    Fatbin,
    Cubin,
    Ptx,
    LtoIr,
}

/// A fatbin's magic with the version and header size that all have, an ELF header as all cubins have it.
const NEEDLES: [(Signature, &[u8]); 4] = [
    (Signature::Fatbin, b"\x50\xed\x55\xba\x01\x00\x10\x00"),
    (Signature::Cubin, b"\x7fELF\x02\x01\x01"),
    (Signature::Ptx, VERSION),
    (Signature::LtoIr, LTO_IR_START),
];
/// The magic without its last byte, with which a cubin could start.
const LTO_IR_START: &[u8] = ltoir::MAGIC.split_at(3).0;
/// Finds all of them in one pass. No needle ends as another starts, so no find hides another.
static SEARCHER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    // Building fails only with more patterns or states than fit in 31 bits.
    #[allow(clippy::expect_used)]
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(NEEDLES.map(|(_, needle)| needle))
        .expect("four short patterns")
});
const LONGEST_NEEDLE: usize = 8;
const VERSION: &[u8] = b".version";

/// Searches `file[range]`. Finds come in order and do not overlap. An error is something that has a signature and
/// the start of device code but does not hold together; the search goes on behind it.
pub fn scan(file: &[u8], range: Range<usize>) -> Scan<'_> {
    let end = range.end.min(file.len());
    let start = range.start.min(end);
    Scan {
        file: &file[..end],
        at: start,
        searched: start,
        stretch: FIRST_STRETCH,
        hits: VecDeque::new(),
        ready: VecDeque::new(),
        lto_ir: None,
        effort: (end - start) / 16 + 4096,
    }
}

#[derive(Debug)]
pub struct Scan<'a> {
    /// The file up to the end of the search.
    file: &'a [u8],
    /// Nothing before it belongs to a later find.
    at: usize,
    /// Signatures before it are in `hits`.
    searched: usize,
    stretch: usize,
    hits: VecDeque<(usize, Signature)>,
    ready: VecDeque<Result<Found<'a>, Malformed>>,
    /// Where LTO-IR starts whose end is not known yet.
    lto_ir: Option<usize>,
    /// What looking at false signatures may still cost, in steps of 16 bytes or so. Hostile data has a signature every
    /// few bytes, each the start of something long.
    effort: usize,
}

impl<'a> Iterator for Scan<'a> {
    type Item = Result<Found<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if let Some((at, signature)) = self.hits.pop_front() {
                if at >= self.at {
                    self.look(at, signature);
                }
            } else if !self.search() {
                self.end_lto_ir(self.file.len());
                return self.ready.pop_front();
            }
        }
    }
}

impl<'a> Scan<'a> {
    /// Collects the signatures of the next stretch; false at the end.
    fn search(&mut self) -> bool {
        let start = self.at.max(self.searched);
        if start >= self.file.len() {
            return false;
        }
        let end = start.saturating_add(self.stretch).min(self.file.len());
        let pieces: Vec<usize> = (start..end).step_by(PIECE).collect();
        let search = |&start: &usize| hits(self.file, start..end.min(start + PIECE));
        self.hits = if let [piece] = pieces[..] {
            search(&piece).into()
        } else {
            let pieces: Vec<_> = pieces.par_iter().map(search).collect();
            pieces.into_iter().flatten().collect()
        };
        self.searched = end;
        self.stretch = (self.stretch * 2).min(LAST_STRETCH);
        true
    }

    fn look(&mut self, at: usize, signature: Signature) {
        let found = match signature {
            Signature::Fatbin => self.fatbin(at),
            Signature::Cubin => self.cubin(at),
            Signature::Ptx => self.ptx(at),
            Signature::LtoIr => {
                let header = &self.file[at..self.file.len().min(at + 64)];
                let header = ltoir::Header::parse(header, at as u64);
                if header.is_ok_and(|header| header.arch.is_some()) {
                    self.end_lto_ir(at);
                    self.lto_ir = Some(at);
                    self.at = at + LTO_IR_HEADER;
                }
                None
            }
        };
        if let Some(found) = found {
            if let Ok(found) = &found {
                self.end_lto_ir(at);
                self.at = found.range.end;
                self.stretch = FIRST_STRETCH;
            }
            self.ready.push_back(found);
        }
    }

    fn end_lto_ir(&mut self, end: usize) {
        if let Some(start) = self.lto_ir.take() {
            self.ready.push_back(Ok(Found {
                kind: FoundKind::LtoIr,
                range: start..end,
            }));
        }
    }

    /// Pays for a look at something that was no find.
    fn spend(&mut self, steps: usize) -> Option<Result<Found<'a>, Malformed>> {
        if let Some(left) = self.effort.checked_sub(steps) {
            self.effort = left;
            return None;
        }
        let at = self.at as u64;
        self.at = self.file.len();
        Some(Err(Malformed::new(
            at,
            "too much of this data looks like device code and is not, so the rest is not searched",
        )))
    }

    /// Takes a container only if entries fill it exactly.
    fn fatbin(&mut self, at: usize) -> Option<Result<Found<'a>, Malformed>> {
        let container = Container::parse(self.file, at, 0).ok()?;
        let mut steps = 1;
        let mut plausible = false;
        let mut damage = container.damage.clone();
        for entry in container.entries() {
            steps += 1;
            match entry {
                Ok(entry) => plausible |= entry.version == ENTRY_VERSION,
                Err(error) => {
                    damage.get_or_insert(error);
                }
            }
        }
        match damage {
            None => Some(Ok(Found {
                range: at..at + container.bytes.len(),
                kind: FoundKind::Fatbin(container),
            })),
            Some(damage) => self.spend(steps).or(plausible.then_some(Err(damage))),
        }
    }

    fn cubin(&mut self, at: usize) -> Option<Result<Found<'a>, Malformed>> {
        let rest = &self.file[at..];
        let is_cuda = matches!(rest.get(7), Some(0x33 | 0x41));
        let Some(peek) = is_cuda.then(|| Peek::read(rest).ok()).flatten() else {
            return self.spend(1);
        };
        // How much of it is read at most.
        let mut read = usize::try_from(peek.tables_end).unwrap_or(usize::MAX);
        let cubin = peek.extent(rest).and_then(|extent| {
            let extent = usize::try_from(extent).unwrap_or(usize::MAX);
            let bytes = rest.get(..extent).ok_or_else(|| {
                let left = rest.len();
                Malformed::new(
                    0,
                    format!("cubin of {extent} bytes is cut off after {left}"),
                )
            })?;
            read = extent;
            Cubin::parse(bytes).map(|_| extent)
        });
        match cubin {
            Ok(extent) => Some(Ok(Found {
                kind: FoundKind::Cubin,
                range: at..at + extent,
            })),
            Err(error) => {
                let damage =
                    Malformed::new((at as u64).saturating_add(error.offset), error.message);
                self.spend(read.min(rest.len()) / 16 + 1)
                    .or(Some(Err(damage)))
            }
        }
    }

    fn ptx(&mut self, at: usize) -> Option<Result<Found<'a>, Malformed>> {
        let start = &self.file[at..self.file.len().min(at + PTX_HEADER)];
        let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
        let is_part = self.file[..at].last().is_some_and(|&byte| word(byte));
        if is_part || !matches!(start.get(VERSION.len()), Some(b' ' | b'\t')) {
            return self.spend(1);
        }
        let header = Ptx::parse_header(start).ok();
        let is_target = |target: &str| ["sm_", "compute_"].iter().any(|p| target.starts_with(p));
        if !header.is_some_and(|header| is_target(header.target)) {
            return self.spend(PTX_HEADER / 16);
        }
        Some(Ok(Found {
            kind: FoundKind::Ptx,
            range: at..at + ptx_extent(&self.file[at..]),
        }))
    }
}

/// All real entries have this version.
const ENTRY_VERSION: u16 = 0x0101;

/// The signatures that start in a range, in order.
fn hits(file: &[u8], range: Range<usize>) -> Vec<(usize, Signature)> {
    let end = file.len().min(range.end + LONGEST_NEEDLE - 1);
    let bytes = &file[range.start..end];
    SEARCHER
        .find_iter(bytes)
        .map(|found| {
            let (signature, _) = NEEDLES[found.pattern()];
            (range.start + found.start(), signature)
        })
        .filter(|(at, _)| *at < range.end)
        .collect()
}

/// Where PTX ends that other data may follow without a NUL, as Rust's strings do: before the first byte that no text
/// has, or where a statement starts that is none of PTX. Those all start with a dot.
fn ptx_extent(bytes: &[u8]) -> usize {
    let mut depth = 0_u32;
    let mut starts_line = true;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let is_blank = byte.is_ascii_whitespace();
        if byte < b' ' && !is_blank {
            break;
        }
        if let Some(length) = comment_or_string(&bytes[at..]) {
            at += length;
            starts_line = false;
            continue;
        }
        match byte {
            b'{' | b'(' => depth += 1,
            b'}' | b')' if depth == 0 => break,
            b'}' | b')' => depth -= 1,
            b'.' | b'@' | b';' => {}
            _ if depth == 0 && starts_line && !is_blank => break,
            _ => {}
        }
        starts_line = byte == b'\n' || byte == b'}' && depth == 0 || starts_line && is_blank;
        at += 1;
    }
    at
}

/// The length of the comment or string at the start of `bytes`, up to the end of its line.
fn comment_or_string(bytes: &[u8]) -> Option<usize> {
    const LONGEST: usize = 64 << 10;
    let line = || memchr::memchr2(b'\n', 0, bytes).unwrap_or(bytes.len());
    match bytes {
        [b'/', b'/', ..] => Some(line()),
        [b'/', b'*', ..] => {
            let end = memmem::find(&bytes[..bytes.len().min(LONGEST)], b"*/")?;
            Some(end + 2)
        }
        [b'"', rest @ ..] => {
            let end = memchr::memchr3(b'"', b'\n', 0, rest)?;
            Some(end + 2).filter(|_| rest[end] == b'"')
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
