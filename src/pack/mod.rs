//! Writing device code: fatbins from images, host objects that carry a fatbin, and files with fewer images.

mod fatbin;
mod host_object;
mod image;
mod prune;

pub use fatbin::{Codec, Entry, Payload, write_fatbin};
pub use host_object::{HostTarget, symbol_from_name, write_object};
pub use image::{Packable, pack};
pub use prune::{Keep, Pruned, prune};
