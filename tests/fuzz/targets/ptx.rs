//! PTX, its header alone and whole.
#![no_main]

use cudalink::code::{Functions, Producer, Symbols};
use cudalink::format::ptx::Ptx;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Ptx::parse_header(bytes);
    if let Ok(ptx) = Ptx::parse(bytes) {
        Functions::from_ptx(&ptx);
        Symbols::from_ptx(&ptx);
        Producer::from_ptx(&ptx);
    }
});
