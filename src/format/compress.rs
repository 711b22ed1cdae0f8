//! Unpacking the payloads of fatbin entries. Every size is checked before memory is taken for it, and memory grows
//! with what the payload yields, so a planted size costs nothing.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{
    DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective, get_error_name,
};

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    None,
    /// RFC 1950; old files.
    Zlib,
    /// A raw block without a frame; the default up to CUDA 12.9.
    Lz4,
    /// A frame; the default of CUDA 13.
    Zstd,
    /// Compressed and scrambled LTO-IR, which only NVIDIA's libraries read.
    Scrambled,
    Unknown,
}

/// Bounds on what payloads may unpack to. The largest real entry seen has 159 MB, and the highest real ratio is
/// 212:1.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'b> {
    /// Most bytes of one payload.
    pub size: u64,
    /// How many times its stored size one payload may have.
    pub ratio: u64,
    /// The same for one of more than [`LARGE`] bytes: what takes that much memory has to be there.
    pub large_ratio: u64,
    /// What all payloads together may take; none means no bound.
    pub budget: Option<&'b Budget>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            size: 2 << 30,
            ratio: 4096,
            large_ratio: 256,
            budget: None,
        }
    }
}

/// Bytes that a whole run may unpack, shared by its threads.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    left: AtomicU64,
}

impl Budget {
    pub fn new(total: u64) -> Self {
        Self {
            total,
            left: AtomicU64::new(total),
        }
    }

    fn take(&self, size: u64) -> Result<(), String> {
        let take = |left: u64| left.checked_sub(size);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .map(drop)
            .map_err(|_| {
                let total = self.total;
                format!(
                    "unpacks to {size} bytes, which takes all together above the limit of {total}"
                )
            })
    }
}

/// Above this size, payloads are held to a lower ratio.
pub const LARGE: u64 = 128 << 20;

/// LZ4 cannot exceed this by design.
const LZ4_RATIO: u64 = 255;

/// 128 MiB: a zstd frame that asks for a larger window is refused.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Memory for this ratio is taken at once; beyond, it doubles as the payload yields bytes.
const FIRST_RATIO: usize = 256;

/// Unpacks `stored` to exactly `size` bytes, or says in one line why not.
pub fn decompress(
    codec: Codec,
    stored: &[u8],
    size: u64,
    limits: Limits<'_>,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    decompress_into(codec, stored, size, limits, &mut out)?;
    Ok(out)
}

/// As [`decompress`], into a buffer that is used again. What was in it is lost.
pub fn decompress_into(
    codec: Codec,
    stored: &[u8],
    size: u64,
    limits: Limits<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let size = allowed(codec, stored, size, limits)?;
    out.clear();
    match codec {
        Codec::None => {
            reserve(out, stored.len())?;
            out.extend_from_slice(stored);
        }
        Codec::Zlib => zlib(stored, size, out)?,
        Codec::Lz4 => lz4(stored, size, out)?,
        Codec::Zstd => zstd(stored, size, out)?,
        Codec::Scrambled => {
            return Err(
                "is compressed LTO-IR, which only NVIDIA's libraries can unpack".to_owned(),
            );
        }
        Codec::Unknown => return Err("is compressed in an unknown way".to_owned()),
    }
    if out.len() != size {
        return Err(format!(
            "unpacks to {} bytes, but its header says {size}",
            out.len()
        ));
    }
    Ok(())
}

/// The first bytes of what `stored` unpacks to, at most `count`, without unpacking the rest; fewer where it is
/// damaged, none where the codec has no cheap way.
pub fn first_bytes(codec: Codec, stored: &[u8], count: usize) -> Vec<u8> {
    match codec {
        Codec::None => stored[..count.min(stored.len())].to_vec(),
        Codec::Lz4 => first_of_lz4(stored, count),
        Codec::Zstd => first_of_zstd(stored, count),
        Codec::Zlib | Codec::Scrambled | Codec::Unknown => Vec::new(),
    }
}

