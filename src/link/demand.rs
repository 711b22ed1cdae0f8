use std::collections::HashSet;

use crate::link::check::{self, Unit};
use crate::toolkit::Version;

/// Which units take part when some come on demand: those that define what one that takes part lacks.
pub(super) fn needed(units: &[Unit<'_>], on_demand: &[bool], release: Version) -> Vec<bool> {
    let mut taken: Vec<bool> = on_demand.iter().map(|on_demand| !on_demand).collect();
    let symbols = |index: usize| units[index].facts.iter().flat_map(|facts| &facts.symbols);
    // LTO-IR that could not be looked into may define anything.
    for (index, unit) in units.iter().enumerate() {
        taken[index] |= unit.facts.is_none();
    }
    let mut defined: HashSet<&str> = HashSet::new();
    let mut lacking: HashSet<&str> = HashSet::new();
    let mut fresh: Vec<usize> = (0..units.len()).filter(|&index| taken[index]).collect();
    while !fresh.is_empty() {
        for &index in &fresh {
            for symbol in symbols(index).filter(|symbol| !symbol.is_static) {
                let name = symbol.name.as_str();
                if symbol.is_defined() {
                    defined.insert(name);
                } else if !symbol.is_dynamic_shared() && !check::is_provided(name, release) {
                    lacking.insert(name);
                }
            }
        }
        lacking.retain(|name| !defined.contains(name));
        // The first that defines a name is taken, as by any linker.
        fresh.clear();
        for (index, taken) in taken.iter_mut().enumerate() {
            let defines = |symbol: &check::Symbol| {
                !symbol.is_static && symbol.is_defined() && lacking.contains(symbol.name.as_str())
            };
            if !*taken && symbols(index).any(defines) {
                *taken = true;
                for symbol in symbols(index).filter(|symbol| symbol.is_defined()) {
                    lacking.remove(symbol.name.as_str());
                }
                fresh.push(index);
            }
        }
    }
    taken
}

/// What the units lack, of what a linker must find somewhere.
pub(super) fn lacking(units: &[Unit<'_>], release: Version) -> Vec<String> {
    let symbols = || {
        units
            .iter()
            .flat_map(|unit| unit.facts.iter().flat_map(|facts| &facts.symbols))
    };
    let shared = || symbols().filter(|symbol| !symbol.is_static);
    let defined: HashSet<&str> = shared()
        .filter(|symbol| symbol.is_defined())
        .map(|symbol| symbol.name.as_str())
        .collect();
    let mut told = HashSet::new();
    shared()
        .filter(|symbol| !symbol.is_defined() && !symbol.is_dynamic_shared())
        .map(|symbol| symbol.name.as_str())
        .filter(|name| {
            !defined.contains(name) && !check::is_provided(name, release) && told.insert(*name)
        })
        .map(str::to_owned)
        .collect()
}
