use std::cell::RefCell;
use std::sync::{Condvar, Mutex, PoisonError};

use super::image::codec;
use super::{Image, ImageData};
use crate::error::{Error, Result};
use crate::format::compress::{Limits, decompress_into};

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What the images of a hostile file may take together while all cores read them. One that is larger is read alone.
const MOST_AT_ONCE: u64 = 256 << 20;
/// A larger buffer is not kept for the next image.
const KEPT: usize = 8 << 20;

/// Unpacked bytes that are being read, by all threads.
#[derive(Debug)]
struct InUse {
    bytes: Mutex<u64>,
    less: Condvar,
}

static IN_USE: InUse = InUse::new();

/// A share of what may be in use, given back when dropped.
struct Share<'u> {
    of: &'u InUse,
    bytes: u64,
}

impl InUse {
    const fn new() -> Self {
        Self {
            bytes: Mutex::new(0),
            less: Condvar::new(),
        }
    }

    /// Waits until there is room for `size` bytes, or nothing else is in use.
    fn take(&self, size: u64) -> Share<'_> {
        let used = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |used: &mut u64| *used > 0 && used.saturating_add(size) > MOST_AT_ONCE;
        let used = self.less.wait_while(used, is_full);
        let mut used = used.unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(size);
        Share {
            of: self,
            bytes: size,
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut used = self.of.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        self.of.less.notify_all();
    }
}

impl Image {
    /// Shows the bytes of the image to `read`, which must not read another one meanwhile. Unlike with
    /// [`Image::unpack`], each thread unpacks into one buffer, which saves the system the handing out of
    /// fresh memory for each of thousands of images, and padding may follow the image.
    pub fn read<T>(&self, limits: Limits, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        match &self.data {
            ImageData::Plain(blob) => Ok(read(blob)),
            ImageData::Packed {
                stored,
                compression,
                size,
            } => BUFFER.with_borrow_mut(|buffer| {
                let _share = IN_USE.take(*size);
                let unpacked = decompress_into(codec(*compression), stored, *size, limits, buffer);
                let result = match unpacked {
                    Ok(()) => Ok(read(buffer)),
                    Err(message) => Err(Error::damaged(message).input(self.id())),
                };
                if buffer.capacity() > KEPT {
                    *buffer = Vec::new();
                }
                result
            }),
            ImageData::Part { .. } | ImageData::Opaque { .. } => {
                self.unpack(limits).map(|blob| read(&blob))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn images_wait_for_room_and_large_ones_for_all_of_it() {
        let (in_use, now, most) = (InUse::new(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (in_use, now, most) = (&in_use, &now, &most);
                scope.spawn(move || {
                    for round in 0..50 {
                        let size = (thread + 1) * (round % 5 + 1) * (MOST_AT_ONCE / 16);
                        let share = in_use.take(size);
                        let sum = now.fetch_add(size, Ordering::SeqCst) + size;
                        assert!(sum == size || sum <= MOST_AT_ONCE);
                        most.fetch_max(sum, Ordering::SeqCst);
                        now.fetch_sub(size, Ordering::SeqCst);
                        drop(share);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 40 * (MOST_AT_ONCE / 16));
        assert_eq!(in_use.bytes.into_inner().unwrap(), 0);
    }
}
