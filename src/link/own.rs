//! Links with the built-in linker: when it is chosen, and what it makes.

use crate::bytes::Blob;
use crate::code::ImageKind;
use crate::error::{Code, Diagnostic, Error, Result};
use crate::format::cubin::Cubin;
use crate::link::builtin::{self, Identity, Input};
use crate::link::options::{Emit, Options, Shape};
use crate::link::picked::Picked;
use crate::link::select::describe;

/// What of a link the built-in linker does not do; nothing when it can be tried.
pub(super) fn obstacles(shape: Shape, options: &Options, picked: &[Picked]) -> Vec<Diagnostic> {
    let cannot = |what: &str| {
        Diagnostic::error(
            Code::BuiltinUnsupported,
            format!("the built-in linker cannot {what}"),
        )
        .hint("leave out `--backend builtin`")
    };
    let mut found = Vec::new();
    if shape.relocatable {
        found.push(cannot("make a relocatable result"));
    }
    if shape.emit != Emit::Cubin {
        found.push(cannot("make anything but a cubin"));
    }
    if !options.keep_kernels.is_empty() || !options.keep_variables.is_empty() {
        found.push(cannot("keep some kernels or variables and drop others"));
    }
    let others = picked
        .iter()
        .filter(|picked| picked.image.kind != ImageKind::Cubin);
    for picked in others {
        let what = format!("compile {}", describe(&picked.image));
        found.push(cannot(&what).input(&picked.name));
    }
    found
}

/// Links cubins in this process.
pub(super) fn link(picked: &[Picked], shape: Shape, like_nvlink: bool) -> Result<Blob> {
    let inputs: Vec<Input<'_>> = picked
        .iter()
        .map(|picked| Input {
            name: &picked.name,
            cubin: &picked.bytes,
        })
        .collect();
    let identity = Identity {
        like_nvlink,
        ..Identity::OWN
    };
    builtin::link(&inputs, shape.target, identity).map(Blob::from)
}

/// Says in which section two results differ, but for the note about the tool.
///
/// # Errors
/// Either is no valid cubin.
pub(super) fn difference(one: &[u8], other: &[u8]) -> Result<Option<String>> {
    let read = |bytes| Cubin::parse(bytes).map_err(|error| error.in_input("a linked cubin"));
    let (one, other) = (read(one)?, read(other)?);
    let named = |cubin: &Cubin<'_>| -> Vec<(String, u64)> {
        let sections = cubin.sections().iter();
        sections
            .filter(|section| !AS_LONG_AS_THEIR_TOOL.contains(&&*section.name))
            .map(|section| (section.name.clone().into_owned(), section.size))
            .collect()
    };
    let (ours, theirs) = (named(&one), named(&other));
    if let Some((mine, _)) = ours
        .iter()
        .zip(&theirs)
        .find(|(mine, theirs)| mine != theirs)
    {
        return Ok(Some(mine.0.clone()));
    }
    if ours.len() != theirs.len() {
        let longer = if ours.len() > theirs.len() {
            &ours
        } else {
            &theirs
        };
        let first = longer.get(ours.len().min(theirs.len()));
        return Ok(first.map(|(name, _)| name.clone()));
    }
    let rest = |section: &&crate::format::cubin::Section<'_>| {
        !AS_LONG_AS_THEIR_TOOL.contains(&&*section.name)
    };
    let pairs = one
        .sections()
        .iter()
        .filter(rest)
        .zip(other.sections().iter().filter(rest));
    for (mine, theirs) in pairs {
        let damaged = |error: crate::error::Malformed| error.in_input("a linked cubin");
        if mine.kind.has_bytes()
            && one.data(mine).map_err(damaged)? != other.data(theirs).map_err(damaged)?
        {
            return Ok(Some(mine.name.clone().into_owned()));
        }
    }
    Ok(None)
}

/// The note names the tool, and the section table begins with an entry without a name.
const AS_LONG_AS_THEIR_TOOL: &[&str] = &[".note.nv.tkinfo", ""];

/// What is told when two linkers disagree.
pub(super) fn disagreement(section: &str) -> Error {
    Error::failed(
        Code::BackendFailed,
        format!("nvJitLink and the built-in linker disagree in section `{section}`"),
    )
    .hint("nothing was written; please report these inputs")
}