/// Goes through the sequences of a block until there are enough bytes.
fn first_of_lz4(stored: &[u8], count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count);
    let mut input = stored.iter().copied();
    while out.len() < count {
        let Some(token) = input.next() else { break };
        let literals = lz4_length(token >> 4, &mut input);
        out.extend(input.by_ref().take(literals.min(count - out.len())));
        let (Some(low), Some(high)) = (input.next(), input.next()) else {
            break;
        };
        let distance = usize::from(u16::from_le_bytes([low, high]));
        let length = lz4_length(token & 15, &mut input).saturating_add(4);
        for _ in 0..length.min(count - out.len()) {
            let from = out.len().checked_sub(distance);
            let Some(&byte) = from.and_then(|from| out.get(from)) else {
                return out;
            };
            out.push(byte);
        }
    }
    out
}

/// A length of four bits, which goes on in whole bytes where all four are set.
fn lz4_length(bits: u8, input: &mut impl Iterator<Item = u8>) -> usize {
    let mut length = usize::from(bits);
    if bits == 15 {
        for more in input {
            length = length.saturating_add(usize::from(more));
            if more < 255 {
                break;
            }
        }
    }
    length
}

fn first_of_zstd(stored: &[u8], count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count);
    let Ok(mut context) = new_context() else {
        return out;
    };
    let mut input = InBuffer::around(stored);
    while out.len() < count {
        let filled = out.len();
        let left =
            context.decompress_stream(&mut OutBuffer::around_pos(&mut out, filled), &mut input);
        let is_stuck = out.len() == filled && input.pos() == stored.len();
        if is_stuck || !left.is_ok_and(|left| left > 0) {
            break;
        }
    }
    out
}

fn allowed(codec: Codec, stored: &[u8], size: u64, limits: Limits<'_>) -> Result<usize, String> {
    let mut ratio = if size > LARGE {
        limits.large_ratio
    } else {
        limits.ratio
    };
    if codec == Codec::Lz4 {
        ratio = ratio.min(LZ4_RATIO);
    }
    if size > limits.size {
        return Err(format!(
            "claims to unpack to {size} bytes, more than the limit of {}",
            limits.size
        ));
    }
    if size > (stored.len() as u64).saturating_mul(ratio) {
        return Err(format!(
            "claims to unpack {} bytes to {size}, which no encoder does",
            stored.len()
        ));
    }
    if let Some(budget) = limits.budget {
        budget.take(size)?;
    }
    usize::try_from(size).map_err(|_| no_memory(size))
}

fn zlib(stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    first_buffer(out, stored, size)?;
    let mut stream = Decompress::new(true);
    loop {
        // What was read so far lies within `stored`.
        let rest = &stored[stream.total_in() as usize..];
        let status = stream
            .decompress_vec(rest, out, FlushDecompress::Finish)
            .map_err(|e| format!("is no valid zlib stream: {e}"))?;
        if status == Status::StreamEnd {
            return Ok(());
        }
        if out.len() < out.capacity() {
            return Err("is no valid zlib stream: it ends early".to_owned());
        }
        grow(out, size)?;
    }
}

fn lz4(stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    reserve(out, size)?;
    out.resize(size, 0);
    let length = lz4_flex::block::decompress_into(stored, out)
        .map_err(|e| format!("is no valid LZ4 block: {e}"))?;
    out.truncate(length);
    Ok(())
}

fn zstd(stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    thread_local! {
        // Setting up a context costs more than unpacking a small kernel.
        static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(new_context()?),
        };
        zstd_frames(context, stored, size, out)
    })
}

fn new_context() -> Result<DCtx<'static>, String> {
    let mut context = DCtx::try_create().ok_or("zstd has no memory to start")?;
    context
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
        .map_err(invalid_zstd)?;
    Ok(context)
}

