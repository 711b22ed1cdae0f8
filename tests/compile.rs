//! The front ends on the real NVRTC and libNVVM, of two major releases, fetched by cudalink itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use common::env;
use cudalink::code::{Arch, ImageKind};
use cudalink::compile::{
    CodeOptions, Compiled, CudaOptions, Module, NvvmOptions, Output, Program, Source, Tools, cuda,
    is_library, nvvm,
};
use cudalink::error::{Category, Code, Diagnostic, Error, Result, Severity};
use cudalink::format::bitcode::Contents;
use cudalink::format::ltoir;
use cudalink::observe::{Observer, Progress, Silent};
use cudalink::toolkit::{Environment, Needs, Settings};
use cudalink::worker::{Limits, Workers};

const RELEASES: [&str; 2] = ["13.5", "12.9"];

static COMPILERS: LazyLock<()> = LazyLock::new(|| {
    for release in RELEASES {
        for component in ["nvrtc", "libnvvm", "libdevice"] {
            env::install(release, component);
        }
    }
});

fn settings(release: &str) -> Settings {
    LazyLock::force(&COMPILERS);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    Settings {
        nvjitlink: None,
        toolkit: Some(release.into()),
        offline: true,
        environment: Environment::of(
            "/nowhere",
            [
                ("CUDALINK_DATA_DIR", env::data_dir()),
                ("CUDALINK_CACHE_DIR", cache),
            ],
        ),
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Told(Mutex<Vec<Diagnostic>>);

impl Observer for Told {
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.0.lock().unwrap().push(diagnostic.clone());
    }
    fn detail(&self, _: &str) {}
    fn progress(&self, what: &str, total: Option<u64>) -> Box<dyn Progress> {
        Silent.progress(what, total)
    }
}

/// Calls `work` with the tools of a release; what they are told comes back.
fn with<T>(release: &str, work: impl FnOnce(&Tools<'_>) -> T) -> (T, Vec<Diagnostic>) {
    let (settings, told, interrupted) =
        (settings(release), Told::default(), AtomicBool::new(false));
    let tools = Tools {
        settings: &settings,
        needs: &Needs::default(),
        workers: Workers {
            program: Path::new(env!("CARGO_BIN_EXE_cudalink")),
            limits: Limits {
                time: Some(Duration::from_secs(300)),
                memory: None,
            },
            interrupted: &interrupted,
        },
        observer: &told,
    };
    let result = work(&tools);
    (result, told.0.into_inner().unwrap())
}

fn arch(text: &str) -> Arch {
    text.parse().unwrap()
}

fn compile(
    release: &str,
    name: &str,
    text: &str,
    target: &str,
    output: Output,
    options: &CudaOptions,
) -> Result<Compiled> {
    let text = text.as_bytes();
    with(release, |tools| {
        cuda(Source { name, text }, arch(target), output, options, tools)
    })
    .0
}

fn is_ltoir_for(compiled: &Compiled, number: u16) {
    assert_eq!(compiled.kind, ImageKind::LtoIr);
    let header = ltoir::Header::parse(&compiled.code, 0).unwrap();
    assert_eq!(header.arch, Some(number));
}

fn ptx(compiled: &Compiled) -> &str {
    assert_eq!(compiled.kind, ImageKind::Ptx);
    std::str::from_utf8(&compiled.code).unwrap()
}

const SOURCE: &str = "#include \"scale.h\"\nextern __device__ float other(float);\n\
    template<class T> __global__ void k(T* p) { int unused; *p = other(*p) * SCALE; }\n\
    __global__ void plain(float* p) { *p = scaled(*p); }\n";

/// A source beside a header that includes another.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "scale.h",
        "#include \"inner/deep.h\"\n__device__ inline float scaled(float x) { return x * DEEP; }\n",
    );
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    write("inner/deep.h", "#define DEEP 3\n");
    write("k.cu", SOURCE);
    folder
}

