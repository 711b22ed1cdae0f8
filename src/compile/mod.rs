//! The front ends of a link: CUDA C++ through NVRTC ([`cuda`]) and NVVM IR through libNVVM ([`nvvm`]), each in a
//! worker, to what the linker takes. The libraries are found or fetched like the linker's own.

mod cuda;
mod headers;
mod log;
mod nvvm;

use std::path::PathBuf;

pub use cuda::{CudaOptions, Source, cuda};
/// The first NVRTC that tells which headers it reads.
pub const LISTS_HEADERS: Version = headers::SINCE;

pub use nvvm::{Module, NvvmOptions, Program, is_library, nvvm};

use crate::bytes::Blob;
use crate::code::ImageKind;
use crate::error::{Code, Diagnostic, Error, Result};
use crate::format::{ltoir, ptx};
use crate::observe::Observer;
use crate::toolkit::{Candidate, Needs, Settings, Version};
use crate::worker::Workers;

/// What a compilation gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Ptx,
    LtoIr,
}

/// Options of code generation that both compilers know. `None` leaves the compiler's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOptions {
    pub debug: bool,
    pub ftz: Option<bool>,
    pub prec_div: Option<bool>,
    pub prec_sqrt: Option<bool>,
    pub fma: Option<bool>,
    /// 0 to 101, in percent.
    pub jump_table_density: Option<u8>,
}

/// What a compilation is done with.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)] // An observer is whatever it is.
pub struct Tools<'a> {
    pub settings: &'a Settings,
    /// What else the link asks of the toolkit, such as to know the target.
    pub needs: &'a Needs,
    pub workers: Workers<'a>,
    pub observer: &'a dyn Observer,
}

/// A compilation that succeeded.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub code: Blob,
    pub kind: ImageKind,
    /// Warnings and notes, which name the source and the line.
    pub diagnostics: Vec<Diagnostic>,
    /// Headers that were read, for a depfile; those that the compiler brings itself are left out. None where the
    /// release of the compiler does not tell.
    pub headers: Option<Vec<PathBuf>>,
    /// Other files that were read: libdevice.
    pub files: Vec<PathBuf>,
    /// Each name expression with the mangled name of its instance.
    pub lowered: Vec<(String, String)>,
    /// Whether the newer LLVM was used for a target that has the older one by default: then the link of LTO-IR needs
    /// `-nvvm-latest` as well.
    pub nvvm_latest: bool,
    /// What compiled it; the linker should be of the same toolkit.
    pub library: Candidate,
}

impl Output {
    fn kind(self) -> ImageKind {
        match self {
            Self::Ptx => ImageKind::Ptx,
            Self::LtoIr => ImageKind::LtoIr,
        }
    }
}

/// Makes sure that a result is of the kind that was asked for.
fn proven(code: Blob, output: Output, library: &Candidate) -> Result<Blob> {
    let is_right = match output {
        Output::LtoIr => ltoir::Header::parse(&code, 0).is_ok(),
        Output::Ptx => ptx::Ptx::parse_header(&code).is_ok(),
    };
    if is_right {
        return Ok(code);
    }
    let kind = output.kind().as_str();
    Err(Error::failed(
        Code::BackendFailed,
        format!("the compiler gave something else than the {kind} that it was asked for"),
    )
    .detail(format!("the library is {library}")))
}
