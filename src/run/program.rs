//! From inputs to the one image that is loaded: which device code fits, whether it has to be linked
//! first, and which kernel is meant.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use super::lookup;
use super::target::Target;
use crate::bytes::Blob;
use crate::code::{
    Arch, ExpandOptions, Functions, Image, ImageKind, Kernel, Loadable, ObjectCode, Space, Symbol,
    SymbolKind, Symbols, is_system_call,
};
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::format::Kind;
use crate::format::cubin::{Cubin, Stage};
use crate::format::ptx::Ptx;
use crate::observe::Observer;

/// Links device code for an architecture; [`run`](crate::run) does not know how.
pub trait Linker {
    /// The cubin of all inputs, under the name that messages should use.
    fn link(
        &self,
        inputs: &[ObjectCode],
        target: Arch,
        observer: &dyn Observer,
    ) -> Result<ObjectCode>;
}

/// What is loaded, and the kernel in it that is launched.
#[derive(Debug, Clone)]
pub struct Program {
    /// The image's name: `libx.a(b.o):.nv_fatbin[3]`.
    pub id: String,
    pub kind: ImageKind,
    pub arch: Arch,
    pub bytes: Blob,
    pub kernel: Kernel,
    /// Variables that the host can reach: name and bytes.
    pub variables: Vec<(String, u64)>,
    /// Why it was linked; none when it was loaded as it is.
    pub linked: Option<String>,
    /// Images of the inputs that have this kernel as well.
    pub others: usize,
}

/// An image that fits the target, read.
struct Candidate {
    id: String,
    kind: ImageKind,
    arch: Arch,
    bytes: Blob,
    functions: Functions,
    symbols: Symbols,
    /// PTX ISA of PTX.
    isa: Option<(u16, u16)>,
    /// PTX of an ISA that the driver's compiler does not know.
    is_too_new: bool,
    /// Loads as it is: linked, or in need of no other input.
    is_complete: bool,
}

/// All that the inputs hold.
struct Contents {
    candidates: Vec<Candidate>,
    /// Architectures of what does not fit.
    others: BTreeSet<(Arch, ImageKind)>,
    /// There is code that a link could use.
    is_linkable: bool,
}

/// Finds the kernel `wanted` and the image to load for it.
///
/// `wanted` is a name, or a file that holds device code; a file is taken only where no kernel of the
/// inputs has exactly that name.
pub fn resolve(
    wanted: &str,
    inputs: &[ObjectCode],
    target: &Target,
    linker: &dyn Linker,
    observer: &dyn Observer,
) -> Result<Program> {
    let contents = Contents::read(inputs, target, observer)?;
    if !contents.has_kernel(wanted)
        && let Some(file) = device_code(wanted)
    {
        let mut inputs = inputs.to_vec();
        let own = Contents::read(std::slice::from_ref(&file), target, observer)?;
        inputs.insert(0, file);
        let name = own.only_kernel(wanted);
        let contents = Contents::read(&inputs, target, observer)?;
        return match name {
            Some(name) => contents.program(&name?, &inputs, target, linker, observer),
            // Nothing is known of its kernels before it is linked.
            None => linked_alone(&contents, &inputs, target, linker, observer),
        };
    }
    contents.program(wanted, inputs, target, linker, observer)
}

/// The file of this name, if there is one and it holds device code.
pub fn device_code(name: &str) -> Option<ObjectCode> {
    let path = Path::new(name);
    if name == "-" || !path.is_file() {
        return None;
    }
    let code = ObjectCode::open(path).ok()?;
    let is_code = matches!(code.kind(), Kind::CudaSource | Kind::NvvmIr | Kind::LtoIr)
        || !code.expand(&ExpandOptions::default()).images.is_empty();
    is_code.then_some(code)
}

