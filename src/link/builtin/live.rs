//! Phase 3: which functions stay, who reaches whom, and whether something needed is missing.
//!
//! Kernels, variables, and functions whose address is taken stay; other device functions only if one of them is
//! reached from those. Calls through a pointer reach every address-taken function of the same prototype.

use std::collections::{HashMap, HashSet};

use super::Identity;
use super::program::{FunctionId, Program, PrototypeId, Rank, SymbolId};
use crate::error::{Category, Code, Error, Result};
use crate::link::findings;

/// Functions the driver provides, never undefined in a link of CUDA 13.5.
const PROVIDED: &[&str] = &[
    "vprintf",
    "vfprintf",
    "malloc",
    "free",
    "__assertfail",
    "__profile",
];
const PROVIDED_PREFIXES: &[&str] = &["__cuda_syscall", "cnp"];

/// Kernels times functions reached, above which the call graph is refused rather than walked.
const REACH_LIMIT: usize = 20_000_000;

#[derive(Debug)]
pub(super) struct Live {
    /// By function.
    pub keeps: Vec<bool>,
    /// Functions whose address is taken, each once.
    pub address_taken: Vec<FunctionId>,
    /// By function; for kernels what they reach, themselves first.
    pub reach: Vec<Vec<FunctionId>>,
    /// By function: direct callees, then those of its indirect calls.
    pub targets: Vec<Vec<FunctionId>>,
    /// By symbol: left out of the result.
    pub drops: Vec<bool>,
}

impl Live {
    pub fn keeps(&self, function: FunctionId) -> bool {
        self.keeps[function.at()]
    }

    pub fn drops(&self, symbol: SymbolId) -> bool {
        self.drops[symbol.at()]
    }

    pub fn kept<'s>(
        &'s self,
        program: &Program,
    ) -> impl DoubleEndedIterator<Item = FunctionId> + use<'s> {
        (0..program.functions.len() as u32)
            .map(FunctionId)
            .filter(|&function| self.keeps(function))
    }

    pub fn kernels<'s>(
        &'s self,
        program: &'s Program,
    ) -> impl DoubleEndedIterator<Item = FunctionId> + 's {
        self.kept(program)
            .filter(|&function| program.function(function).is_kernel)
    }
}

pub(super) fn find(program: &Program, identity: Identity) -> Result<Live> {
    let by_prototype = address_taken_by_prototype(program);
    let targets: Vec<Vec<FunctionId>> = program
        .functions
        .iter()
        .map(|function| {
            let direct = function
                .calls
                .iter()
                .filter_map(|&symbol| program.function_of(symbol));
            let indirect = function
                .indirect
                .iter()
                .filter_map(|prototype| by_prototype.get(prototype))
                .flatten()
                .copied();
            direct.chain(indirect).collect()
        })
        .collect();
    let (references, in_data) = references(program);
    let mut address_taken: Vec<FunctionId> = Vec::new();
    let mut seen = HashSet::new();
    let taken = program
        .address_taken
        .iter()
        .filter_map(|(symbol, _)| program.function_of(*symbol));
    for function in taken.chain(if identity.like_nvlink {
        in_data.clone()
    } else {
        Vec::new()
    }) {
        if seen.insert(function) {
            address_taken.push(function);
        }
    }

    let mut stack: Vec<FunctionId> = program
        .function_ids()
        .filter(|&id| program.function(id).is_kernel)
        .collect();
    if !identity.like_nvlink {
        stack.extend(&address_taken);
        stack.extend(in_data);
    }
    let mut keeps = vec![false; program.functions.len()];
    while let Some(function) = stack.pop() {
        if std::mem::replace(&mut keeps[function.at()], true) {
            continue;
        }
        stack.extend(&targets[function.at()]);
        if !identity.like_nvlink {
            stack.extend(&references[function.at()]);
        }
    }
    for function in &address_taken {
        keeps[function.at()] = true;
    }

    let reach = reach(program, &keeps, &targets)?;
    let drops = drops(program, &keeps);
    let live = Live {
        keeps,
        address_taken,
        reach,
        targets,
        drops,
    };
    check_undefined(program, &live)?;
    Ok(live)
}

