//! NVVM IR through libNVVM, as one program: modules, of which all is in the result, and libraries, of which only what
//! is needed is. Compiling a large library whole and leaving the rest to the linker costs a hundred times as much.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use super::{CodeOptions, Compiled, Output, Tools, log, proven};
use crate::bytes::{self, Blob};
use crate::code::Arch;
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::format::bitcode::{self, Contents, Symbol, SymbolKind};
use crate::toolkit::{self, Candidate, Component, Needs, Version};
use crate::worker::nvvm::{Answer, Task};
use crate::worker::{self, Source, Told};

/// NVVM IR, as text or bitcode.
#[derive(Debug, Clone, Copy)]
pub struct Module<'a> {
    /// How messages call it.
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// What is compiled together. All NVVM IR of a link belongs into one program: a function of a library that two
/// programs took would be there twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Program<'a> {
    pub modules: &'a [Module<'a>],
    /// Bitcode, see [`is_library`].
    pub libraries: &'a [Module<'a>],
    /// Symbols that the other inputs of the link leave undefined. Those that no library has are left to them.
    pub wanted: &'a [String],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NvvmOptions {
    pub code: CodeOptions,
    /// 0 or 3.
    pub optimize: Option<u8>,
    /// The newer LLVM for every architecture. It is switched on where a module needs it.
    pub nvvm_latest: bool,
    /// Lets link-time optimisation drop variables that no code uses.
    pub drop_unused_variables: bool,
    /// Options for libNVVM as they are (`-Xnvvm`).
    pub nvvm: Vec<String>,
}

/// The library's mathematical functions begin like this.
const LIBDEVICE_PREFIX: &str = "__nv_";

/// From this architecture on libNVVM uses the newer LLVM.
const NEWER_LLVM_FROM: u16 = 100;

/// The LLVM whose IR is used for older architectures.
const OLDER_LLVM: u32 = 7;

/// Whether NVVM IR can serve as a library: bitcode without kernels.
pub fn is_library(bytes: &[u8]) -> bool {
    Contents::parse(bytes).is_ok_and(|contents| !contents.has_kernels)
}

/// Compiles a program for `target`; none when it has no modules and nothing of its libraries is wanted.
///
/// # Errors
/// What the verifier or compiler has to say of a module, with the line of a text; `damaged` for a library that is no
/// bitcode; `library-not-found`, and whatever can become of a worker.
pub fn nvvm(
    program: &Program<'_>,
    target: Arch,
    output: Output,
    options: &NvvmOptions,
    tools: &Tools<'_>,
) -> Result<Option<Compiled>> {
    refuse_nul(options)?;
    let contents = contents(program)?;
    let dialect = Dialect::of(program, target, options);
    if let Some(note) = &dialect.note {
        tools.observer.diagnostic(note);
    }
    let needs = dialect.needs(tools.needs);
    let (library, libdevice) = obtain(program, &contents, &needs, tools)?;
    let names = program.libraries.iter().map(|library| library.name);
    let mut libraries: Vec<(&str, &[u8], &Contents)> = names
        .zip(&contents.libraries)
        .zip(program.libraries)
        .map(|((name, contents), library)| (name, library.bytes, contents))
        .collect();
    if let Some(libdevice) = &libdevice {
        libraries.push((&libdevice.name, &libdevice.bytes, &libdevice.contents));
    }
    let defining: Vec<&Contents> = libraries.iter().map(|(.., contents)| *contents).collect();
    let mut roots = roots(program.wanted, &defining);
    if program.modules.is_empty() && roots.is_empty() {
        return Ok(None);
    }
    let kept = match output {
        Output::LtoIr => kept(program, &contents, options),
        Output::Ptx => Vec::new(),
    };
    roots.extend(&kept);
    let root_module = root_module(&roots);
    let mut modules: Vec<(&str, &[u8], bool)> = program
        .modules
        .iter()
        .map(|module| (module.name, module.bytes, false))
        .collect();
    if !roots.is_empty() {
        modules.push((ROOT_MODULE, root_module.as_bytes(), false));
    }
    modules.extend(
        libraries
            .iter()
            .map(|&(name, bytes, _)| (name, bytes, true)),
    );
    let options = spelled(target, output, options, dialect.nvvm_latest);
    let job = Job {
        modules: &modules,
        options,
        output,
    };
    let (code, diagnostics) = job.run(&library, tools)?;
    Ok(Some(Compiled {
        code,
        kind: output.kind(),
        diagnostics,
        headers: Some(Vec::new()),
        files: libdevice
            .map(|libdevice| libdevice.path)
            .into_iter()
            .collect(),
        lowered: Vec::new(),
        nvvm_latest: dialect.nvvm_latest,
        library,
    }))
}

