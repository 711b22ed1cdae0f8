//! Device code as the rest of the program sees it: [`Arch`], [`ObjectCode`] (what a user names) and
//! [`Image`] (one leaf of device code inside it).

mod arch;
mod demangle;
mod image;
mod kernel;
mod object_code;
mod symbol;

pub use arch::{Arch, Suffix};
pub use demangle::demangled;
pub use image::{Compression, Image, ImageData, ImageKind, Loadable, Producer};
pub use kernel::{Common, Function, Functions, Kernel, Param, Resources, Spills};
pub use object_code::ObjectCode;
pub use symbol::{Binding, CallGraph, Space, Symbol, SymbolKind, Symbols};