#[test]
fn cuda_cpp_is_compiled_by_each_release() {
    let folder = sources();
    let name = folder.path().join("k.cu").display().to_string();
    let options = CudaOptions {
        define: vec!["SCALE=2".into()],
        name_expressions: vec!["k<float>".into(), "k<double>".into()],
        std: Some("c++17".into()),
        code: CodeOptions {
            ftz: Some(true),
            fma: Some(false),
            jump_table_density: Some(50),
            ..CodeOptions::default()
        },
        lineinfo: true,
        ..CudaOptions::default()
    };
    for release in RELEASES {
        let lto = compile(release, &name, SOURCE, "sm_90a", Output::LtoIr, &options).unwrap();
        is_ltoir_for(&lto, 90);
        assert_eq!(lto.library.version.unwrap().release().to_string(), release);
        let again = compile(release, &name, SOURCE, "sm_90a", Output::LtoIr, &options).unwrap();
        assert!(
            *lto.code == *again.code,
            "{release}: the same source gave other bytes"
        );

        let compiled = compile(release, &name, SOURCE, "sm_100f", Output::Ptx, &options).unwrap();
        let text = ptx(&compiled);
        assert!(text.contains(".target sm_100f"), "{text}");
        assert!(
            text.contains(".extern .func") && text.contains("_Z5otherf"),
            "{text}"
        );
        assert!(text.contains(".ftz.f32"), "{text}");
        assert!(!text.contains('\0'));
        let lowered: Vec<_> = compiled
            .lowered
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            lowered,
            [("k<float>", "_Z1kIfEvPT_"), ("k<double>", "_Z1kIdEvPT_")]
        );
        let [warning] = &compiled.diagnostics[..] else {
            panic!("{:?}", compiled.diagnostics);
        };
        assert_eq!(
            (warning.severity, warning.code, warning.line),
            (Severity::Warning, Code::CompilerMessage, Some(3))
        );
        assert_eq!(warning.inputs, [name.as_str()]);
        assert!(warning.message.contains("never referenced"), "{warning:?}");
        let headers = ["inner/deep.h", "scale.h"].map(|header| folder.path().join(header));
        let headers = (release == "13.5").then(|| Vec::from(headers));
        assert_eq!(compiled.headers, headers, "{release}");
    }
}

#[test]
fn headers_of_cuda_are_unpacked_where_there_are_none() {
    let text = "#include <cuda_fp16.h>\n#include <cuda/std/array>\n\
        __global__ void k(half* p, cuda::std::array<int, 2> a) { *p += half(a[0]); }\n";
    let options = CudaOptions::default();
    let compiled = compile("13.5", "k.cu", text, "sm_80", Output::LtoIr, &options).unwrap();
    is_ltoir_for(&compiled, 80);
    assert_eq!(
        compiled.headers,
        Some(Vec::new()),
        "the compiler's own are no dependencies"
    );
    // 12.9 has none to unpack.
    let error = compile("12.9", "k.cu", text, "sm_80", Output::LtoIr, &options).unwrap_err();
    let first = &error.diagnostics[0];
    assert_eq!(first.line, Some(1));
    assert!(first.hints[0].contains("-I DIR"), "{first:?}");
    let error = compile(
        "13.5",
        "k.cu",
        "#include <cuda_runtime.h>\n",
        "sm_80",
        Output::Ptx,
        &options,
    );
    let error = error.unwrap_err();
    assert!(
        error.diagnostics[0].hints[0].contains("leave it out"),
        "{error:?}"
    );
}

#[test]
fn what_does_not_compile_is_told_with_file_and_line() {
    let folder = sources();
    let name = folder.path().join("k.cu").display().to_string();
    for release in RELEASES {
        let text =
            "__device__ int f() { return y; }\n__device__ void g() { int unused; }\nnonsense;\n";
        let (result, told) = with(release, |tools| {
            let source = Source {
                name: &name,
                text: text.as_bytes(),
            };
            cuda(
                source,
                arch("sm_80"),
                Output::LtoIr,
                &CudaOptions::default(),
                tools,
            )
        });
        let error = result.unwrap_err();
        assert_eq!(error.category, Category::Failed);
        let lines: Vec<_> = error.diagnostics.iter().map(|found| found.line).collect();
        assert_eq!(lines[..2], [Some(1), Some(3)], "{error:?}");
        assert_eq!(
            error.diagnostics[0].message,
            "identifier \"y\" is undefined"
        );
        assert!(
            error.diagnostics[0].details[0].contains("return y"),
            "{error:?}"
        );
        let warnings: Vec<_> = told
            .iter()
            .filter(|found| found.code == Code::CompilerMessage)
            .collect();
        assert_eq!(warnings.len(), 1, "{told:?}");
        assert_eq!(warnings[0].line, Some(2));

        let bad = |options: CudaOptions, target| {
            compile(release, "k.cu", "int x;", target, Output::Ptx, &options).unwrap_err()
        };
        let error = bad(CudaOptions::default(), "sm_12");
        assert_eq!(error.diagnostics[0].code, Code::ArchMissing, "{error:?}");
        assert!(
            error.diagnostics[0].details[0].contains("sm_80, "),
            "{error:?}"
        );
        let unknown = CudaOptions {
            nvrtc: vec!["--bogus".into()],
            ..CudaOptions::default()
        };
        assert!(
            bad(unknown, "sm_80")
                .to_string()
                .contains("unrecognized option --bogus")
        );
        let suffix = bad(CudaOptions::default(), "sm_80a");
        assert!(suffix.to_string().contains("--nv_arch"), "{suffix}");
    }
}

