//! The symbol pass over programs whose verdict by nvlink is known.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use cudalink::code::ImageKind;
use cudalink::error::{Diagnostic, Severity};
use cudalink::format::cubin::{Cubin, Release};
use cudalink::link::check::{self, Chosen, Outcome, Rules};
use programs::Program;

const RULES: Rules<'_> = Rules {
    linker: Release { major: 13, minor: 5 },
    relocatable: false,
    keep_kernels: &[],
};

/// Checks images under the names `a`, `b`, `c`…
fn check(images: &[Vec<u8>], rules: &Rules<'_>) -> Outcome {
    let names: Vec<String> = (b'a'..).take(images.len()).map(|c| char::from(c).to_string()).collect();
    check_named(names.iter().map(String::as_str).zip(images.iter().map(Vec::as_slice)), rules)
}

fn check_named<'a>(images: impl Iterator<Item = (&'a str, &'a [u8])>, rules: &Rules<'_>) -> Outcome {
    let chosen: Vec<Chosen<'_>> = images
        .enumerate()
        .map(|(input, (name, bytes))| Chosen {
            name,
            input,
            kind: if Cubin::is_cubin(bytes) { ImageKind::Cubin } else { ImageKind::Ptx },
            bytes,
        })
        .collect();
    match check::read(&chosen) {
        Ok(units) => check::check(&units, rules, &|_| Vec::new()),
        Err(findings) => Outcome { findings, ..Outcome::default() },
    }
}

/// The codes of the errors, or `ok`.
fn verdict(outcome: &Outcome) -> String {
    let errors = outcome.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let mut codes: Vec<_> = errors.map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    if codes.is_empty() { "ok".to_owned() } else { codes.join(" ") }
}

fn ptx(program: &Program) -> Vec<Vec<u8>> {
    program.units.iter().map(|unit| unit.clone().into_bytes()).collect()
}

/// Compiles the units of a program; `None` when ptxas refuses one for this architecture.
fn cubins(ptxas: &Path, program: &Program, arch: &str, folder: &Path) -> Option<Vec<PathBuf>> {
    let compile = |(index, unit): (usize, &String)| {
        let source = folder.join(format!("{index}.ptx"));
        let cubin = folder.join(format!("{index}.cubin"));
        std::fs::write(&source, unit).unwrap();
        let mut command = Command::new(ptxas);
        command.args(["-c", "-arch", arch]).arg(&source).arg("-o").arg(&cubin);
        command.output().unwrap().status.success().then_some(cubin)
    };
    program.units.iter().enumerate().map(compile).collect()
}

#[test]
fn programs_as_ptx() {
    let mut wrong = Vec::new();
    for program in programs::all().iter().filter(|program| !program.needs_registers()) {
        let outcome = check(&ptx(program), &RULES);
        if verdict(&outcome) != program.expected {
            wrong.push(format!("{}: {}, expected {} {:#?}", program.name, verdict(&outcome), program.expected, outcome.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Messages of a program's errors, which must not depend on what the inputs are.
fn messages(outcome: &Outcome) -> Vec<(String, Vec<String>)> {
    let text = |finding: &Diagnostic| (finding.message.clone(), finding.inputs.clone());
    outcome.findings.iter().filter(|finding| finding.severity == Severity::Error).map(text).collect()
}

#[test]
fn programs_as_cubins_agree_with_ptx_and_with_nvlink() {
    let tools = common::cuda_tool("ptxas").zip(common::cuda_tool("nvlink"));
    let Some((ptxas, nvlink)) = tools else {
        return common::skip("ptxas and nvlink are not here");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for arch in ["sm_75", "sm_90", "sm_100", "sm_120"] {
        for program in programs::all() {
            let Some(files) = cubins(&ptxas, &program, arch, folder.path()) else {
                wrong.push(format!("{} {arch}: ptxas refuses it", program.name));
                continue;
            };
            let images: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
            let outcome = check(&images, &RULES);
            if verdict(&outcome) != program.expected {
                wrong.push(format!("{} {arch}: {}, expected {} {:#?}", program.name, verdict(&outcome), program.expected, outcome.findings));
            }
            if !program.needs_registers() && messages(&outcome) != messages(&check(&ptx(&program), &RULES)) {
                wrong.push(format!("{} {arch}: says something else of PTX: {:#?}", program.name, messages(&outcome)));
            }
            let mut command = Command::new(&nvlink);
            command.arg(format!("-arch={arch}")).args(&files).arg("-o").arg(folder.path().join("out"));
            let links = command.output().unwrap().status.success();
            let excused = program.nvlink_links && program.expected != "ok";
            if links != program.nvlink_links && !excused {
                wrong.push(format!("{} {arch}: nvlink links it: {links}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Links of real files: each folder in `CUDALINK_CHECK_FOLDERS` (a list separated by `:`) holds the images of
/// one link that works.
#[test]
fn real_links_have_no_errors() {
    let folders = std::env::var_os("CUDALINK_CHECK_FOLDERS").unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|folder| folder.is_dir()) {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let images: Vec<(String, Vec<u8>)> = files
            .iter()
            .map(|file| (file.display().to_string(), std::fs::read(file).unwrap()))
            .collect();
        let outcome = check_named(images.iter().map(|(name, bytes)| (&**name, &**bytes)), &RULES);
        println!("{}: {:#?}", folder.display(), outcome.findings);
        assert_eq!(verdict(&outcome), "ok");
    }
}

/// Executable cubins that are known to be good, in the folders of `CUDALINK_PROOF_FOLDERS`.
#[test]
fn real_results_hold() {
    use cudalink::link::proof::{Promise, prove};
    let folders = std::env::var_os("CUDALINK_PROOF_FOLDERS").unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let promise = Promise { kernels: None, keep_kernels: &[], relocatable: false, linker: RULES.linker };
            let found = prove(&bytes, &promise).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(found.is_empty(), "{}: {found:#?}", path.display());
        }
    }
}
