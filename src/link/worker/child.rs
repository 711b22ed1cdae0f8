//! The worker's side: loads the library, makes the calls, and tells what came of each.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use super::MARK;
use super::protocol::{self, Answer, Failure, Link, Outcome, Source, Step, Task};
use crate::error::{Code, Error, Result};
use crate::ffi::nvjitlink::{InputKind, NvJitLink, ResultCode};
use crate::format::text::text;

/// Does the task that stdin holds with the library at `path`.
///
/// # Errors
/// Only where not even an answer can be given; the reason is then in the worker's stderr.
pub fn serve(path: &Path) -> Result<()> {
    let exchange = stdin().map_err(|error| broken(&error))?;
    let (task, bytes) = protocol::read(&exchange, 0).map_err(|error| broken(&error))?;
    let inputs = Inputs::new(&task, &bytes);
    restrict(task.memory_limit).map_err(|error| broken(&error))?;
    let (answer, results) = work(path, &inputs)?;
    (&exchange)
        .seek(SeekFrom::End(0))
        .and_then(|_| protocol::write(&exchange, &answer, results.iter().map(Vec::as_slice)))
        .map_err(|error| broken(&error))
}

fn broken(error: &io::Error) -> Error {
    Error::failed(Code::Internal, format!("the link worker failed: {error}"))
}

#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// A crash leaves no core file, for it is not cudalink's; and a worker ends with whoever waits for it.
#[cfg(unix)]
fn restrict(memory: Option<u64>) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    setrlimit(Resource::Core, limit(0))?;
    if let Some(memory) = memory {
        setrlimit(Resource::As, limit(memory))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(memory: Option<u64>) -> io::Result<()> {
    match memory {
        Some(_) => Err(io::Error::other(
            "there are no memory limits on this system",
        )),
        None => Ok(()),
    }
}

/// The inputs of a task in the bytes that came with it.
struct Inputs<'t> {
    task: &'t Task,
    bytes: &'t [u8],
    ranges: Vec<Range<usize>>,
}

impl<'t> Inputs<'t> {
    fn new(task: &'t Task, bytes: &'t [u8]) -> Self {
        let mut start = 0usize;
        let ranges = task.inputs.iter().map(|input| {
            let end = start.saturating_add(input.size);
            std::mem::replace(&mut start, end)..end
        });
        let ranges = ranges.collect();
        Self {
            task,
            bytes,
            ranges,
        }
    }

    fn get<'a>(&'a self, source: Source, results: &'a [Vec<u8>]) -> (InputKind, &'a [u8], &'a str) {
        match source {
            Source::Input(number) => {
                let input = &self.task.inputs[number];
                let bytes = &self.bytes[self.ranges[number].clone()];
                (input.kind, bytes, &input.name)
            }
            Source::Link(number) => (InputKind::Cubin, &results[number], "linked LTO-IR"),
        }
    }
}

fn work(path: &Path, inputs: &Inputs<'_>) -> Result<(Answer, Vec<Vec<u8>>)> {
    let start = Instant::now();
    tell(Step::Load);
    let library = NvJitLink::load(path)?;
    let mut answer = Answer {
        release: library.release(),
        links: Vec::new(),
        load_ms: milliseconds(start),
    };
    let mut results = Vec::new();
    for link in &inputs.task.links {
        // A failed input changes what later links of the same thread report: measured on 12.4 to 13.5.
        let made = std::thread::scope(|scope| {
            let made = scope.spawn(|| make(&library, link, inputs, &results));
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
    outcome.output = result.as_ref().map(Vec::len);
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

/// Marks the place in what the library prints.
fn tell(step: Step) {
    let step = serde_json::to_string(&step).unwrap_or_default();
    // If nobody listens, nobody wants to know.
    let _ = io::stderr().write_all(format!("{MARK}{step}\n").as_bytes());
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
