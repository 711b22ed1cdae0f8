//! Links with nvJitLink: the task, the answer, and the worker's side.

use std::io;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::child::{broken, milliseconds, tell};
use super::protocol::{self, Source, Step};
use crate::bytes::Blob;
use crate::error::Result;
use crate::ffi::nvjitlink::{InputKind, NvJitLink, OutputKind, ResultCode};
use crate::format::text::text;

/// Links to be made one after the other, each in a thread of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub inputs: Vec<Input>,
    pub links: Vec<Link>,
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

/// What came of a task. Its results are those of the links that succeeded.
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
    pub milliseconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub step: Step,
    /// None where the library lacks the function.
    pub code: Option<ResultCode>,
    pub log: String,
}

/// The inputs of a task in the bytes that came with it.
struct Inputs<'t> {
    task: &'t Task,
    bytes: Vec<Blob>,
}

impl<'t> Inputs<'t> {
    fn new(task: &'t Task, bytes: &Blob) -> Self {
        let sizes = task.inputs.iter().map(|input| input.size);
        Self {
            task,
            bytes: protocol::pieces(bytes, sizes),
        }
    }

    fn get<'a>(&'a self, source: Source, results: &'a [Vec<u8>]) -> (InputKind, &'a [u8], &'a str) {
        match source {
            Source::Input(number) => {
                let input = &self.task.inputs[number];
                (input.kind, &self.bytes[number], &input.name)
            }
            Source::Link(number) => (InputKind::Cubin, &results[number], "linked LTO-IR"),
        }
    }
}

pub(super) fn work(path: &Path, task: &Task, bytes: &Blob) -> Result<(Answer, Vec<Vec<u8>>)> {
    let inputs = Inputs::new(task, bytes);
    let start = Instant::now();
    tell(Step::Load);
    let library = NvJitLink::load(path)?;
    let mut answer = Answer {
        release: library.release(),
        links: Vec::new(),
        load_ms: milliseconds(start),
    };
    let mut results = Vec::new();
    for link in &task.links {
        // A failed input changes what later links of the same thread report: measured on 12.4 to 13.5.
        let made = std::thread::scope(|scope| {
            let made = scope.spawn(|| make(&library, link, &inputs, &results));
            made.join()
        });
        let (outcome, result) = made.map_err(|_| broken(&io::Error::other("a thread panicked")))?;
        answer.links.push(outcome);
        match result {
            Some(result) => results.push(result),
            None => break,
        }
    }
    Ok((answer, results))
}

fn make(
    library: &NvJitLink,
    link: &Link,
    inputs: &Inputs<'_>,
    results: &[Vec<u8>],
) -> (Outcome, Option<Vec<u8>>) {
    let start = Instant::now();
    let mut outcome = Outcome::default();
    let result = call(library, link, inputs, results, &mut outcome);
    outcome.milliseconds = milliseconds(start);
    (outcome, result)
}

fn call(
    library: &NvJitLink,
    link: &Link,
    inputs: &Inputs<'_>,
    results: &[Vec<u8>],
    outcome: &mut Outcome,
) -> Option<Vec<u8>> {
    tell(Step::Create);
    let mut handle = match library.create(&link.options) {
        Ok(handle) => handle,
        Err(refusal) => {
            outcome.fail(Step::Create, refusal.code, &refusal.log);
            return None;
        }
    };
    let mut told = 0;
    for &source in &link.sources {
        tell(Step::Add(source));
        let (kind, bytes, name) = inputs.get(source, results);
        let code = handle.add(kind, bytes, name);
        if !code.is_success() {
            let log = handle.error_log();
            outcome.fail(Step::Add(source), code, log.get(told..).unwrap_or_default());
            told = log.len();
        }
    }
    if !outcome.failures.is_empty() {
        // The library would complete it without the inputs that it refused.
        outcome.info_log = text(&handle.info_log()).into_owned();
        return None;
    }
    tell(Step::Complete);
    let (logs, result) = match handle.complete() {
        Ok(linked) => {
            let result = linked.output(link.output);
            ((linked.error_log(), linked.info_log()), result)
        }
        Err((code, handle)) => ((handle.error_log(), handle.info_log()), Err(Some(code))),
    };
    outcome.info_log = text(&logs.1).into_owned();
    match result {
        Ok(bytes) => {
            outcome.error_log = text(&logs.0).into_owned();
            Some(bytes)
        }
        Err(code) => {
            let log = text(&logs.0).into_owned();
            let step = Step::Complete;
            outcome.failures.push(Failure { step, code, log });
            None
        }
    }
}

impl Outcome {
    fn fail(&mut self, step: Step, code: ResultCode, log: &[u8]) {
        self.failures.push(Failure {
            step,
            code: Some(code),
            log: text(log).into_owned(),
        });
    }
}
