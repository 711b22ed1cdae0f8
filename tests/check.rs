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

/// The hints of the first finding.
fn hints(units: &[&str]) -> Vec<String> {
    let images: Vec<Vec<u8>> = units.iter().map(|unit| programs::unit(unit).into_bytes()).collect();
    check(&images, &RULES).findings.remove(0).hints
}

#[test]
fn an_undefined_symbol_is_told_who_nearly_defines_it() {
    let calls = |name: &str| format!("{}{}", programs::extern_function(name), programs::kernel("k", &programs::call(name)));
    let defines = |linkage: &str, name: &str| programs::function(linkage, name, "");
    assert_eq!(
        hints(&[&calls("_Z1fi"), &defines(".visible", "_Z1ff")]),
        ["b defines `f(float)`: give both the same signature"]
    );
    assert_eq!(
        hints(&[&calls("_Z1fi"), &defines(".visible", "f")]),
        ["b defines `f`: declare both `extern \"C\"`, or neither"]
    );
    let user = format!("{}{}", defines("", "f"), programs::kernel("k2", &programs::call("f")));
    assert_eq!(
        hints(&[&calls("f"), &user]),
        ["b has a static `f`: drop `static` to let other inputs use it"]
    );
    assert_eq!(
        hints(&[&calls("reduce_sum"), &defines(".visible", "reduce_smu")]),
        ["`reduce_smu`, which b defines, has a similar name"]
    );
    assert_eq!(
        hints(&[&calls("cudaCGSynchronizeGrid")]),
        ["link libcudadevrt as well: add `-l cudadevrt`"]
    );
    assert!(hints(&[&calls("f"), &defines(".visible", "g")]).is_empty());
}

#[test]
fn an_undefined_symbol_shows_the_way_from_a_kernel() {
    let units = [
        format!("{}{}", programs::extern_function("g"), programs::kernel("k", &programs::call("g"))),
        format!("{}{}", programs::extern_function("f"), programs::function(".visible", "g", &programs::call("f"))),
    ];
    let images = units.map(|unit| programs::unit(&unit).into_bytes());
    let outcome = check(&images, &RULES);
    let finding = &outcome.findings[0];
    assert_eq!(finding.message, "no input defines `f`");
    assert_eq!(finding.inputs, ["b"]);
    assert_eq!(finding.details, ["needed by a kernel: `k` → `g` → `f`"]);
    assert_eq!(outcome.missing, ["f"]);
    let relocatable = check(&images, &Rules { relocatable: true, ..RULES });
    assert_eq!(verdict(&relocatable), "ok");
    assert_eq!(relocatable.findings[0].details, ["the final link must define it"]);
}

#[test]
fn a_name_that_a_newer_linker_provides() {
    let unit = format!("{}{}", programs::extern_function("cudaGraphLaunch"), programs::kernel("k", &programs::call("cudaGraphLaunch")));
    let images = [programs::unit(&unit).into_bytes()];
    assert_eq!(verdict(&check(&images, &RULES)), "ok");
    let old = Rules { linker: Release { major: 11, minor: 8 }, ..RULES };
    let finding = check(&images, &old).findings.remove(0);
    assert_eq!(finding.hints, ["linkers of CUDA 12.0 and later provide it; this one is 11.8"]);
}

#[test]
fn kept_kernels_are_named_exactly() {
    let images = [programs::unit(&format!("{}{}", programs::kernel("axpy", ""), programs::kernel("axpy2", ""))).into_bytes()];
    let keep = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let outcome = check(&images, &Rules { keep_kernels: &names, ..RULES });
        let kernels = outcome.kernels.clone().unwrap().into_iter().map(|kernel| kernel.name).collect::<Vec<_>>();
        (verdict(&outcome), kernels)
    };
    assert_eq!(keep(&["axpy2"]), ("ok".to_owned(), vec!["axpy2".to_owned()]));
    // Linkers keep what has the name as a part.
    assert_eq!(keep(&["axpy"]).1, ["axpy", "axpy2"]);
    assert_eq!(keep(&["axp"]).0, "unknown-kernel");
}

#[test]
fn definitions_outside_of_the_link_are_found() {
    use cudalink::code::{Arch, ObjectCode};
    use cudalink::link::check::{Outside, search};
    let Some(nvcc) = common::cuda_tool("nvcc") else {
        return common::skip("nvcc is not here");
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("b.cu");
    std::fs::write(
        &source,
        "__host__ __device__ int both(int x) { return x + 1; }\nint host(int x) { return x; }\n\
         __device__ __noinline__ int device(int x) { return x * clock(); }\n\
         __global__ void k(int *p) { *p = device(*p) + both(*p); }\n",
    )
    .unwrap();
    let compile = |name: &str, options: &[&str]| {
        let out = folder.path().join(name);
        let done = Command::new(&nvcc).args(options).arg(&source).arg("-o").arg(&out).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out
    };
    let rdc = compile("rdc.o", &["-rdc=true", "-c", "-gencode", "arch=compute_80,code=sm_80"]);
    let whole = compile("whole.o", &["-c", "-arch=sm_90"]);
    let archive = compile("libhelp.a", &["-lib", "-rdc=true", "-arch=sm_90"]);
    let find = |inputs: &[&PathBuf], folders: &[PathBuf], name: &str| {
        let inputs: Vec<ObjectCode> = inputs.iter().map(|path| ObjectCode::open(path).unwrap()).collect();
        let outside = Outside { inputs: &inputs, folders, target: Arch::new(90) };
        let found = search(&[name], &outside).into_iter().map(|found| (found.place, found.why));
        found.collect::<Vec<_>>()
    };
    use cudalink::link::check::Why;
    let rdc_name = rdc.display().to_string();
    assert_eq!(find(&[&rdc], &[], "_Z6devicei"), [(rdc_name.clone(), Why::OtherArch("sm_80".to_owned()))]);
    assert_eq!(find(&[&rdc], &[], "_Z4hosti"), [(rdc_name, Why::HostOnly)]);
    assert_eq!(find(&[&whole], &[], "_Z6devicei"), [(whole.display().to_string(), Why::NotRelocatable)]);
    let folders = [folder.path().to_owned()];
    let found = find(&[], &folders, "_Z4bothi");
    assert_eq!(found[0].1, Why::NotGiven("-l help".to_owned()));
    assert!(found[0].0.starts_with(&archive.display().to_string()), "{found:?}");
    assert!(find(&[&archive], &folders, "_Z4none").is_empty());
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