fn refuse_nul(options: &NvvmOptions) -> Result<()> {
    match options.nvvm.iter().find(|text| text.contains('\0')) {
        Some(text) => Err(Error::usage(format!(
            "`{}` holds a NUL",
            text.escape_debug()
        ))),
        None => Ok(()),
    }
}

/// The symbols of a program's parts.
struct ProgramContents {
    /// Of the modules that are bitcode.
    modules: Vec<Option<Contents>>,
    libraries: Vec<Contents>,
}

fn contents(program: &Program<'_>) -> Result<ProgramContents> {
    let libraries = program.libraries.iter().map(|library| {
        Contents::parse(library.bytes).map_err(|damage| damage.in_input(library.name))
    });
    let modules = program.modules.iter();
    Ok(ProgramContents {
        // Whether a module is any good is for the verifier to say.
        modules: modules
            .map(|module| Contents::parse(module.bytes).ok())
            .collect(),
        libraries: libraries.collect::<Result<_>>()?,
    })
}

/// Which LLVM the program asks for.
struct Dialect {
    nvvm_latest: bool,
    /// The release of libNVVM that reads it, and why.
    at_least: Option<(Version, String)>,
    note: Option<Diagnostic>,
}

impl Dialect {
    fn of(program: &Program<'_>, target: Arch, options: &NvvmOptions) -> Self {
        let all = program.modules.iter().chain(program.libraries);
        let newest = all
            .filter_map(|module| Some((llvm(module.bytes)?, module.name)))
            .filter(|(llvm, _)| *llvm > OLDER_LLVM)
            .max_by_key(|(llvm, _)| *llvm);
        let by_default = target.number >= NEWER_LLVM_FROM;
        let switched_on = newest.filter(|_| !by_default && !options.nvvm_latest);
        let nvvm_latest = !by_default && (options.nvvm_latest || newest.is_some());
        let at_least = match newest {
            _ if nvvm_latest && newest.is_none() => {
                Some((NVVM_LATEST, "`--nvvm-latest` was given".to_owned()))
            }
            None => None,
            Some((llvm, name)) => {
                let release = if nvvm_latest {
                    NVVM_LATEST
                } else {
                    reads(llvm)
                };
                Some((release, format!("`{name}` was made with LLVM {llvm}")))
            }
        };
        let note = switched_on.map(|(llvm, name)| {
            let message = format!("was made with LLVM {llvm}; `--nvvm-latest` is switched on");
            Diagnostic::note(Code::InputNewerThanLibrary, message).input(name)
        });
        Self {
            nvvm_latest,
            at_least,
            note,
        }
    }

    fn needs(&self, needs: &Needs) -> Needs {
        match &self.at_least {
            Some((release, because)) => needs.clone().at_least(*release, because),
            None => needs.clone(),
        }
    }
}

/// The first libNVVM with `-nvvm-latest` (measured on 13.0 to 13.5).
const NVVM_LATEST: Version = Version::new(13, 5);

/// The first libNVVM that reads IR of a release of LLVM for the architectures that have the newer one (measured on
/// 12.8 to 13.5, which read that of LLVM 20, 20, 20, 20, 21, 22, 22 and 22).
fn reads(llvm: u32) -> Version {
    match llvm {
        ..=20 => Version::new(12, 8),
        21 => Version::new(13, 2),
        22 => Version::new(13, 3),
        _ => NVVM_LATEST,
    }
}

/// The LLVM that IR is from, as far as it tells. Text with opaque pointers is of LLVM 15 or later.
fn llvm(bytes: &[u8]) -> Option<u32> {
    match bitcode::Module::parse(bytes) {
        Ok(module) => module.llvm(),
        Err(_) => bitcode::has_opaque_pointers(bytes).then_some(15),
    }
}

struct Libdevice {
    path: PathBuf,
    name: String,
    bytes: Blob,
    contents: Contents,
}

