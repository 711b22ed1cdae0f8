//! Foreign code runs in a process of its own: this program, started again. Inputs can make the libraries crash, hang
//! or take all memory, and a library that went wrong once must not link again. All of that becomes an [`End`].

mod cached;
mod child;
pub mod cuda;
mod fate;
pub mod link;
pub mod nvvm;
mod protocol;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

pub use child::serve;
pub use fate::{Answered, Told, Work};
pub use protocol::{Ask, Source, Step};

use crate::bytes::Blob;
use crate::error::{Code, Error, Result};
use crate::format::text::text;
use protocol::{Order, Reply};

/// The argument that makes this program a worker; the library's path follows.
pub const ARGUMENT: &str = "__worker";

/// Stands before each step among the lines that the library prints: no text has a record separator.
const MARK: char = '\u{1e}';

/// More than this of what a library prints is not kept.
const MOST_PRINTED: usize = 4 << 20;

/// How soon an interrupt is noticed.
const TICK: Duration = Duration::from_millis(50);

/// How workers are started and when they are stopped.
#[derive(Debug, Clone, Copy)]
pub struct Workers<'a> {
    /// The program that answers to [`ARGUMENT`].
    pub program: &'a Path,
    pub limits: Limits,
    /// Set when the user wants everything to stop.
    pub interrupted: &'a AtomicBool,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    pub time: Option<Duration>,
    /// Bytes of address space.
    pub memory: Option<u64>,
}

/// How a worker ended, and what its library printed.
#[derive(Debug)]
pub struct Run<A> {
    pub end: End<A>,
    /// Text that the library printed, with the step at which it did.
    pub printed: Vec<(Step, String)>,
    /// The last step that was begun.
    pub step: Step,
}

#[derive(Debug)]
pub enum End<A> {
    /// With the results of what succeeded.
    Answered(A, Vec<Blob>),
    /// Without an answer.
    Died(ExitStatus),
    TimedOut,
    Interrupted,
}

/// The program itself, for [`Workers::program`].
pub fn this_program() -> Result<PathBuf> {
    // This name works even when the file was replaced or removed meanwhile.
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    std::env::current_exe().map_err(|error| failed("find this program", &error))
}

impl Workers<'_> {
    /// Has `task` done with the library at `path`; `data` are the bytes of its inputs, in order.
    pub fn run<T: Ask>(&self, path: &Path, task: T, data: &[&[u8]]) -> Result<Run<T::Answer>> {
        let order = Order {
            task: task.into(),
            memory_limit: self.limits.memory,
        };
        let exchange = tempfile::tempfile().map_err(|e| failed("make a temporary file", &e))?;
        let end = protocol::write(&exchange, &order, data.iter().copied())
            .and_then(|()| exchange.metadata());
        let end = end.map_err(|e| failed("write a temporary file", &e))?.len();
        let stdin = exchange
            .try_clone()
            .map_err(|e| failed("start a worker", &e))?;
        let (status, printed) = self
            .start(path, stdin)
            .map_err(|e| failed("start a worker", &e))?;
        let (printed, step) = steps(&printed);
        let end = match status {
            Status::Ended(status) if status.success() => {
                let (reply, payload): (Reply<T::Answer>, Blob) = protocol::read(&exchange, end)
                    .map_err(|e| failed("read a worker's answer", &e))?;
                End::Answered(reply.answer, protocol::pieces(&payload, reply.results))
            }
            Status::Ended(status) if was_interrupted(status) => End::Interrupted,
            Status::Ended(status) => End::Died(status),
            Status::TimedOut => End::TimedOut,
            Status::Interrupted => End::Interrupted,
        };
        Ok(Run { end, printed, step })
    }

    fn start(&self, library: &Path, exchange: std::fs::File) -> io::Result<(Status, Vec<u8>)> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(self.program);
        command
            .args([OsString::from(ARGUMENT), library.into()])
            .stdin(Stdio::from(exchange))
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let start = Instant::now();
        let mut child = command.spawn()?;
        // Our ends of the pipe must be closed for its end to be seen.
        drop(command);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            // If nobody waits for it any more, it is not wanted.
            let _ = sender.send(printed(reader));
        });
        let mut text = Vec::new();
        let status = loop {
            let left = self
                .limits
                .time
                .map(|limit| limit.saturating_sub(start.elapsed()));
            if self.interrupted.load(Ordering::Relaxed) {
                break Status::Interrupted;
            }
            if left.is_some_and(|left| left.is_zero()) {
                break Status::TimedOut;
            }
            match receiver.recv_timeout(left.unwrap_or(TICK).min(TICK)) {
                Ok(all) => {
                    text = all;
                    break Status::Ended(child.wait()?);
                }
                Err(RecvTimeoutError::Disconnected) => break Status::Ended(child.wait()?),
                // Something that the library started may hold the pipe open.
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(status) = child.try_wait()? {
                        break Status::Ended(status);
                    }
                }
            }
        };
        if !matches!(status, Status::Ended(_)) {
            // It may have ended just now.
            let _ = child.kill();
            child.wait()?;
        }
        if text.is_empty() {
            text = receiver.recv_timeout(TICK).unwrap_or_default();
        }
        Ok((status, text))
    }
}

enum Status {
    Ended(ExitStatus),
    TimedOut,
    Interrupted,
}

fn failed(doing: &str, error: &io::Error) -> Error {
    Error::failed(Code::Internal, format!("cannot {doing}: {error}"))
}

/// Reads to the end and keeps the start.
fn printed(mut pipe: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    // An error ends it like the end.
    let _ = pipe
        .by_ref()
        .take(MOST_PRINTED as u64)
        .read_to_end(&mut kept);
    let _ = io::copy(&mut pipe, &mut io::sink());
    kept
}

/// Takes apart what was printed at each step.
fn steps(printed: &[u8]) -> (Vec<(Step, String)>, Step) {
    let mut step = Step::Load;
    let mut all: Vec<(Step, String)> = Vec::new();
    for (number, part) in printed.split(|&byte| byte == MARK as u8).enumerate() {
        let mut said = part;
        if number > 0 {
            let end = part.iter().position(|&byte| byte == b'\n');
            let (mark, rest) = part.split_at(end.map_or(part.len(), |end| end + 1));
            if let Ok(next) = serde_json::from_slice(mark) {
                (step, said) = (next, rest);
            }
        }
        if said.is_empty() {
            continue;
        }
        match all.last_mut() {
            Some((last, so_far)) if *last == step => so_far.push_str(&text(said)),
            _ => all.push((step, text(said).into_owned())),
        }
    }
    (all, step)
}

/// The terminal's Ctrl-C reaches the worker too, maybe first.
#[cfg(unix)]
fn was_interrupted(status: ExitStatus) -> bool {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let signals = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
    status
        .signal()
        .is_some_and(|signal| signals.contains(&signal))
}

#[cfg(not(unix))]
fn was_interrupted(_: ExitStatus) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_belongs_to_its_step() {
        let mark = |step| format!("{MARK}{}\n", serde_json::to_string(&step).unwrap());
        let add = Step::Add(Source::Input(3));
        let printed = [
            "early\n",
            &mark(Step::Create),
            &mark(add),
            "error   : a\nno mark \u{1e}no step\nno newline",
            &mark(Step::Complete),
        ];
        let (texts, last) = steps(printed.concat().as_bytes());
        assert_eq!(
            texts,
            [
                (Step::Load, "early\n".to_owned()),
                (add, "error   : a\nno mark no step\nno newline".to_owned())
            ]
        );
        assert_eq!(last, Step::Complete);
    }
}
