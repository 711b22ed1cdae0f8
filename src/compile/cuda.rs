//! CUDA C++ through NVRTC.

use std::path::{Path, PathBuf};

use memchr::memmem;
use tempfile::TempDir;

use super::{CodeOptions, Compiled, Output, Tools, headers, log, proven};
use crate::cache;
use crate::code::Arch;
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::ffi::nvrtc;
use crate::toolkit::{self, Candidate, Component, Version};
use crate::worker::cuda::{Answer, Outcome, Task};
use crate::worker::{self, Told};

/// A source text.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// How messages call it. If it is a path, `#include "…"` looks in its folder first.
    pub name: &'a str,
    pub text: &'a [u8],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CudaOptions {
    pub code: CodeOptions,
    pub lineinfo: bool,
    /// Folders of headers (`-I`), which come before those of the toolkit.
    pub include: Vec<PathBuf>,
    /// `NAME` or `NAME=VALUE` (`-D`).
    pub define: Vec<String>,
    /// `-U`.
    pub undefine: Vec<String>,
    /// `c++17`.
    pub std: Option<String>,
    /// `kernel<float>`: templates to be instantiated.
    pub name_expressions: Vec<String>,
    /// Options for NVRTC as they are (`-Xnvrtc`).
    pub nvrtc: Vec<String>,
}

/// From this release of NVRTC on it brings headers that it can unpack (measured on 12.9 to 13.5).
const BUNDLED_HEADERS: Version = Version::new(13, 3);

/// Compiles a source to relocatable code for `target`.
///
/// # Errors
/// What the compiler has to say of the source, with file and line; `arch-missing` where the library does not know the
/// target; `library-not-found`, and whatever can become of a worker.
pub fn cuda(
    source: Source<'_>,
    target: Arch,
    output: Output,
    options: &CudaOptions,
    tools: &Tools<'_>,
) -> Result<Compiled> {
    refuse_nul(&source, options)?;
    let parts = [Component::Nvrtc, Component::NvrtcBuiltins];
    let [library, _] = toolkit::obtain(parts, tools.settings, tools.needs, tools.observer)?;
    let headers = Headers::choose(&source, options, &library, tools)?;
    let task = Task {
        name: source.name.to_owned(),
        arch: target.number,
        options: spelled(target, output, options, &headers),
        name_expressions: options.name_expressions.clone(),
        output: match output {
            Output::Ptx => nvrtc::Output::Ptx,
            Output::LtoIr => nvrtc::Output::LtoIr,
        },
    };
    let given = task.options.join(" ");
    tools
        .observer
        .detail(&format!("NVRTC options for `{}`: {given}", source.name));
    let run = tools.workers.run(&library.path, task, &[source.text])?;
    let mut answered = run.answer(&Told {
        library: &library,
        limits: tools.workers.limits,
        work: worker::Work::Compilation,
        name: &|_| source.name.to_owned(),
        blame: &|finding, _| finding.input(source.name),
    })?;
    let outcome = known(&answered.answer, target, &source, &library)?;
    let found = log::nvrtc(&outcome.log, source.name);
    let Some(code) = answered.results.pop() else {
        return Err(failed(found, &outcome, &source, &headers, tools));
    };
    let names = options.name_expressions.iter().cloned();
    Ok(Compiled {
        code: proven(code, output, &library)?,
        kind: output.kind(),
        diagnostics: found,
        headers: headers.read(),
        files: Vec::new(),
        lowered: names.zip(outcome.lowered).collect(),
        nvvm_latest: false,
        library,
    })
}

/// Texts end with a NUL for the library.
fn refuse_nul(source: &Source<'_>, options: &CudaOptions) -> Result<()> {
    if let Some(at) = memchr::memchr(0, source.text) {
        let message = "the source text has a NUL byte";
        let finding = Diagnostic::error(Code::Damaged, message).input(source.name);
        return Err(Error::new(Category::Damaged, finding.offset(at as u64)));
    }
    let lists = [
        &options.define,
        &options.undefine,
        &options.name_expressions,
        &options.nvrtc,
    ];
    let mut texts = lists.into_iter().flatten().chain(&options.std);
    match texts.find(|text| text.contains('\0')) {
        Some(text) => Err(Error::usage(format!(
            "`{}` holds a NUL",
            text.escape_debug()
        ))),
        None => Ok(()),
    }
}

