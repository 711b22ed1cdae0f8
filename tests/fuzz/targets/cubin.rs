//! Everything that is read from a cubin.
#![no_main]

use cudalink::code::{Functions, Producer, Symbols};
use cudalink::format::cubin::{Cubin, Peek};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let peek = Peek::read(bytes);
    let Ok(cubin) = Cubin::parse(bytes) else {
        return;
    };
    assert!(cubin.extent() <= bytes.len() as u64);
    assert_eq!(peek.map(|peek| peek.stage), Ok(cubin.stage()));
    let _ = (cubin.target(), cubin.debug(), cubin.compat().count());
    Producer::from_cubin(&cubin);
    let _ = (Functions::from_cubin(&cubin), Symbols::from_cubin(&cubin));
    for section in cubin.relocation_sections() {
        if let Ok(relocations) = cubin.relocations(section) {
            relocations.for_each(drop);
        }
    }
});
