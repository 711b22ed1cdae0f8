//! Compiles CUDA C++ with NVRTC: the task, the answer, and the worker's side.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::child::tell;
use super::protocol::Step;
use crate::bytes::Blob;
use crate::error::Result;
use crate::ffi::nvrtc::{Nvrtc, Output};

/// One source to compile; its text is the only input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// How messages call the source. Its folder is where `#include "…"` looks first.
    pub name: String,
    /// The number of the target, 90 for `compute_90a`, which the library must know.
    pub arch: u16,
    pub options: Vec<String>,
    pub name_expressions: Vec<String>,
    pub output: Output,
}

/// What came of it. The one result is there when the compilation succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Of the library.
    pub release: (i32, i32),
    /// Numbers of the architectures that the library knows.
    pub architectures: Vec<i32>,
    /// None where the library does not know the target.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub log: String,
    /// `NVRTC_SUCCESS`, `NVRTC_ERROR_COMPILATION`…
    pub result: String,
    /// Mangled names of the name expressions, in order; of a failed compilation none.
    pub lowered: Vec<String>,
}

pub(super) fn work(path: &Path, task: &Task, source: &Blob) -> Result<(Answer, Vec<Vec<u8>>)> {
    tell(Step::Load);
    let library = Nvrtc::load(path)?;
    let mut answer = Answer {
        release: library.version,
        architectures: library.architectures.clone(),
        outcome: None,
    };
    if !library.architectures.contains(&task.arch.into()) {
        return Ok((answer, Vec::new()));
    }
    tell(Step::Complete);
    let compiled = library.compile(
        source,
        &task.name,
        &task.options,
        &task.name_expressions,
        task.output,
    )?;
    answer.outcome = Some(Outcome {
        log: compiled.log,
        result: compiled.result,
        lowered: compiled.lowered,
    });
    Ok((answer, compiled.code.into_iter().collect()))
}
