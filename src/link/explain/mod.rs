//! What a code, a symbol or a message means, and what to do about it.

mod codes;
mod driver;
mod results;
mod symbols;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Code;
use crate::link::messages;
use codes::about_code;
use results::ResultCode;

/// What the text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// One of cudalink's own diagnostic codes.
    Diagnostic,
    /// A result code of a library.
    Result,
    Symbol,
    /// A line that a linker, ptxas or a driver printed.
    Message,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    pub subject: Subject,
    /// The code, name or symbol that is explained.
    pub name: String,
    pub meaning: String,
    /// The readable form of a mangled symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Further facts: numbers by release, source file, size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
}

/// Everything that `text` can mean, the surest first; empty when nothing is known of it.
pub fn explain(text: &str) -> Vec<Explanation> {
    let text = text.trim();
    if let Some(code) = diagnostic_code(text) {
        return vec![explain_code(code)];
    }
    let results = explain_result(text);
    if !results.is_empty() {
        return results;
    }
    let messages: Vec<Explanation> = text.lines().filter_map(explain_message).collect();
    if !messages.is_empty() {
        return messages;
    }
    let inside = results_inside(text);
    if !inside.is_empty() {
        return inside;
    }
    let symbol = host_symbol(text).unwrap_or(text);
    explain_symbol(symbol).into_iter().collect()
}

/// A code by itself, or in a finding as cudalink prints it: `error[no-kernels]: …`
fn diagnostic_code(text: &str) -> Option<Code> {
    let inside = ["error[", "warning[", "note["]
        .iter()
        .find_map(|severity| text.strip_prefix(severity))
        .and_then(|rest| rest.split_once("]: "))
        .map(|(code, _)| code);
    inside.unwrap_or(text).parse().ok()
}

/// The symbol that a host linker complains of: GNU ld, lld and gold, and Microsoft's.
fn host_symbol(text: &str) -> Option<&str> {
    const COMPLAINTS: [&str; 5] = [
        "undefined reference to ",
        "multiple definition of ",
        "undefined symbol: ",
        "duplicate symbol: ",
        "unresolved external symbol ",
    ];
    let rest = COMPLAINTS
        .iter()
        .find_map(|complaint| Some(text.split_once(complaint)?.1))?;
    let quotes = ['`', '\'', '"', '\u{2018}', '\u{2019}'];
    let rest = rest.trim_start_matches(quotes);
    let ends = |c: char| c.is_whitespace() || quotes.contains(&c);
    rest.split(ends).next().filter(|name| !name.is_empty())
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn explain_code(code: Code) -> Explanation {
    let about = about_code(code);
    Explanation {
        subject: Subject::Diagnostic,
        name: code.to_string(),
        meaning: code.summary().trim_end_matches('.').to_owned(),
        demangled: None,
        facts: Vec::new(),
        causes: owned(about.causes),
        remedies: owned(about.remedies),
    }
}

fn all_results() -> impl Iterator<Item = &'static ResultCode> {
    [
        results::NVJITLINK,
        driver::DRIVER,
        results::NVRTC,
        results::NVVM,
        results::RUNTIME,
    ]
    .into_iter()
    .flatten()
}

/// A result code by its name, by the runtime's name for it, or by its number alone, which may mean something
/// in each library.
fn explain_result(text: &str) -> Vec<Explanation> {
    let runtime = driver::RUNTIME_NAMES.iter().find(|(name, _)| *name == text);
    if let Some(&(_, number)) = runtime {
        let code = driver::DRIVER
            .iter()
            .find(|code| code.numbers[0].0 == number);
        return code.map(result).into_iter().collect();
    }
    let number: Option<i32> = text.parse().ok();
    all_results()
        .filter(|code| code.name == text || number.is_some_and(|number| code.has_number(number)))
        .map(result)
        .collect()
}

/// Result codes that a longer text names, or whose message it passes on.
fn results_inside(text: &str) -> Vec<Explanation> {
    let messages = driver::MESSAGES.iter();
    let named = messages.filter(|(message, _)| text.contains(message));
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.contains("_ERROR_") || word.starts_with("cudaError"))
        .collect();
    let mut found: Vec<Explanation> = Vec::new();
    let words = words.into_iter().chain(named.map(|&(_, name)| name));
    for explanation in words.flat_map(explain_result) {
        if !found.contains(&explanation) {
            found.push(explanation);
        }
    }
    found
}

impl ResultCode {
    fn has_number(&self, number: i32) -> bool {
        self.numbers.iter().any(|&(own, _)| own == number)
    }
}

fn result(code: &ResultCode) -> Explanation {
    let library = code.library.as_str();
    let numbers = code.numbers.iter();
    Explanation {
        subject: Subject::Result,
        name: code.name.to_owned(),
        meaning: code.meaning.to_owned(),
        demangled: None,
        facts: numbers
            .map(|(number, releases)| format!("{number} in {library} of {releases}"))
            .collect(),
        causes: owned(code.causes),
        remedies: owned(code.remedies),
    }
}