impl Contents {
    fn read(inputs: &[ObjectCode], target: &Target, observer: &dyn Observer) -> Result<Self> {
        let mut contents = Self {
            candidates: Vec::new(),
            others: BTreeSet::new(),
            is_linkable: false,
        };
        for input in inputs {
            let expansion = input.expand(&ExpandOptions::default());
            for problem in &expansion.problems {
                observer.diagnostic(problem);
            }
            let is_source = matches!(input.kind(), Kind::CudaSource | Kind::NvvmIr | Kind::LtoIr);
            contents.is_linkable |= is_source || expansion.images.iter().any(is_linkable);
            contents.add(expansion.images, target, observer)?;
        }
        Ok(contents)
    }

    fn add(&mut self, images: Vec<Image>, target: &Target, observer: &dyn Observer) -> Result<()> {
        let mut fitting = Vec::new();
        for image in images {
            let Some(arch) = image.arch else { continue };
            let fits = match image.kind {
                ImageKind::Cubin => arch.cubin_fits(target.runs()),
                ImageKind::Ptx => arch.virtual_fits(target.runs()),
                _ => continue,
            };
            if fits {
                fitting.push((image, arch));
            } else {
                self.others.insert((arch, image.kind));
            }
        }
        let read: Vec<Result<Candidate>> = fitting
            .par_iter()
            .map(|(image, arch)| Candidate::read(image, *arch, target))
            .collect();
        let (good, bad): (Vec<_>, Vec<_>) = read.into_iter().partition(Result::is_ok);
        self.candidates.extend(good.into_iter().flatten());
        // One damaged image does not hide the others, unless there is no other.
        for error in bad.into_iter().filter_map(Result::err) {
            if self.candidates.is_empty() {
                return Err(error);
            }
            for mut finding in error.diagnostics {
                finding.severity = Severity::Warning;
                observer.diagnostic(&finding);
            }
        }
        Ok(())
    }

    fn has_kernel(&self, name: &str) -> bool {
        self.kernels().any(|(_, kernel)| kernel.name == name)
    }

    fn kernels(&self) -> impl Iterator<Item = (&Candidate, &Kernel)> {
        self.candidates.iter().flat_map(|candidate| {
            candidate
                .functions
                .kernels
                .iter()
                .map(move |kernel| (candidate, kernel))
        })
    }

    /// The kernel of a file that was given instead of a name; `None` where it can be read only once linked.
    fn only_kernel(&self, file: &str) -> Option<Result<String>> {
        let names: BTreeSet<&str> = self
            .kernels()
            .map(|(_, kernel)| kernel.name.as_str())
            .collect();
        if names.is_empty() && self.is_linkable {
            return None;
        }
        Some(only(&names, file))
    }

    fn program(
        &self,
        wanted: &str,
        inputs: &[ObjectCode],
        target: &Target,
        linker: &dyn Linker,
        observer: &dyn Observer,
    ) -> Result<Program> {
        match self.direct(wanted, inputs.len())? {
            Direct::Program(program) => Ok(self.with_grid_sync(*program)),
            Direct::Link { why, newer } => {
                match newer {
                    Some(newer) => observer.diagnostic(
                        &Diagnostic::note(
                            Code::InputNewerThanLibrary,
                            format!("{why}, so it is linked to a cubin first"),
                        )
                        .input(&newer.id),
                    ),
                    None => observer.detail(&format!("linking first: {why}")),
                }
                let linked = linker.link(inputs, target.runs(), observer)?;
                let contents = Self::read(std::slice::from_ref(&linked), target, observer)?;
                let name = contents.find(wanted)?;
                let program = contents
                    .best(&name, Some(why))
                    .ok_or_else(|| self.nothing_fits(wanted, target))?;
                Ok(self.with_grid_sync(program))
            }
            Direct::Nothing => Err(self.nothing_fits(wanted, target)),
        }
    }

