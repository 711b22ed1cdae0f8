use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A cheap, shareable view of a file's bytes or of a buffer. Cloning and slicing copy nothing.
#[derive(Clone)]
pub struct Blob {
    storage: Arc<Storage>,
    range: Range<usize>,
}

enum Storage {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Blob {
    pub(super) fn mapped(map: memmap2::Mmap) -> Self {
        let range = 0..map.len();
        Self {
            storage: Arc::new(Storage::Mapped(map)),
            range,
        }
    }

    /// The part `range` of this blob, or `None` when it reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.len() {
            return None;
        }
        let start = self.range.start + range.start;
        Some(Self {
            storage: self.storage.clone(),
            range: start..start + range.len(),
        })
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self {
            storage: Arc::new(Storage::Owned(bytes)),
            range,
        }
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.storage.bytes()[self.range.clone()]
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_share_and_are_checked() {
        let blob = Blob::from(b"abcdef".to_vec());
        let inner = blob.slice(1..5).unwrap();
        assert_eq!(&*inner, b"bcde");
        assert_eq!(&*inner.slice(1..3).unwrap(), b"cd");
        assert!(inner.slice(2..5).is_none());
        let backwards = Range { start: 3, end: 2 };
        assert!(inner.slice(backwards).is_none());
    }
}