fn explain_message(line: &str) -> Option<Explanation> {
    let message = messages::read_line(line);
    let finding = message.finding?;
    let mut explanation = explain_code(finding.code);
    explanation.subject = Subject::Message;
    explanation.name = message.text;
    explanation.meaning = finding.message;
    explanation.facts = vec![format!("diagnostic code {}", finding.code)];
    if let Some(symbol) = &finding.symbol {
        let about = explain_symbol(symbol);
        explanation.demangled = about.as_ref().and_then(|about| about.demangled.clone());
        if let Some(about) = about.filter(|about| !about.remedies.is_empty()) {
            explanation
                .facts
                .push(format!("`{symbol}`: {}", about.meaning));
            explanation.remedies.splice(0..0, about.remedies);
        }
    }
    explanation.remedies.splice(0..0, finding.hints);
    Some(explanation)
}

/// A well-known or a mangled name.
fn explain_symbol(name: &str) -> Option<Explanation> {
    let known = symbols::known(name);
    let decoded = symbols::decode(name);
    if known.is_none() && decoded == symbols::Decoded::default() {
        return None;
    }
    let mut facts = Vec::new();
    facts.extend(
        decoded
            .file
            .map(|file| format!("from the source file `{file}`")),
    );
    facts.extend(
        decoded
            .within
            .map(|kernel| format!("compiled into the kernel `{kernel}`")),
    );
    Some(Explanation {
        subject: Subject::Symbol,
        name: name.to_owned(),
        meaning: known
            .map_or("a mangled name", |known| known.meaning)
            .to_owned(),
        demangled: decoded.readable,
        facts,
        causes: Vec::new(),
        remedies: known.map_or_else(Vec::new, |known| owned(known.remedies)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        explain(text)
            .into_iter()
            .map(|explanation| explanation.name)
            .collect()
    }

    #[test]
    fn codes_results_symbols_and_messages() {
        assert_eq!(names("arch-suffix"), ["arch-suffix"]);
        assert_eq!(
            names("NVJITLINK_ERROR_INTERNAL"),
            ["NVJITLINK_ERROR_INTERNAL"]
        );
        assert_eq!(
            names("cudaErrorNoKernelImageForDevice"),
            ["CUDA_ERROR_NO_BINARY_FOR_GPU"]
        );
        assert_eq!(
            names("9"),
            [
                "NVJITLINK_ERROR_FINALIZE",
                "NVJITLINK_ERROR_NULL_INPUT",
                "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                "NVVM_ERROR_COMPILATION",
                "cudaErrorInvalidConfiguration"
            ]
        );
        assert_eq!(
            names("RuntimeError: CUDA_ERROR_INVALID_PTX (218) and again CUDA_ERROR_INVALID_PTX"),
            ["CUDA_ERROR_INVALID_PTX"]
        );
        let axpy = &explain("_Z4axpyPfi")[0];
        assert_eq!(axpy.demangled.as_deref(), Some("axpy(float*, int)"));
        let text = "nvlink error   : Undefined reference to '__cudaCDP2LaunchDeviceV2' in 'a.o'";
        let message = &explain(text)[0];
        assert_eq!(message.subject, Subject::Message);
        assert!(message.remedies[0].contains("-l cudadevrt"));
        assert_eq!(
            names("error[no-kernels]: the result would hold no kernel"),
            ["no-kernels"]
        );
        assert_eq!(
            names("torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),
            ["CUDA_ERROR_ILLEGAL_ADDRESS"]
        );
        let symbol = "__cudaRegisterLinkedBinary_26ea21ef_4_a_cu_2c3b7e1f";
        for line in [
            format!("a.o: in function `init': a.cu:(.text+0x1): undefined reference to `{symbol}'"),
            format!("ld.lld: error: undefined symbol: {symbol}"),
            format!("a.obj : error LNK2019: unresolved external symbol {symbol} referenced in x"),
        ] {
            assert_eq!(names(&line), [symbol]);
        }
        assert!(explain("undefined reference to").is_empty());
        assert!(explain("what is this").is_empty());
        assert!(explain("").is_empty());
    }

    #[test]
    fn every_result_code_has_one_name_and_a_meaning() {
        let mut seen = std::collections::HashSet::new();
        for code in all_results() {
            assert!(seen.insert(code.name), "{} stands twice", code.name);
            assert!(!code.meaning.is_empty() && !code.numbers.is_empty());
        }
        for (message, name) in driver::MESSAGES {
            assert_eq!(names(message), [*name]);
        }
        for (name, number) in driver::RUNTIME_NAMES {
            assert!(
                !explain(name).is_empty(),
                "{name} is {number}, which no code has"
            );
        }
    }
}
