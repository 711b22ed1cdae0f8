//! Device code as the rest of the program sees it: [`Arch`], [`ObjectCode`] (what a user names) and
//! [`Image`] (one leaf of device code inside it).

mod arch;
mod demangle;
mod image;
mod object_code;

pub use arch::{Arch, Suffix};
pub use demangle::demangled;
pub use image::{Compression, Image, ImageData, ImageKind, Loadable, Producer};
pub use object_code::ObjectCode;
