//! What a link was, did and found, for machines: the same record serves `--dry-run`, `--report` and the tests.

use std::collections::HashSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::code::{Arch, Functions, ImageKind, Kernel};
use crate::error::Diagnostic;
use crate::format::Kind;
use crate::format::cubin::Cubin;
use crate::format::ptx::Ptx;
use crate::inspect::Tool;
use crate::link::options::{Emit, Options};
use crate::toolkit::Version;

/// The version of the JSON layout. Keys may be added under one version; none is renamed or reused.
pub const SCHEMA_VERSION: u32 = 1;

/// The record of one link. Fields are filled in as far as the link came.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    pub schema_version: u32,
    pub tool: Tool,
    /// Whether everything that was asked for was done.
    pub ok: bool,
    pub target: Option<Arch>,
    pub emit: Emit,
    pub relocatable: bool,
    /// Whether link-time optimisation is on; null when the link did not come so far.
    pub lto: Option<bool>,
    pub options: Options,
    pub backend: Option<BackendReport>,
    /// Whether the result was known from an earlier link.
    pub cached: bool,
    pub inputs: Vec<InputReport>,
    /// The calls of the backend, in order.
    pub steps: Vec<StepReport>,
    pub outputs: Vec<OutputReport>,
    /// The files that the result depends on, each once: response files, inputs, files of thin archives, headers, and what
    /// was taken from the toolkit. The libraries that compile and link are left out.
    pub files: Vec<PathBuf>,
    /// Headers that sources included, but for those that the compiler brings itself.
    pub headers: Vec<PathBuf>,
    /// Of a link for several architectures: the link for each.
    pub links: Vec<Self>,
    pub diagnostics: Vec<Diagnostic>,
    pub timings: Timings,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool::this(),
            ok: false,
            target: None,
            emit: Emit::default(),
            relocatable: false,
            lto: None,
            options: Options::default(),
            backend: None,
            cached: false,
            inputs: Vec::new(),
            steps: Vec::new(),
            outputs: Vec::new(),
            files: Vec::new(),
            headers: Vec::new(),
            links: Vec::new(),
            diagnostics: Vec::new(),
            timings: Timings::default(),
        }
    }
}

impl Report {
    /// Notes that the result depends on these files.
    pub fn depends_on<'p>(&mut self, paths: impl IntoIterator<Item = &'p PathBuf>) {
        let mut known: HashSet<PathBuf> = self.files.iter().cloned().collect();
        let new = paths
            .into_iter()
            .filter(|path| known.insert((*path).clone()));
        self.files.extend(new.cloned());
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackendReport {
    pub name: String,
    pub version: Option<Version>,
    pub path: Option<PathBuf>,
    /// Why this one.
    pub reason: String,
}

/// One input of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputReport {
    pub path: String,
    pub kind: Kind,
    pub format: String,
    /// What told the kind.
    pub evidence: String,
    /// In bytes.
    pub size: u64,
    pub images: Vec<ImageChoice>,
}

/// What became of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImageChoice {
    pub id: String,
    pub kind: ImageKind,
    pub arch: Option<Arch>,
    /// Whether it takes part in the link.
    pub taken: bool,
    pub reason: String,
}

/// One call of the backend.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepReport {
    /// As the library is given them.
    pub options: Vec<String>,
    /// Names of the images, in order; the result of an earlier step by its number.
    pub inputs: Vec<String>,
    /// Everything that the library wrote, with bytes that are not UTF-8 escaped.
    pub error_log: String,
    pub info_log: String,
    pub printed: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputReport {
    pub path: String,
    /// `cubin`, `ptx`, `lto-ir`, `fatbin` or `object`.
    pub kind: String,
    /// Of each image in it.
    pub archs: Vec<Arch>,
    /// In bytes.
    pub size: u64,
    /// Of the content, in hexadecimal.
    pub blake3: String,
    /// Null for LTO-IR, whose kernels nobody can read, and where there are several images.
    pub kernels: Option<Vec<Kernel>>,
}

impl OutputReport {
    pub fn new(path: String, kind: Emit, arch: Arch, bytes: &[u8]) -> Self {
        let kernels = match kind {
            Emit::Cubin => Cubin::parse(bytes)
                .and_then(|cubin| Functions::from_cubin(&cubin))
                .ok()
                .map(|functions| functions.kernels),
            Emit::Ptx => Ptx::parse(bytes)
                .ok()
                .map(|ptx| Functions::from_ptx(&ptx).kernels),
            Emit::LtoIr => None,
        };
        let kernels = kernels.map(|mut kernels| {
            for kernel in &mut kernels {
                kernel.demangled = crate::code::demangled(&kernel.name);
            }
            kernels
        });
        Self {
            path,
            kind: kind.as_str().to_owned(),
            archs: vec![arch],
            size: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
            kernels,
        }
    }
}

/// Milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Timings {
    /// Reading the inputs and choosing images.
    pub plan: f64,
    /// Compiling CUDA C++ and NVVM IR.
    pub compile: f64,
    /// Finding the library, and fetching it if it was.
    pub library: f64,
    pub check: f64,
    /// The backend, with the start of its process.
    pub link: f64,
    /// Loading the library, within `link`.
    pub load: f64,
    pub verify: f64,
}
