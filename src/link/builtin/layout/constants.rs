//! Constant bank 2: what the compiler keeps for a function.

use std::collections::HashMap;

use super::super::live::Live;
use super::super::program::{FunctionId, Program};
use super::super::read::unsupported;
use super::{Constants, Layout};
use crate::error::Result;

/// Bytes of one constant bank, and what all kernels may have together.
const BANK_LIMIT: u64 = 0x1_0000;
const TOTAL_LIMIT: u64 = 0x800_0000;

/// A kernel's own constants come first; then those of functions, last first, each at the largest end over all kernels
/// that reach it.
pub(super) fn place_constants(program: &Program, live: &Live, layout: &mut Layout) -> Result<()> {
    let mut total = 0;
    let mut reached_by: HashMap<FunctionId, Vec<FunctionId>> = HashMap::new();
    let mut banks: HashMap<FunctionId, Constants> = HashMap::new();
    let mut order: Vec<FunctionId> = Vec::new();
    for kernel in live.kernels(program) {
        for &function in &live.reach[kernel.at()] {
            reached_by.entry(function).or_default().push(kernel);
        }
        let own = program.function(kernel);
        if let (Some(section), Some(constants)) = (own.constants_section, own.constants) {
            let align = program.section(section).align;
            banks.insert(
                kernel,
                Constants {
                    section: Some(section),
                    data: constants.data.to_vec(),
                    align,
                },
            );
            order.push(kernel);
        }
    }
    for &function in program
        .with_constants
        .iter()
        .rev()
        .filter(|&&id| live.keeps(id))
    {
        let Some(own) = program
            .function(function)
            .constants
            .filter(|_| !program.function(function).is_kernel)
        else {
            continue;
        };
        let kernels = reached_by.get(&function).map_or(&[][..], Vec::as_slice);
        let bank = |kernel| banks.get(kernel);
        let align = kernels
            .iter()
            .filter_map(bank)
            .map(|bank| bank.align)
            .max()
            .unwrap_or(1)
            .max(own.align);
        let end = kernels
            .iter()
            .filter_map(bank)
            .map(|bank| bank.data.len() as u64)
            .max()
            .unwrap_or(0);
        let start = end.next_multiple_of(align);
        // A bank is never larger than this, and what a planted graph makes of the banks together is bounded.
        let length = start + own.data.len() as u64;
        total += length * kernels.len() as u64;
        if length > BANK_LIMIT || total > TOTAL_LIMIT {
            return Err(unsupported(
                "the inputs",
                format_args!("how to place {length} bytes of compiler constants in a kernel"),
            ));
        }
        layout.constants_at.insert(function, start);
        for &kernel in kernels.iter().rev() {
            let bank = banks.entry(kernel).or_insert_with(|| {
                order.push(kernel);
                Constants {
                    section: None,
                    data: Vec::new(),
                    align,
                }
            });
            bank.align = bank.align.max(align);
            bank.data.resize(start as usize, 0);
            bank.data.extend(own.data);
            bank.data
                .resize(bank.data.len().next_multiple_of(align as usize), 0);
        }
    }
    layout.constants = order
        .into_iter()
        .filter_map(|kernel| Some((kernel, banks.remove(&kernel)?)))
        .collect();
    Ok(())
}
