mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use text::TextSink;

use super::Context;
use crate::code::{Arch, ImageKind, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::inspect::{
    Detail, Glob, ImageReport, JsonWriter, Outcome, Report, Request, Selection, Sink, Source,
    Summary, View, csv_line, inspect, markdown_line,
};
use crate::ui::{Printer, sanitize};

/// Say what device code is in a file, and what its kernels need
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cudalink inspect libfoo.so               what is in it, by architecture; nothing is unpacked
  cudalink inspect --kernels app.cubin     registers, stack, shared memory, parameters, launch bounds
  cudalink inspect --arch sm_90 --kernel '*gemm*' --format csv --kernels libfoo.so")]
pub struct Opts {
    /// Files, archives, wheels or folders; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "schema")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    select: Select,
    /// List the images one by one
    #[arg(long, help_heading = "Detail")]
    images: bool,
    /// Kernels with registers, stack, spills, memory, parameters and launch bounds
    #[arg(long, help_heading = "Detail")]
    kernels: bool,
    /// Resources of kernels and device functions, in the form of `cuobjdump -res-usage`
    #[arg(long, help_heading = "Detail")]
    resources: bool,
    /// Symbols
    #[arg(long, help_heading = "Detail")]
    symbols: bool,
    /// Sections of cubins
    #[arg(long, help_heading = "Detail")]
    sections: bool,
    /// Relocations of cubins
    #[arg(long, help_heading = "Detail")]
    relocations: bool,
    /// All of the above
    #[arg(long, help_heading = "Detail")]
    all: bool,
    /// How to print; csv and markdown show one table, the one of the detail asked for
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Show names as the file has them
    #[arg(long)]
    no_demangle: bool,
    /// Print the JSON schema of `--format json`
    #[arg(long)]
    schema: bool,
}

/// Which images and functions a command is about.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct Select {
    /// Only images for these architectures, such as sm_90a
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<Arch>,
    /// Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<ImageKind>,
    /// Only functions of this name, mangled or readable; `*` and `?` stand for other characters
    #[arg(long, value_name = "GLOB")]
    kernel: Vec<Glob>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Csv,
    Markdown,
}

