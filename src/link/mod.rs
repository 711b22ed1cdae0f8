//! Linking device code.

pub mod builtin;
pub mod check;
pub mod explain;
pub mod findings;
pub mod messages;
pub mod proof;
pub mod worker;