    /// Whether the inputs can be loaded as they are.
    fn direct(&self, wanted: &str, inputs: usize) -> Result<Direct<'_>> {
        let link = |why: &str| Direct::Link {
            why: why.to_owned(),
            newer: None,
        };
        if inputs > 1 && self.is_linkable {
            return Ok(link("there are several inputs"));
        }
        if self.candidates.is_empty() {
            return Ok(match self.is_linkable {
                true => link(NOT_LINKED),
                false => Direct::Nothing,
            });
        }
        let name = match self.find(wanted) {
            Ok(name) => name,
            // The link may bring it.
            Err(_) if self.is_linkable => return Ok(link(NOT_LINKED)),
            Err(error) => return Err(error),
        };
        if let Some(program) = self.best(&name, None) {
            return Ok(Direct::Program(Box::new(program)));
        }
        let holders: Vec<_> = self
            .kernels()
            .filter(|(_, kernel)| kernel.name == name)
            .map(|(c, _)| c)
            .collect();
        let newer = holders.into_iter().find(|candidate| candidate.is_too_new);
        Ok(match newer.and_then(|candidate| candidate.isa) {
            Some((major, minor)) => Direct::Link {
                why: format!("the driver does not know PTX ISA {major}.{minor} yet"),
                newer,
            },
            None => link(NOT_LINKED),
        })
    }

    fn find(&self, wanted: &str) -> Result<String> {
        let names: BTreeSet<&str> = self
            .kernels()
            .map(|(_, kernel)| kernel.name.as_str())
            .collect();
        lookup::find("kernel", &names, wanted).map(str::to_owned)
    }

    /// The best complete image with this kernel: machine code before PTX, then the newest architecture,
    /// then the first.
    fn best(&self, name: &str, linked: Option<String>) -> Option<Program> {
        let holders: Vec<_> = self
            .kernels()
            .filter(|(candidate, kernel)| candidate.is_complete && kernel.name == name)
            .collect();
        let rank = |candidate: &Candidate| (candidate.kind == ImageKind::Cubin, candidate.arch);
        let (best, kernel) = holders
            .iter()
            .rev()
            .max_by_key(|(candidate, _)| rank(candidate))?;
        Some(Program {
            id: best.id.clone(),
            kind: best.kind,
            arch: best.arch,
            bytes: best.bytes.clone(),
            kernel: (*kernel).clone(),
            variables: best.variables(),
            linked,
            others: holders
                .iter()
                .filter(|(candidate, _)| rank(candidate) == rank(best))
                .count()
                - 1,
        })
    }

    /// PTX tells whether a kernel synchronises its grid; a cubin does not. Where both have the kernel, the
    /// one answers for the other.
    fn with_grid_sync(&self, mut program: Program) -> Program {
        let kernel = &mut program.kernel;
        if kernel.uses_grid_sync.is_none() {
            kernel.uses_grid_sync = self
                .kernels()
                .filter(|(_, other)| other.name == kernel.name)
                .find_map(|(_, other)| other.uses_grid_sync);
        }
        program
    }

    fn nothing_fits(&self, wanted: &str, target: &Target) -> Error {
        if self.others.is_empty() && self.candidates.is_empty() {
            return Error::failed(
                Code::NoDeviceCode,
                "the inputs hold no code that a device can load",
            );
        }
        let number = target.arch.number;
        let mut error = Error::failed(
            Code::ArchMissing,
            format!("no code of `{wanted}` runs on {}", target.arch),
        );
        for (arch, kind) in &self.others {
            error = error.detail(match kind {
                ImageKind::Ptx => format!("there is PTX for {}", arch.compute()),
                _ => format!("there is machine code for {arch}"),
            });
        }
        error.hint(format!(
            "rebuild with `-gencode arch=compute_{number},code=sm_{number}`"
        ))
    }
}

enum Direct<'a> {
    Program(Box<Program>),
    Link {
        why: String,
        /// The PTX that the driver cannot compile, where that is the reason.
        newer: Option<&'a Candidate>,
    },
    Nothing,
}

const NOT_LINKED: &str = "the inputs are not linked yet";

fn linked_alone(
    contents: &Contents,
    inputs: &[ObjectCode],
    target: &Target,
    linker: &dyn Linker,
    observer: &dyn Observer,
) -> Result<Program> {
    let linked = linker.link(inputs, target.runs(), observer)?;
    let after = Contents::read(std::slice::from_ref(&linked), target, observer)?;
    let names: BTreeSet<&str> = after
        .kernels()
        .map(|(_, kernel)| kernel.name.as_str())
        .collect();
    let name = only(&names, &inputs[0].name)?;
    after
        .best(&name, Some(NOT_LINKED.to_owned()))
        .ok_or_else(|| contents.nothing_fits(&name, target))
}