const LAYOUT: &str = "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
    f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n\
    target triple = \"nvptx64-nvidia-cuda\"\n";
const VERSION: &str = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0, i32 3, i32 2}\n";

/// A kernel that uses `sinf`, `pow` and `erf`, in the form of the older LLVM.
fn math() -> String {
    format!(
        "{LAYOUT}declare float @__nv_sinf(float)\ndeclare double @__nv_pow(double, double)\n\
         declare double @__nv_erf(double)\n\
         define void @math(float* %f, double* %d) {{\n  %a = load float, float* %f\n  %b = call float @__nv_sinf(float %a)\n\
         store float %b, float* %f\n  %c = load double, double* %d\n\
         %e = call double @__nv_pow(double %c, double %c)\n  %g = call double @__nv_erf(double %e)\n\
         store double %g, double* %d\n  ret void\n}}\n{VERSION}\
         !nvvm.annotations = !{{!1}}\n!1 = !{{void (float*, double*)* @math, !\"kernel\", i32 1}}\n"
    )
}

fn program<'a>(modules: &'a [Module<'a>]) -> Program<'a> {
    Program {
        modules,
        ..Program::default()
    }
}

fn ir(
    release: &str,
    program: &Program<'_>,
    target: &str,
    output: Output,
    options: &NvvmOptions,
) -> (Result<Option<Compiled>>, Vec<Diagnostic>) {
    with(release, |tools| {
        nvvm(program, arch(target), output, options, tools)
    })
}

#[test]
fn nvvm_ir_finds_libdevice_by_itself() {
    let text = math();
    let modules = [Module {
        name: "math.ll",
        bytes: text.as_bytes(),
    }];
    let options = NvvmOptions {
        code: CodeOptions {
            ftz: Some(true),
            prec_div: Some(false),
            prec_sqrt: Some(false),
            fma: Some(false),
            ..CodeOptions::default()
        },
        optimize: Some(3),
        ..NvvmOptions::default()
    };
    for release in RELEASES {
        for target in ["sm_90", "sm_100"] {
            let (compiled, told) = ir(release, &program(&modules), target, Output::Ptx, &options);
            let compiled = compiled.unwrap().unwrap();
            let text = ptx(&compiled);
            assert!(text.contains(".entry math"), "{text}");
            assert!(!text.contains(".extern"), "{text}");
            assert!(!compiled.nvvm_latest && told.is_empty(), "{told:?}");
            let (lto, _) = ir(release, &program(&modules), target, Output::LtoIr, &options);
            is_ltoir_for(&lto.unwrap().unwrap(), arch(target).number);
        }
    }
}

#[test]
fn the_newer_llvm_is_switched_on_for_text_that_needs_it() {
    let text = format!(
        "{LAYOUT}define ptx_kernel void @k(ptr addrspace(1) %p) {{\n  store i32 1, ptr addrspace(1) %p\n  ret void\n}}\n{VERSION}"
    );
    let modules = [Module {
        name: "k.ll",
        bytes: text.as_bytes(),
    }];
    let program = program(&modules);
    let options = NvvmOptions::default();
    let (compiled, told) = ir("13.5", &program, "sm_90", Output::LtoIr, &options);
    let compiled = compiled.unwrap().unwrap();
    assert!(compiled.nvvm_latest);
    assert!(ltoir::Header::parse(&compiled.code, 0).unwrap().llvm.0 > 7);
    assert_eq!(told[0].inputs, ["k.ll"]);
    assert!(
        told[0].message.contains("`--nvvm-latest` is switched on"),
        "{told:?}"
    );
    let (compiled, told) = ir("12.9", &program, "sm_100", Output::Ptx, &options);
    assert!(!compiled.unwrap().unwrap().nvvm_latest && told.is_empty());
    let (refused, _) = ir("12.9", &program, "sm_90", Output::Ptx, &options);
    let refused = refused.unwrap_err();
    assert_eq!(refused.category, Category::Missing);
    let text = format!("{refused:?}");
    assert!(text.contains("`k.ll` was made with LLVM 15"), "{text}");
}

#[test]
fn the_verifiers_words_name_module_and_line() {
    let failure = |release: &str, texts: &[&str]| -> Error {
        let modules: Vec<Module<'_>> = texts
            .iter()
            .zip(["a.ll", "b.ll"])
            .map(|(text, name)| Module {
                name,
                bytes: text.as_bytes(),
            })
            .collect();
        let options = NvvmOptions::default();
        ir(
            release,
            &program(&modules),
            "sm_80",
            Output::LtoIr,
            &options,
        )
        .0
        .unwrap_err()
    };
    for release in RELEASES {
        let bad = format!("{LAYOUT}define i32 @f(i32 %a) {{\n  ret float %a\n}}\n{VERSION}");
        let error = failure(release, &[&bad]);
        assert_eq!(error.category, Category::Failed);
        let first = &error.diagnostics[0];
        assert_eq!(
            (first.code, first.line),
            (Code::CompilerMessage, Some(4)),
            "{error:?}"
        );
        assert_eq!(first.inputs, ["a.ll"]);

        let good = format!("{LAYOUT}define i32 @f(i32 %a) {{\n  ret i32 %a\n}}\n{VERSION}");
        let error = failure(release, &[&good, &good]);
        assert!(
            error.diagnostics[0].message.contains("multiply defined"),
            "{error:?}"
        );
        let error = failure(
            release,
            &[&format!("{LAYOUT}define void @f() {{ ret void }}\n")],
        );
        assert!(
            error.diagnostics[0].message.contains("IR version"),
            "{error:?}"
        );
    }
    let modules = [Module {
        name: "a.ll",
        bytes: b"x",
    }];
    let unknown = NvvmOptions {
        nvvm: vec!["-bogus".into()],
        ..NvvmOptions::default()
    };
    let (error, _) = ir("13.5", &program(&modules), "sm_80", Output::Ptx, &unknown);
    let error = error.unwrap_err();
    assert!(error.diagnostics[0].message.contains("-bogus"), "{error:?}");
    assert_eq!(error.diagnostics[0].inputs, ["a.ll"]);
}

fn libdevice(release: &str) -> Vec<u8> {
    LazyLock::force(&COMPILERS);
    let (platform, store) = (env::data_dir().join("toolkit"), format!("{release}/"));
    let mut found = Vec::new();
    walk(&platform, &mut found);
    let path = found.into_iter().find(|path| {
        path.ends_with("libdevice.10.bc") && path.display().to_string().contains(&store)
    });
    std::fs::read(path.unwrap()).unwrap()
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, out);
        } else {
            out.push(path);
        }
    }
}

