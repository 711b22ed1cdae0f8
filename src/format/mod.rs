//! Parsers from bytes to plain structs, one file a format. They borrow, allocate no more than the bytes
//! given can justify, never panic, and know nothing of files, names or policies.

pub mod archive;
pub mod bitcode;
mod claims;
pub mod classify;
pub mod compress;
pub mod cubin;
pub mod fatbin;
pub mod host;
pub mod ltoir;
pub mod nv_info;
pub mod package;
pub mod ptx;
pub mod scan;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;

pub use classify::{Classified, Kind, classify};
