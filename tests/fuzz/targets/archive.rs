//! Archives and packages, down to the images in their members; seeds decide which of them.
#![no_main]

use cudalink::code::{ExpandOptions, ObjectCode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = ExpandOptions {
        unpacked: 64 << 20,
        ..ExpandOptions::default()
    };
    let found = ObjectCode::from_blob("input", bytes.to_vec().into()).expand(&options);
    for image in found.images {
        assert!(!image.id().is_empty());
    }
});
