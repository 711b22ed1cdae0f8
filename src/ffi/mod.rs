//! The only unsafe code: loading NVIDIA's libraries at run time and calling them. Each file wraps one
//! library in a safe type that owns its handles and returns plain values; no policy lives here.
#![allow(unsafe_code)]

pub mod driver;
pub mod driver_probe;
mod library;
pub mod nvjitlink;
pub mod nvrtc;
pub mod nvvm;

pub use library::Library;