/// With room for all of a frame's content zstd writes it in one go, without a window of its own; that is the case for
/// every real payload.
fn zstd_frames(
    context: &mut DCtx<'_>,
    stored: &[u8],
    size: usize,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    context
        .reset(ResetDirective::SessionOnly)
        .map_err(invalid_zstd)?;
    first_buffer(out, stored, size)?;
    let mut input = InBuffer::around(stored);
    loop {
        let filled = out.len();
        let wanted = context
            .decompress_stream(&mut OutBuffer::around_pos(out, filled), &mut input)
            .map_err(invalid_zstd)?;
        let all_read = input.pos() == stored.len();
        if all_read && wanted == 0 {
            return Ok(());
        }
        if out.len() == out.capacity() {
            grow(out, size)?;
        } else if all_read {
            return Err("is no valid zstd frame: it ends early".to_owned());
        }
    }
}

fn invalid_zstd(code: ErrorCode) -> String {
    format!("is no valid zstd frame: {}", get_error_name(code))
}

fn first_buffer(out: &mut Vec<u8>, stored: &[u8], size: usize) -> Result<(), String> {
    reserve(out, size.min(stored.len().saturating_mul(FIRST_RATIO)))
}

/// Room for `size` bytes; the system hands out the pages only as they are written.
fn reserve(out: &mut Vec<u8>, size: usize) -> Result<(), String> {
    out.try_reserve_exact(size)
        .map_err(|_| no_memory(size as u64))
}

/// Makes room in a full buffer: twice what it holds, and in the end one byte more than it should, which shows a
/// payload that is too long.
fn grow(out: &mut Vec<u8>, size: usize) -> Result<(), String> {
    if out.len() > size {
        return Err(format!(
            "unpacks to more than the {size} bytes that its header says"
        ));
    }
    let more = out.len().max(1).min(size + 1 - out.len());
    out.try_reserve_exact(more)
        .map_err(|_| no_memory(size as u64))
}

