//! What kernels need together with all that they call: registers, stack, shared and constant memory.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::collect::Findings;
use super::facts::Kind;
use super::graph::{CallGraph, Reach};
use super::resolve::{Resolution, with_inputs};
use super::table::{Node, Table};
use crate::code::Space;
use crate::error::{Code, Diagnostic, Severity};
use crate::link::findings::{self, CONSTANT_LIMIT, SHARED_LIMIT};

/// Kernels whose limit is below what a function they reach needs. Every kernel is judged against the
/// hungriest function that it reaches.
pub fn registers(table: &Table<'_>, graph: &CallGraph, kernels: &[Node], findings: &mut Findings) {
    let limit = |node: Node| {
        table
            .symbol(node)
            .kernel
            .as_ref()
            .and_then(|kernel| kernel.max_registers)
    };
    let needs = |node: Node| table.symbol(node).registers.unwrap_or(0);
    let lowest = kernels.iter().filter_map(|&kernel| limit(kernel)).min();
    let Some(lowest) = lowest else { return };
    let mut hungry: Vec<Node> = table
        .nodes()
        .filter(|&node| table.symbol(node).kind == Kind::Function && needs(node) > lowest)
        .collect();
    if hungry.is_empty() {
        return;
    }
    hungry.sort_by_key(|&node| Reverse(needs(node)));
    // The hungriest comes first, so each caller's way leads to the hungriest function it reaches.
    let ways = graph.callers_of().reach(hungry);
    for &kernel in kernels {
        let Some(limit) = limit(kernel) else { continue };
        let Some(callee) = ways.root(kernel) else {
            continue;
        };
        if needs(callee) <= limit || findings.count_only(Severity::Error, Code::RegisterConflict) {
            continue;
        }
        let name = |node: Node| &*table.symbol(node).name;
        let finding = findings::register_conflict(name(kernel), limit, name(callee), needs(callee))
            .detail(format!("call path: {}", path(table, &ways.way(kernel))));
        findings.add(with_inputs(table, finding, &[kernel, callee]));
    }
}

/// Kernels that reach tensor core instructions for one block and for a pair of blocks.
pub fn cta_groups(table: &Table<'_>, graph: &CallGraph, kernels: &[Node], findings: &mut Findings) {
    let users = |group: usize| {
        table
            .nodes()
            .filter(move |&node| table.symbol(node).cta_groups[group])
    };
    if users(0).next().is_none() || users(1).next().is_none() {
        return;
    }
    let callers = graph.callers_of();
    let ways = [callers.reach(users(0)), callers.reach(users(1))];
    for &kernel in kernels {
        let [Some(single), Some(pair)] = [&ways[0], &ways[1]].map(|ways| ways.root(kernel)) else {
            continue;
        };
        if findings.count_only(Severity::Error, Code::KindMismatch) {
            continue;
        }
        let mut finding = findings::cta_groups(&table.symbol(kernel).name);
        for (group, ways) in (1..).zip(&ways) {
            let path = path(table, &ways.way(kernel));
            finding = finding.detail(format!("`.cta_group::{group}`: {path}"));
        }
        findings.add(with_inputs(table, finding, &[kernel, single, pair]));
    }
}

/// `k → g → f`, with readable names. A long way is cut in the middle.
pub fn path(table: &Table<'_>, way: &[Node]) -> String {
    const ENDS: usize = 8;
    let name = |&node: &Node| format!("`{}`", table.readable(node));
    if way.len() <= 2 * ENDS {
        let names: Vec<String> = way.iter().map(name).collect();
        return names.join(" → ");
    }
    let (first, last) = (&way[..ENDS], &way[way.len() - ENDS..]);
    let mut names: Vec<String> = first.iter().map(name).collect();
    names.push(format!("… {} more …", way.len() - 2 * ENDS));
    names.extend(last.iter().map(name));
    names.join(" → ")
}