/// The only one of `names`.
fn only(names: &BTreeSet<&str>, file: &str) -> Result<String> {
    let mut all = names.iter();
    match (all.next(), all.next()) {
        (Some(name), None) => Ok((*name).to_owned()),
        (None, _) => Err(Error::failed(Code::NoKernels, "holds no kernel").input(file)),
        _ => {
            let mut error = Error::failed(
                Code::UnknownKernel,
                format!("holds {} kernels", names.len()),
            )
            .input(file)
            .hint(format!("name one: `cudalink run KERNEL {file}`"));
            for name in names.iter().take(8) {
                error = error.detail(*name);
            }
            Err(error)
        }
    }
}

fn is_linkable(image: &Image) -> bool {
    image.loadable == Loadable::RelocatableOnly
        || matches!(image.kind, ImageKind::LtoIr | ImageKind::NvvmIr)
}

impl Candidate {
    fn read(image: &Image, arch: Arch, target: &Target) -> Result<Self> {
        let id = image.id();
        let bytes = image.unpack(Default::default())?;
        let damaged = |malformed: crate::error::Malformed| malformed.in_input(id.clone());
        let (functions, symbols, isa, is_relocatable) = if image.kind == ImageKind::Ptx {
            let ptx = Ptx::parse(&bytes).map_err(damaged)?;
            // PTX that nothing is missing from is compiled and loaded at once.
            (
                Functions::from_ptx(&ptx),
                Symbols::from_ptx(&ptx),
                Some(ptx.version),
                true,
            )
        } else {
            let cubin = Cubin::parse(&bytes).map_err(damaged)?;
            let is_relocatable = cubin.stage() == Stage::Relocatable;
            let functions = Functions::from_cubin(&cubin).map_err(damaged)?;
            (
                functions,
                Symbols::from_cubin(&cubin).map_err(damaged)?,
                None,
                is_relocatable,
            )
        };
        let accepted = target.driver.and_then(|driver| driver.ptx_isa());
        let is_too_new = accepted.is_some_and(|newest| isa.is_some_and(|isa| isa > newest));
        // What lies in `__nv_relfatbin` is meant for a link, whatever it needs.
        let for_links = image.section.is_some() && image.loadable == Loadable::RelocatableOnly;
        let lacks = is_relocatable && is_missing_something(&symbols);
        let is_complete = !(is_too_new || for_links || lacks);
        Ok(Self {
            id,
            kind: image.kind,
            arch,
            bytes,
            functions,
            symbols,
            isa,
            is_too_new,
            is_complete,
        })
    }

    fn variables(&self) -> Vec<(String, u64)> {
        let reachable = self.symbols.list.iter().filter(|symbol| {
            symbol.defined
                && symbol.kind == SymbolKind::Variable
                && matches!(symbol.space, Some(Space::Global | Space::Constant))
        });
        reachable
            .map(|symbol| (symbol.name.clone(), symbol.size))
            .collect()
    }
}

/// Whether another input has to define something.
fn is_missing_something(symbols: &Symbols) -> bool {
    let provided = |symbol: &Symbol| match symbol.kind {
        SymbolKind::Texture | SymbolKind::Sampler | SymbolKind::Surface => true,
        // `extern __shared__`: the launch says how much there is.
        _ if symbol.space == Some(Space::Shared) => symbol.size == 0,
        _ => is_system_call(&symbol.name),
    };
    let mut missing = symbols
        .list
        .iter()
        .filter(|symbol| !symbol.defined && symbol.is_shared());
    missing.any(|symbol| !provided(symbol))
}

/// Nothing was given to load and the default is not there.
pub fn no_input(default: &str) -> Error {
    Error::new(
        Category::Usage,
        Diagnostic::error(
            Code::OptionConflict,
            format!("no INPUT is given, and `{default}` is not here"),
        )
        .hint("name what to load: `cudalink run KERNEL FILE`"),
    )
}
