//! What the hardware cannot run is refused here, as nvlink refuses it.

use super::layout::Layout;
use super::program::Program;
use crate::error::{Code, Error, Result};

/// Limits of the hardware for static shared memory and for `__constant__` variables, in bytes.
const SHARED_LIMIT: u64 = 0xC000;
const CONSTANT_LIMIT: u64 = 0x1_0000;

pub(super) fn check(program: &Program, layout: &Layout) -> Result<()> {
    let reserved = if program.number >= 90 { 1024 } else { 0 };
    for (kernel, shared) in &layout.shared {
        let size = shared.size - reserved;
        if size > SHARED_LIMIT {
            let name = program.symbol(program.function(*kernel).symbol).name;
            let message = format!(
                "kernel `{name}` needs {size} bytes of static shared memory, more than {SHARED_LIMIT}"
            );
            return Err(Error::failed(Code::SharedMemory, message).symbol(name));
        }
    }
    let constants: u64 = program
        .sections
        .iter()
        .filter(|s| s.name == ".nv.constant3")
        .map(|s| s.size)
        .sum();
    if constants > CONSTANT_LIMIT {
        let message = format!(
            "`__constant__` variables take {constants} bytes in all, more than {CONSTANT_LIMIT}"
        );
        return Err(Error::failed(Code::ConstantMemory, message));
    }
    Ok(())
}
