use std::cell::RefCell;

use super::image::codec;
use super::{Image, ImageData};
use crate::error::{Error, Result};
use crate::format::compress::{Limits, decompress_into};

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Image {
    /// Shows the bytes of the image to `read`, which must not read another one meanwhile. Unlike with
    /// [`Image::unpack`], each thread unpacks into one buffer, which saves the system the handing out of
    /// fresh memory for each of thousands of images, and padding may follow the image.
    pub fn read<T>(&self, limits: Limits, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        /// A larger buffer is not kept.
        const KEPT: usize = 32 << 20;
        match &self.data {
            ImageData::Plain(blob) => Ok(read(blob)),
            ImageData::Packed {
                stored,
                compression,
                size,
            } => BUFFER.with_borrow_mut(|buffer| {
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
