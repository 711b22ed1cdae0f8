//! Links with nvJitLink, in a worker. What the library answers, logs and prints becomes findings in cudalink's own
//! words; its codes alone prove nothing.

use std::process::ExitStatus;

use crate::bytes::Blob;
use crate::cache::Cache;
use crate::code::{Arch, ImageKind};
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::ffi::nvjitlink::{InputKind, OutputKind};
use crate::format::fatbin;
use crate::link::check::{Chosen, Levels, LtoLibrary};
use crate::link::messages::{self, Level};
use crate::link::options::{self, Emit, Options, Shape};
use crate::link::picked::Picked;
use crate::link::report::StepReport;
use crate::link::worker::{
    self, Answer, End, Failure, Input, Link, Outcome, Run, Source, Step, Task, Workers,
};
use crate::toolkit::Candidate;

/// A library, and the processes in which it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct NvJitLink<'a> {
    pub library: &'a Candidate,
    pub workers: Workers<'a>,
    pub cache: &'a Cache,
}

/// What is to be linked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    pub shape: Shape,
    pub options: &'a Options,
    pub picked: &'a [Picked],
    /// The LTO-IR is made into a relocatable cubin first.
    pub two_steps: bool,
    pub levels: &'a Levels,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub steps: Vec<StepReport>,
    /// Milliseconds that loading the library took.
    pub load: f64,
    /// Whether it was done before, and the library was not asked.
    pub known: bool,
    /// Warnings and notes, and errors where there is no result.
    pub findings: Vec<Diagnostic>,
    pub result: Option<Blob>,
}

impl Work<'_> {
    /// The calls to be made, as the library is given them.
    pub fn task(&self) -> Task {
        let inputs = self.picked.iter().map(|picked| Input {
            name: picked.name.clone(),
            kind: if picked.is_wrapped() {
                InputKind::Fatbin
            } else {
                input_kind(picked.image.kind)
            },
            size: picked.bytes.len(),
        });
        Task {
            inputs: inputs.collect(),
            links: self.links(),
            memory_limit: None,
        }
    }

    fn links(&self) -> Vec<Link> {
        let all = (0..self.picked.len()).map(Source::Input);
        let link = |shape: Shape, sources| Link {
            options: options::nvjitlink(shape, self.options),
            sources,
            output: shape.emit.output(),
        };
        if !self.two_steps {
            return vec![link(self.shape, all.collect())];
        }
        let is_lto = |index: &usize| self.picked[*index].is_lto();
        let lto: Vec<usize> = (0..self.picked.len()).filter(is_lto).collect();
        let first = Shape {
            relocatable: true,
            ..self.shape
        };
        let second = Shape {
            lto: false,
            ..self.shape
        };
        // The cubin stands where the first of the LTO-IR stood.
        let rest = (0..self.picked.len()).filter_map(|index| match lto.contains(&index) {
            true if lto.first() == Some(&index) => Some(Source::Link(0)),
            true => None,
            false => Some(Source::Input(index)),
        });
        vec![
            link(first, lto.iter().copied().map(Source::Input).collect()),
            link(second, rest.collect()),
        ]
    }

    pub fn steps(&self) -> Vec<StepReport> {
        let task = self.task();
        let links = task.links.iter();
        links
            .map(|link| StepReport {
                options: link.options.clone(),
                inputs: link
                    .sources
                    .iter()
                    .map(|&source| self.name(source))
                    .collect(),
                error_log: String::new(),
                info_log: String::new(),
                printed: String::new(),
            })
            .collect()
    }

    fn name(&self, source: Source) -> String {
        match source {
            Source::Input(number) => self.picked[number].name.clone(),
            Source::Link(number) => format!("result of step {}", number + 1),
        }
    }

    /// All inputs, shortened: those to blame for what happened to all of them together.
    fn blame_all(&self, finding: Diagnostic) -> Diagnostic {
        const SHOWN: usize = 8;
        let names = self.picked.iter().map(|picked| picked.name.clone());
        let finding = names.take(SHOWN).fold(finding, Diagnostic::input);
        match self.picked.len().checked_sub(SHOWN) {
            Some(more @ 1..) => finding.input(format!("and {more} more")),
            _ => finding,
        }
    }

    fn blame(&self, finding: Diagnostic, step: Step) -> Diagnostic {
        match step {
            _ if !finding.inputs.is_empty() => finding,
            Step::Add(source) => finding.input(self.name(source)),
            _ => self.blame_all(finding),
        }
    }
}

