//! Moving bytes between host and device in chunks, through two pinned buffers: while one is filled or
//! read, the other is copied. Small amounts go through ordinary memory, since pinning costs more.

use std::cell::{RefCell, RefMut};

use super::api::{Address, Result};
use super::context::{Buffer, Event, Global, Pinned, Stream};
use super::error::DriverError;

/// Large enough for the bus's full rate, small enough to pin in milliseconds.
const CHUNK: usize = 16 << 20;
/// From here on pinned buffers pay.
const PIN_FROM: u64 = 4 << 20;

/// A pinned buffer, and when the last copy from or to it is over.
#[derive(Debug)]
pub(super) struct Slot<'c> {
    memory: Pinned,
    copied: Event<'c>,
}

/// The two pinned buffers, made when first needed.
pub(super) type Slots<'c> = RefCell<Vec<Slot<'c>>>;

/// Memory on the device that bytes are copied to or from: a [`Buffer`] or a [`Global`].
pub trait Memory {
    #[doc(hidden)]
    fn place(&self) -> Place;
}

/// Address and size in bytes, of memory that is alive.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    address: Address,
    bytes: u64,
}

impl Memory for Buffer<'_> {
    fn place(&self) -> Place {
        Place {
            address: self.address,
            bytes: self.bytes,
        }
    }
}

impl Memory for Global<'_> {
    fn place(&self) -> Place {
        Place {
            address: self.address,
            bytes: self.bytes,
        }
    }
}

/// The chunks of `total` bytes: offset and length of each.
fn chunks(total: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..total)
        .step_by(CHUNK)
        .map(move |at| (at, (total - at).min(CHUNK as u64) as usize))
}

impl<'c> Stream<'c> {
    /// Fills all of `to`. `fill` is called with the offset of each part, in order, and the part to write.
    /// The bytes have arrived when this returns.
    pub fn upload<E: From<DriverError>>(
        &self,
        to: &impl Memory,
        mut fill: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let to = to.place();
        if to.bytes < PIN_FROM {
            let mut bytes = vec![0; to.bytes as usize];
            fill(0, &mut bytes)?;
            self.send(to.address, bytes.as_ptr(), bytes.len())?;
            return Ok(self.synchronize()?);
        }
        let mut slots = self.slots()?;
        for (turn, (at, length)) in chunks(to.bytes).enumerate() {
            let slot = &mut slots[turn % 2];
            slot.copied.synchronize()?;
            fill(at, &mut slot.memory.slice()[..length])?;
            self.send(to.address + at, slot.memory.pointer(), length)?;
            self.record(&slot.copied)?;
        }
        Ok(self.synchronize()?)
    }

    /// Reads the first `total` bytes of `from`. `consume` is called with the offset of each part, in
    /// order, and its bytes. Waits for what was in the stream before.
    pub fn download<E: From<DriverError>>(
        &self,
        from: &impl Memory,
        total: u64,
        mut consume: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let from = from.place();
        let total = total.min(from.bytes);
        if total < PIN_FROM {
            let mut bytes = vec![0; total as usize];
            self.receive(bytes.as_mut_ptr(), from.address, bytes.len())?;
            self.synchronize()?;
            return consume(0, &bytes);
        }
        let mut slots = self.slots()?;
        let mut ahead = chunks(total).enumerate();
        let mut ask = |slots: &mut [Slot<'c>]| -> Result<()> {
            let Some((turn, (at, length))) = ahead.next() else {
                return Ok(());
            };
            let slot = &mut slots[turn % 2];
            self.receive(slot.memory.pointer(), from.address + at, length)?;
            self.record(&slot.copied)
        };
        ask(&mut slots)?;
        for (turn, (at, length)) in chunks(total).enumerate() {
            ask(&mut slots)?;
            let slot = &mut slots[turn % 2];
            slot.copied.synchronize()?;
            consume(at, &slot.memory.slice()[..length])?;
        }
        Ok(())
    }

    /// Sets all of `to` to a pattern of 1, 2 or 4 bytes, which divides its size.
    pub fn set(&self, to: &impl Memory, pattern: &[u8]) -> Result<()> {
        let Place { address, bytes } = to.place();
        let count = bytes as usize / pattern.len().max(1);
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the target is alive and as long as it says.
        unsafe {
            match *pattern {
                [a] => self.api.memset_d8_async(address, a, count, self.raw),
                [a, b] => {
                    self.api
                        .memset_d16_async(address, u16::from_ne_bytes([a, b]), count, self.raw)
                }
                [a, b, c, d] => self.api.memset_d32_async(
                    address,
                    u32::from_ne_bytes([a, b, c, d]),
                    count,
                    self.raw,
                ),
                _ => Ok(()),
            }
        }
    }

    /// Waits for copies under way and frees the pinned buffers.
    pub(super) fn free_slots(&mut self) {
        let slots = self.slots.take();
        if !slots.is_empty() {
            let _ = self.synchronize();
        }
    }

    fn slots(&self) -> Result<RefMut<'_, Vec<Slot<'c>>>> {
        let mut slots = self.slots.borrow_mut();
        while slots.len() < 2 {
            let memory = Pinned::new(self.api, CHUNK)?;
            slots.push(Slot {
                memory,
                copied: Event::new(self.api)?,
            });
        }
        Ok(slots)
    }

    /// Starts a copy of bytes that stay as they are until the stream has been waited for; ordinary memory
    /// is read before this returns.
    fn send(&self, to: Address, from: *const u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the callers above pass live memory on both sides, of at least so many bytes.
        unsafe { self.api.memcpy_htod_async(to, from.cast(), bytes, self.raw) }
    }

    fn receive(&self, to: *mut u8, from: Address, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: as for `send`.
        unsafe { self.api.memcpy_dtoh_async(to.cast(), from, bytes, self.raw) }
    }
}
