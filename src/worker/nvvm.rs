//! Compiles NVVM IR with libNVVM: the task, the answer, and the worker's side.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::child::tell;
use super::protocol::{self, Step};
use crate::bytes::Blob;
use crate::error::Result;
use crate::ffi::nvvm::{self, Nvvm};

/// Modules to be compiled as one program; their bytes are the inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub modules: Vec<Module>,
    pub options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// How the library's messages call it.
    pub name: String,
    pub size: usize,
    /// A library: only what others need is taken from it.
    pub lazy: bool,
}

/// What came of it. The one result is there when the compilation succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub log: String,
    /// `NVVM_ERROR_INVALID_IR`, of the call `step`.
    pub result: String,
    pub step: String,
}

pub(super) fn work(path: &Path, task: &Task, bytes: &Blob) -> Result<(Answer, Vec<Vec<u8>>)> {
    tell(Step::Load);
    let library = Nvvm::load(path)?;
    tell(Step::Complete);
    let pieces = protocol::pieces(bytes, task.modules.iter().map(|module| module.size));
    let modules = task.modules.iter().zip(&pieces);
    let modules: Vec<nvvm::Module<'_>> = modules
        .map(|(module, bytes)| nvvm::Module {
            name: &module.name,
            bytes,
            lazy: module.lazy,
        })
        .collect();
    let compiled = library.compile(&modules, &task.options)?;
    let answer = Answer {
        log: compiled.log,
        result: compiled.result,
        step: compiled.step.to_owned(),
    };
    Ok((answer, compiled.code.into_iter().collect()))
}
