//! Each device is driven by a process of its own: the driver's calls block for as long as a kernel runs,
//! and a fault of the driver must not take the messages with it. The command starts itself again for each
//! device and only watches; the driver is loaded in the workers alone.
//!
//! A worker's stdout belongs to the kernel's `printf` and its stderr to progress, so it reports through
//! the stream that is left: what it has as stdin is the writing end of a pipe, on which it sends one JSON
//! [`Message`] a line.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::report::DeviceReport;
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::ffi::driver;
use crate::observe::{Observer, Progress};

/// Tells a process that it is a worker, and for which device.
pub const WORKER_VARIABLE: &str = "CUDALINK_RUN_WORKER";
/// Tells a worker where the bytes of standard input are.
pub const STDIN_VARIABLE: &str = "CUDALINK_RUN_STDIN";
/// The worker that only counts the devices.
pub const COUNT: &str = "count";

/// How long a killed worker may take to go.
const GRACE: Duration = Duration::from_millis(1500);

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message {
    /// What it does from now on, or decided.
    Detail(String),
    Diagnostic(Diagnostic),
    /// The last message.
    Done(Box<DeviceReport>),
    Count(u32),
}

/// A worker's way to tell; progress goes to the terminal directly.
#[expect(missing_debug_implementations, reason = "an observer has none")]
pub struct Reporter<'a> {
    pipe: Mutex<File>,
    progress: &'a dyn Observer,
}

impl<'a> Reporter<'a> {
    /// Takes over the pipe that [`supervise`] left in place of stdin.
    pub fn new(progress: &'a dyn Observer) -> Result<Self> {
        end_with_the_parent();
        let pipe = own_stdin().map_err(|error| {
            Error::failed(
                Code::Internal,
                format!("the worker cannot take over its pipe: {error}"),
            )
        })?;
        Ok(Self {
            pipe: Mutex::new(pipe),
            progress,
        })
    }

    fn send(&self, message: &Message) {
        // Messages are strings and numbers, which always serialise; a parent that is gone needs none.
        let Ok(mut line) = serde_json::to_vec(message) else {
            return;
        };
        line.push(b'\n');
        let _ = self
            .pipe
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(&line);
    }

    /// Ends the reporting. A parent that hears of a failure kills this process at once.
    pub fn done(&self, report: DeviceReport) {
        driver::flush_output();
        self.send(&Message::Done(Box::new(report)));
    }

    pub fn count(&self, devices: u32) {
        self.send(&Message::Count(devices));
    }
}

impl Observer for Reporter<'_> {
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.send(&Message::Diagnostic(diagnostic.clone()));
    }

    fn detail(&self, line: &str) {
        self.send(&Message::Detail(line.to_owned()));
    }

    fn progress(&self, what: &str, total: Option<u64>) -> Box<dyn Progress> {
        self.progress.progress(what, total)
    }
}

