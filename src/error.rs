//! What can go wrong, and how it is told: [`Diagnostic`] is one finding with a stable code,
//! [`Error`] is the finding that ended the work together with the exit status it means.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How serious a finding is. Only errors make a command fail.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Declares [`Code`] with its kebab-case names in one table.
macro_rules! codes {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// The stable name of a kind of finding. Names are never renamed or reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $(#[doc = $doc] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// One sentence: what a finding of this code means.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$variant => $doc.trim_ascii(),)* }
            }
        }
    };
}

codes! {
    UndefinedSymbol "undefined-symbol" "Live code needs a symbol that no input defines.",
    DuplicateSymbol "duplicate-symbol" "Two inputs define one strong symbol.",
    PrototypeMismatch "prototype-mismatch" "One function is declared or defined with different signatures.",
    SizeMismatch "size-mismatch" "One variable is declared or defined with different sizes.",
    KindMismatch "kind-mismatch" "One name is a kernel here and a function or variable there, or lives in two memory spaces.",
    RegisterConflict "register-conflict" "A kernel's register limit is below what a function it calls needs.",
    SharedMemory "shared-memory" "A kernel needs more shared memory than there is.",
    ConstantMemory "constant-memory" "The constants of all inputs do not fit in their bank.",
    StackUnknown "stack-unknown" "A kernel's stack size cannot be computed, because it recurses.",
    ArchMissing "arch-missing" "An input has no code for the target architecture.",
    ArchSuffix "arch-suffix" "Only the `a` or `f` suffix keeps an input's code from the target.",
    ArchAmbiguous "arch-ambiguous" "The inputs leave more than one target architecture.",
    LtoNewerThanTarget "lto-newer-than-target" "An LTO-IR input was made for a newer architecture than the target.",
    InputNewerThanLibrary "input-newer-than-library" "An input was made by a newer toolkit than the library that must read it.",
    InputTooOld "input-too-old" "An input was made by a toolkit that the library no longer reads.",
    NoDeviceCode "no-device-code" "An input holds no device code.",
    NotLto "not-lto" "Link-time optimisation was asked for, and an input has nothing that it could work on.",
    NotRelocatable "not-relocatable" "An input's device code is already linked and cannot be linked again.",
    UnusedInput "unused-input" "An input contributes nothing to the result.",
    UnknownKernel "unknown-kernel" "A named kernel is not there.",
    NoKernels "no-kernels" "The result would hold no kernel.",
    VirtualArchLowered "virtual-arch-lowered" "The result is marked with the lowest virtual architecture of its inputs.",
    Damaged "damaged" "An input is truncated, corrupt or not what it claims to be.",
    Unreadable "unreadable" "An input cannot be opened or read.",
    KindUnknown "kind-unknown" "An input is of no kind that this command can use.",
    LibraryNotFound "library-not-found" "A needed NVIDIA library or tool is not on this machine.",
    FetchFailed "fetch-failed" "A library could not be downloaded and installed.",
    ToolkitMixed "toolkit-mixed" "Libraries of different CUDA releases would be used together.",
    DriverUnavailable "driver-unavailable" "There is no usable CUDA driver or device.",
    DriverTooOld "driver-too-old" "The CUDA driver lacks something that was asked for.",
    BackendFailed "backend-failed" "The linker library reported a failure.",
    CompilerMessage "compiler-message" "A compiler has something to say of a source or of its options.",
    BackendCrashed "backend-crashed" "The linker library crashed.",
    BackendTimeout "backend-timeout" "The linker library did not finish in time.",
    OutOfMemory "out-of-memory" "The memory limit was reached.",
    BuiltinUnsupported "builtin-unsupported" "The built-in linker does not know something that an input uses.",
    OptionConflict "option-conflict" "The options, or an option and the inputs, contradict one another.",
    OutputUnwritable "output-unwritable" "The result cannot be written.",
    LaunchRefused "launch-refused" "The launch cannot work as it was asked for.",
    LaunchFailed "launch-failed" "The kernel or the driver failed.",
    ResultDiffers "result-differs" "A result is not what was expected.",
    Internal "internal" "A fault in cudalink itself.",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no diagnostic code"))
    }
}