fn input_kind(kind: ImageKind) -> InputKind {
    match kind {
        ImageKind::Ptx => InputKind::Ptx,
        ImageKind::LtoIr => InputKind::LtoIr,
        _ => InputKind::Cubin,
    }
}

impl NvJitLink<'_> {
    /// Links.
    ///
    /// # Errors
    /// Where the worker did not answer: it crashed, took too long, was interrupted or could not be started. What the
    /// library itself refuses is in [`Made::findings`].
    pub fn link(&self, work: &Work<'_>) -> Result<Made> {
        let data: Vec<&[u8]> = work.picked.iter().map(|picked| &*picked.bytes).collect();
        let (run, known) = self
            .workers
            .run_cached(self.library, work.task(), &data, self.cache)?;
        let mut made = Made {
            steps: work.steps(),
            known,
            ..Made::default()
        };
        let Run { end, printed, step } = run;
        match end {
            End::Answered(answer, mut results) => {
                made.load = answer.load_ms;
                self.judge(work, &answer, &printed, &mut made);
                let complete = results.len() == made.steps.len();
                let failed = made
                    .findings
                    .iter()
                    .any(|finding| finding.severity == Severity::Error);
                if complete && !failed {
                    made.result = results.pop();
                } else if !failed {
                    made.findings.push(work.blame_all(Diagnostic::error(
                        Code::BackendFailed,
                        format!(
                            "{} gave no result and no reason",
                            self.library.component.title()
                        ),
                    )));
                }
                if failed {
                    self.list_all_undefined(work, &mut made);
                }
                Ok(made)
            }
            End::Died(status) => Err(self.died(work, status, step, &printed)),
            End::TimedOut => Err(self.timed_out(work, step)),
            End::Interrupted => Err(interrupted()),
        }
    }

    fn judge(&self, work: &Work<'_>, answer: &Answer, printed: &[(Step, String)], made: &mut Made) {
        let mut judge = Judge {
            work,
            release: answer.release,
            findings: Vec::new(),
        };
        for (outcome, step) in answer.links.iter().zip(&mut made.steps) {
            judge.outcome(outcome);
            step.error_log = all_errors(outcome);
            step.info_log.clone_from(&outcome.info_log);
        }
        for (step, text) in printed {
            judge.log(text, *step);
        }
        let texts = printed.iter().map(|(_, text)| text.as_str());
        if let Some(last) = made.steps.last_mut() {
            last.printed = texts.collect();
        }
        judge.failures(answer);
        made.findings = judge.findings;
    }

    /// The library names one undefined symbol of LTO-IR; the PTX that it makes of all LTO-IR declares every one.
    fn list_all_undefined(&self, work: &Work<'_>, made: &mut Made) {
        let is_undefined = |finding: &Diagnostic| finding.code == Code::UndefinedSymbol;
        let Some(told) = made.findings.iter().position(is_undefined) else {
            return;
        };
        let lto: Vec<&Picked> = work
            .picked
            .iter()
            .filter(|picked| picked.is_lto())
            .collect();
        if lto.is_empty() || lto.len() < work.picked.len() {
            return;
        }
        let inspector = Inspector {
            nvjitlink: *self,
            target: work.shape.target,
            nvvm_latest: work.options.nvvm_latest,
        };
        let chosen: Vec<Chosen<'_>> = lto.iter().map(|picked| picked.chosen("")).collect();
        let Ok(ptx) = inspector.ptx(&chosen) else {
            return;
        };
        let release = self
            .library
            .version
            .unwrap_or(crate::toolkit::Version::new(13, 0));
        let all = crate::link::check::lacking(&ptx, release, |_| false);
        if all.is_empty() {
            return;
        }
        made.findings.retain(|finding| !is_undefined(finding));
        let named = all.into_iter().map(|finding| work.blame_all(finding));
        made.findings.splice(told..told, named);
    }

    fn died(
        &self,
        work: &Work<'_>,
        status: ExitStatus,
        step: Step,
        printed: &[(Step, String)],
    ) -> Error {
        let title = self.library.component.title();
        let text: String = printed.iter().map(|(_, text)| text.as_str()).collect();
        let doing = match step {
            Step::Load => "while it was loaded".to_owned(),
            Step::Create => "when the link was started".to_owned(),
            Step::Add(source) => format!("when it was given `{}`", work.name(source)),
            Step::Complete => "while it linked".to_owned(),
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
        let mut finding = work
            .blame(finding, step)
            .detail(format!("the library is {}", self.library));
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        if let Some(last) = lines.rfind(|line| !line.starts_with("hint:")) {
            finding = finding.detail(format!("it last said: {last}"));
        }
        finding = match self.workers.limits.memory {
            Some(limit) => finding.hint(format!("raise `--memory-limit`, which is {limit} bytes")),
            None => finding.hint("try another release of the library with `--toolkit VERSION`"),
        };
        Error::new(category, finding)
    }

    fn timed_out(&self, work: &Work<'_>, step: Step) -> Error {
        let seconds = self.workers.limits.time.unwrap_or_default().as_secs_f64();
        let message = format!(
            "{} did not finish in {seconds} s",
            self.library.component.title()
        );
        let finding = Diagnostic::error(Code::BackendTimeout, message);
        let finding = work.blame(finding, step).hint("raise `--timeout`");
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

pub(super) fn interrupted() -> Error {
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

fn all_errors(outcome: &Outcome) -> String {
    let logs = outcome.failures.iter().map(|failure| failure.log.as_str());
    logs.chain([outcome.error_log.as_str()]).collect()
}

/// Turns what the library said into findings.
struct Judge<'a> {
    work: &'a Work<'a>,
    release: (u32, u32),
    findings: Vec<Diagnostic>,
}

impl Judge<'_> {
    fn outcome(&mut self, outcome: &Outcome) {
        for failure in &outcome.failures {
            self.log(&failure.log, failure.step);
        }
        self.log(&outcome.error_log, Step::Complete);
        self.log(&outcome.info_log, Step::Complete);
    }

    fn log(&mut self, log: &str, step: Step) {
        for message in messages::read(log.as_bytes()) {
            if messages::is_trailer(&message.text) {
                continue;
            }
            let text = match message.line {
                Some(line) => format!("line {line}: {}", message.text),
                None => message.text,
            };
            let finding = match (message.finding, message.level) {
                (Some(finding), _) => finding,
                (None, Level::Error) => Diagnostic::error(Code::BackendFailed, text),
                (None, Level::Warning) => Diagnostic::warning(Code::BackendFailed, text),
                (None, Level::Info) => continue,
            };
            self.add(finding, step);
        }
    }

    fn add(&mut self, finding: Diagnostic, step: Step) {
        let finding = self.work.levels.apply(self.work.blame(finding, step));
        let same = |old: &Diagnostic| {
            (old.code, &old.symbol, &old.message)
                == (finding.code, &finding.symbol, &finding.message)
        };
        if !self.findings.iter().any(same) {
            self.findings.push(finding);
        }
    }

    /// Makes sure that every failed call is told of.
    fn failures(&mut self, answer: &Answer) {
        for failure in answer.links.iter().flat_map(|link| &link.failures) {
            let explained = self.findings.iter().any(|finding| {
                finding.severity == Severity::Error
                    && match failure.step {
                        Step::Add(source) => finding.inputs == [self.work.name(source)],
                        _ => true,
                    }
            });
            if !explained {
                self.add(self.unexplained(failure), failure.step);
            }
        }
    }

    fn unexplained(&self, failure: &Failure) -> Diagnostic {
        let name = match failure.code {
            Some(code) => code.name(self.release),
            None => "it lacks the function".into(),
        };
        let message = match failure.step {
            Step::Load | Step::Create => format!("nvJitLink refused to start the link ({name})"),
            Step::Add(_) => format!("nvJitLink refused the input ({name})"),
            Step::Complete => format!("nvJitLink failed to link ({name})"),
        };
        let lines = failure
            .log
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let finding = Diagnostic::error(Code::BackendFailed, message);
        lines
            .take(5)
            .fold(finding, |finding, line| finding.detail(line))
    }
}

impl Picked {
    /// As the check wants it; `input_name` is the input of the command line.
    pub(super) fn chosen<'a>(&'a self, input_name: &'a str) -> Chosen<'a> {
        Chosen {
            name: &self.name,
            input: self.input,
            input_name,
            kind: self.image.kind,
            bytes: &self.bytes,
        }
    }
}

/// Looks into LTO-IR with the library.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspector<'a> {
    pub nvjitlink: NvJitLink<'a>,
    pub target: Arch,
    pub nvvm_latest: bool,
}

