//! Device code as the rest of the program sees it: [`Arch`], [`ObjectCode`] (what a user names),
//! [`Image`] (one leaf of device code inside it), and what is in an image: [`Functions`] and [`Symbols`].

mod arch;
mod demangle;
mod expand;
mod image;
mod kernel;
mod object_code;
mod producer;
mod read;
mod symbol;

pub use arch::{Arch, Suffix, disagreement};
pub use demangle::{Demangler, demangled};
pub use expand::{ExpandOptions, Expansion, Visitor};
pub use image::{Compression, Group, Image, ImageData, ImageKind, Loadable, Producer};
pub use kernel::{Common, Function, Functions, Kernel, Param, Resources, Spills, is_system_call};
pub use object_code::ObjectCode;
pub use symbol::{Binding, CallGraph, Space, Symbol, SymbolKind, Symbols};
