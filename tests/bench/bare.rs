//! The floor under every report that must look into the images of a file: finds the fatbin entries of a
//! file, unpacks them on all cores into buffers that are used again, and drops the bytes.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::cell::RefCell;
use std::path::Path;

use cudalink::format::compress::{Codec, Limits, decompress};
use cudalink::format::fatbin;
use cudalink::format::scan::{FoundKind, scan};
use rayon::prelude::*;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn main() {
    for path in std::env::args_os().skip(1) {
        let blob = cudalink::bytes::open(Path::new(&path)).unwrap();
        let mut entries = Vec::new();
        for found in scan(&blob, 0..blob.len()).filter_map(Result::ok) {
            if let FoundKind::Fatbin(container) = found.kind {
                entries.extend(container.entries().filter_map(Result::ok));
            }
        }
        let total: u64 = entries
            .par_iter()
            .filter(|entry| entry.kind == fatbin::kind::ELF)
            .map(|entry| {
                let stored = entry.stored().unwrap();
                match entry.codec() {
                    Codec::Zstd => BUFFER.with_borrow_mut(|buffer| {
                        let size = entry.unpacked_size() as usize;
                        buffer.resize(size.max(buffer.len()), 0);
                        zstd::bulk::decompress_to_buffer(stored, &mut buffer[..size]).unwrap()
                            as u64
                    }),
                    codec => {
                        let size = entry.unpacked_size();
                        decompress(codec, stored, size, Limits::default())
                            .unwrap()
                            .len() as u64
                    }
                }
            })
            .sum();
        println!("{} entries, {total} bytes", entries.len());
    }
}
