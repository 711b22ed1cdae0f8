//! What the hardware cannot run is refused here, as nvlink refuses it.

use super::layout::Layout;
use super::program::{FunctionId, Program};
use super::resources::Resources;
use crate::error::{Category, Diagnostic, Error, Result};
use crate::format::nv_info::Attribute;
use crate::link::findings::{self, CONSTANT_LIMIT, SHARED_LIMIT};

pub(super) fn check(
    program: &Program,
    live: &super::live::Live,
    layout: &Layout,
    resources: &Resources,
) -> Result<()> {
    let mut findings: Vec<Diagnostic> = Vec::new();
    for kernel in live.kernels(program) {
        let name = program.symbol(program.function(kernel).symbol).name;
        if let Some(shared) = layout.shared.get(&kernel)
            && shared.size - layout.reserved > SHARED_LIMIT
        {
            findings.push(findings::shared_memory(name));
        }
        findings.extend(register_conflict(program, live, resources, kernel));
    }
    let constants = program
        .sections
        .iter()
        .find(|section| section.name == ".nv.constant3");
    if constants.is_some_and(|section| section.size > CONSTANT_LIMIT) {
        findings.push(findings::constant_memory());
    }
    match Error::from_diagnostics(Category::Failed, findings) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// A kernel compiled for fewer registers than something that it calls.
fn register_conflict(
    program: &Program,
    live: &super::live::Live,
    resources: &Resources,
    kernel: FunctionId,
) -> Option<Diagnostic> {
    let limit = resources.attributes[kernel.at()]
        .iter()
        .find(|attribute| attribute.number == Attribute::MAXREG_COUNT.0)
        .and_then(|attribute| attribute.bytes().first_chunk())
        .map(|bytes| u32::from(u16::from_le_bytes(*bytes)))?;
    let hungriest = live.reach[kernel.at()]
        .iter()
        .map(|&id| program.function(id))
        .max_by_key(|function| function.registers)?;
    let name = |id: FunctionId| program.symbol(program.function(id).symbol).name;
    (hungriest.registers > limit).then(|| {
        let callee = program.symbol(hungriest.symbol).name;
        findings::register_conflict(name(kernel), limit, callee, hungriest.registers)
    })
}
