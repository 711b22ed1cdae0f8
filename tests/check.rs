//! The symbol pass over programs whose verdict by nvlink is known.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use cudalink::bytes::Blob;
use cudalink::code::{Arch, ExpandOptions, Image, ImageKind, Loadable, ObjectCode};
use cudalink::error::{Diagnostic, Severity};
use cudalink::format::compress::Limits;
use cudalink::format::cubin::{Cubin, Stage};
use cudalink::link::check::{self, Chosen, Outcome, Rules};
use cudalink::link::proof::{Promise, prove};
use cudalink::toolkit::Version;
use programs::Program;

const RULES: Rules<'_> = Rules {
    linker: Version::new(13, 5),
    relocatable: false,
    keep_kernels: &[],
};

/// Checks images under the names `a`, `b`, `c`…
fn check(images: &[Vec<u8>], rules: &Rules<'_>) -> Outcome {
    let name = |index: usize| match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'a' + index).to_string(),
        _ => index.to_string(),
    };
    let names: Vec<String> = (0..images.len()).map(name).collect();
    check_named(
        names
            .iter()
            .map(String::as_str)
            .zip(images.iter().map(Vec::as_slice)),
        rules,
    )
}

fn check_named<'a>(
    images: impl Iterator<Item = (&'a str, &'a [u8])>,
    rules: &Rules<'_>,
) -> Outcome {
    let chosen: Vec<Chosen<'_>> = images
        .enumerate()
        .map(|(input, (name, bytes))| Chosen {
            name,
            input,
            input_name: name,
            kind: if Cubin::is_cubin(bytes) {
                ImageKind::Cubin
            } else {
                ImageKind::Ptx
            },
            bytes,
        })
        .collect();
    match check::read(&chosen) {
        Ok(units) => check::check(&units, rules, &|_| Vec::new()),
        Err(error) => Outcome {
            findings: error.diagnostics,
            ..Outcome::default()
        },
    }
}

/// The codes of the errors, or `ok`.
fn verdict(outcome: &Outcome) -> String {
    let errors = outcome
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let mut codes: Vec<_> = errors.map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    if codes.is_empty() {
        "ok".to_owned()
    } else {
        codes.join(" ")
    }
}

fn ptx(program: &Program) -> Vec<Vec<u8>> {
    program
        .units
        .iter()
        .map(|unit| unit.clone().into_bytes())
        .collect()
}

fn run(command: &mut Command) -> bool {
    command.output().unwrap().status.success()
}

/// What ptxas makes of PTX texts; `None` when it refuses one for this architecture.
fn assemble(ptxas: &Path, units: &[Vec<u8>], arch: &str, folder: &Path) -> Option<Vec<PathBuf>> {
    let compile = |(index, unit): (usize, &Vec<u8>)| {
        let source = folder.join(format!("{index}.ptx"));
        let cubin = folder.join(format!("{index}.cubin"));
        std::fs::write(&source, unit).unwrap();
        let mut command = Command::new(ptxas);
        command.args(["-c", "-arch", arch]).arg(&source);
        run(command.arg("-o").arg(&cubin)).then_some(cubin)
    };
    units.iter().enumerate().map(compile).collect()
}

fn read_all(files: &[PathBuf]) -> Vec<Vec<u8>> {
    files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect()
}

/// What nvlink makes of files, if it links them.
fn nvlink(nvlink: &Path, arch: &str, files: &[PathBuf], options: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(nvlink);
    command
        .arg(format!("-arch={arch}"))
        .args(options)
        .args(files);
    run(command.arg("-o").arg(&out)).then(|| std::fs::read(out).unwrap())
}

/// A result holds what the check of its inputs says that it must.
fn assert_holds(result: &[u8], outcome: &Outcome, rules: &Rules<'_>, name: &str) {
    let promise = Promise {
        kernels: &outcome.kernels,
        complete: outcome.complete,
        keep_kernels: rules.keep_kernels,
        relocatable: rules.relocatable,
        linker: rules.linker,
    };
    let found = prove(result, &promise).unwrap();
    assert!(found.is_empty(), "{name}: {found:#?}");
}

