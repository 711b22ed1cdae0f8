//! Phase 4: where shared variables and compiler constants lie. A shared variable has one offset in all kernels, and
//! so has each device function's piece of constant bank 2.

mod constants;
mod shared;

use std::collections::HashMap;

use super::live::Live;
use super::program::{FunctionId, Program, SectionId, SharedId};
use crate::error::Result;

#[derive(Debug, Default)]
pub(super) struct Layout {
    /// By kernel: its `.nv.shared`; none when it uses no shared memory.
    pub shared: HashMap<FunctionId, SharedSize>,
    /// Bytes that the driver keeps at the start of each of them.
    pub reserved: u64,
    /// Offsets of static shared variables.
    pub offsets: HashMap<SharedId, u64>,
    /// Where external shared memory starts, for each function that uses it.
    pub external: HashMap<FunctionId, u64>,
    /// Whether the (empty) section of public shared variables stays.
    pub keeps_public_shared: bool,
    /// By kernel: contents of constant bank 2.
    pub constants: Vec<(FunctionId, Constants)>,
    /// By device function: where its piece of bank 2 starts.
    pub constants_at: HashMap<FunctionId, u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SharedSize {
    pub size: u64,
    pub align: u64,
}

/// A kernel's constant bank 2.
#[derive(Debug, Clone)]
pub(super) struct Constants {
    /// The section the kernel came with; none when only its callees have constants.
    pub section: Option<SectionId>,
    pub data: Vec<u8>,
    pub align: u64,
}

pub(super) fn lay_out(program: &Program, live: &Live) -> Result<Layout> {
    let mut layout = Layout::default();
    constants::place_constants(program, live, &mut layout)?;
    shared::Shared::new(program, live)?.place(&mut layout)?;
    Ok(layout)
}