/// One finding. Built with chained calls:
///
/// ```
/// use cudalink::error::{Code, Diagnostic};
/// let finding = Diagnostic::error(Code::ArchMissing, "no code for sm_90")
///     .input("libx.a(b.o)")
///     .hint("rebuild it with `-gencode arch=compute_90,code=sm_90`");
/// assert_eq!(finding.code.as_str(), "arch-missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// One line without a full stop. Names from files are raw here; renderers sanitise them.
    pub message: String,
    /// The inputs involved, the culprit first: `a.o`, `libx.a(b.o):.nv_fatbin[3]`, `<stdin>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Byte offset in the first input, where one spot is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Line in the first input, from 1, where that is a text and one line is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The symbol concerned, as mangled in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Further lines of explanation: a call path, both signatures, a library's own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What the user can do, each an imperative sentence without a full stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Diagnostic {
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            inputs: Vec::new(),
            offset: None,
            line: None,
            symbol: None,
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.inputs.push(input.into());
        self
    }

    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    pub fn line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    pub fn symbol(mut self, symbol: impl Into<String>) -> Self {
        self.symbol = Some(symbol.into());
        self
    }

    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// Why a command stops, which is also its exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The work failed, or the answer is no.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// A library, driver, device or network that is needed is not here.
    Missing,
    /// An input is damaged or cannot be read.
    Damaged,
    /// `--timeout` was reached.
    Timeout,
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

impl Category {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Missing => 3,
            Self::Damaged => 4,
            Self::Timeout => 124,
            Self::Interrupted => 130,
        }
    }
}

/// The end of a command: one or more error diagnostics and the exit status they mean.
#[derive(Debug, Clone)]
pub struct Error {
    pub category: Category,
    /// Never empty; the first one is what `Display` shows.
    pub diagnostics: Vec<Diagnostic>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(category: Category, diagnostic: Diagnostic) -> Self {
        Self {
            category,
            diagnostics: vec![diagnostic],
        }
    }

    pub fn failed(code: Code, message: impl Into<String>) -> Self {
        Self::new(Category::Failed, Diagnostic::error(code, message))
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(
            Category::Usage,
            Diagnostic::error(Code::OptionConflict, message),
        )
    }

    pub fn missing(code: Code, message: impl Into<String>) -> Self {
        Self::new(Category::Missing, Diagnostic::error(code, message))
    }

    pub fn damaged(message: impl Into<String>) -> Self {
        Self::new(Category::Damaged, Diagnostic::error(Code::Damaged, message))
    }

    /// Several findings of one command; `None` when there are none.
    pub fn from_diagnostics(category: Category, diagnostics: Vec<Diagnostic>) -> Option<Self> {
        (!diagnostics.is_empty()).then_some(Self {
            category,
            diagnostics,
        })
    }

    /// The errors of a file-system call on `path`, told apart as a user would.
    pub fn io(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        let code = if doing.starts_with("read") || doing.starts_with("open") {
            Code::Unreadable
        } else {
            Code::OutputUnwritable
        };
        let category = if code == Code::Unreadable {
            Category::Damaged
        } else {
            Category::Failed
        };
        Self::new(
            category,
            Diagnostic::error(
                code,
                format!("cannot {doing} `{}`: {error}", path.display()),
            ),
        )
    }

    fn change(mut self, change: impl FnOnce(Diagnostic) -> Diagnostic) -> Self {
        if let Some(first) = self.diagnostics.first_mut() {
            *first = change(first.clone());
        }
        self
    }

    pub fn input(self, input: impl Into<String>) -> Self {
        self.change(|d| d.input(input))
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.change(|d| d.hint(hint))
    }

    pub fn detail(self, line: impl Into<String>) -> Self {
        self.change(|d| d.detail(line))
    }

    pub fn symbol(self, symbol: impl Into<String>) -> Self {
        self.change(|d| d.symbol(symbol))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.diagnostics.first() {
            Some(first) => {
                if let Some(input) = first.inputs.first() {
                    write!(f, "{input}: ")?;
                }
                f.write_str(&first.message)
            }
            None => f.write_str("failed"),
        }
    }
}

impl std::error::Error for Error {}

/// A spot in a file that breaks its format. Pure parsers return this; whoever knows the file's name
/// turns it into an [`Error`] or a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at offset {offset:#x}: {message}")]
pub struct Malformed {
    /// Absolute offset in the bytes given to the outermost parser.
    pub offset: u64,
    /// What is wrong and what was expected, in one line without a full stop.
    pub message: String,
}

impl Malformed {
    pub fn new(offset: u64, message: impl Into<String>) -> Self {
        Self {
            offset,
            message: message.into(),
        }
    }

    pub fn diagnostic(&self, input: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Code::Damaged, &self.message)
            .input(input)
            .offset(self.offset)
    }

    pub fn in_input(&self, input: impl Into<String>) -> Error {
        Error::new(Category::Damaged, self.diagnostic(input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_parse_back_and_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for &code in Code::ALL {
            assert_eq!(code.as_str().parse::<Code>(), Ok(code));
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{code}\""));
            assert!(seen.insert(code.as_str()), "{code} stands twice");
            assert!(code.summary().ends_with('.'));
        }
    }
}