#[test]
fn symbols_of_bitcode_are_read() {
    for release in RELEASES {
        let bitcode = libdevice(release);
        assert!(is_library(&bitcode));
        let contents = Contents::parse(&bitcode).unwrap();
        for name in ["__nv_sinf", "__nv_pow", "__nv_erf"] {
            assert!(contents.defines(name).is_some(), "{name}");
        }
        let undefined: Vec<_> = contents
            .symbols
            .iter()
            .filter(|symbol| !symbol.defined)
            .collect();
        assert!(
            undefined
                .iter()
                .all(|symbol| symbol.name == "__nvvm_reflect"),
            "{undefined:?}"
        );
        // Damage makes for fewer answers or an error.
        for cut in (0..bitcode.len()).step_by(997) {
            let _ = Contents::parse(&bitcode[..cut]);
        }
        let mut damaged = bitcode.clone();
        for at in (40..bitcode.len()).step_by(4099) {
            damaged[at] ^= 0x55;
            let _ = Contents::parse(&damaged);
        }
    }
}

#[test]
fn only_what_is_wanted_is_taken_from_a_library() {
    let bitcode = libdevice("13.5");
    let libraries = [Module {
        name: "lib.bc",
        bytes: &bitcode,
    }];
    let wanted = ["__nv_sinf", "nowhere"].map(str::to_owned);
    let program = Program {
        libraries: &libraries,
        wanted: &wanted,
        modules: &[],
    };
    let options = NvvmOptions::default();
    let (compiled, _) = ir("13.5", &program, "sm_90", Output::Ptx, &options);
    let compiled = compiled.unwrap().unwrap();
    let text = ptx(&compiled);
    assert_eq!(text.matches(".visible .func").count(), 1, "{text}");
    assert!(!text.contains("nowhere"), "{text}");
    let nothing = Program {
        wanted: &wanted[1..],
        ..program
    };
    assert!(
        ir("13.5", &nothing, "sm_90", Output::Ptx, &options)
            .0
            .unwrap()
            .is_none()
    );
    let junk = [Module {
        name: "junk.bc",
        bytes: b"junk",
    }];
    let program = Program {
        libraries: &junk,
        ..program
    };
    let error = ir("13.5", &program, "sm_90", Output::Ptx, &options)
        .0
        .unwrap_err();
    assert_eq!(error.category, Category::Damaged);
}

