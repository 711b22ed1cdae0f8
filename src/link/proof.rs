//! Proves a linked cubin against what its inputs promised: libraries say success and leave things out.

use std::collections::{BTreeMap, HashSet};

use crate::code::{Symbol, SymbolKind, Symbols};
use crate::error::{Code, Diagnostic, Malformed};
use crate::format::cubin::{Cubin, Release, Stage};
use crate::link::check::{ExpectedKernel, is_provided};
use crate::link::findings;

/// What a result must be.
#[derive(Debug, Clone, Copy)]
pub struct Promise<'a> {
    /// Every kernel that the inputs have and that is kept; `None` when the inputs could not be looked into.
    pub kernels: Option<&'a [ExpectedKernel]>,
    /// The kernels that the user asked for by name; all when empty.
    pub keep_kernels: &'a [String],
    /// A relocatable result, which may lack definitions.
    pub relocatable: bool,
    pub linker: Release,
}

/// What is wrong with a result; nothing when it holds all that was promised.
pub fn prove(bytes: &[u8], promise: &Promise<'_>) -> Result<Vec<Diagnostic>, Malformed> {
    let cubin = Cubin::parse(bytes)?;
    let symbols = Symbols::from_cubin(&cubin)?.list;
    let mut found = Vec::new();
    found.extend(stage(&cubin, promise));
    found.extend(kernels(&symbols, promise));
    found.extend(duplicates(&symbols));
    if !promise.relocatable {
        found.extend(undefined(&symbols, promise.linker));
    }
    Ok(found)
}

fn broken(message: String) -> Diagnostic {
    Diagnostic::error(Code::BackendFailed, message)
        .hint("nothing was written; try another release of the library with `--toolkit VERSION`")
}

fn stage(cubin: &Cubin<'_>, promise: &Promise<'_>) -> Option<Diagnostic> {
    let wanted = if promise.relocatable {
        Stage::Relocatable
    } else {
        Stage::Executable
    };
    (cubin.stage() != wanted).then(|| {
        broken(format!(
            "the library made a cubin that is {}, expected {}",
            words(cubin.stage()),
            words(wanted)
        ))
    })
}

fn words(stage: Stage) -> String {
    match stage {
        Stage::Relocatable => "relocatable".to_owned(),
        Stage::Executable => "executable".to_owned(),
        Stage::Other(number) => format!("of type {number}"),
    }
}

/// Static kernels of one name stay several, so names are counted.
fn kernels(symbols: &[Symbol], promise: &Promise<'_>) -> Vec<Diagnostic> {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for symbol in symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolKind::Kernel && symbol.defined)
    {
        *there.entry(&symbol.name).or_default() += 1;
    }
    let mut found = Vec::new();
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for kernel in promise.kernels.into_iter().flatten() {
        *expected.entry(&kernel.name).or_default() += kernel.count;
    }
    for (name, count) in expected {
        let have = there.get(name).copied().unwrap_or(0);
        if have < count {
            let message = match count {
                1 => format!("the library lost the kernel `{name}`"),
                _ => format!(
                    "the library lost {} of {count} kernels `{name}`",
                    count - have
                ),
            };
            found.push(broken(message).symbol(name));
        }
    }
    for name in promise.keep_kernels {
        if !there.contains_key(name.as_str()) {
            found.push(findings::unknown_kernel(name));
        }
    }
    if !promise.keep_kernels.is_empty() {
        let wanted: HashSet<&str> = promise.keep_kernels.iter().map(String::as_str).collect();
        let more = there.keys().filter(|name| !wanted.contains(*name));
        found.extend(more.map(|name| kept_as_well(name, promise.keep_kernels)));
    }
    found
}

/// Libraries keep every kernel whose name contains a given one.
fn kept_as_well(name: &str, keep: &[String]) -> Diagnostic {
    let because = keep.iter().find(|keep| name.contains(keep.as_str()));
    let message = match because {
        Some(keep) => format!("kernel `{name}` is kept as well, since its name contains `{keep}`"),
        None => format!("kernel `{name}` is kept as well"),
    };
    Diagnostic::warning(Code::UnknownKernel, message).symbol(name)
}

fn duplicates(symbols: &[Symbol]) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    symbols
        .iter()
        .filter(|symbol| symbol.is_shared() && symbol.defined && !seen.insert(&*symbol.name))
        .map(|symbol| findings::duplicate_symbol(&symbol.name).detail("the result has it twice"))
        .collect()
}

/// Textures, surfaces and samplers are bound by the runtime, and the driver provides some functions.
fn undefined(symbols: &[Symbol], linker: Release) -> Vec<Diagnostic> {
    let needs_definition = |symbol: &&Symbol| {
        let kinds = [
            SymbolKind::Kernel,
            SymbolKind::Function,
            SymbolKind::Variable,
        ];
        symbol.is_shared()
            && !symbol.defined
            && kinds.contains(&symbol.kind)
            && !(symbol.space == Some(crate::code::Space::Shared) && symbol.size == 0)
            && !is_provided(&symbol.name, linker)
    };
    symbols
        .iter()
        .filter(needs_definition)
        .map(|symbol| findings::undefined_symbol(&symbol.name).detail("the result still lacks it"))
        .collect()
}
