//! Compares what the PTX reader says with the relocatable cubin that ptxas makes of the same text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cudalink::code::{Binding, Functions, Kernel, Symbol, Symbols};
use cudalink::format::cubin::Cubin;
use cudalink::format::ptx::Ptx;

#[test]
fn ptx_says_what_its_cubin_says() {
    let Some(ptxas) = common::cuda_tool("ptxas") else {
        return common::skip("ptxas is not here");
    };
    let files = common::files(Ptx::is_ptx);
    if files.is_empty() {
        return common::skip("there is no PTX to compare");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.cubin");
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for (path, bytes) in &files {
        let result = Ptx::parse(bytes).map_err(|error| error.to_string());
        let Some(cubin) = compile(&ptxas, path, result.as_ref().ok(), &output) else {
            refused += 1;
            continue;
        };
        if let Err(error) = result.and_then(|ptx| compare(&ptx, &cubin)) {
            wrong.push(format!("{}: {error}", path.display()));
        }
    }
    eprintln!("{} texts, {refused} refused by ptxas", files.len());
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// `None` when ptxas does not take the text, for instance for its age.
fn compile(ptxas: &Path, path: &Path, ptx: Option<&Ptx<'_>>, output: &Path) -> Option<Vec<u8>> {
    let arch = ptx.map_or("sm_90", |ptx| ptx.target);
    let run = Command::new(ptxas)
        .args(["-c", "-arch", arch, "-o"])
        .args([output, path])
        .output()
        .unwrap();
    if !run.status.success() {
        let text = String::from_utf8_lossy(&run.stderr);
        eprintln!(
            "{}: {}",
            path.display(),
            text.lines().next().unwrap_or_default()
        );
        return None;
    }
    Some(std::fs::read(output).unwrap())
}

fn compare(ptx: &Ptx<'_>, cubin: &[u8]) -> Result<(), String> {
    let cubin = Cubin::parse(cubin).map_err(|error| error.to_string())?;
    let from_cubin = Symbols::from_cubin(&cubin).map_err(|error| error.to_string())?;
    let from_ptx = Symbols::from_ptx(ptx);
    same_symbols(&from_ptx, &from_cubin)?;
    let ours = Functions::from_ptx(ptx);
    let theirs = Functions::from_cubin(&cubin).map_err(|error| error.to_string())?;
    let kernels = |functions: &Functions| -> BTreeMap<String, String> {
        functions
            .kernels
            .iter()
            .map(|kernel| (kernel.name.clone(), signature(kernel)))
            .collect()
    };
    same("kernels", &kernels(&ours), &kernels(&theirs))
}

fn signature(kernel: &Kernel) -> String {
    // A kernel without parameters may still reserve some bytes.
    format!(
        "{:?} {} {:?} {:?} {:?} {} {:?} {} {:?}",
        kernel.params,
        kernel.param_bytes,
        kernel.max_threads,
        kernel.required_threads,
        kernel.cluster,
        kernel.explicit_cluster && kernel.cluster.is_none(),
        kernel.max_cluster_rank,
        kernel.blocks_are_clusters,
        kernel.binding,
    )
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{what}:\n  ptx   {ours:?}\n  cubin {theirs:?}"))
}

/// Names that the compiler adds by itself.
fn is_added(symbol: &Symbol) -> bool {
    symbol.name.starts_with("__UFT")
        || symbol.name.starts_with("__UDT")
        || symbol.name.starts_with("__cuda_")
}

fn same_symbols(ptx: &Symbols, cubin: &Symbols) -> Result<(), String> {
    let shared = |symbols: &Symbols| -> BTreeMap<String, String> {
        symbols
            .list
            .iter()
            .filter(|symbol| symbol.is_shared() && !is_added(symbol))
            .map(|symbol| {
                let facts = format!(
                    "{:?} {:?} {:?} defined {} common {} managed {} size {} {:?}",
                    symbol.binding,
                    symbol.kind,
                    symbol.space,
                    symbol.defined,
                    symbol.common,
                    symbol.managed,
                    if symbol.space.is_some() {
                        symbol.size
                    } else {
                        0
                    },
                    symbol.prototype.as_deref().map(|text| text
                        .split('|')
                        .next()
                        .unwrap()
                        .to_owned()),
                );
                (symbol.name.clone(), facts)
            })
            .collect()
    };
    let (ours, theirs) = (shared(ptx), shared(cubin));
    for (name, facts) in &ours {
        same(name, &Some(facts), &theirs.get(name))?;
    }
    for name in theirs.keys() {
        if !ours.contains_key(name) {
            return Err(format!("`{name}` is in the cubin alone"));
        }
    }
    // Calls that the compiler inlines or drops leave the graph, and those it adds are not in the text:
    // what calls across modules must be the same.
    let calls = |symbols: &Symbols| -> Vec<(String, String)> {
        let mut list: Vec<_> = symbols
            .calls
            .direct
            .iter()
            .map(|&(from, to)| (&symbols.list[from as usize], &symbols.list[to as usize]))
            .filter(|(from, to)| !to.defined && from.binding != Binding::Local && !is_added(to))
            .map(|(from, to)| (from.name.clone(), to.name.clone()))
            .collect();
        list.sort();
        list.dedup();
        list
    };
    same("calls", &calls(ptx), &calls(cubin))?;
    let taken = |symbols: &Symbols| -> Vec<(String, String)> {
        let mut list: Vec<_> = symbols
            .calls
            .address_taken
            .iter()
            .map(|(symbol, text)| (symbols.list[*symbol as usize].name.clone(), text.clone()))
            .collect();
        list.sort();
        list
    };
    same("address taken", &taken(ptx), &taken(cubin))
}

/// What ptxas says of stack and spilling, against what the cubin lists.
#[test]
fn spills_are_those_that_ptxas_reports() {
    let Some(ptxas) = common::cuda_tool("ptxas") else {
        return common::skip("ptxas is not here");
    };
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.cubin");
    let (mut functions, mut spilling) = (0, 0);
    for (path, bytes) in common::files(Ptx::is_ptx) {
        let Ok(ptx) = Ptx::parse(&bytes) else {
            continue;
        };
        let run = Command::new(&ptxas)
            .args(["-v", "-c", "-maxrregcount", "24", "-arch", ptx.target, "-o"])
            .args([&output, &path])
            .output()
            .unwrap();
        if !run.status.success() {
            continue;
        }
        let cubin = std::fs::read(&output).unwrap();
        let ours = Functions::from_cubin(&Cubin::parse(&cubin).unwrap()).unwrap();
        // Of device functions ptxas also counts the registers that they save for their callers.
        let kernels = ours.kernels.iter();
        let ours: BTreeMap<&str, _> = kernels
            .map(|kernel| (kernel.name.as_str(), &kernel.resources))
            .collect();
        for (name, [frame, stores, loads]) in
            ptxas_properties(&String::from_utf8_lossy(&run.stderr))
        {
            let Some(resources) = ours.get(name.as_str()) else {
                continue;
            };
            let spills = resources.spills.unwrap();
            assert_eq!(
                [
                    u64::from(resources.frame.unwrap()),
                    spills.stores,
                    spills.loads
                ],
                [frame, stores, loads],
                "{}: {name}",
                path.display()
            );
            functions += 1;
            spilling += usize::from(spills.any());
        }
    }
    if spilling == 0 {
        return common::skip("no PTX here spills");
    }
    eprintln!("{functions} functions, {spilling} of them spill");
}

/// `Function properties for f`, then `8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads`.
fn ptxas_properties(text: &str) -> Vec<(String, [u64; 3])> {
    let mut lines = text.lines();
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let Some((_, name)) = line.split_once("Function properties for ") else {
            continue;
        };
        let numbers: Vec<u64> = lines
            .next()
            .unwrap()
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        out.push((name.to_owned(), numbers.try_into().unwrap()));
    }
    out
}