impl Inspector<'_> {
    fn make(&self, images: &[Chosen<'_>], emit: Emit, more: &[&str]) -> Result<Blob> {
        let inputs = images.iter().map(|image| Input {
            name: image.name.to_owned(),
            kind: if image.bytes.starts_with(&fatbin::MAGIC) {
                InputKind::Fatbin
            } else {
                InputKind::LtoIr
            },
            size: image.bytes.len(),
        });
        let mut options = vec![format!("-arch={}", self.target), "-lto".to_owned()];
        options.extend(more.iter().map(|&option| option.to_owned()));
        if self.nvvm_latest {
            options.push("-nvvm-latest".to_owned());
        }
        let task = Task {
            inputs: inputs.collect(),
            links: vec![Link {
                options,
                sources: (0..images.len()).map(Source::Input).collect(),
                output: match emit {
                    Emit::Ptx => OutputKind::Ptx,
                    _ => OutputKind::Cubin,
                },
            }],
            memory_limit: None,
        };
        let data: Vec<&[u8]> = images.iter().map(|image| image.bytes).collect();
        let workers = Workers {
            limits: worker::Limits {
                time: Some(
                    INSPECTION.min(self.nvjitlink.workers.limits.time.unwrap_or(INSPECTION)),
                ),
                ..self.nvjitlink.workers.limits
            },
            ..self.nvjitlink.workers
        };
        let (run, _) =
            workers.run_cached(self.nvjitlink.library, task, &data, self.nvjitlink.cache)?;
        match run.end {
            End::Answered(_, mut results) => results.pop(),
            _ => None,
        }
        .ok_or_else(|| Error::failed(Code::BackendFailed, "LTO-IR cannot be looked into"))
    }
}

/// A look at LTO-IR may not take longer.
const INSPECTION: std::time::Duration = std::time::Duration::from_secs(30);

impl LtoLibrary for Inspector<'_> {
    fn relocatable(&self, image: &Chosen<'_>) -> Result<Blob> {
        self.make(
            std::slice::from_ref(image),
            Emit::Cubin,
            &["-r", "-Ofc=max"],
        )
    }

    fn ptx(&self, images: &[Chosen<'_>]) -> Result<Blob> {
        self.make(images, Emit::Ptx, &["-ptx"])
    }
}
