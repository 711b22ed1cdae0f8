use std::io::{self, BufWriter, Read, Write};

use super::{Blob, open};

/// Streams longer than this are put into a temporary file, so that the system can write their pages back when memory
/// gets short.
const IN_MEMORY: u64 = 64 << 20;
const BUFFER: usize = 256 << 10;

/// Reads a stream that unpacks something to its end, into memory or, where it is long, into a temporary file without
/// a name. `size` is what it is thought to have, which decides only where it goes first.
pub fn unpack(mut stream: impl Read, size: u64) -> io::Result<Blob> {
    let mut bytes = Vec::new();
    // A claim alone takes no memory: this grows as bytes arrive.
    if size <= IN_MEMORY {
        stream.by_ref().take(IN_MEMORY).read_to_end(&mut bytes)?;
        let mut next = [0];
        if stream.read(&mut next)? == 0 {
            return Ok(bytes.into());
        }
        bytes.extend(next);
    }
    let mut writer = BufWriter::with_capacity(BUFFER, tempfile::tempfile()?);
    writer.write_all(&bytes)?;
    drop(bytes);
    io::copy(&mut stream, &mut writer)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    open::map(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_streams_come_back_whole() {
        let cases = [
            (0, 0),
            (5, 5),
            (5, u64::MAX),
            (0, u64::MAX),
            (IN_MEMORY + 1, 0),
            (IN_MEMORY + 1, IN_MEMORY + 1),
        ];
        for (length, claim) in cases {
            let blob = unpack(io::repeat(7).take(length), claim).unwrap();
            assert_eq!(blob.len() as u64, length);
            assert!(blob.iter().rev().take(100).all(|&byte| byte == 7));
        }
    }
}
