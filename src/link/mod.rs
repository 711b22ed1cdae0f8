//! Linking device code.
//!
//! ```text
//! inputs ─► expand ─► select ─► check ─► nvJitLink in a worker ─► verify ─► result
//! ```
//!
//! [`link`] does all of it and [`plan`] stops before the library. Libraries report success for links that are
//! broken, so what they say is only one of the things that must hold before there is a result.

pub mod artifact;
pub mod builtin;
pub mod check;
mod demand;
pub mod explain;
pub mod findings;
mod front;
mod inputs;
pub mod messages;
mod nvjitlink;
pub mod options;
mod own;
mod picked;
pub mod proof;
pub mod report;
mod requirements;
pub mod search;
mod select;
mod session;
mod verify;

pub use front::SourceOptions;
pub use options::{Emit, FastCompile, Options};
pub use report::Report;
pub use session::{Backend, Lto, Members, Request, Tools, Verify, link, plan};
