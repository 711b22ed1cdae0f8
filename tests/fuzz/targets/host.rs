//! ELF, PE, COFF and Mach-O: sections, symbols, and device code found in data by its signature.
#![no_main]

use cudalink::format::host::{Host, Role, defined_symbols, slices};
use cudalink::format::scan::scan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = (slices(bytes), defined_symbols(bytes));
    let Ok(host) = Host::parse(bytes) else {
        return;
    };
    for section in host.with_role(Role::Data) {
        let mut end = section.range.start;
        for found in scan(bytes, section.range.clone()).flatten() {
            assert!(end <= found.range.start && found.range.end <= section.range.end);
            end = found.range.end;
        }
    }
});
