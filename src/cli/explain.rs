use std::fmt::Write;
use std::process::ExitCode;

use super::Context;
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::link::explain::{Explanation, explain};
use crate::ui::sanitize;

/// Say what a code, a symbol or an error message means
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    cudalink explain arch-suffix\n  \
    cudalink explain NVJITLINK_ERROR_INTERNAL\n  \
    cudalink explain __fatbinwrap_26ea21ef_4_a_cu_2c3b7e1f\n  \
    cudalink explain \"nvlink error   : Undefined reference to '_Z1fi' in 'a.o'\"")]
pub struct Opts {
    /// A diagnostic code, a result code or its number, a symbol, or a message of nvlink, ptxas or a driver
    #[arg(value_name = "TEXT", required = true, allow_hyphen_values = true)]
    text: Vec<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let text = self.text.join(" ");
        let found = explain(&text);
        if found.is_empty() {
            let unknown = Diagnostic::error(Code::OptionConflict, format!("nothing is known of `{text}`"))
                .hint("give a diagnostic code, a result code, a symbol or one whole line of a tool's output");
            return Err(Error::new(Category::Failed, unknown));
        }
        let out = match self.format {
            Format::Text => found.iter().map(in_words).collect::<Vec<_>>().join("\n"),
            Format::Json => {
                let value = serde_json::json!({ "schema_version": 1, "explanations": found });
                format!("{value:#}\n")
            }
        };
        context.printer.data(out)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn in_words(explanation: &Explanation) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = out.write_fmt(text);
    };
    line(format_args!(
        "{}: {}\n",
        sanitize(&explanation.name),
        sanitize(&explanation.meaning)
    ));
    if let Some(demangled) = &explanation.demangled {
        line(format_args!("  = {}\n", sanitize(demangled)));
    }
    for fact in &explanation.facts {
        line(format_args!("  | {}\n", sanitize(fact)));
    }
    for (title, list) in [
        ("usual causes", &explanation.causes),
        ("what to do", &explanation.remedies),
    ] {
        if !list.is_empty() {
            line(format_args!("{title}:\n"));
        }
        for item in list {
            line(format_args!("  - {}\n", sanitize(item)));
        }
    }
    out
}
