//! Links with nvJitLink, in a worker. What the library answers, logs and prints becomes findings in cudalink's own
//! words; its codes alone prove nothing.

use crate::bytes::Blob;
use crate::cache::Cache;
use crate::code::{Arch, ImageKind};
use crate::error::{Code, Diagnostic, Error, Result, Severity};
use crate::ffi::nvjitlink::{InputKind, OutputKind};
use crate::format::fatbin;
use crate::link::check::{Chosen, Levels, LtoLibrary};
use crate::link::messages::{self, Level};
use crate::link::options::{self, Emit, Options, Shape};
use crate::link::picked::Picked;
use crate::link::report::StepReport;
use crate::toolkit::Candidate;
use crate::worker::link::{Answer, Failure, Input, Link, Outcome, Task};
use crate::worker::{self, End, Source, Step, Told, Workers};

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
        let worker::Answered {
            answer,
            mut results,
            printed,
        } = run.answer(&Told {
            library: self.library,
            limits: self.workers.limits,
            work: worker::Work::Link,
            name: &|source| work.name(source),
            blame: &|finding, step| work.blame(finding, step),
        })?;
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