/// The compiler, and with it libdevice where something of it is needed.
fn obtain(
    program: &Program<'_>,
    contents: &ProgramContents,
    needs: &Needs,
    tools: &Tools<'_>,
) -> Result<(Candidate, Option<Libdevice>)> {
    let (settings, observer) = (tools.settings, tools.observer);
    if !uses_libdevice(program, contents) {
        let [library] = toolkit::obtain([Component::LibNvvm], settings, needs, observer)?;
        return Ok((library, None));
    }
    let parts = [Component::LibNvvm, Component::Libdevice];
    let [library, file] = toolkit::obtain(parts, settings, needs, observer)?;
    observer.detail(&format!("{file} is linked"));
    let name = file.path.display().to_string();
    let bytes = bytes::open(&file.path)?;
    let contents = Contents::parse(&bytes).map_err(|damage| damage.in_input(&name))?;
    let libdevice = Libdevice {
        path: file.path,
        name,
        bytes,
        contents,
    };
    Ok((library, Some(libdevice)))
}

fn uses_libdevice(program: &Program<'_>, contents: &ProgramContents) -> bool {
    let is_of_libdevice = |name: &str| name.starts_with(LIBDEVICE_PREFIX);
    let lacks = |contents: &Contents| {
        let mut symbols = contents.symbols.iter();
        symbols.any(|symbol| !symbol.defined && is_of_libdevice(&symbol.name))
    };
    let modules = program.modules.iter().zip(&contents.modules);
    let mut modules = modules.map(|(module, contents)| match contents {
        Some(contents) => lacks(contents),
        // Text that names one may also define it; then the library adds nothing.
        None => memchr::memmem::find(module.bytes, b"@__nv_").is_some(),
    });
    program.wanted.iter().any(|name| is_of_libdevice(name))
        || contents.libraries.iter().any(lacks)
        || modules.any(|uses| uses)
}

/// Those of the wanted symbols that a library has, as the first that has it does.
fn roots<'a>(wanted: &[String], libraries: &[&'a Contents]) -> Vec<&'a Symbol> {
    let mut defined: BTreeMap<&str, &Symbol> = BTreeMap::new();
    for library in libraries {
        for symbol in library.symbols.iter().filter(|symbol| symbol.defined) {
            defined.entry(&symbol.name).or_insert(symbol);
        }
    }
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    wanted
        .iter()
        .filter_map(|name| defined.get(name).copied())
        .collect()
}

/// What the modules have for the host: kernels and variables. Link-time optimisation drops whatever no `llvm.used`
/// names, and says success (measured on 13.5).
fn kept(program: &Program<'_>, contents: &ProgramContents, options: &NvvmOptions) -> Vec<Symbol> {
    let modules = program.modules.iter().zip(&contents.modules);
    let exported = modules.flat_map(|(module, contents)| match contents {
        Some(contents) => contents.symbols.clone(),
        None => bitcode::exports(module.bytes),
    });
    let is_kept = |symbol: &Symbol| match symbol.kind {
        SymbolKind::Variable => {
            let host_can_see = matches!(symbol.address_space, 0 | 1 | 4);
            host_can_see && !options.drop_unused_variables
        }
        _ => symbol.is_kernel,
    };
    let mut names = BTreeSet::new();
    exported
        .filter(|symbol| symbol.defined && is_kept(symbol))
        .filter(|symbol| names.insert(symbol.name.clone()))
        .collect()
}

/// How libNVVM calls the module that [`root_module`] makes.
const ROOT_MODULE: &str = "<symbols that are needed>";

/// A module that needs these symbols and has nothing of its own, so that just they and what they need are taken from
/// the libraries. It is in the form of the older LLVM, which the newer reads as well; the types do not matter.
fn root_module(roots: &[&Symbol]) -> String {
    let mut text = String::from(
        "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-\
         f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n\
         target triple = \"nvptx64-nvidia-cuda\"\n",
    );
    let mut used = Vec::new();
    for root in roots {
        let name = quoted(&root.name);
        let (declaration, pointer) = match (root.kind, root.address_space) {
            (SymbolKind::Variable, 0) => (
                format!("{name} = external global [0 x i8]"),
                format!("i8* bitcast ([0 x i8]* {name} to i8*)"),
            ),
            (SymbolKind::Variable, space) => (
                format!("{name} = external addrspace({space}) global [0 x i8]"),
                format!("i8* addrspacecast ([0 x i8] addrspace({space})* {name} to i8*)"),
            ),
            _ => (
                format!("declare void {name}()"),
                format!("i8* bitcast (void ()* {name} to i8*)"),
            ),
        };
        text.push_str(&declaration);
        text.push('\n');
        used.push(pointer);
    }
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "@llvm.used = appending global [{} x i8*] [{}], section \"llvm.metadata\"\n\
         !nvvmir.version = !{{!0}}\n!0 = !{{i32 2, i32 0, i32 3, i32 2}}\n",
        used.len(),
        used.join(", ")
    );
    text
}

