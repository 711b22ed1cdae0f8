//! Bytes and where they came from: [`Blob`] shares a mapped file or a buffer without copying,
//! [`Reader`] walks a slice with every access checked, [`open`] reads paths and stdin, [`unpack`] whatever a
//! package holds compressed.

mod blob;
mod open;
mod reader;
mod unpack;

pub use blob::Blob;
pub use open::{STDIN_NAME, from_file, open, read_all};
pub use reader::Reader;
pub use unpack::unpack;