/// One note for all kernels that recurse.
pub fn stack(table: &Table<'_>, graph: &CallGraph, kernels: &[Node]) -> Option<Diagnostic> {
    let recursive = graph.recursive();
    let kernels: Vec<Node> = kernels
        .iter()
        .copied()
        .filter(|&kernel| recursive[kernel as usize])
        .collect();
    let &first = kernels.first()?;
    let finding = findings::stack_unknown(kernels.len(), &table.symbol(first).name);
    let mut way = vec![first];
    let mut seen = HashSet::from([first]);
    let mut at = first;
    // Every recursive node calls another one, so this walk ends at one that it has seen.
    while let Some(&next) = graph
        .calls(at)
        .iter()
        .find(|&&next| recursive[next as usize])
    {
        if graph.is_symbol(next) {
            way.push(next);
        }
        if !seen.insert(next) {
            break;
        }
        at = next;
    }
    let finding = finding.detail(format!("for example {}", path(table, &way)));
    Some(with_inputs(table, finding, &[first]))
}

/// Bytes of every `__constant__` variable that stays in the result: none is ever dropped.
pub fn constant(table: &Table<'_>, resolution: &Resolution) -> Option<Diagnostic> {
    let statics = table
        .units
        .iter()
        .filter_map(|unit| Some(unit.facts.as_ref()?.static_constant));
    let shared_names = table.names().filter_map(|id| {
        let symbol = table.symbol(resolution.winner(id)?);
        (symbol.kind == Kind::Variable(Some(Space::Constant))).then_some(symbol.size)
    });
    let total = statics.chain(shared_names).fold(0, u64::saturating_add);
    if total <= CONSTANT_LIMIT {
        return None;
    }
    let mut finding =
        findings::constant_memory().detail(format!("together they have {total} bytes"));
    for (bytes, unit) in largest_constants(table, resolution) {
        finding = finding
            .input(table.units[unit].name)
            .detail(format!("{bytes} bytes in {}", table.units[unit].name));
    }
    Some(finding)
}

/// The images with the most constants, the largest first.
fn largest_constants(table: &Table<'_>, resolution: &Resolution) -> Vec<(u64, usize)> {
    const SHOWN: usize = 10;
    let mut by_unit: Vec<(u64, usize)> = table
        .units
        .iter()
        .enumerate()
        .map(|(index, unit)| {
            (
                unit.facts.as_ref().map_or(0, |facts| facts.static_constant),
                index,
            )
        })
        .collect();
    for id in table.names() {
        if let Some(winner) = resolution.winner(id)
            && table.symbol(winner).kind == Kind::Variable(Some(Space::Constant))
        {
            let (bytes, _) = &mut by_unit[table.unit_index(winner)];
            *bytes = bytes.saturating_add(table.symbol(winner).size);
        }
    }
    by_unit.retain(|&(bytes, _)| bytes > 0);
    by_unit.sort_by_key(|&(bytes, unit)| (Reverse(bytes), unit));
    by_unit.truncate(SHOWN);
    by_unit
}

/// Kernels whose static shared memory, with that of all they call, exceeds what a block can have. Gaps between
/// variables are not counted, so a sum at the limit may still be too large for the linker, which says so.
pub fn shared(
    table: &Table<'_>,
    resolution: &Resolution,
    graph: &CallGraph,
    kernels: &[Node],
    findings: &mut Findings,
) {
    let memory = SharedMemory::new(table, resolution);
    // Most links have too little of it in all to bother.
    if memory.total() <= SHARED_LIMIT {
        return;
    }
    let users = table.nodes().filter(|&node| memory.is_user(node));
    let reaches_users = graph.callers_of().reach(users);
    let mut walk = Walk::new(graph);
    for &kernel in kernels
        .iter()
        .filter(|&&kernel| reaches_users.contains(kernel))
    {
        let Some(functions) = walk.from(kernel, &reaches_users) else {
            break;
        };
        findings.extend(memory.judge(kernel, &functions));
    }
}

/// Which function has how much static shared memory, and which shared variables it names.
struct SharedMemory<'t, 'c> {
    table: &'t Table<'c>,
    /// Function and variable, sorted; the variable is the one that wins.
    uses: Vec<(Node, Node)>,
}