/// A name as LLVM assembly has it: `@"_Z1fv"`, with what might end it in hexadecimal.
fn quoted(name: &str) -> String {
    let mut out = String::from("@\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' | ..=0x1F | 0x7F.. => {
                let _ = write!(out, "\\{byte:02X}");
            }
            _ => out.push(byte.into()),
        }
    }
    out.push('"');
    out
}

/// Everything that libNVVM is told. It knows options with one dash alone, and 0 and 1 as their values.
fn spelled(target: Arch, output: Output, options: &NvvmOptions, nvvm_latest: bool) -> Vec<String> {
    let mut list = vec![format!("-arch={}", target.compute())];
    list.extend((output == Output::LtoIr).then(|| "-gen-lto".to_owned()));
    list.extend(nvvm_latest.then(|| "-nvvm-latest".to_owned()));
    let code = &options.code;
    list.extend(code.debug.then(|| "-g".to_owned()));
    list.extend(options.optimize.map(|level| format!("-opt={level}")));
    let switches = [
        ("-ftz", code.ftz),
        ("-prec-div", code.prec_div),
        ("-prec-sqrt", code.prec_sqrt),
        ("-fma", code.fma),
    ];
    for (name, value) in switches {
        list.extend(value.map(|value| format!("{name}={}", u8::from(value))));
    }
    let density = code.jump_table_density;
    list.extend(density.map(|density| format!("-jump-table-density={density}")));
    list.extend(options.nvvm.iter().cloned());
    list
}

/// The calls to be made.
struct Job<'a> {
    /// Name, bytes, and whether it is a library.
    modules: &'a [(&'a str, &'a [u8], bool)],
    options: Vec<String>,
    output: Output,
}

