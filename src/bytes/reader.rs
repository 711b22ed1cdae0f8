use crate::error::Malformed;

/// A cursor over little-endian bytes. Every read is checked and an error carries the absolute offset.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// Absolute offset of `bytes[0]` in the outermost file.
    base: u64,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_base(bytes, 0)
    }

    /// `base` is the absolute offset of `bytes[0]` in the outermost file, for messages.
    pub fn with_base(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, base, at: 0 }
    }

    /// Absolute offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Position in the slice given to [`Reader::new`].
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// An error at the next byte.
    pub fn malformed(&self, message: impl Into<String>) -> Malformed {
        Malformed::new(self.offset(), message)
    }

    /// The next `count` bytes; `what` names them in the error.
    pub fn bytes(&mut self, count: usize, what: &str) -> Result<&'a [u8], Malformed> {
        if count > self.remaining() {
            return Err(self.malformed(format!(
                "{what} needs {count} bytes, but {} are left",
                self.remaining()
            )));
        }
        let bytes = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(bytes)
    }

    /// A reader over the next `count` bytes, which this one skips.
    pub fn sub(&mut self, count: usize, what: &str) -> Result<Reader<'a>, Malformed> {
        let base = self.offset();
        Ok(Reader::with_base(self.bytes(count, what)?, base))
    }

    pub fn skip(&mut self, count: usize, what: &str) -> Result<(), Malformed> {
        self.bytes(count, what).map(drop)
    }

    /// Moves to `position` in the slice given to [`Reader::new`].
    pub fn seek(&mut self, position: usize, what: &str) -> Result<(), Malformed> {
        if position > self.bytes.len() {
            return Err(Malformed::new(
                self.base.saturating_add(position as u64),
                format!(
                    "{what} lies past the end at {:#x}",
                    self.base + self.bytes.len() as u64
                ),
            ));
        }
        self.at = position;
        Ok(())
    }

    /// Skips to the next multiple of `to` (a power of two) counted from the slice's start; stops at the end.
    pub fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to).min(self.bytes.len());
    }

    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N, what)?);
        Ok(out)
    }

    pub fn u8(&mut self, what: &str) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub fn i32(&mut self, what: &str) -> Result<i32, Malformed> {
        Ok(i32::from_le_bytes(self.array(what)?))
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_absolute_offset() {
        let mut reader = Reader::with_base(&[1, 0, 2], 0x40);
        assert_eq!(reader.u16("count"), Ok(1));
        let error = reader.u32("size").unwrap_err();
        assert_eq!(
            error.to_string(),
            "at offset 0x42: size needs 4 bytes, but 1 are left"
        );
        assert!(reader.seek(4, "table").is_err());
    }
}