/// The outcome, unless the library does not know the target.
fn known(
    answer: &Answer,
    target: Arch,
    source: &Source<'_>,
    library: &Candidate,
) -> Result<Outcome> {
    answer.outcome.clone().ok_or_else(|| {
        let all = answer
            .architectures
            .iter()
            .map(|number| format!("sm_{number}"));
        let all: Vec<String> = all.collect();
        let (major, minor) = answer.release;
        Error::failed(
            Code::ArchMissing,
            format!("NVRTC {major}.{minor} does not compile for {target}"),
        )
        .input(source.name)
        .detail(format!("it compiles for {}", all.join(", ")))
        .detail(format!("the library is {library}"))
        .hint("choose another target with `--arch`, or another release with `--toolkit VERSION`")
    })
}

/// The errors. Warnings of a source that does not compile are told as well.
fn failed(
    found: Vec<Diagnostic>,
    outcome: &Outcome,
    source: &Source<'_>,
    headers: &Headers,
    tools: &Tools<'_>,
) -> Error {
    let (errors, others): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|finding| finding.severity == Severity::Error);
    others
        .iter()
        .for_each(|finding| tools.observer.diagnostic(finding));
    let errors: Vec<Diagnostic> = errors
        .into_iter()
        .map(|finding| headers.explain(finding))
        .collect();
    let unexplained = || {
        let message = format!("NVRTC failed to compile it ({})", outcome.result);
        let lines = outcome.log.lines().filter(|line| !line.trim().is_empty());
        let error = Error::failed(Code::CompilerMessage, message).input(source.name);
        lines.take(5).fold(error, |error, line| error.detail(line))
    };
    Error::from_diagnostics(Category::Failed, errors).unwrap_or_else(unexplained)
}

/// Everything that NVRTC is told.
fn spelled(target: Arch, output: Output, options: &CudaOptions, headers: &Headers) -> Vec<String> {
    let mut list = vec![format!("--gpu-architecture={}", target.compute())];
    list.push(match output {
        Output::Ptx => "--relocatable-device-code=true".to_owned(),
        Output::LtoIr => "--dlink-time-opt".to_owned(),
    });
    let code = &options.code;
    let switches = [
        ("--ftz", code.ftz),
        ("--prec-div", code.prec_div),
        ("--prec-sqrt", code.prec_sqrt),
        ("--fmad", code.fma),
    ];
    for (name, value) in switches {
        list.extend(value.map(|value| format!("{name}={value}")));
    }
    let density = code.jump_table_density;
    list.extend(density.map(|density| format!("--jump-table-density={density}")));
    list.extend(code.debug.then(|| "--device-debug".to_owned()));
    list.extend(options.lineinfo.then(|| "--generate-line-info".to_owned()));
    list.extend(options.std.iter().map(|std| format!("--std={std}")));
    let folders = options.include.iter().chain(&headers.folders);
    list.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
    list.extend(
        options
            .define
            .iter()
            .map(|define| format!("--define-macro={define}")),
    );
    list.extend(
        options
            .undefine
            .iter()
            .map(|name| format!("--undefine-macro={name}")),
    );
    list.extend(headers.options());
    list.extend(options.nvrtc.iter().cloned());
    list
}

/// Where CUDA's own headers come from, and where the compiler notes what it read.
struct Headers {
    /// Whether the source, or an option for the compiler, may include anything.
    includes: bool,
    /// The toolkit's.
    folders: Vec<PathBuf>,
    /// Where the compiler unpacks those that it brings, once.
    unpacked: Option<PathBuf>,
    /// The folder of the trace, where the compiler can list the headers.
    trace: Option<TempDir>,
}

