use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Component, Version};
use crate::error::Diagnostic;

/// Where a candidate was found, in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `--nvjitlink` or `--toolkit`.
    Flag,
    /// `CUDALINK_NVJITLINK`, `CUDALINK_TOOLKIT` or, of the driver, `CUDALINK_LIBCUDA`.
    Variable,
    /// In the toolkit of a part that is already chosen.
    Beside,
    /// Fetched by cudalink itself.
    Fetched,
    /// A Python environment's `nvidia` packages.
    Wheel,
    /// `CONDA_PREFIX`.
    Conda,
    CudaPath,
    CudaHome,
    /// The system loader's own search.
    Loader,
    /// `/usr/local/cuda*` and what stands for it elsewhere.
    System,
    /// A program on `PATH`; libraries are never taken from there.
    Path,
}

/// Why a candidate won or lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "reason")]
pub enum Verdict {
    /// This one is used.
    Chosen(String),
    /// It would do, but another comes first.
    Outranked(String),
    /// It cannot do this work.
    Unsuitable(String),
}

impl Verdict {
    pub fn reason(&self) -> &str {
        match self {
            Self::Chosen(reason) | Self::Outranked(reason) | Self::Unsuitable(reason) => reason,
        }
    }

    pub fn is_suitable(&self) -> bool {
        !matches!(self, Self::Unsuitable(_))
    }
}

/// One file that could be the component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Candidate {
    pub component: Component,
    /// Absolute; a library is loaded by this path alone.
    pub path: PathBuf,
    /// As told by the package, the file's name or its exported names; the library itself may be asked
    /// for more once it is loaded. Of the driver it is unknown here.
    pub version: Option<Version>,
    pub source: Source,
    /// What led here, for people: `VIRTUAL_ENV`, `ld.so.cache`.
    pub origin: String,
    /// The toolkit that it is a part of, for the parts beside it.
    pub root: PathBuf,
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl fmt::Display for Candidate {
    /// `nvJitLink 13.5.37 (CUDA_HOME, /usr/local/cuda/lib64/libnvJitLink.so.13)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.component.title())?;
        if let Some(version) = self.version {
            write!(f, " {version}")?;
        }
        write!(f, " ({}, {})", self.origin, self.path.display())
    }
}

/// The outcome of a search for one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub component: Component,
    pub chosen: Option<Candidate>,
    /// Every candidate looked at, the chosen one included, in the order of the search.
    pub candidates: Vec<Candidate>,
    /// Folders in which the component was looked for.
    pub searched: Vec<PathBuf>,
    pub warnings: Vec<Diagnostic>,
    /// What the user said explicitly and thereby ended the search: "`--toolkit` names `/opt/cuda`".
    pub(super) explicit: Option<String>,
}
