//! What a command and its worker say to one another.
//!
//! The worker's stdin is a file without a name: a [`Task`] as one line of JSON, then the bytes of the inputs, to
//! which the worker appends an [`Answer`] as one line of JSON, then the bytes of the results. Nothing is left behind
//! however either of them ends. What the library prints goes to stderr, between lines that tell each [`Step`].

use std::fs::File;
use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bytes::{self, Blob};
use crate::ffi::nvjitlink::{InputKind, OutputKind, ResultCode};

/// Links to be made one after the other, each in a thread of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub inputs: Vec<Input>,
    pub links: Vec<Link>,
    /// Bytes of address space that the worker may use.
    pub memory_limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// How the library's messages call it.
    pub name: String,
    pub kind: InputKind,
    pub size: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub options: Vec<String>,
    pub sources: Vec<Source>,
    pub output: OutputKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// By number.
    Input(usize),
    /// The cubin that an earlier link made.
    Link(usize),
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

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Of the library.
    pub release: (u32, u32),
    /// Up to the first that failed.
    pub links: Vec<Outcome>,
    /// Milliseconds that loading the library took.
    pub load_ms: f64,
}

/// What came of one link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Every call that failed, and what the library put into its error log meanwhile.
    pub failures: Vec<Failure>,
    /// What else is in the error log, also of a link that succeeded.
    pub error_log: String,
    pub info_log: String,
    /// Bytes of the result; none when a call failed.
    pub output: Option<usize>,
    pub milliseconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub step: Step,
    /// None where the library lacks the function.
    pub code: Option<ResultCode>,
    pub log: String,
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
