use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Component, Version};
use crate::error::{Category, Code, Diagnostic, Error, Result};

/// Where a candidate was found, in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `--nvjitlink` or `--toolkit`.
    Flag,
    /// `CUDALINK_NVJITLINK` or `CUDALINK_TOOLKIT`.
    Variable,
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

impl Source {
    /// Whether the user asked for exactly this; nothing else may then be used in its place.
    pub fn is_explicit(self) -> bool {
        matches!(self, Self::Flag | Self::Variable)
    }
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
}

/// One file that could be the component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Candidate {
    pub component: Component,
    /// Absolute.
    pub path: PathBuf,
    /// As told by the package, the file's name or its exported names; the library itself may be asked
    /// for more once it is loaded. Of the driver it is unknown here.
    pub version: Option<Version>,
    pub source: Source,
    /// The toolkit that it is a part of, for the parts beside it.
    pub root: PathBuf,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The outcome of a search for one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub component: Component,
    pub chosen: Option<Candidate>,
    /// Every candidate looked at, the chosen one included, in the order of the search.
    pub candidates: Vec<Candidate>,
    /// Folders in which the component was looked for and is not.
    pub searched: Vec<PathBuf>,
    pub warnings: Vec<Diagnostic>,
}

impl Located {
    pub(super) fn none(component: Component) -> Self {
        Self {
            component,
            chosen: None,
            candidates: Vec::new(),
            searched: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The chosen candidate, or the error that says what was tried.
    pub fn require(self) -> Result<Candidate> {
        let component = self.component.title();
        self.chosen.ok_or_else(|| {
            Error::new(
                Category::Missing,
                Diagnostic::error(Code::LibraryNotFound, format!("{component} was not found")),
            )
        })
    }
}