fn no_memory(size: u64) -> String {
    format!("unpacks to {size} bytes, for which there is no memory")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn zlib_of(plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::ZlibEncoder::new(plain, flate2::Compression::default())
            .read_to_end(&mut out)
            .unwrap();
        out
    }

    fn zstd_of(plain: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(plain, 3).unwrap()
    }

    #[test]
    fn exact_sizes_and_planted_ones() {
        let plain = b"kernel kernel kernel kernel kernel".repeat(40);
        let size = plain.len() as u64;
        for (codec, stored) in [
            (Codec::Lz4, &lz4_flex::block::compress(&plain)),
            (Codec::Zstd, &zstd_of(&plain)),
            (Codec::Zlib, &zlib_of(&plain)),
        ] {
            let unpack = |size| decompress(codec, stored, size, Limits::default());
            let mut used = vec![1; 5];
            decompress_into(codec, stored, size, Limits::default(), &mut used).unwrap();
            assert_eq!(used, plain, "{codec:?}");
            assert_eq!(unpack(size).unwrap(), plain, "{codec:?}");
            for wrong in [size - 1, size + 1, 0, 1 << 40, u64::MAX] {
                assert!(unpack(wrong).is_err(), "{codec:?} {wrong}");
            }
            for cut in [0, 1, stored.len() / 2, stored.len() - 1] {
                assert!(
                    decompress(codec, &stored[..cut], size, Limits::default()).is_err(),
                    "{codec:?} cut at {cut}"
                );
            }
        }
        let stored = zstd_of(&plain);
        let scrambled = decompress(Codec::Scrambled, &stored, size, Limits::default()).unwrap_err();
        assert!(scrambled.contains("NVIDIA"), "{scrambled}");
    }

    #[test]
    fn the_start_alone() {
        let mut plain = b"\x7fELF".to_vec();
        plain.extend((0..60_000_u32).flat_map(|n| (n / 7 % 300).to_le_bytes()));
        let lz4 = lz4_flex::block::compress(&plain);
        for (codec, stored) in [
            (Codec::None, &plain),
            (Codec::Lz4, &lz4),
            (Codec::Zstd, &zstd_of(&plain)),
        ] {
            for count in [0, 1, 64, 5000, plain.len(), plain.len() + 9] {
                let expected = &plain[..count.min(plain.len())];
                assert!(
                    first_bytes(codec, stored, count) == expected,
                    "{codec:?} {count}"
                );
            }
            for cut in [0, 1, 20, stored.len() / 2] {
                let start = first_bytes(codec, &stored[..cut], 5000);
                assert!(plain.starts_with(&start), "{codec:?} {cut}");
            }
        }
        // A copy from before the start.
        assert_eq!(first_bytes(Codec::Lz4, &[0x10, b'a', 2, 0], 9), b"a");
    }

    #[test]
    fn empty_payloads() {
        for (codec, stored) in [
            (Codec::None, vec![]),
            (Codec::Lz4, lz4_flex::block::compress(b"")),
            (Codec::Zstd, zstd_of(b"")),
            (Codec::Zlib, zlib_of(b"")),
        ] {
            let out = decompress(codec, &stored, 0, Limits::default());
            assert_eq!(out.unwrap(), b"", "{codec:?}");
        }
    }

    /// Real payloads never get there; such a frame is unpacked piece by piece.
    #[test]
    fn memory_grows_with_what_is_unpacked() {
        let plain = vec![7; 6 << 20];
        for (codec, stored) in [
            (Codec::Zstd, zstd_of(&plain)),
            (Codec::Zlib, zlib_of(&plain)),
        ] {
            assert!(stored.len() * FIRST_RATIO < plain.len(), "{codec:?}");
            let no_ratio = Limits {
                ratio: u64::MAX,
                large_ratio: u64::MAX,
                ..Limits::default()
            };
            let size = plain.len() as u64;
            let out = decompress(codec, &stored, size, no_ratio).unwrap();
            assert!(out == plain, "{codec:?}");
            for wrong in [size - 1, size + 1] {
                assert!(decompress(codec, &stored, wrong, no_ratio).is_err());
            }
            // Nothing near a planted size is ever held: this is more than the machine has.
            let planted = Limits {
                size: u64::MAX,
                ..no_ratio
            };
            let error = decompress(codec, &stored, 1 << 60, planted).unwrap_err();
            assert!(error.contains("header says"), "{error}");
        }
        let error = decompress(
            Codec::Zstd,
            &zstd_of(&plain),
            plain.len() as u64,
            Limits::default(),
        );
        assert!(error.unwrap_err().contains("no encoder"));
    }

    #[test]
    fn much_memory_has_to_be_earned() {
        let stored = vec![0; 100_000];
        let claim = |size| decompress(Codec::Zstd, &stored, size, Limits::default()).unwrap_err();
        assert!(claim(LARGE).contains("valid zstd"));
        assert!(claim(LARGE + 1).contains("no encoder"));
    }

    #[test]
    fn frames_in_a_row_and_rest_behind_them() {
        let mut stored = zstd_of(b"first");
        stored.extend(zstd_of(b"second"));
        let out = decompress(Codec::Zstd, &stored, 11, Limits::default());
        assert_eq!(out.unwrap(), b"firstsecond");
        stored.push(0);
        assert!(decompress(Codec::Zstd, &stored, 11, Limits::default()).is_err());
    }

    #[test]
    fn a_wide_window_is_refused_where_one_is_needed() {
        // A frame that says: no content size, window of 2^30 bytes; one block of 'x' repeated, cut off.
        let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xA0, 0x03, 0x00, 0x10, b'x'];
        let error = decompress(Codec::Zstd, &frame, 2560, Limits::default()).unwrap_err();
        assert!(error.contains("memory"), "{error}");
    }

    #[test]
    fn a_budget_bounds_all_together() {
        let stored = zstd_of(&[1; 100]);
        let budget = Budget::new(250);
        let limits = Limits {
            budget: Some(&budget),
            ..Limits::default()
        };
        for _ in 0..2 {
            assert!(decompress(Codec::Zstd, &stored, 100, limits).is_ok());
        }
        let error = decompress(Codec::Zstd, &stored, 100, limits).unwrap_err();
        assert!(error.contains("limit of 250"), "{error}");
    }
}
