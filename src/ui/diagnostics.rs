//! One diagnostic, three renderings: text for people, a JSON line for programs, a GitHub annotation.

use anstyle::{AnsiColor, Style};

use super::sanitize;
use crate::code::demangled;
use crate::error::{Diagnostic, Severity};

fn style(severity: Severity) -> Style {
    let color = match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    Style::new().bold().fg_color(Some(color.into()))
}

/// `error[arch-missing]: a.o: no code for sm_90`, then details and hints on lines of their own.
/// Colour codes are always there; the stream strips them where they are not wanted.
pub fn text(diagnostic: &Diagnostic) -> String {
    let severity = style(diagnostic.severity);
    let mut out = format!(
        "{severity}{}[{}]{severity:#}: ",
        diagnostic.severity.as_str(),
        diagnostic.code
    );
    if let Some(first) = diagnostic.inputs.first() {
        out.push_str(&sanitize(first));
        if let Some(line) = diagnostic.line {
            out.push_str(&format!(":{line}"));
        }
        if let Some(offset) = diagnostic.offset {
            out.push_str(&format!(" at {offset:#x}"));
        }
        out.push_str(": ");
    }
    out.push_str(&sanitize(&diagnostic.message));
    out.push('\n');
    let name = diagnostic.symbol.as_deref().and_then(demangled);
    if let Some(name) = name.filter(|name| !diagnostic.message.contains(name)) {
        out.push_str(&format!("  = symbol: {}\n", sanitize(&name)));
    }
    for input in diagnostic.inputs.iter().skip(1) {
        out.push_str(&format!("  = also: {}\n", sanitize(input)));
    }
    for line in &diagnostic.details {
        out.push_str(&format!("  | {}\n", sanitize(line)));
    }
    let hint_style = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    for hint in &diagnostic.hints {
        out.push_str(&format!(
            "{hint_style}hint{hint_style:#}: {}\n",
            sanitize(hint)
        ));
    }
    out
}

/// One JSON object on one line.
pub(super) fn json(diagnostic: &Diagnostic) -> String {
    // A struct of strings and numbers always serialises.
    serde_json::to_string(diagnostic).unwrap_or_default() + "\n"
}

/// A workflow command: `::error title=arch-missing,file=a.o::message`. Only texts have line numbers.
pub(super) fn github(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = format!("title={}", github_property(diagnostic.code.as_str()));
    if let Some(first) = diagnostic.inputs.first() {
        properties.push_str(&format!(",file={}", github_property(first)));
        if let Some(line) = diagnostic.line {
            properties.push_str(&format!(",line={line}"));
        }
    }
    let mut message = diagnostic.message.clone();
    for line in diagnostic.inputs.iter().skip(1).chain(&diagnostic.details) {
        message.push_str(&format!("\n{line}"));
    }
    for hint in &diagnostic.hints {
        message.push_str(&format!("\nhint: {hint}"));
    }
    format!("::{level} {properties}::{}\n", github_data(&message))
}

fn github_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn github_property(text: &str) -> String {
    github_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn plain(diagnostic: &Diagnostic) -> String {
        anstream::adapter::strip_str(&text(diagnostic)).to_string()
    }

    #[test]
    fn three_forms_of_one_finding() {
        let finding = Diagnostic::error(Code::DuplicateSymbol, "`f` is defined twice")
            .input("a.o")
            .input("b.o")
            .symbol("_Z1fv")
            .detail("100% the\nsame body")
            .hint("drop one");
        assert_eq!(
            plain(&finding),
            "error[duplicate-symbol]: a.o: `f` is defined twice\n  = symbol: f()\n  = also: b.o\n  | 100% the\\nsame body\nhint: drop one\n"
        );
        assert_eq!(
            github(&finding),
            "::error title=duplicate-symbol,file=a.o::`f` is defined twice%0Ab.o%0A100%25 the%0Asame body%0Ahint: drop one\n"
        );
        let value: serde_json::Value = serde_json::from_str(&json(&finding)).unwrap();
        assert_eq!(value["inputs"][1], "b.o");
    }
}