#[test]
fn programs_as_ptx() {
    let mut wrong = Vec::new();
    for program in programs::all()
        .iter()
        .filter(|program| !program.needs_registers())
    {
        let outcome = check(&ptx(program), &RULES);
        if verdict(&outcome) != program.expected {
            wrong.push(format!(
                "{}: {}, expected {} {:#?}",
                program.name,
                verdict(&outcome),
                program.expected,
                outcome.findings
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Messages of a program's errors, which must not depend on what the inputs are.
fn messages(outcome: &Outcome) -> Vec<(String, Vec<String>)> {
    let text = |finding: &Diagnostic| (finding.message.clone(), finding.inputs.clone());
    outcome
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(text)
        .collect()
}

/// The errors that are left of a program's when its result is to be linked again.
fn expected_relocatable(program: &Program) -> String {
    const LATER: [&str; 4] = [
        "undefined-symbol",
        "no-kernels",
        "register-conflict",
        "shared-memory",
    ];
    let mut codes = program.expected.split(' ');
    let code = codes.find(|code| !LATER.contains(code)).unwrap_or("ok");
    code.to_owned()
}

const RELOCATABLE: Rules<'_> = Rules {
    relocatable: true,
    ..RULES
};

/// Checks every program as the cubins of one ptxas, and compares with PTX and with nvlink.
fn programs_as_cubins(ptxas: &Path, linker: &Path, arch: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut compare = |name: String, got: String, wanted: &str, outcome: &Outcome| {
        if got != wanted {
            let findings = &outcome.findings;
            wrong.push(format!("{name}: {got}, expected {wanted} {findings:#?}"));
        }
    };
    for program in programs::all() {
        let name = format!("{} {arch}", program.name);
        let files = assemble(ptxas, &ptx(&program), arch, folder.path())
            .unwrap_or_else(|| panic!("ptxas refuses {name}"));
        let images = read_all(&files);
        let outcome = check(&images, &RULES);
        compare(name.clone(), verdict(&outcome), &program.expected, &outcome);
        if !program.needs_registers() {
            let as_ptx = check(&ptx(&program), &RULES);
            let said = format!("{:#?}", messages(&as_ptx));
            compare(
                name.clone(),
                format!("{:#?}", messages(&outcome)),
                &said,
                &as_ptx,
            );
        }
        let result = nvlink(linker, arch, &files, &[]);
        let excused = program.nvlink_links && program.expected != "ok";
        if !excused {
            let links = result.is_some().to_string();
            compare(
                format!("{name}: nvlink"),
                links,
                &program.nvlink_links.to_string(),
                &outcome,
            );
        }
        if let Some(result) = result.filter(|_| program.expected == "ok") {
            assert_holds(&result, &outcome, &RULES, &name);
        }
        let outcome = check(&images, &RELOCATABLE);
        let wanted = expected_relocatable(&program);
        compare(format!("{name} -r"), verdict(&outcome), &wanted, &outcome);
        let result = nvlink(linker, arch, &files, &["-r"]);
        if !excused {
            let links = result.is_some().to_string();
            compare(
                format!("{name}: nvlink -r"),
                links,
                &(wanted == "ok").to_string(),
                &outcome,
            );
        }
        if let Some(result) = result.filter(|_| wanted == "ok") {
            assert_holds(&result, &outcome, &RELOCATABLE, &name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_as_cubins_agree_with_ptx_and_with_nvlink() {
    let tools = common::cuda_tool("ptxas").zip(common::cuda_tool("nvlink"));
    let Some((ptxas, nvlink)) = tools else {
        return common::skip("ptxas and nvlink are not here");
    };
    for arch in ["sm_75", "sm_100"] {
        programs_as_cubins(&ptxas, &nvlink, arch);
    }
}

/// CUDA 12 writes another form of cubin.
#[test]
fn programs_as_older_cubins() {
    let old = std::env::var_os("CUDALINK_TEST_PTXAS_12").map(PathBuf::from);
    let Some((ptxas, nvlink)) = old.zip(common::cuda_tool("nvlink")) else {
        return common::skip(
            "CUDALINK_TEST_PTXAS_12 names no ptxas of CUDA 12, or nvlink is not here",
        );
    };
    programs_as_cubins(&ptxas, &nvlink, "sm_80");
}

/// Units of CUDA C++ in `tests/programs`, as PTX; none when nvcc is not here.
fn compile(program: &str) -> Option<Vec<Vec<u8>>> {
    let nvcc = common::cuda_tool("nvcc")?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(program) && name.ends_with(".cu")
        })
        .collect();
    files.sort();
    let compile = |file: &PathBuf| {
        let out = folder.path().join("out.ptx");
        let mut command = Command::new(&nvcc);
        command.args(["-rdc=true", "-std=c++17", "-ptx", "-arch=compute_75"]);
        assert!(
            run(command.arg(file).arg("-o").arg(&out)),
            "{}",
            file.display()
        );
        std::fs::read(out).unwrap()
    };
    Some(files.iter().map(compile).collect())
}

/// Programs as people write them, for which the check must find nothing wrong.
#[test]
fn programs_of_several_units() {
    let tools = common::cuda_tool("ptxas").zip(common::cuda_tool("nvlink"));
    let Some((ptxas, linker)) = tools else {
        return common::skip("ptxas and nvlink are not here");
    };
    for program in ["shapes", "tables", "memory", "runtime", "launch"] {
        let Some(units) = compile(program) else {
            return common::skip("nvcc is not here");
        };
        let folder = tempfile::tempdir().unwrap();
        for arch in ["sm_75", "sm_90", "sm_120"] {
            let name = format!("{program} {arch}");
            let files = assemble(&ptxas, &units, arch, folder.path()).unwrap();
            let outcome = check(&read_all(&files), &RULES);
            let as_ptx = check(&units, &RULES);
            assert_eq!(outcome.kernels, as_ptx.kernels, "{name}");
            assert_eq!(outcome.missing, as_ptx.missing, "{name}");
            let result = nvlink(&linker, arch, &files, &[]);
            if program == "launch" {
                let names = ["__cudaCDP2GetParameterBufferV2", "__cudaCDP2LaunchDeviceV2"];
                assert_eq!(outcome.missing, names, "{name}");
                assert_eq!(verdict(&outcome), "undefined-symbol", "{name}");
                assert!(result.is_none(), "{name}");
                continue;
            }
            assert_eq!(verdict(&outcome), "ok", "{name}: {:#?}", outcome.findings);
            assert_holds(&result.unwrap(), &outcome, &RULES, &name);
        }
    }
}

/// A device-side launch needs libcudadevrt and nothing else.
#[test]
fn a_device_side_launch_with_its_library() {
    let tools = common::cuda_tool("ptxas").zip(std::env::var_os("CUDA_HOME"));
    let Some(((ptxas, home), units)) = tools.zip(compile("launch")) else {
        return common::skip("nvcc and ptxas are not here, or CUDA_HOME is not set");
    };
    let library = Path::new(&home).join("lib/libcudadevrt.a");
    let images = ObjectCode::open(&library)
        .unwrap()
        .expand(&ExpandOptions::default())
        .images;
    let folder = tempfile::tempdir().unwrap();
    for arch in [75, 80, 90, 100, 120] {
        let files = assemble(&ptxas, &units, &format!("sm_{arch}"), folder.path()).unwrap();
        let mut all = of_kind(&images, arch, Loadable::RelocatableOnly, ImageKind::Cubin);
        assert!(!all.is_empty());
        let names = files.iter().map(|file| file.display().to_string());
        all.extend(names.zip(read_all(&files).into_iter().map(Blob::from)));
        let outcome = check_blobs(&all, &RULES);
        assert_eq!(
            verdict(&outcome),
            "ok",
            "sm_{arch}: {:#?}",
            outcome.findings
        );
    }
}

/// Tensor core instructions for one block and for pairs of blocks, as no kernel may reach both.
#[test]
fn cta_groups_do_not_mix() {
    let tools = common::cuda_tool("ptxas").zip(common::cuda_tool("nvlink"));
    let Some((ptxas, linker)) = tools else {
        return common::skip("ptxas and nvlink are not here");
    };
    let unit = |text: &str| {
        format!(".version 8.7\n.target sm_100a\n.address_size 64\n{text}").into_bytes()
    };
    let function = |name: &str, group: u32| {
        let body = format!("tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;");
        unit(&programs::function(".visible", name, &body))
    };
    let kernel = |name: &str, callees: &[&str]| {
        let declare: String = callees
            .iter()
            .map(|name| programs::extern_function(name))
            .collect();
        let calls: String = callees.iter().map(|name| programs::call(name)).collect();
        unit(&format!("{declare}{}", programs::kernel(name, &calls)))
    };
    let folder = tempfile::tempdir().unwrap();
    let judge = |units: &[Vec<u8>]| {
        let files = assemble(&ptxas, units, "sm_100a", folder.path()).unwrap();
        let images = read_all(&files);
        for (rules, options) in [(&RULES, &[][..]), (&RELOCATABLE, &["-r"][..])] {
            let links = nvlink(&linker, "sm_100a", &files, options).is_some();
            assert_eq!(verdict(&check(&images, rules)) == "ok", links);
        }
        check(&images, &RULES)
    };
    let (single, pair) = (function("f", 1), function("g", 2));
    let apart = [
        kernel("k", &["f"]),
        kernel("l", &["g"]),
        single.clone(),
        pair.clone(),
    ];
    assert_eq!(verdict(&judge(&apart)), "ok");
    let outcome = judge(&[kernel("k", &["f", "g"]), single, pair]);
    assert_eq!(verdict(&outcome), "kind-mismatch");
    assert_eq!(outcome.findings[0].inputs, ["a", "b", "c"]);
    assert_eq!(
        outcome.findings[0].details,
        ["`.cta_group::1`: `k` → `f`", "`.cta_group::2`: `k` → `g`"]
    );
}

/// The limit is exact: a callee may have as many registers as the kernel.
#[test]
fn register_limits_are_exact() {
    let tools = common::cuda_tool("ptxas").zip(common::cuda_tool("nvlink"));
    let Some((ptxas, linker)) = tools else {
        return common::skip("ptxas and nvlink are not here");
    };
    let folder = tempfile::tempdir().unwrap();
    let callee = folder.path().join("callee.cubin");
    let source = folder.path().join("callee.ptx");
    std::fs::write(&source, programs::unit(&programs::heavy("f", 200))).unwrap();
    for arch in ["sm_75", "sm_90"] {
        let mut command = Command::new(&ptxas);
        command
            .args(["-c", "-arch", arch, "-maxrregcount=64"])
            .arg(&source);
        assert!(run(command.arg("-o").arg(&callee)));
        for (limit, wanted) in [(64, "ok"), (63, "register-conflict")] {
            let kernel = programs::limited(limit, "f", ".extern .func f(.param .b64 p);\n");
            let kernel = programs::unit(&kernel).into_bytes();
            let mut files = assemble(&ptxas, &[kernel], arch, folder.path()).unwrap();
            files.push(callee.clone());
            let links = nvlink(&linker, arch, &files, &[]).is_some();
            assert_eq!(links, wanted == "ok", "{arch} {limit}");
            assert_eq!(
                verdict(&check(&read_all(&files), &RULES)),
                wanted,
                "{arch} {limit}"
            );
        }
    }
}

/// The hints of the first finding.
fn hints(units: &[&str]) -> Vec<String> {
    let images: Vec<Vec<u8>> = units
        .iter()
        .map(|unit| programs::unit(unit).into_bytes())
        .collect();
    check(&images, &RULES).findings.remove(0).hints
}

#[test]
fn an_undefined_symbol_is_told_who_nearly_defines_it() {
    let calls = |name: &str| {
        format!(
            "{}{}",
            programs::extern_function(name),
            programs::kernel("k", &programs::call(name))
        )
    };
    let defines = |linkage: &str, name: &str| programs::function(linkage, name, "");
    assert_eq!(
        hints(&[&calls("_Z1fi"), &defines(".visible", "_Z1ff")]),
        ["b defines `f(float)`: give both the same signature"]
    );
    assert_eq!(
        hints(&[&calls("_Z1fi"), &defines(".visible", "f")]),
        ["b defines `f`: declare both `extern \"C\"`, or neither"]
    );
    let user = format!(
        "{}{}",
        defines("", "f"),
        programs::kernel("k2", &programs::call("f"))
    );
    assert_eq!(
        hints(&[&calls("f"), &user]),
        ["b has a static `f`: drop `static` to let other inputs use it"]
    );
    let hidden =
        "_ZN34_INTERNAL_a87f052c_4_a_cu_db3d90f636_GLOBAL__N__a87f052c_4_a_cu_db3d90f66hiddenEi";
    let user = format!(
        "{}{}",
        defines("", hidden),
        programs::kernel("k2", &programs::call(hidden))
    );
    assert_eq!(
        hints(&[&calls("_Z6hiddeni"), &user]),
        ["b has `hidden(int)` in an unnamed namespace: take it out to let other inputs use it"]
    );
    let own = "_ZN39_INTERNAL_26ea21ef_10_my_file_cu__Z1kPi2sfEi";
    let user = format!(
        "{}{}",
        defines("", own),
        programs::kernel("k2", &programs::call(own))
    );
    assert_eq!(
        hints(&[&calls("_Z2sfi"), &user]),
        ["b has a static `sf(int)`: drop `static` to let other inputs use it"]
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
        format!(
            "{}{}",
            programs::extern_function("g"),
            programs::kernel("k", &programs::call("g"))
        ),
        format!(
            "{}{}",
            programs::extern_function("f"),
            programs::function(".visible", "g", &programs::call("f"))
        ),
    ];
    let images = units.map(|unit| programs::unit(&unit).into_bytes());
    let outcome = check(&images, &RULES);
    let finding = &outcome.findings[0];
    assert_eq!(finding.message, "no input defines `f`");
    assert_eq!(finding.inputs, ["b"]);
    assert_eq!(finding.details, ["needed by a kernel: `k` → `g` → `f`"]);
    assert_eq!(outcome.missing, ["f"]);
    let relocatable = check(
        &images,
        &Rules {
            relocatable: true,
            ..RULES
        },
    );
    assert_eq!(verdict(&relocatable), "ok");
    assert_eq!(relocatable.findings.len(), 1);
    assert_eq!(
        relocatable.findings[0].details,
        ["the final link must define it"]
    );
}

#[test]
fn a_name_that_a_newer_linker_provides() {
    let unit = format!(
        "{}{}",
        programs::extern_function("cudaGraphLaunch"),
        programs::kernel("k", &programs::call("cudaGraphLaunch"))
    );
    let images = [programs::unit(&unit).into_bytes()];
    assert_eq!(verdict(&check(&images, &RULES)), "ok");
    let old = Rules {
        linker: Version::new(11, 8),
        ..RULES
    };
    let finding = check(&images, &old).findings.remove(0);
    assert_eq!(
        finding.hints,
        ["linkers of CUDA 12.0 and later provide it; this one is 11.8"]
    );
}

#[test]
fn kept_kernels_are_named_exactly() {
    let images = [programs::unit(&format!(
        "{}{}",
        programs::kernel("axpy", ""),
        programs::kernel("axpy2", "")
    ))
    .into_bytes()];
    let keep = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let outcome = check(
            &images,
            &Rules {
                keep_kernels: &names,
                ..RULES
            },
        );
        let kernels = outcome
            .kernels
            .iter()
            .map(|kernel| kernel.name.clone())
            .collect::<Vec<_>>();
        (verdict(&outcome), kernels)
    };
    assert_eq!(
        keep(&["axpy2"]),
        ("ok".to_owned(), vec!["axpy2".to_owned()])
    );
    // Linkers keep what has the name as a part.
    assert_eq!(keep(&["axpy"]).1, ["axpy", "axpy2"]);
    assert_eq!(keep(&["axp"]).0, "unknown-kernel");
}

#[test]
fn definitions_outside_of_the_link_are_found() {
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
        let done = Command::new(&nvcc)
            .args(options)
            .arg(&source)
            .arg("-o")
            .arg(&out)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        out
    };
    let rdc = compile(
        "rdc.o",
        &["-rdc=true", "-c", "-gencode", "arch=compute_80,code=sm_80"],
    );
    let whole = compile("whole.o", &["-c", "-arch=sm_90"]);
    let archive = compile("libhelp.a", &["-lib", "-rdc=true", "-arch=sm_90"]);
    let find = |inputs: &[&PathBuf], folders: &[PathBuf], name: &str| {
        let inputs: Vec<ObjectCode> = inputs
            .iter()
            .map(|path| ObjectCode::open(path).unwrap())
            .collect();
        let outside = Outside {
            inputs: &inputs,
            folders,
            target: Arch::new(90),
        };
        let found = search(&[name], &outside)
            .into_iter()
            .map(|found| (found.place, found.why));
        found.collect::<Vec<_>>()
    };
    use cudalink::link::check::Why;
    let rdc_name = rdc.display().to_string();
    assert_eq!(
        find(&[&rdc], &[], "_Z6devicei"),
        [(rdc_name.clone(), Why::OtherArch("sm_80".to_owned()))]
    );
    assert_eq!(find(&[&rdc], &[], "_Z4hosti"), [(rdc_name, Why::HostOnly)]);
    assert_eq!(
        find(&[&whole], &[], "_Z6devicei"),
        [(whole.display().to_string(), Why::NotRelocatable)]
    );
    let folders = [folder.path().to_owned()];
    let found = find(&[], &folders, "_Z4bothi");
    assert_eq!(found[0].1, Why::NotGiven("-l help".to_owned()));
    assert!(
        found[0].0.starts_with(&archive.display().to_string()),
        "{found:?}"
    );
    assert!(find(&[&archive], &folders, "_Z4none").is_empty());
}

/// What the findings say, one line each: message, inputs, details.
fn told(units: &[&str]) -> Vec<String> {
    let images: Vec<Vec<u8>> = units
        .iter()
        .map(|unit| programs::unit(unit).into_bytes())
        .collect();
    let line = |finding: &Diagnostic| {
        let severity = finding.severity.as_str();
        format!(
            "{severity}[{}] {}: {} | {}",
            finding.code,
            finding.inputs.join(" "),
            finding.message,
            finding.details.join("; ")
        )
    };
    check(&images, &RULES).findings.iter().map(line).collect()
}

#[test]
fn findings_name_inputs_and_reasons() {
    let k = |name: &str| programs::kernel(name, "");
    let function = |body: &str, kernel: &str| {
        format!(
            "{}{}",
            programs::function(".visible", "_Z1fi", body),
            k(kernel)
        )
    };
    assert_eq!(
        told(&[&function("", "k1"), &function("", "k2")]),
        [
            "error[duplicate-symbol] a b: `_Z1fi` is defined more than once | the definitions are equal"
        ]
    );
    assert_eq!(
        told(&[
            &function("", "k1"),
            &function("st.global.u32 [%d1], %r1;", "k2"),
            &k("k3")
        ]),
        [
            "error[duplicate-symbol] a b: `_Z1fi` is defined more than once | the definitions are different"
        ]
    );
    let calls = ".extern .func _Z1fi(.param .b64 a);\n.visible .entry k() { .reg .b64 %d<3>; { .param .b64 q; st.param.b64 [q], %d1; call _Z1fi, (q); } ret; }";
    assert_eq!(
        told(&[calls, &programs::function(".visible", "_Z1fi", "")]),
        [
            "error[prototype-mismatch] a b: `_Z1fi` is used with different signatures | \
          declared in a: returns nothing, takes 64 bits (`#vl`); defined in b: returns nothing, takes 32 bits (`#vi`)"
        ]
    );
    let variable = |declaration: &str, kernel: &str| {
        format!(
            "{declaration}\n{}",
            programs::kernel(kernel, "mov.u64 %d1, v;")
        )
    };
    assert_eq!(
        told(&[
            &variable(".extern .global .b8 v[16];", "k1"),
            &variable(".visible .global .b8 v[32];", "k2")
        ]),
        [
            "error[size-mismatch] a b: `v` is declared with different sizes | declared in a: 16 bytes; defined in b: 32 bytes"
        ]
    );
    assert_eq!(
        told(&[
            &variable(".extern .const .b8 v[16];", "k1"),
            &variable(".visible .global .attribute(.managed) .b8 v[16];", "k2")
        ]),
        [
            "error[kind-mismatch] a b: `v` is declared as different things | \
          declared in a: variable in constant memory; defined in b: managed variable in global memory"
        ]
    );
    assert_eq!(
        told(&[
            &variable(".weak .global .u32 v = 1;", "k1"),
            &variable(".weak .global .u32 v = 2;", "k2")
        ]),
        [
            "warning[duplicate-symbol] a b: `v` is defined with different initial values | the one in a is taken"
        ]
    );
    assert_eq!(
        told(&[
            ".weak .entry k(.param .u64 a) .maxntid 128 { ret; }",
            ".weak .entry k(.param .u64 a) .maxntid 256 { ret; }"
        ]),
        [
            "warning[kind-mismatch] a b: kernel `k` is defined with different parameters or launch bounds; the first is taken | \
          weak in a: parameters of 8 bytes, at most 128x1x1 threads; weak in b: parameters of 8 bytes, at most 256x1x1 threads"
        ]
    );
    assert_eq!(
        told(&[
            &k("k"),
            &programs::function(".visible", "f", ""),
            &programs::function(".visible", "g", "")
        ]),
        [
            "warning[unused-input] b c: contributes nothing to the result | \
          it has no kernel and no variable, and nothing that is live calls its functions"
        ]
    );
    let weak = |body: &str, kernel: &str| {
        let f = programs::function(".weak", "_Z1fi", body);
        format!("{f}{}", programs::kernel(kernel, &programs::call("_Z1fi")))
    };
    assert_eq!(
        told(&[
            &weak("", "k1"),
            &weak("", "k2"),
            &weak("st.global.u32 [%d1], %r1;", "k3")
        ]),
        [
            "note[duplicate-symbol] a c: `_Z1fi` is compiled differently in several inputs; the first is taken | \
          `f(int)` is taken from a; c has another"
        ]
    );
    assert_eq!(
        told(&[
            &weak("st.global.u32 [%d1], %r1;", "k1"),
            &function("", "k2"),
            &weak("", "k3")
        ]),
        [""; 0]
    );
    assert_eq!(
        told(&[]),
        ["error[no-kernels] : the result would hold no kernel | "]
    );
}

#[test]
fn severities_can_be_changed() {
    use cudalink::error::Code;
    use cudalink::link::check::Levels;
    let levels = Levels {
        allow: vec![Code::DuplicateSymbol],
        deny: vec![Code::StackUnknown],
    };
    let severity = |finding| levels.apply(finding).severity;
    assert_eq!(
        severity(Diagnostic::error(Code::DuplicateSymbol, "")),
        Severity::Warning
    );
    assert_eq!(
        severity(Diagnostic::warning(Code::DuplicateSymbol, "")),
        Severity::Note
    );
    assert_eq!(
        severity(Diagnostic::note(Code::StackUnknown, "")),
        Severity::Error
    );
    assert_eq!(
        severity(Diagnostic::error(Code::SizeMismatch, "")),
        Severity::Error
    );
}

/// Every unit has a kernel that calls a function of the next one; all have one static and one weak function.
#[test]
fn ten_thousand_units() {
    const COUNT: usize = 10_000;
    let unit = |index: usize| {
        let next = format!("f{}", (index + 1) % COUNT);
        let body = format!(
            "{}{}{}",
            programs::call(&next),
            programs::call("helper"),
            programs::call("shared")
        );
        programs::unit(&format!(
            "{}{}{}{}{}",
            programs::extern_function(&next),
            programs::function("", "helper", ""),
            programs::function(".weak", "shared", ""),
            programs::function(".visible", &format!("f{index}"), ""),
            programs::kernel(&format!("k{index}"), &body),
        ))
        .into_bytes()
    };
    let mut images: Vec<Vec<u8>> = (0..COUNT).map(unit).collect();
    let outcome = check(&images, &RULES);
    assert_eq!(verdict(&outcome), "ok");
    assert_eq!(outcome.kernels.len(), COUNT);
    images.truncate(COUNT - 1);
    let outcome = check(&images, &RULES);
    assert_eq!(outcome.missing, [format!("f{}", COUNT - 1)]);
    // One object given twice: every function and kernel is a duplicate, and all are told.
    images[1] = images[0].clone();
    assert_eq!(
        verdict(&check(&images, &RULES)),
        "duplicate-symbol undefined-symbol"
    );
}

/// Damaged images: any answer is right, except a panic or a hang.
#[test]
fn damaged_programs() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit.max(1) as u64) as usize
    };
    let folder = tempfile::tempdir().unwrap();
    let ptxas = common::cuda_tool("ptxas");
    for program in programs::all() {
        let mut links = vec![ptx(&program)];
        let cubins = ptxas
            .as_deref()
            .and_then(|ptxas| assemble(ptxas, &ptx(&program), "sm_90", folder.path()));
        links.extend(cubins.map(|files| read_all(&files)));
        for images in links {
            for _ in 0..40 {
                let mut images: Vec<Vec<u8>> = images.clone();
                let image = next(images.len());
                for _ in 0..=next(4) {
                    let at = next(images[image].len());
                    let value = [0, 1, 0x7f, 0xff, next(256)][next(5)];
                    if let Some(byte) = images[image].get_mut(at) {
                        *byte = value as u8;
                    }
                }
                if next(8) == 0 {
                    let length = next(images[image].len());
                    images[image].truncate(length);
                }
                check(&images, &RULES);
            }
        }
    }
}

/// Every image that a folder of public packages (`CUDALINK_CORPUS`, see `tests/corpus.sh`) holds in one file.
fn images_of(package: &str, file: &str) -> Option<Vec<Image>> {
    let folder = std::env::var_os("CUDALINK_CORPUS")?;
    let package = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(package)
        })
        .unwrap_or_else(|| panic!("{package} is not in CUDALINK_CORPUS"));
    let mut images = ObjectCode::open(&package)
        .unwrap()
        .expand(&ExpandOptions::default())
        .images;
    images.retain(|image| image.file.contains(file));
    assert!(!images.is_empty(), "{file} has no device code");
    Some(images)
}

