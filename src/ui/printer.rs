use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::diagnostics;
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::observe::{Observer, Progress};

/// `--color`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed.
    #[default]
    Auto,
    Always,
    Never,
}

/// `--message-format`: how diagnostics are written to stderr.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MessageFormat {
    #[default]
    Text,
    /// One JSON object a line.
    Json,
    /// GitHub workflow commands.
    Github,
}

/// The only way to print. stdout gets data, stderr gets diagnostics, details and progress.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    color: ColorChoice,
    format: MessageFormat,
    /// -1 quiet, 0 normal, 1 and more verbose.
    verbosity: i8,
    progress: bool,
}

impl Default for Printer {
    fn default() -> Self {
        Self::new(ColorChoice::Auto, MessageFormat::Text, 0, false)
    }
}

impl Printer {
    pub fn new(color: ColorChoice, format: MessageFormat, verbosity: i8, progress: bool) -> Self {
        Self {
            color,
            format,
            verbosity,
            progress,
        }
    }

    pub fn is_verbose(self) -> bool {
        self.verbosity > 0
    }

    /// Columns of the terminal that stdout is, 80 when it is none.
    pub fn width(self) -> usize {
        const STANDARD: usize = 80;
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((terminal_size::Width(columns), _)) => usize::from(columns).max(STANDARD),
            None => STANDARD,
        }
    }

    /// Writes data to stdout. A closed pipe ends the program quietly, as `| head` expects.
    pub fn data(self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let mut out = anstream::AutoStream::new(io::stdout(), self.choice(&io::stdout())).lock();
        let written = out.write_all(bytes.as_ref()).and_then(|()| out.flush());
        finish_stdout(written)
    }

    /// Data for stdout, piece by piece; see [`Printer::data`].
    pub fn writer(self) -> io::BufWriter<DataWriter> {
        io::BufWriter::with_capacity(64 * 1024, DataWriter(self))
    }

    /// Writes bytes that must arrive as they are. A terminal is refused: binary would garble it.
    pub fn binary(self, bytes: &[u8]) -> Result<()> {
        if io::stdout().is_terminal() {
            return Err(Error::usage("refusing to write binary data to a terminal")
                .hint("redirect stdout, or name a file with `-o`"));
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        finish_stdout(written)
    }

    /// The errors that end a command.
    pub fn error(self, error: &Error) {
        for diagnostic in &error.diagnostics {
            self.diagnostic(diagnostic);
        }
    }

    /// A status line on stderr, unless `-q`.
    pub fn status(self, line: &str) {
        if self.verbosity >= 0 && self.format == MessageFormat::Text {
            self.talk(&format!("{}\n", super::sanitize(line)));
        }
    }

    fn talk(self, text: &str) {
        // What was said before on stdout should stand before this.
        let _ = io::stdout().flush();
        let mut err = anstream::AutoStream::new(io::stderr(), self.choice(&io::stderr())).lock();
        // There is nowhere left to report that stderr is closed.
        let _ = err.write_all(text.as_bytes());
    }

    fn choice(self, stream: &impl anstream::stream::RawStream) -> anstream::ColorChoice {
        match self.color {
            ColorChoice::Auto => anstream::AutoStream::choice(stream),
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
    }
}

/// Hands every write to [`Printer::data`], or straight to stdout where that is no terminal: looking for
/// colours in a large report takes longer than writing it.
#[derive(Debug)]
pub struct DataWriter(Printer);

impl Write for DataWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if io::stdout().is_terminal() {
            self.0.data(bytes)
        } else {
            finish_stdout(io::stdout().lock().write_all(bytes))
        };
        match written {
            Ok(()) => Ok(bytes.len()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn finish_stdout(written: io::Result<()>) -> Result<()> {
    match written {
        Ok(()) => Ok(()),
        // Whoever read us has had enough; that is success.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::new(
            Category::Failed,
            Diagnostic::error(
                Code::OutputUnwritable,
                format!("cannot write to stdout: {error}"),
            ),
        )),
    }
}

impl Observer for Printer {
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        if self.verbosity < 0 && diagnostic.severity == Severity::Note {
            return;
        }
        self.talk(&match self.format {
            MessageFormat::Text => diagnostics::text(diagnostic),
            MessageFormat::Json => diagnostics::json(diagnostic),
            MessageFormat::Github => diagnostics::github(diagnostic),
        });
    }

    fn detail(&self, line: &str) {
        if self.verbosity > 0 && self.format == MessageFormat::Text {
            self.talk(&format!("{}\n", super::sanitize(line)));
        }
    }

    fn status(&self, line: &str) {
        Self::status(*self, line);
    }

    fn progress(&self, what: &str, total: Option<u64>) -> Box<dyn Progress> {
        // With -v the bar would run through the log lines.
        let shown = self.progress
            && self.verbosity == 0
            && self.format == MessageFormat::Text
            && io::stderr().is_terminal();
        let target = if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = match total {
            Some(_) => "{msg}  [{bar:24}] {bytes}/{total_bytes}  {bytes_per_sec}",
            None => "{msg}  {spinner} {bytes}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(super::sanitize(what).into_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        Box::new(Bar(bar))
    }
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn set(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
