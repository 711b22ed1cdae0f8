//! Whether every input is of use, and which kernels the result must have.

use std::collections::BTreeMap;

use super::Rules;
use super::collect::Findings;
use super::graph::Reach;
use super::table::{Node, Table};
use crate::error::{Code, Diagnostic};
use crate::link::findings;

/// A kernel that a link must give.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedKernel {
    pub name: String,
    /// Static kernels of one name stay apart, so there can be several.
    pub count: usize,
    pub is_static: bool,
}

/// `kernels` are those of the inputs; without those that are not to be kept.
pub fn expected_kernels(
    table: &Table<'_>,
    kernels: &[Node],
    rules: &Rules<'_>,
) -> Vec<ExpectedKernel> {
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for &kernel in kernels {
        let symbol = table.symbol(kernel);
        if rules.keeps(&symbol.name) {
            *counts.entry((&symbol.name, symbol.is_static)).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .map(|((name, is_static), count)| ExpectedKernel {
            name: name.to_owned(),
            count,
            is_static,
        })
        .collect()
}

impl Rules<'_> {
    /// Linkers keep a kernel when a given name is part of its own.
    fn keeps(&self, kernel: &str) -> bool {
        let mut names = self.keep_kernels.iter();
        self.keep_kernels.is_empty() || names.any(|name| kernel.contains(name.as_str()))
    }
}

pub fn add(
    table: &Table<'_>,
    live: &Reach,
    kernels: &[Node],
    rules: &Rules<'_>,
    findings: &mut Findings,
) {
    findings.extend(virtual_arch(table));
    // What could not be looked into may call anything.
    if !table.is_complete() {
        return;
    }
    findings.extend(unknown_kernels(table, kernels, rules));
    // A relocatable result keeps everything.
    if !rules.relocatable {
        if kernels.is_empty() {
            findings.add(findings::no_kernels());
        } else {
            findings.extend(unused(table, live));
        }
    }
}

/// One finding for all inputs of which no image gives a kernel, a variable or a live function.
fn unused(table: &Table<'_>, live: &Reach) -> Option<Diagnostic> {
    // First unit of each input, and whether any of its units is of use.
    let mut inputs: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
    for (index, unit) in table.units.iter().enumerate() {
        let useful = unit.facts.is_none()
            || table.nodes_of(index).any(|node| {
                let symbol = table.symbol(node);
                let counts = symbol.is_kernel() || symbol.is_variable() || live.contains(node);
                symbol.is_defined() && counts
            });
        let (_, any) = inputs.entry(unit.input).or_insert((index, false));
        *any |= useful;
    }
    let mut unused = inputs.into_values().filter(|&(_, useful)| !useful);
    let (first, _) = unused.next()?;
    let finding = Diagnostic::warning(Code::UnusedInput, "contributes nothing to the result")
        .input(table.units[first].input_name)
        .detail("it has no kernel and no variable, and nothing that is live calls its functions");
    Some(unused.fold(finding, |finding, (unit, _)| {
        finding.input(table.units[unit].input_name)
    }))
}

/// The result can be told to run on no virtual architecture above the lowest of its inputs.
fn virtual_arch(table: &Table<'_>) -> Option<Diagnostic> {
    let archs = || {
        table
            .units
            .iter()
            .filter_map(|unit| Some((unit.facts.as_ref()?.virtual_arch?, unit.name)))
    };
    let (lowest, unit) = archs().min_by_key(|&(arch, _)| arch)?;
    let highest = archs().map(|(arch, _)| arch).max()?;
    (lowest < highest).then(|| {
        Diagnostic::note(
            Code::VirtualArchLowered,
            format!("the result is marked compute_{lowest}, the lowest of its inputs; the highest is compute_{highest}"),
        )
        .input(unit)
    })
}

fn unknown_kernels(table: &Table<'_>, kernels: &[Node], rules: &Rules<'_>) -> Vec<Diagnostic> {
    let known: std::collections::HashSet<&str> = kernels
        .iter()
        .map(|&node| &*table.symbol(node).name)
        .collect();
    let unknown = rules
        .keep_kernels
        .iter()
        .filter(|name| !known.contains(name.as_str()));
    unknown.map(|name| findings::unknown_kernel(name)).collect()
}