fn of_kind(
    images: &[Image],
    arch: u16,
    loadable: Loadable,
    kind: ImageKind,
) -> Vec<(String, Blob)> {
    let wanted = images.iter().filter(|image| {
        (image.arch, image.loadable, image.kind) == (Some(Arch::new(arch)), loadable, kind)
    });
    wanted
        .map(|image| (image.id(), image.unpack(Limits::default()).unwrap()))
        .collect()
}

fn check_blobs(images: &[(String, Blob)], rules: &Rules<'_>) -> Outcome {
    check_named(
        images.iter().map(|(name, bytes)| (&**name, &**bytes)),
        rules,
    )
}

/// Libraries that hold both what was linked and what the vendor's linker made of it: the link is found sound, and
/// the result holds what the check says that it must.
#[test]
fn libraries_that_keep_both_sides_of_their_link() {
    let libraries: [(&str, &str, &[u16]); 4] = [
        ("nvidia_nccl_cu12-2.18.1", "libnccl.so.2", &[70, 80, 90]),
        (
            "nvidia_nvshmem_cu13",
            "libnvshmem_host.so.3",
            &[75, 90, 100],
        ),
        ("bitsandbytes", "libbitsandbytes_cuda130.so", &[75, 90, 120]),
        ("bitsandbytes", "libbitsandbytes_cuda121.so", &[80, 90]),
    ];
    for (package, file, archs) in libraries {
        let Some(images) = images_of(package, file) else {
            return common::skip("CUDALINK_CORPUS names no folder of packages");
        };
        for &arch in archs {
            let inputs = of_kind(&images, arch, Loadable::RelocatableOnly, ImageKind::Cubin);
            let results = of_kind(&images, arch, Loadable::Yes, ImageKind::Cubin);
            assert!(!inputs.is_empty() && results.len() == 1, "{file} sm_{arch}");
            let outcome = check_blobs(&inputs, &RULES);
            assert_eq!(
                verdict(&outcome),
                "ok",
                "{file} sm_{arch}: {:#?}",
                outcome.findings
            );
            assert!(!outcome.kernels.is_empty());
            assert_holds(
                &results[0].1,
                &outcome,
                &RULES,
                &format!("{file} sm_{arch}"),
            );
        }
    }
}

