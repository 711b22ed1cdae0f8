//! Whether a result is what the link promised. Nothing is written before this says so.

use crate::code::{Arch, Functions, Suffix};
use crate::error::{Code, Diagnostic};
use crate::format::cubin::Cubin;
use crate::format::ltoir::Header;
use crate::format::ptx::Ptx;
use crate::link::check;
use crate::link::findings;
use crate::link::options::{Emit, Shape};
use crate::link::proof;
use crate::toolkit::Version;

#[derive(Debug, Clone, Copy)]
pub(super) struct Promise<'a> {
    pub shape: Shape,
    pub outcome: &'a check::Outcome,
    pub keep_kernels: &'a [String],
    pub linker: Version,
}

/// What is wrong with a result.
pub(super) fn verify(bytes: &[u8], promise: &Promise<'_>) -> Vec<Diagnostic> {
    let found = match promise.shape.emit {
        Emit::Cubin => cubin(bytes, promise),
        Emit::Ptx => ptx(bytes, promise),
        Emit::LtoIr => Header::parse(bytes, 0)
            .map(|_| Vec::new())
            .map_err(|e| e.to_string()),
    };
    found.unwrap_or_else(|why| {
        vec![wrong(format!(
            "the library's result is no valid {}: {why}",
            promise.shape.emit.as_str()
        ))]
    })
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::BackendFailed, message)
        .hint("nothing was written; try another release of the library with `--toolkit VERSION`")
}

fn cubin(bytes: &[u8], promise: &Promise<'_>) -> Result<Vec<Diagnostic>, String> {
    let cubin = Cubin::parse(bytes).map_err(|e| e.to_string())?;
    let target = promise.shape.target;
    let made = Arch::from(cubin.target());
    // Cubins do not always show the suffix that they were linked for.
    if made.number != target.number || (made.suffix != Suffix::None && made.suffix != target.suffix)
    {
        return Ok(vec![wrong(format!(
            "the library made a cubin for {made} instead of {target}"
        ))]);
    }
    let expected = proof::Promise {
        kernels: &promise.outcome.kernels,
        complete: promise.outcome.complete,
        keep_kernels: promise.keep_kernels,
        relocatable: promise.shape.relocatable,
        linker: promise.linker,
    };
    proof::prove(bytes, &expected).map_err(|e| e.to_string())
}

fn ptx(bytes: &[u8], promise: &Promise<'_>) -> Result<Vec<Diagnostic>, String> {
    let ptx = Ptx::parse(bytes).map_err(|e| e.to_string())?;
    let target = promise.shape.target;
    let made: Arch = ptx.target.parse()?;
    let mut found = Vec::new();
    if made.number != target.number {
        found.push(wrong(format!(
            "the library made PTX for {made} instead of {target}"
        )));
    }
    let kernels = Functions::from_ptx(&ptx).kernels;
    if kernels.is_empty() && !promise.outcome.complete {
        found.push(findings::no_kernels());
    }
    for expected in promise
        .outcome
        .kernels
        .iter()
        .filter(|kernel| !kernel.is_static)
    {
        if !kernels.iter().any(|kernel| kernel.name == expected.name) {
            let name = &expected.name;
            found.push(wrong(format!("the library lost the kernel `{name}`")).symbol(name));
        }
    }
    Ok(found)
}