#[cfg(unix)]
fn own_stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn own_stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// A worker whose parent was killed would run on unseen.
fn end_with_the_parent() {
    #[cfg(target_os = "linux")]
    // Where the system refuses, the parent still kills it in every other case.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// How the workers are started and watched.
#[derive(Debug)]
pub struct Supervision {
    /// The command's own arguments, without the program.
    pub arguments: Vec<OsString>,
    /// Where the bytes of standard input were put.
    pub stdin: Option<PathBuf>,
    /// Whether the kernel's output goes to stderr, because stdout is a document.
    pub output_to_stderr: bool,
    /// When the work has to be done, and the limit as it was given.
    pub deadline: Option<(Instant, Duration)>,
}

enum Event {
    Message(usize, Message),
    /// The worker's end of the pipe is closed: it ended.
    Closed(usize),
    Interrupted,
}

/// One worker as the parent sees it.
struct Worker {
    child: Child,
    report: DeviceReport,
    count: Option<u32>,
    /// Its last detail: what it was doing.
    step: Option<String>,
    is_done: bool,
    is_open: bool,
}

impl Supervision {
    /// Runs a worker for each selector and gives their reports, in order. Findings are passed on as they come.
    pub fn run(&self, selectors: &[String], observer: &dyn Observer) -> Result<Vec<DeviceReport>> {
        Ok(self
            .watch(selectors, observer)?
            .into_iter()
            .map(|worker| worker.report)
            .collect())
    }

    /// The number of devices, asked by a worker.
    pub fn count_devices(&self, observer: &dyn Observer) -> Result<u32> {
        let mut workers = self.watch(&[COUNT.to_owned()], observer)?;
        let worker = workers.pop();
        let (count, report) =
            worker.map_or((None, None), |worker| (worker.count, Some(worker.report)));
        count.ok_or_else(|| {
            let report = report.unwrap_or_else(|| DeviceReport::new(COUNT));
            Error {
                category: category(report.exit_code),
                diagnostics: report.diagnostics,
            }
        })
    }

    fn watch(&self, selectors: &[String], observer: &dyn Observer) -> Result<Vec<Worker>> {
        let (send, events) = mpsc::channel();
        let mut workers = Vec::new();
        for (number, selector) in selectors.iter().enumerate() {
            let (worker, pipe) = self.start(selector)?;
            workers.push(worker);
            let send = send.clone();
            thread::spawn(move || read(number, pipe, &send));
        }
        // A second handler is refused; there is one run a process.
        let _ = ctrlc::set_handler(move || {
            let _ = send.send(Event::Interrupted);
        });
        while workers.iter().any(|worker| worker.is_open) {
            match self.next(&events) {
                Some(Event::Message(number, message)) => workers[number].hear(message, observer),
                Some(Event::Closed(number)) => workers[number].close(),
                Some(Event::Interrupted) => workers
                    .iter_mut()
                    .for_each(|worker| worker.stop(interrupted())),
                None => {
                    let limit = self.deadline.map_or(Duration::ZERO, |(_, limit)| limit);
                    workers
                        .iter_mut()
                        .for_each(|worker| worker.stop(timed_out(limit)));
                }
            }
        }
        Ok(workers)
    }

    /// The next event; `None` when the time is up.
    fn next(&self, events: &mpsc::Receiver<Event>) -> Option<Event> {
        match self.deadline {
            Some((at, _)) => events
                .recv_timeout(at.saturating_duration_since(Instant::now()))
                .ok(),
            None => events.recv().ok(),
        }
    }

    fn start(&self, selector: &str) -> Result<(Worker, PipeReader)> {
        let failed = |error: io::Error| {
            Error::failed(Code::Internal, format!("cannot start a worker: {error}"))
        };
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .args(&self.arguments)
            .env(WORKER_VARIABLE, selector)
            .stdin(writer);
        if let Some(path) = &self.stdin {
            command.env(STDIN_VARIABLE, path);
        }
        if self.output_to_stderr {
            command.stdout(Stdio::from(io::stderr()));
        }
        let child = command.spawn().map_err(failed)?;
        let worker = Worker {
            child,
            report: DeviceReport::new(selector),
            count: None,
            step: None,
            is_done: false,
            is_open: true,
        };
        // `command` goes here and with it this process's copy of the writing end.
        Ok((worker, reader))
    }
}

fn read(number: usize, pipe: PipeReader, send: &mpsc::Sender<Event>) {
    for line in BufReader::new(pipe).lines() {
        let Ok(line) = line else { break };
        // What is no message is a library that writes to stdin; nobody is interested.
        if let Ok(message) = serde_json::from_str(&line) {
            let _ = send.send(Event::Message(number, message));
        }
    }
    let _ = send.send(Event::Closed(number));
}

impl Worker {
    fn hear(&mut self, message: Message, observer: &dyn Observer) {
        match message {
            Message::Detail(line) => {
                observer.detail(&line);
                self.step = Some(line);
            }
            Message::Diagnostic(diagnostic) => {
                observer.diagnostic(&diagnostic);
                self.report.diagnostics.push(diagnostic);
            }
            Message::Count(count) => {
                self.count = Some(count);
                self.is_done = true;
            }
            Message::Done(report) => {
                let told = std::mem::take(&mut self.report.diagnostics);
                self.report = *report;
                self.report.diagnostics.splice(0..0, told);
                self.is_done = true;
                // The result is here; after a failure nothing is worth waiting for.
                if self.report.exit_code != 0 {
                    let _ = self.child.kill();
                }
            }
        }
    }

    /// Ends it for a reason that becomes its result, unless it has one.
    fn stop(&mut self, (category, mut finding): (Category, Diagnostic)) {
        let _ = self.child.kill();
        if !self.is_done {
            finding
                .details
                .extend(self.step.iter().map(|step| format!("it was {step}")));
            self.fail(category, finding);
        }
        self.reap();
        self.is_open = false;
    }

    /// It ended by itself.
    fn close(&mut self) {
        if !self.is_open {
            return;
        }
        self.is_open = false;
        let status = self.child.wait();
        if !self.is_done {
            let mut finding = ended(status.ok());
            finding
                .details
                .extend(self.step.iter().map(|step| format!("it was {step}")));
            self.fail(Category::Failed, finding);
        }
    }

    fn fail(&mut self, category: Category, finding: Diagnostic) {
        self.report.exit_code = category.exit_code();
        self.report.diagnostics.push(finding);
        self.is_done = true;
    }

    /// Waits a little for a killed process; the driver may hold it up, and the system ends it in any case.
    fn reap(&mut self) {
        let until = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn interrupted() -> (Category, Diagnostic) {
    (
        Category::Interrupted,
        Diagnostic::error(Code::LaunchFailed, "interrupted"),
    )
}

fn timed_out(limit: Duration) -> (Category, Diagnostic) {
    let message = format!("not finished after {} s (`--timeout`)", limit.as_secs_f64());
    (
        Category::Timeout,
        Diagnostic::error(Code::LaunchFailed, message),
    )
}

/// A worker that ended without its last message.
fn ended(status: Option<ExitStatus>) -> Diagnostic {
    let Some(status) = status else {
        return Diagnostic::error(Code::Internal, "the worker is gone");
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let message = format!("the process that drives the device was ended by signal {signal}");
        return Diagnostic::error(Code::LaunchFailed, message);
    }
    Diagnostic::error(Code::Internal, format!("the worker ended early: {status}"))
}

fn category(exit_code: u8) -> Category {
    let all = [
        Category::Failed,
        Category::Usage,
        Category::Missing,
        Category::Damaged,
        Category::Timeout,
        Category::Interrupted,
    ];
    all.into_iter()
        .find(|category| category.exit_code() == exit_code)
        .unwrap_or(Category::Failed)
}
