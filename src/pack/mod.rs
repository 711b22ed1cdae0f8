//! Writing device code: fatbins from images, and host objects that carry a fatbin.

mod fatbin;
mod host_object;
mod image;

pub use fatbin::{Codec, Entry, Payload, write_fatbin};
pub use host_object::{HostTarget, symbol_from_name, write_object};
pub use image::{Packable, pack};