impl<'t, 'c> SharedMemory<'t, 'c> {
    fn new(table: &'t Table<'c>, resolution: &Resolution) -> Self {
        let mut uses = Vec::new();
        for (unit, facts) in table.units.iter().enumerate() {
            for &(function, variable) in facts.facts.iter().flat_map(|facts| &facts.shared_uses) {
                let function = table.node(unit, function);
                let variable = resolution.target(table, table.node(unit, variable));
                if resolution.counts(table, function) {
                    uses.push((resolution.target(table, function), variable));
                }
            }
        }
        uses.sort_unstable();
        uses.dedup();
        Self { table, uses }
    }

    /// An upper bound for any one kernel.
    fn total(&self) -> u64 {
        let mut variables: Vec<Node> = self.uses.iter().map(|&(_, variable)| variable).collect();
        variables.sort_unstable();
        variables.dedup();
        let variables = variables
            .into_iter()
            .map(|node| self.table.symbol(node).size);
        let own = self.table.nodes().map(|node| self.own(node));
        own.chain(variables).fold(0, u64::saturating_add)
    }

    /// Bytes that a function declares in its own body.
    fn own(&self, node: Node) -> u64 {
        self.table.symbol(node).own_shared
    }

    fn named_by(&self, node: Node) -> &[(Node, Node)] {
        let start = self.uses.partition_point(|&(function, _)| function < node);
        let count = self.uses[start..].partition_point(|&(function, _)| function == node);
        &self.uses[start..start + count]
    }

    fn is_user(&self, node: Node) -> bool {
        self.own(node) > 0 || !self.named_by(node).is_empty()
    }

    fn judge(&self, kernel: Node, functions: &[Node]) -> Option<Diagnostic> {
        const SHOWN: usize = 10;
        let variables = functions
            .iter()
            .flat_map(|&function| self.named_by(function));
        let mut parts: Vec<Node> = variables.map(|&(_, variable)| variable).collect();
        parts.extend(functions.iter().filter(|&&function| self.own(function) > 0));
        parts.sort_unstable();
        parts.dedup();
        let bytes = |node: Node| match self.table.symbol(node) {
            symbol if symbol.is_variable() => symbol.size,
            symbol => symbol.own_shared,
        };
        let total = parts
            .iter()
            .map(|&node| bytes(node))
            .fold(0, u64::saturating_add);
        if total <= SHARED_LIMIT {
            return None;
        }
        parts.sort_by_key(|&node| Reverse(bytes(node)));
        let name = &self.table.symbol(kernel).name;
        let mut finding =
            findings::shared_memory(name).detail(format!("with all it calls it has {total} bytes"));
        for &node in parts.iter().take(SHOWN) {
            let (readable, unit) = (self.table.readable(node), self.table.unit(node).name);
            finding = finding.detail(format!("{} bytes: `{readable}` in {unit}", bytes(node)));
        }
        let involved: Vec<Node> = std::iter::once(kernel).chain(parts).collect();
        Some(with_inputs(self.table, finding, &involved))
    }
}

/// Walks from one kernel after the other. All kernels of a link together may need more steps than anyone
/// would wait for; then the rest is left to the linker, which sums up as well.
struct Walk<'g> {
    graph: &'g CallGraph,
    /// The number of the last walk that saw a node.
    seen: Vec<u32>,
    number: u32,
    steps_left: u64,
}

impl<'g> Walk<'g> {
    fn new(graph: &'g CallGraph) -> Self {
        Self {
            graph,
            seen: vec![0; graph.count()],
            number: 0,
            steps_left: 100_000_000,
        }
    }

    /// The symbols that `kernel` reaches by way of nodes in `within`, itself included; `None` when it takes
    /// too long.
    fn from(&mut self, kernel: Node, within: &Reach) -> Option<Vec<Node>> {
        self.number += 1;
        let mut reached = vec![kernel];
        self.seen[kernel as usize] = self.number;
        let mut at = 0;
        while let Some(&node) = reached.get(at) {
            at += 1;
            for &next in self.graph.calls(node) {
                self.steps_left = self.steps_left.checked_sub(1)?;
                let seen = &mut self.seen[next as usize];
                if *seen != self.number && within.contains(next) {
                    *seen = self.number;
                    reached.push(next);
                }
            }
        }
        reached.retain(|&node| self.graph.is_symbol(node));
        Some(reached)
    }
}