impl Headers {
    fn choose(
        source: &Source<'_>,
        options: &CudaOptions,
        library: &Candidate,
        tools: &Tools<'_>,
    ) -> Result<Self> {
        let release = library.version.map(Version::release);
        let since = |first| release.is_some_and(|release| release >= first);
        let environment = &tools.settings.environment;
        let folders = toolkit::include_folders(library, environment);
        let includes = memmem::find(source.text, b"include").is_some();
        let unpacks = includes && folders.is_empty() && since(BUNDLED_HEADERS);
        let unpacked = match (library.version, cache::folder_of(environment)) {
            (Some(version), Some(cache)) if unpacks => Some(
                std::path::absolute(cache::headers_in(&cache).join(version.to_string()))
                    .map_err(|error| Error::io(&cache, "find", &error))?,
            ),
            _ => None,
        };
        let temporary = |error| Error::io(&std::env::temp_dir(), "make a folder in", &error);
        let trace = since(headers::SINCE).then(tempfile::tempdir);
        Ok(Self {
            includes: includes || !options.nvrtc.is_empty(),
            folders,
            unpacked,
            trace: trace.transpose().map_err(temporary)?,
        })
    }

    fn options(&self) -> Vec<String> {
        let unpacked = self.unpacked.iter();
        let unpacked = unpacked.map(|folder| format!("--use-bundled-headers={}", folder.display()));
        // The library adds `.json`.
        let trace = self.trace.iter().map(|folder| {
            let path = folder.path().join("trace");
            format!("--fdevice-time-trace={}", path.display())
        });
        unpacked.chain(trace).collect()
    }

    fn read(&self) -> Option<Vec<PathBuf>> {
        let Some(folder) = &self.trace else {
            return (!self.includes).then(Vec::new);
        };
        let path = folder.path().join("trace.json");
        let trace = std::fs::read(path).ok()?;
        headers::in_trace(&trace, self.unpacked.as_deref())
    }

    /// Says what to do about a header that was not found.
    fn explain(&self, finding: Diagnostic) -> Diagnostic {
        // With "cannot" or "could not" before it.
        let rest = finding.message.split_once(" open source file \"");
        let header = rest
            .and_then(|(_, rest)| rest.split('"').next())
            .map(Path::new);
        let hint = match header
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
        {
            None => return finding,
            Some("cuda_runtime.h") if self.folders.is_empty() => {
                "leave it out: NVRTC declares what it declares for device code; or name a toolkit that has it \
                 with `--toolkit DIR`"
            }
            Some(_) => "name the folder that it is in with `-I DIR`",
        };
        finding.hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_spelled() {
        let options = CudaOptions {
            code: CodeOptions {
                debug: true,
                ftz: Some(true),
                prec_div: Some(false),
                prec_sqrt: Some(true),
                fma: Some(false),
                jump_table_density: Some(5),
            },
            lineinfo: true,
            include: vec!["a".into()],
            define: vec!["X=1".into()],
            undefine: vec!["Y".into()],
            std: Some("c++20".into()),
            name_expressions: vec!["k<int>".into()],
            nvrtc: vec!["--minimal".into()],
        };
        let headers = Headers {
            includes: true,
            folders: vec!["b".into()],
            unpacked: None,
            trace: None,
        };
        assert_eq!(
            spelled(Arch::accelerated(90), Output::LtoIr, &options, &headers).join(" "),
            "--gpu-architecture=compute_90a --dlink-time-opt --ftz=true --prec-div=false --prec-sqrt=true --fmad=false \
             --jump-table-density=5 --device-debug --generate-line-info --std=c++20 --include-path=a --include-path=b \
             --define-macro=X=1 --undefine-macro=Y --minimal"
        );
        let plain = CudaOptions::default();
        let headers = Headers {
            includes: true,
            folders: Vec::new(),
            unpacked: Some("c".into()),
            trace: None,
        };
        assert_eq!(
            spelled(Arch::family(100), Output::Ptx, &plain, &headers).join(" "),
            "--gpu-architecture=compute_100f --relocatable-device-code=true --use-bundled-headers=c"
        );
    }

    #[test]
    fn a_nul_is_named() {
        let source = Source {
            name: "k.cu",
            text: b"int\0x;",
        };
        let error = refuse_nul(&source, &CudaOptions::default()).unwrap_err();
        assert_eq!(error.category, Category::Damaged);
        assert_eq!(error.diagnostics[0].offset, Some(3));
    }
}