/// Sources and IR that are damaged end in an error, also where they make the library crash.
#[test]
fn damage_is_an_error() {
    let text = math();
    let options = NvvmOptions::default();
    for cut in (10..text.len() - 10).step_by(211) {
        let modules = [Module {
            name: "cut.ll",
            bytes: &text.as_bytes()[..cut],
        }];
        if let (Err(error), _) = ir("13.5", &program(&modules), "sm_90", Output::Ptx, &options) {
            assert!(
                [Category::Failed, Category::Damaged].contains(&error.category),
                "{error:?}"
            );
            assert!(!error.diagnostics.is_empty());
        }
    }
    let mut bitcode = libdevice("13.5");
    bitcode.truncate(100_000);
    let modules = [Module {
        name: "cut.bc",
        bytes: &bitcode,
    }];
    let (result, _) = ir("13.5", &program(&modules), "sm_90", Output::LtoIr, &options);
    assert_eq!(result.unwrap_err().diagnostics[0].inputs[0], "cut.bc");
    for text in [
        "\u{fffd}\u{1}\u{2}{{{",
        "template<int N> struct S { S<N+1> s; }; S<0> s;",
    ] {
        let error = compile(
            "13.5",
            "bad.cu",
            text,
            "sm_80",
            Output::Ptx,
            &CudaOptions::default(),
        );
        assert_eq!(error.unwrap_err().diagnostics[0].inputs[0], "bad.cu");
    }
    let error = compile(
        "13.5",
        "nul.cu",
        "int\0x;",
        "sm_80",
        Output::Ptx,
        &CudaOptions::default(),
    );
    assert_eq!(error.unwrap_err().diagnostics[0].offset, Some(3));
}

/// `CUDALINK_ORACLE_FILES` names the folder of NVSHMEM or NCCL, whose bitcode no repository can hold.
#[test]
fn a_large_library_costs_little() {
    let wanted_of = [
        (
            "nvshmem",
            "sm_90",
            vec!["nvshmem_my_pe", "nvshmem_int_p", "nvshmem_barrier_all"],
        ),
        ("nccl", "", vec!["ncclTeamWorld"]),
    ];
    let large = common::files(|bytes| bytes.starts_with(b"BC\xc0\xde") && bytes.len() > 2 << 20);
    if large.is_empty() {
        return common::skip("no large bitcode in `CUDALINK_ORACLE_FILES`");
    }
    for (path, bytes) in &large {
        let name = path.display().to_string();
        let contents = Contents::parse(bytes).unwrap();
        let known = wanted_of
            .iter()
            .find(|(part, arch, _)| name.contains(part) && name.contains(arch));
        let Some((_, _, wanted)) = known else {
            continue;
        };
        let wanted: Vec<String> = wanted
            .iter()
            .map(|name| (*name).to_owned())
            .filter(|name| contents.defines(name).is_some())
            .chain(
                contents
                    .symbols
                    .iter()
                    .filter(|symbol| symbol.defined)
                    .take(1)
                    .map(|s| s.name.clone()),
            )
            .collect();
        assert!(is_library(bytes), "{name}");
        let module = [Module { name: &name, bytes }];
        let lazily = Program {
            libraries: &module,
            wanted: &wanted,
            modules: &[],
        };
        let timed = |program: &Program<'_>| {
            let start = Instant::now();
            let options = NvvmOptions::default();
            let (compiled, _) = ir("13.5", program, "sm_90", Output::LtoIr, &options);
            (start.elapsed(), compiled.unwrap().unwrap())
        };
        let (whole, (lazy, compiled)) = (timed(&program(&module)).0, timed(&lazily));
        eprintln!(
            "{name}: whole {whole:?}, what is wanted {lazy:?}, {} bytes",
            compiled.code.len()
        );
        assert!(compiled.nvvm_latest);
        assert!(lazy * 10 < whole, "{name}: {lazy:?} of {whole:?}");
    }
}