#[test]
fn libraries_of_device_code() {
    let Some(nvshmem) = images_of("nvidia_nvshmem_cu13", "libnvshmem_device.a") else {
        return common::skip("CUDALINK_CORPUS names no folder of packages");
    };
    let nccl = images_of("nvidia_nccl_cu12-2.18.1", "libnccl.so.2").unwrap();
    let ptx = of_kind(&nccl, 90, Loadable::RelocatableOnly, ImageKind::Ptx);
    assert_eq!(verdict(&check_blobs(&ptx, &RULES)), "ok");
    for arch in [75, 80, 90, 100, 120] {
        let images = of_kind(&nvshmem, arch, Loadable::RelocatableOnly, ImageKind::Cubin);
        assert_eq!(verdict(&check_blobs(&images, &RULES)), "no-kernels");
    }
}

/// Linked cubins that drivers load: none of them is called broken.
#[test]
fn linked_libraries_hold() {
    let nothing = Outcome {
        complete: true,
        ..Outcome::default()
    };
    for (package, file) in [
        ("nvidia_nvjpeg", "libnvjpeg.so.13"),
        ("nvidia_npp", "libnpps.so.13"),
        ("triton", "libcupti_static.a"),
        ("nvidia_curand_cu12", "curand64_10.dll"),
    ] {
        let Some(images) = images_of(package, file) else {
            return common::skip("CUDALINK_CORPUS names no folder of packages");
        };
        for image in images.iter().filter(|image| image.kind == ImageKind::Cubin) {
            let bytes = image.unpack(Limits::default()).unwrap();
            if Cubin::parse(&bytes).unwrap().stage() == Stage::Executable {
                assert_holds(&bytes, &nothing, &RULES, &image.id());
            }
        }
    }
}