impl Job<'_> {
    fn run(self, library: &Candidate, tools: &Tools<'_>) -> Result<(Blob, Vec<Diagnostic>)> {
        let modules = self
            .modules
            .iter()
            .map(|&(name, bytes, lazy)| worker::nvvm::Module {
                name: name.to_owned(),
                size: bytes.len(),
                lazy,
            });
        let task = Task {
            modules: modules.collect(),
            options: self.options.clone(),
        };
        let given = task.options.join(" ");
        tools.observer.detail(&format!("libNVVM options: {given}"));
        let data: Vec<&[u8]> = self.modules.iter().map(|(_, bytes, _)| *bytes).collect();
        let run = tools.workers.run(&library.path, task, &data)?;
        let mut answered = run.answer(&Told {
            library,
            limits: tools.workers.limits,
            work: worker::Work::Compilation,
            name: &|source| self.name(source),
            blame: &|finding, _| self.blame_all(finding),
        })?;
        let names: Vec<&str> = self.modules.iter().map(|(name, ..)| *name).collect();
        match answered.results.pop() {
            Some(code) => {
                let found = log::nvvm(&answered.answer.log, Severity::Warning, &names);
                Ok((proven(code, self.output, library)?, found))
            }
            None => Err(self.failed(&answered.answer, &names, library)),
        }
    }

    fn name(&self, source: Source) -> String {
        match source {
            Source::Input(number) | Source::Link(number) => {
                let module = self.modules.get(number);
                module.map_or_else(String::new, |(name, ..)| (*name).to_owned())
            }
        }
    }

    /// The user's own inputs.
    fn blame_all(&self, finding: Diagnostic) -> Diagnostic {
        let names = self.modules.iter().map(|(name, ..)| *name);
        names
            .filter(|name| *name != ROOT_MODULE)
            .fold(finding, Diagnostic::input)
    }

    fn failed(&self, answer: &Answer, names: &[&str], library: &Candidate) -> Error {
        let found = log::nvvm(&answer.log, Severity::Error, names).into_iter();
        let found = found.map(|finding| match finding.inputs.is_empty() {
            true => self.blame_all(finding),
            false => finding,
        });
        let unexplained = || {
            let message = format!("{} returned {}", answer.step, answer.result);
            let finding = Diagnostic::error(Code::CompilerMessage, message);
            Error::new(Category::Failed, self.blame_all(finding))
        };
        let error = Error::from_diagnostics(Category::Failed, found.collect());
        error
            .unwrap_or_else(unexplained)
            .detail(format!("{} said {}", answer.step, answer.result))
            .detail(format!("the library is {library}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, kind: SymbolKind, address_space: u64) -> Symbol {
        Symbol {
            name: name.to_owned(),
            kind,
            defined: true,
            address_space,
            is_kernel: false,
        }
    }

    #[test]
    fn only_what_a_library_has_becomes_a_root() {
        let first = Contents {
            symbols: vec![
                symbol("f", SymbolKind::Function, 0),
                symbol("v", SymbolKind::Variable, 4),
                Symbol {
                    defined: false,
                    ..symbol("g", SymbolKind::Function, 0)
                },
            ],
            has_kernels: false,
        };
        let second = Contents {
            symbols: vec![symbol("v", SymbolKind::Variable, 1)],
            has_kernels: false,
        };
        let wanted = ["v", "g", "nowhere", "f", "f"].map(str::to_owned);
        let found = roots(&wanted, &[&first, &second]);
        assert_eq!(found, [&first.symbols[0], &first.symbols[1]]);
        let text = root_module(&found);
        assert!(text.contains("declare void @\"f\"()\n"), "{text}");
        assert!(
            text.contains("@\"v\" = external addrspace(4) global [0 x i8]\n"),
            "{text}"
        );
        assert!(text.contains("[2 x i8*]"), "{text}");
        assert_eq!(quoted("a\"\\\u{e4}\n"), "@\"a\\22\\5C\\C3\\A4\\0A\"");
    }

    #[test]
    fn every_option_is_spelled() {
        let options = NvvmOptions {
            code: CodeOptions {
                debug: true,
                ftz: Some(true),
                prec_div: Some(false),
                prec_sqrt: Some(true),
                fma: Some(false),
                jump_table_density: Some(5),
            },
            optimize: Some(0),
            nvvm_latest: true,
            drop_unused_variables: false,
            nvvm: vec!["-x".to_owned()],
        };
        assert_eq!(
            spelled(Arch::accelerated(90), Output::LtoIr, &options, true).join(" "),
            "-arch=compute_90a -gen-lto -nvvm-latest -g -opt=0 -ftz=1 -prec-div=0 -prec-sqrt=1 -fma=0 \
             -jump-table-density=5 -x"
        );
        let plain = NvvmOptions::default();
        assert_eq!(
            spelled(Arch::new(100), Output::Ptx, &plain, false),
            ["-arch=compute_100"]
        );
    }

    #[test]
    fn the_newer_llvm_is_used_where_it_is_needed() {
        let old = Module {
            name: "old.ll",
            bytes: b"define void @f(i8* %ptr) ; ptr\n!0 = !{!\"a ptr b\"}\n",
        };
        let new = Module {
            name: "new.ll",
            bytes: b"define void @f(ptr addrspace(1) %p)\n",
        };
        let dialect = |modules: &[Module<'_>], arch: u16, nvvm_latest: bool| {
            let program = Program {
                modules,
                ..Program::default()
            };
            let options = NvvmOptions {
                nvvm_latest,
                ..NvvmOptions::default()
            };
            let dialect = Dialect::of(&program, Arch::new(arch), &options);
            let release = dialect.at_least.map(|(release, _)| release);
            (dialect.nvvm_latest, release, dialect.note.is_some())
        };
        assert_eq!(dialect(&[old], 90, false), (false, None, false));
        assert_eq!(
            dialect(&[old, new], 90, false),
            (true, Some(NVVM_LATEST), true)
        );
        assert_eq!(dialect(&[new], 90, true), (true, Some(NVVM_LATEST), false));
        assert_eq!(dialect(&[old], 90, true), (true, Some(NVVM_LATEST), false));
        let release = Some(Version::new(12, 8));
        assert_eq!(dialect(&[new], 100, false), (false, release, false));
    }
}
