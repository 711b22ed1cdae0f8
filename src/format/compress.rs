//! Unpacking the payloads of fatbin entries, with every size checked before memory is taken for it.

use std::cell::RefCell;
use std::io::Read;

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

/// Bounds on what one payload may unpack to. The largest real entry seen has 159 MB, and the highest real ratio
/// is 212:1.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub size: u64,
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            size: 2 << 30,
            ratio: 4096,
        }
    }
}

/// LZ4 cannot exceed this by design.
const LZ4_RATIO: u64 = 255;

/// 128 MiB: a zstd frame that asks for a larger window is refused.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Unpacks `stored` to exactly `size` bytes, or says in one line why not.
pub fn decompress(
    codec: Codec,
    stored: &[u8],
    size: u64,
    limits: Limits,
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
    limits: Limits,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let size = checked_size(codec, stored, size, limits)?;
    out.clear();
    out.try_reserve_exact(size)
        .map_err(|_| format!("unpacks to {size} bytes, for which there is no memory"))?;
    match codec {
        Codec::None => out.extend_from_slice(stored),
        Codec::Zlib => zlib(stored, size, out)?,
        Codec::Lz4 => lz4(stored, size, out)?,
        Codec::Zstd => zstd(stored, out)?,
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

/// The size that a header claims, if an encoder can have made it and there may be memory for it.
fn checked_size(codec: Codec, stored: &[u8], size: u64, limits: Limits) -> Result<usize, String> {
    let ratio = if codec == Codec::Lz4 {
        limits.ratio.min(LZ4_RATIO)
    } else {
        limits.ratio
    };
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
    usize::try_from(size).map_err(|_| format!("unpacks to {size} bytes, too many for this machine"))
}

fn zlib(stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    flate2::read::ZlibDecoder::new(stored)
        .take(size as u64 + 1)
        .read_to_end(out)
        .map_err(|e| format!("is no valid zlib stream: {e}"))?;
    Ok(())
}

fn lz4(stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.resize(size, 0);
    let length = lz4_flex::block::decompress_into(stored, out)
        .map_err(|e| format!("is no valid LZ4 block: {e}"))?;
    out.truncate(length);
    Ok(())
}

/// Unpacks into the room that `out` has.
fn zstd(stored: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    thread_local! {
        // Setting up a context costs more than unpacking a small kernel.
        static CONTEXT: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(new_context().map_err(|e| format!("zstd cannot start: {e}"))?),
        };
        context
            .decompress_to_buffer(stored, out)
            .map_err(|e| format!("is no valid zstd frame: {e}"))
    })?;
    Ok(())
}

fn new_context() -> std::io::Result<zstd::bulk::Decompressor<'static>> {
    let mut context = zstd::bulk::Decompressor::new()?;
    context.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_sizes_and_planted_ones() {
        let plain = b"kernel kernel kernel kernel kernel".repeat(40);
        let size = plain.len() as u64;
        let lz4 = lz4_flex::block::compress(&plain);
        let zst = zstd::bulk::compress(&plain, 3).unwrap();
        let mut zlib = Vec::new();
        flate2::read::ZlibEncoder::new(&plain[..], flate2::Compression::default())
            .read_to_end(&mut zlib)
            .unwrap();
        for (codec, stored) in [
            (Codec::Lz4, &lz4),
            (Codec::Zstd, &zst),
            (Codec::Zlib, &zlib),
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
        let scrambled = decompress(Codec::Scrambled, &zst, size, Limits::default()).unwrap_err();
        assert!(scrambled.contains("NVIDIA"), "{scrambled}");
    }
}
