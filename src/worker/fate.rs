//! What became of a worker that did not answer, told to the user.

use std::process::ExitStatus;

use super::{End, Limits, Run, Source, Step};
use crate::bytes::Blob;
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::toolkit::Candidate;

/// What messages about a worker need to know of its task.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)] // Functions have nothing to show.
pub struct Told<'a> {
    pub library: &'a Candidate,
    pub limits: Limits,
    pub work: Work,
    pub name: &'a dyn Fn(Source) -> String,
    /// Adds the inputs that are to blame for what happened at a step.
    pub blame: &'a dyn Fn(Diagnostic, Step) -> Diagnostic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Link,
    Compilation,
}

/// What a worker answered.
#[derive(Debug)]
pub struct Answered<A> {
    pub answer: A,
    pub results: Vec<Blob>,
    /// Text that the library printed, with the step at which it did.
    pub printed: Vec<(Step, String)>,
}

impl<A> Run<A> {
    /// The answer, if there is one.
    ///
    /// # Errors
    /// Where there is no answer: the library crashed, cannot be loaded, took too long or too much memory, or the user
    /// interrupted it.
    pub fn answer(self, told: &Told<'_>) -> Result<Answered<A>> {
        match self.end {
            End::Answered(answer, results) => Ok(Answered {
                answer,
                results,
                printed: self.printed,
            }),
            End::Died(status) => Err(told.died(status, self.step, &self.printed)),
            End::TimedOut => Err(told.timed_out(self.step)),
            End::Interrupted => Err(interrupted()),
        }
    }
}

impl Told<'_> {
    fn died(&self, status: ExitStatus, step: Step, printed: &[(Step, String)]) -> Error {
        let title = self.library.component.title();
        let text: String = printed.iter().map(|(_, text)| text.as_str()).collect();
        let doing = match (step, self.work) {
            (Step::Load, _) => "while it was loaded".to_owned(),
            (Step::Create, Work::Link) => "when the link was started".to_owned(),
            (Step::Create, Work::Compilation) => "when the compilation was started".to_owned(),
            (Step::Add(source), _) => format!("when it was given `{}`", (self.name)(source)),
            (Step::Complete, Work::Link) => "while it linked".to_owned(),
            (Step::Complete, Work::Compilation) => "while it compiled".to_owned(),
        };
        let no_memory = was_killed(status) || NO_MEMORY.iter().any(|words| text.contains(words));
        // The worker itself ends with an exit status; a crash is a signal.
        let (category, code, what) = match (no_memory, status.code()) {
            (true, _) => (
                Category::Failed,
                Code::OutOfMemory,
                "ran out of memory".to_owned(),
            ),
            (false, Some(_)) if step == Step::Load => (
                Category::Missing,
                Code::LibraryNotFound,
                "cannot be used".to_owned(),
            ),
            (false, _) => {
                let how = how_it_ended(status);
                (
                    Category::Failed,
                    Code::BackendCrashed,
                    format!("crashed ({how})"),
                )
            }
        };
        let finding = Diagnostic::error(code, format!("{title} {what} {doing}"));
        let mut finding =
            (self.blame)(finding, step).detail(format!("the library is {}", self.library));
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        if let Some(last) = lines.rfind(|line| !line.starts_with("hint:")) {
            finding = finding.detail(format!("it last said: {last}"));
        }
        finding = match self.limits.memory {
            Some(limit) => finding.hint(format!("raise `--memory-limit`, which is {limit} bytes")),
            None => finding.hint("try another release of the library with `--toolkit VERSION`"),
        };
        Error::new(category, finding)
    }

    fn timed_out(&self, step: Step) -> Error {
        let seconds = self.limits.time.unwrap_or_default().as_secs_f64();
        let message = format!(
            "{} did not finish in {seconds} s",
            self.library.component.title()
        );
        let finding = Diagnostic::error(Code::BackendTimeout, message);
        let finding = (self.blame)(finding, step).hint("raise `--timeout`");
        Error::new(Category::Timeout, finding)
    }
}

/// What libraries and the loader say when there is no memory left.
const NO_MEMORY: &[&str] = &[
    "failed to map segment",
    "bad_alloc",
    "ut of memory",
    "Cannot allocate memory",
    "memory exhausted",
];

fn interrupted() -> Error {
    Error::new(
        Category::Interrupted,
        Diagnostic::error(Code::BackendFailed, "interrupted; nothing was written"),
    )
}

#[cfg(unix)]
fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(11), _) => "SIGSEGV".to_owned(),
        (Some(6), _) => "SIGABRT".to_owned(),
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit status {code}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(not(unix))]
fn how_it_ended(status: ExitStatus) -> String {
    status.to_string()
}

/// Nobody sends SIGKILL to a worker but the system, when memory runs out.
#[cfg(unix)]
fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(9)
}

#[cfg(not(unix))]
fn was_killed(_: ExitStatus) -> bool {
    false
}
