//! Containers, their entries, and what these unpack to.
#![no_main]

use cudalink::format::compress::{Limits, decompress, first_bytes};
use cudalink::format::fatbin::containers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        size: 64 << 20,
        ..Limits::default()
    };
    for container in containers(bytes, 0).flatten() {
        for entry in container.entries().flatten() {
            let _ = (entry.identifier(), entry.aux(), entry.members());
            let Ok(stored) = entry.stored() else { continue };
            let start = first_bytes(entry.codec(), stored, 64);
            if let Ok(plain) = decompress(entry.codec(), stored, entry.unpacked_size(), limits) {
                assert!(start.is_empty() || plain.starts_with(&start));
            }
        }
    }
});