fn address_taken_by_prototype(program: &Program) -> HashMap<PrototypeId, Vec<FunctionId>> {
    let mut by_prototype: HashMap<PrototypeId, Vec<FunctionId>> = HashMap::new();
    let mut seen = HashSet::new();
    for &(symbol, prototype) in &program.address_taken {
        if let Some(function) = program.function_of(symbol)
            && seen.insert((function, prototype))
        {
            by_prototype.entry(prototype).or_default().push(function);
        }
    }
    by_prototype
}

/// Functions that relocations name: by the function whose code they are in, and from variables.
fn references(program: &Program) -> (Vec<Vec<FunctionId>>, Vec<FunctionId>) {
    let mut by_function = vec![Vec::new(); program.functions.len()];
    let mut in_data = Vec::new();
    for list in &program.relocations {
        let target = program.section(list.target);
        let functions = list
            .records
            .iter()
            .filter_map(|record| program.function_of(record.symbol));
        match target.owner {
            Some(owner) => by_function[owner.at()].extend(functions),
            None if target.rank == Rank::Debug => {}
            None => in_data.extend(functions),
        }
    }
    (by_function, in_data)
}

/// For each kernel what it reaches, itself first, callees in order.
fn reach(
    program: &Program,
    keeps: &[bool],
    targets: &[Vec<FunctionId>],
) -> Result<Vec<Vec<FunctionId>>> {
    let mut all = vec![Vec::new(); program.functions.len()];
    let mut total = 0;
    let mut seen = vec![u32::MAX; program.functions.len()];
    for kernel in program
        .function_ids()
        .filter(|&id| program.function(id).is_kernel && keeps[id.at()])
    {
        let mut stack = vec![kernel];
        let mut reached = Vec::new();
        while let Some(function) = stack.pop() {
            if seen[function.at()] == kernel.0 {
                continue;
            }
            seen[function.at()] = kernel.0;
            reached.push(function);
            stack.extend(targets[function.at()].iter().rev());
        }
        total += reached.len();
        if total > REACH_LIMIT {
            return Err(Error::failed(
                Code::BuiltinUnsupported,
                "the call graph is too large for the built-in linker",
            )
            .hint("link with `--backend nvjitlink`"));
        }
        all[kernel.at()] = reached;
    }
    Ok(all)
}

/// Symbols of dead functions, and undefined functions that nothing live names.
fn drops(program: &Program, keeps: &[bool]) -> Vec<bool> {
    let mut drops = vec![false; program.symbols.len()];
    for (function, keep) in program.functions.iter().zip(keeps) {
        if !keep {
            drops[function.symbol.at()] = true;
            if let Some(symbol) = program.section(function.text).symbol {
                drops[symbol.at()] = true;
            }
        }
    }
    let is_dead = |section| {
        program
            .section(section)
            .owner
            .is_some_and(|owner| !keeps[owner.at()])
    };
    let mut used = HashSet::new();
    for list in &program.relocations {
        if !is_dead(list.target) && program.section(list.target).rank != Rank::Debug {
            used.extend(list.records.iter().map(|record| record.symbol));
        }
    }
    for (function, _) in program
        .functions
        .iter()
        .zip(keeps)
        .filter(|(_, keep)| **keep)
    {
        used.extend(function.calls.iter().copied());
    }
    for &id in &program.globals {
        let symbol = program.symbol(id);
        if symbol.is_undefined() && symbol.kind() == 2 && !used.contains(&id) {
            drops[id.at()] = true;
        }
    }
    drops
}

fn check_undefined(program: &Program, live: &Live) -> Result<()> {
    let mut missing = Vec::new();
    for &id in &program.globals {
        let symbol = program.symbol(id);
        // Weak names are the driver's: reserved shared memory, unified tables.
        if !symbol.is_undefined() || symbol.is_weak() || live.drops(id) || is_provided(symbol.name)
        {
            continue;
        }
        missing.push(findings::undefined_symbol(symbol.name));
    }
    match Error::from_diagnostics(Category::Failed, missing) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn is_provided(name: &str) -> bool {
    PROVIDED.contains(&name)
        || PROVIDED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || name.starts_with(".nv.")
}
