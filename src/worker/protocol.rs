//! What a command and its worker say to one another.
//!
//! The worker's stdin is a file without a name: an [`Order`] as one line of JSON, then the bytes of the inputs, to
//! which the worker appends a [`Reply`] as one line of JSON, then the bytes of the results. Nothing is left behind
//! however either of them ends. What the library prints goes to stderr, between lines that tell each [`Step`].

use std::fs::File;
use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{cuda, link, nvvm};
use crate::bytes::{self, Blob};

/// A task, with what every worker is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub task: Task,
    /// Bytes of address space that the worker may use.
    pub memory_limit: Option<u64>,
}

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    Link(link::Task),
    Cuda(cuda::Task),
    Nvvm(nvvm::Task),
}

/// One kind of task, and what is answered to it.
pub trait Ask: Into<Task> {
    type Answer: DeserializeOwned;
}

macro_rules! asks {
    ($($module:ident $variant:ident,)*) => {$(
        impl Ask for $module::Task {
            type Answer = $module::Answer;
        }

        impl From<$module::Task> for Task {
            fn from(task: $module::Task) -> Self {
                Self::$variant(task)
            }
        }
    )*};
}

asks! {
    link Link,
    cuda Cuda,
    nvvm Nvvm,
}

/// An answer; the results follow it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply<A> {
    pub answer: A,
    /// Bytes of each result.
    pub results: Vec<usize>,
}

/// Where the worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Load,
    Create,
    Add(Source),
    Complete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// By number.
    Input(usize),
    /// The cubin that an earlier link made.
    Link(usize),
}

/// Appends a header and payloads to the file.
pub(super) fn write<'a>(
    mut file: impl Write,
    header: &impl Serialize,
    payloads: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    file.write_all(&line)?;
    let mut payloads = payloads.into_iter();
    payloads.try_for_each(|bytes| file.write_all(bytes))
}

/// Reads what [`write`] put into the file at `start`: the header, and the payloads in one piece.
pub(super) fn read<T: DeserializeOwned>(file: &File, start: u64) -> io::Result<(T, Blob)> {
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let blob = bytes::from_file(file)?;
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let written = blob.get(start..).ok_or_else(cut)?;
    let end = written.iter().position(|&byte| byte == b'\n');
    let end = end.ok_or_else(cut)?;
    let header = serde_json::from_slice(&written[..end])?;
    let payloads = blob.slice(start + end + 1..blob.len());
    Ok((header, payloads.ok_or_else(cut)?))
}

/// The pieces of these sizes, one after the other; fewer where the bytes end.
pub(super) fn pieces(payload: &Blob, sizes: impl IntoIterator<Item = usize>) -> Vec<Blob> {
    let mut start = 0usize;
    let pieces = sizes.into_iter().map_while(|size| {
        let range = start..start.saturating_add(size);
        start = range.end;
        payload.slice(range)
    });
    pieces.collect()
}