impl Select {
    pub fn selection(&self) -> Selection {
        Selection {
            archs: self.arch.clone(),
            kinds: self.kind.clone(),
            kernels: self.kernel.clone(),
        }
    }
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        if self.schema {
            context.printer.data(schema()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let printer = context.printer;
        let views = self.views();
        let request = Request {
            selection: self.select.selection(),
            detail: detail(&views),
            demangle: !self.no_demangle,
        };
        let (objects, unreadable) = open(&self.inputs, printer);
        let watched = |sink: &mut dyn Sink| inspect(&objects, &request, sink, &printer);
        let outcome = match self.format {
            Format::Json => {
                let mut writer = JsonWriter::new(printer.writer())?;
                let outcome = watched(&mut writer)?;
                writer.finish()?;
                outcome
            }
            Format::Text => watched(&mut TextSink::new(printer, &views, &request))?,
            Format::Csv | Format::Markdown => {
                let view = only_table(&views)?;
                watched(&mut TableSink::new(printer, view, self.format)?)?
            }
        };
        finish(&outcome, &request.selection)?;
        if unreadable || outcome.damaged {
            return Ok(ExitCode::from(Category::Damaged.exit_code()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The tables asked for, in the order in which text shows them.
    fn views(&self) -> Vec<View> {
        let asked = [
            (self.images, View::Images),
            (self.sections, View::Sections),
            (self.kernels || self.wants_kernels(), View::Kernels),
            (self.resources, View::Resources),
            (self.symbols, View::Symbols),
            (self.relocations, View::Relocations),
        ];
        asked
            .into_iter()
            .filter(|&(asked, _)| asked || self.all)
            .map(|(_, view)| view)
            .collect()
    }

    /// A pattern for kernels without a word on what to show of them.
    fn wants_kernels(&self) -> bool {
        !self.select.kernel.is_empty() && !self.resources && !self.symbols
    }
}

/// The JSON schema of a report.
fn schema() -> Result<String> {
    let text = serde_json::to_string_pretty(&Report::schema());
    text.map(|text| text + "\n")
        .map_err(|error| Error::failed(Code::Internal, format!("cannot write the schema: {error}")))
}

fn detail(views: &[View]) -> Detail {
    Detail {
        kernels: views.contains(&View::Kernels),
        resources: views.contains(&View::Resources),
        symbols: views.contains(&View::Symbols),
        sections: views.contains(&View::Sections),
        relocations: views.contains(&View::Relocations),
    }
}

/// Opens what can be opened and reports the rest.
fn open(inputs: &[PathBuf], printer: Printer) -> (Vec<ObjectCode>, bool) {
    let mut objects = Vec::new();
    let mut unreadable = false;
    for path in inputs {
        match ObjectCode::open(path) {
            Ok(object) => objects.push(object),
            Err(error) => {
                printer.error(&error);
                unreadable = true;
            }
        }
    }
    (objects, unreadable)
}

fn only_table(views: &[View]) -> Result<View> {
    match views {
        [] => Ok(View::Summary),
        [view] => Ok(*view),
        _ => Err(Error::usage(
            "csv and markdown show one table, but several details are asked for",
        )
        .hint("ask for one of them, or use `--format json`")),
    }
}

/// A selection that takes nothing is an answer of no.
fn finish(outcome: &Outcome, selection: &Selection) -> Result<()> {
    if outcome.images == 0 || outcome.damaged {
        return Ok(());
    }
    if outcome.selected == 0 {
        return Err(nothing_selected(&outcome.archs));
    }
    if !selection.kernels.is_empty() && outcome.functions == 0 {
        return Err(unknown_kernel(selection));
    }
    Ok(())
}

/// No image is of an architecture and kind that was asked for.
pub(super) fn nothing_selected(archs: &BTreeSet<Arch>) -> Error {
    let error = Error::failed(
        Code::ArchMissing,
        "no image is of the architecture and kind asked for",
    );
    if archs.is_empty() {
        return error;
    }
    let archs: Vec<String> = archs.iter().map(Arch::to_string).collect();
    error.hint(format!("ask for one of {}", archs.join(", ")))
}

/// No function has a name that was asked for.
pub(super) fn unknown_kernel(selection: &Selection) -> Error {
    let globs: Vec<&str> = selection.kernels.iter().map(Glob::as_str).collect();
    let message = format!("no function is called `{}`", globs.join("` or `"));
    Error::failed(Code::UnknownKernel, message)
        .hint("list them all with `cudalink inspect --kernels`")
}

/// CSV or Markdown: one table over all inputs.
struct TableSink {
    printer: Printer,
    view: View,
    format: Format,
    source: Option<Source>,
    summary: Summary,
}

impl TableSink {
    fn new(printer: Printer, view: View, format: Format) -> Result<Self> {
        let sink = Self {
            printer,
            view,
            format,
            source: None,
            summary: Summary::default(),
        };
        let columns = view.columns();
        let mut head = sink.line(&columns);
        if format == Format::Markdown {
            head.push_str(&format!("|{}\n", " --- |".repeat(columns.len())));
        }
        printer.data(head)?;
        Ok(sink)
    }

    fn line<T: AsRef<str>>(&self, cells: &[T]) -> String {
        // Whoever reads the table shows the names on a terminal in the end.
        let cells: Vec<_> = cells.iter().map(|cell| sanitize(cell.as_ref())).collect();
        match self.format {
            Format::Markdown => markdown_line(&cells),
            _ => csv_line(&cells),
        }
    }

    fn print(&self, rows: &[Vec<String>]) -> Result<()> {
        self.printer
            .data(rows.iter().map(|row| self.line(row)).collect::<String>())
    }
}

impl Sink for TableSink {
    fn source(&mut self, source: &Source) -> Result<()> {
        self.source = Some(source.clone());
        self.summary = Summary::default();
        Ok(())
    }

    fn image(&mut self, image: ImageReport) -> Result<()> {
        self.summary.add(&image);
        match &self.source {
            Some(source) => self.print(&self.view.rows(source, &image)),
            None => Ok(()),
        }
    }

    fn end(&mut self, _: Vec<Diagnostic>) -> Result<()> {
        match (&self.source, self.view) {
            (Some(source), View::Summary) => {
                let rows: Vec<_> = self.summary.rows().map(|row| row.cells(source)).collect();
                self.print(&rows)
            }
            _ => Ok(()),
        }
    }
}
