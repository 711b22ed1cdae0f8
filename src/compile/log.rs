//! What the compilers write into their logs, as findings. The shapes were measured on NVRTC and libNVVM 12.9 and 13.5.

use crate::error::{Code, Diagnostic, Severity};

const LEVELS: &[(&str, Severity)] = &[
    ("catastrophic error", Severity::Error),
    ("internal error", Severity::Error),
    ("Command-line error", Severity::Error),
    ("error", Severity::Error),
    ("warning", Severity::Warning),
    ("remark", Severity::Note),
];

/// Lines that only sum up what others say.
const TRAILERS: &[&str] = &[
    "Remark: ",
    "Compilation terminated",
    "Error limit reached",
    " detected in the compilation of ",
    " detected in this compilation",
];

/// Reads NVRTC's log:
///
/// ```text
/// dir/k.cu(2): error: identifier "y" is undefined
///     *p = y;
///          ^
///
/// dir/k.cu(3): warning #177-D: variable "unused" was declared but never referenced
/// nvrtc: error: unrecognized option --bogus found
/// ```
pub(super) fn nvrtc(log: &str, source: &str) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> = Vec::new();
    for line in log.lines().map(str::trim_end) {
        if line.is_empty() || TRAILERS.iter().any(|trailer| line.contains(trailer)) {
            continue;
        }
        match nvrtc_line(line, source) {
            Some(finding) => all.push(finding),
            // The line of the source and what else belongs to the message before.
            None => match all.pop() {
                Some(last) => all.push(last.detail(line)),
                None => all.push(note(line).input(source)),
            },
        }
    }
    all
}

fn nvrtc_line(line: &str, source: &str) -> Option<Diagnostic> {
    if line.starts_with(' ') {
        return None;
    }
    for (said, severity) in LEVELS {
        for tool in ["nvrtc: ", "", "ptxas "] {
            let rest = line
                .strip_prefix(tool)
                .and_then(|line| line.strip_prefix(said));
            if let Some(message) = rest.and_then(message) {
                return Some(finding(*severity, message).input(source));
            }
        }
    }
    let (place, rest) = line.split_once("): ")?;
    let (file, number) = place.rsplit_once('(')?;
    let number = number.parse().ok()?;
    let level = LEVELS.iter().find(|(said, _)| rest.starts_with(said));
    let (said, severity) = level?;
    let message = message(&rest[said.len()..])?;
    Some(finding(*severity, message).input(file).line(number))
}

/// The text behind `error`: `: text`, ` : text` or ` #177-D: text`, of which the number stays.
fn message(rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    if let Some(text) = rest.strip_prefix(':') {
        return Some(text.trim().to_owned());
    }
    let (number, text) = rest.strip_prefix('#')?.split_once(": ")?;
    Some(format!("{} (#{number})", text.trim()))
}

/// Reads libNVVM's log. It names the modules as it was told to, and tells of one error at a time:
///
/// ```text
/// a.ll (7, 42): parse floating point constant invalid for type
/// b.ll: link error: error: Linking globals named 's': symbol multiply defined!
/// libnvvm : error: -bogus is an unsupported option
/// ```
pub(super) fn nvvm(log: &str, severity: Severity, modules: &[&str]) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> = Vec::new();
    for line in log
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
    {
        match nvvm_line(line, severity, modules) {
            Some(finding) => all.push(finding),
            None => match all.pop() {
                Some(last) => all.push(last.detail(line)),
                None => all.push(finding(severity, line.to_owned())),
            },
        }
    }
    all
}

fn nvvm_line(line: &str, severity: Severity, modules: &[&str]) -> Option<Diagnostic> {
    if let Some(text) = line.strip_prefix("libnvvm : ") {
        return Some(finding(severity, level_taken_off(text).to_owned()));
    }
    // One name may be the start of another.
    let named = modules.iter().filter(|name| line.starts_with(**name));
    let name = named.max_by_key(|name| name.len())?;
    let rest = &line[name.len()..];
    if let Some(text) = rest.strip_prefix(": ") {
        return Some(finding(severity, level_taken_off(text).to_owned()).input(*name));
    }
    let (place, text) = rest.strip_prefix(" (")?.split_once("): ")?;
    let (number, _column) = place.split_once(", ")?;
    let finding = finding(severity, level_taken_off(text).to_owned()).input(*name);
    Some(finding.line(number.parse().ok()?))
}

fn level_taken_off(text: &str) -> &str {
    let words = ["link error: ", "error: ", "warning: ", "parse "];
    words
        .iter()
        .fold(text, |text, word| text.strip_prefix(word).unwrap_or(text))
}

fn finding(severity: Severity, message: String) -> Diagnostic {
    Diagnostic::new(severity, Code::CompilerMessage, message)
}

fn note(message: &str) -> Diagnostic {
    finding(Severity::Note, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(findings: &[Diagnostic]) -> Vec<(Severity, String, Option<u32>, String)> {
        let shown = findings.iter().map(|finding| {
            (
                finding.severity,
                finding.inputs.first().cloned().unwrap_or_default(),
                finding.line,
                finding.message.clone(),
            )
        });
        shown.collect()
    }

    #[test]
    fn nvrtc_names_file_and_line() {
        let log = "inc/h (1).h(2): error: identifier \"zz\" is undefined\n  return zz;\n         ^\n\n\
            k.cu(3): warning #177-D: variable \"unused\" was declared but never referenced\n  int unused;\n\n\
            Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n\
            k.cu(1): catastrophic error: cannot open source file \"x.h\"\n\
            1 catastrophic error detected in the compilation of \"k.cu\".\nCompilation terminated.\n\
            nvrtc: error: invalid value for --gpu-architecture (-arch)\n\
            ptxas warning : Unresolved extern variable 'x'\n";
        let findings = nvrtc(log, "k.cu");
        assert_eq!(
            shown(&findings),
            [
                (
                    Severity::Error,
                    "inc/h (1).h".into(),
                    Some(2),
                    "identifier \"zz\" is undefined".into()
                ),
                (
                    Severity::Warning,
                    "k.cu".into(),
                    Some(3),
                    "variable \"unused\" was declared but never referenced (#177-D)".into()
                ),
                (
                    Severity::Error,
                    "k.cu".into(),
                    Some(1),
                    "cannot open source file \"x.h\"".into()
                ),
                (
                    Severity::Error,
                    "k.cu".into(),
                    None,
                    "invalid value for --gpu-architecture (-arch)".into()
                ),
                (
                    Severity::Warning,
                    "k.cu".into(),
                    None,
                    "Unresolved extern variable 'x'".into()
                ),
            ]
        );
        assert_eq!(findings[0].details, ["  return zz;", "         ^"]);
    }

    #[test]
    fn nvvm_names_module_and_line() {
        let log = "a.ll.bc (7, 42): parse expected type\nc d.ll: link error: error: Linking globals named 's': \
            symbol multiply defined!\n\nlibnvvm : error: -bogus is an unsupported option\nand more\n";
        let findings = nvvm(log, Severity::Error, &["a.ll", "a.ll.bc", "c d.ll"]);
        assert_eq!(
            shown(&findings),
            [
                (
                    Severity::Error,
                    "a.ll.bc".into(),
                    Some(7),
                    "expected type".into()
                ),
                (
                    Severity::Error,
                    "c d.ll".into(),
                    None,
                    "Linking globals named 's': symbol multiply defined!".into()
                ),
                (
                    Severity::Error,
                    String::new(),
                    None,
                    "-bogus is an unsupported option".into()
                ),
            ]
        );
        assert_eq!(findings[2].details, ["and more"]);
    }
}
