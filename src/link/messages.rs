//! What linkers and ptxas say, read line by line. The shapes and texts were measured on nvlink, ptxas and
//! nvJitLink 11.8 to 13.5; the same fact has other words, another channel and another severity in each.
//!
//! A line's text is looked up in one table, which gives the finding in cudalink's own words. Nothing is taken
//! from what the libraries say of file names: they are wrong or garbage in most of them.

use crate::error::{Code, Diagnostic, Severity};
use crate::format::text::text;
use crate::link::findings;

/// How serious a line says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Statistics and remarks; also lines that say nothing of it.
    Info,
    Warning,
    /// `error` and `fatal`.
    Error,
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub level: Level,
    /// The line of the PTX that ptxas complains of.
    pub line: Option<u32>,
    /// The line without tool and level; bytes that are not UTF-8 are escaped.
    pub text: String,
    /// What it means, where the table knows it.
    pub finding: Option<Diagnostic>,
}

/// Reads a log: the lines that say something, in order. A trailing NUL is dropped.
pub fn read(log: &[u8]) -> Vec<Message> {
    log.split(|&byte| byte == b'\n')
        .map(|line| text(line.trim_ascii_end()).trim_matches('\0').to_owned())
        .filter(|line| !line.trim().is_empty())
        .map(|line| read_line(&line))
        .collect()
}

/// Reads one line.
pub fn read_line(line: &str) -> Message {
    let line = line.trim();
    let (level, text) = split_level(line);
    Message {
        level,
        line: ptx_line(&line[..line.len() - text.len()]),
        text: text.to_owned(),
        finding: find(text, level),
    }
}

impl Message {
    /// Whether the link has failed, whatever the library returned. A warning can mean a failure too: the
    /// vendor's linkers only warn of an input that they drop.
    pub fn is_failure(&self) -> bool {
        let known = self.finding.as_ref().map(|finding| finding.severity);
        known.unwrap_or(match self.level {
            Level::Error => Severity::Error,
            _ => Severity::Note,
        }) == Severity::Error
    }
}

/// Takes `nvlink error   : `, `@E@fatal   : `, `ptxas application ptx input, line 3; error   : ` or `ERROR 4: `
/// off a line.
fn split_level(line: &str) -> (Level, &str) {
    let line = line.strip_prefix("@E@").unwrap_or(line);
    for (word, level) in [
        ("ERROR ", Level::Error),
        ("WARNING ", Level::Warning),
        ("INFO: ", Level::Info),
    ] {
        if line.starts_with(word) {
            return (level, line);
        }
    }
    for (word, level) in [
        ("error   : ", Level::Error),
        ("fatal   : ", Level::Error),
        ("warning : ", Level::Warning),
        ("info    : ", Level::Info),
        // As the tools write it when their output is not aligned.
        ("error : ", Level::Error),
        ("fatal : ", Level::Error),
        ("error: ", Level::Error),
        ("fatal: ", Level::Error),
        ("warning: ", Level::Warning),
    ] {
        if let Some(at) = line.find(word)
            && is_tool(&line[..at])
        {
            return (level, &line[at + word.len()..]);
        }
    }
    (Level::Info, line)
}

/// The number in `ptxas application ptx input, line 3; error   : `.
fn ptx_line(start: &str) -> Option<u32> {
    let (_, rest) = start.split_once(", line ")?;
    rest.split(';').next()?.trim().parse().ok()
}

/// Whether this is what stands before a level: nothing, a tool, or a tool with a place in its input.
fn is_tool(start: &str) -> bool {
    let start = start.trim();
    start.is_empty()
        || ["nvlink", "ptxas", "fatbinary", "nvcc", "elfLink"]
            .iter()
            .any(|tool| start.starts_with(tool))
}

/// A text with gaps (`{}`) and what it means. The last gap runs to the end of the line unless text follows.
struct Row {
    pattern: &'static str,
    meaning: Meaning,
}

enum Meaning {
    /// The gaps in order make a finding.
    Gaps(fn(&[&str]) -> Diagnostic),
    /// A finding of this code, in these words.
    Says(Severity, Code, &'static str, Option<&'static str>),
    /// It tells nothing that other lines do not.
    Trailer,
}

impl Row {
    /// What stands in the gaps, if the text has this form.
    fn gaps<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let mut pieces = self.pattern.split("{}");
        let mut rest = text.strip_prefix(pieces.next()?)?;
        let mut gaps = Vec::new();
        let mut pieces = pieces.peekable();
        while let Some(piece) = pieces.next() {
            if piece.is_empty() && pieces.peek().is_none() {
                gaps.push(rest);
                return Some(gaps);
            }
            let at = rest.find(piece)?;
            gaps.push(&rest[..at]);
            rest = &rest[at + piece.len()..];
        }
        Some(gaps)
    }
}

/// The row of the table that a text has the form of.
fn row(text: &str) -> Option<(&'static Row, Vec<&str>)> {
    TABLE.iter().find_map(|row| Some((row, row.gaps(text)?)))
}

fn find(text: &str, level: Level) -> Option<Diagnostic> {
    let (row, gaps) = row(text)?;
    match row.meaning {
        Meaning::Gaps(finding) => Some(finding(&gaps)),
        Meaning::Says(severity, code, message, hint) => {
            let mut finding = Diagnostic::new(severity, code, message).detail(text);
            if let Some(hint) = hint {
                finding = finding.hint(hint);
            }
            Some(finding)
        }
        // Alone it must not pass for success.
        Meaning::Trailer => (level == Level::Error).then(|| {
            Diagnostic::error(Code::BackendFailed, "the linker library reported a failure")
                .detail(text)
        }),
    }
}

/// Whether a line only says that something failed, while another line says what.
pub fn is_trailer(text: &str) -> bool {
    matches!(
        row(text),
        Some((
            Row {
                meaning: Meaning::Trailer,
                ..
            },
            _
        ))
    )
}

const fn gaps(pattern: &'static str, finding: fn(&[&str]) -> Diagnostic) -> Row {
    Row {
        pattern,
        meaning: Meaning::Gaps(finding),
    }
}

const fn error(pattern: &'static str, code: Code, message: &'static str) -> Row {
    Row {
        pattern,
        meaning: Meaning::Says(Severity::Error, code, message, None),
    }
}

const fn hinted(
    pattern: &'static str,
    code: Code,
    message: &'static str,
    hint: &'static str,
) -> Row {
    Row {
        pattern,
        meaning: Meaning::Says(Severity::Error, code, message, Some(hint)),
    }
}

const fn note(pattern: &'static str, code: Code, message: &'static str) -> Row {
    Row {
        pattern,
        meaning: Meaning::Says(Severity::Note, code, message, None),
    }
}

const fn trailer(pattern: &'static str) -> Row {
    Row {
        pattern,
        meaning: Meaning::Trailer,
    }
}

const REBUILD: &str = "rebuild the input with a newer toolkit";
const OTHER_ARCH: &str = "has no code for the target architecture";
const DAMAGED: &str = "an input is damaged";

/// The texts of linkers and ptxas. More special ones stand first.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Symbols.
    gaps("Undefined reference to '{}' in '{}", |g| findings::undefined_symbol(g[0])),
    gaps("Unresolved extern function '{}'", |g| findings::undefined_symbol(g[0])),
    gaps("Unresolved extern variable '{}'", |g| findings::undefined_symbol(g[0])),
    gaps("Multiple definition of '{}' in '{}", |g| findings::duplicate_symbol(g[0])),
    gaps("{}Linking globals named '{}': symbol multiply defined!", |g| findings::duplicate_symbol(g[1])),
    gaps("Could not replace weak symbol '{}'", |g| findings::duplicate_symbol(g[0])),
    gaps("Function '{}' not declared __global__ in all source files", |g| findings::kind_mismatch(g[0])),
    gaps("Memory space doesn't match for '{}' in '{}", |g| findings::kind_mismatch(g[0])),
    gaps("Managed attribute doesn't match for '{}'{}", |g| findings::kind_mismatch(g[0])),
    error("Bad address space in addrspacecast", Code::KindMismatch, "a variable and a function have one name"),
    error("error: Bad address space in addrspacecast", Code::KindMismatch, "a variable and a function have one name"),
    gaps("Prototype doesn't match for '{}' in '{}", |g| findings::prototype_mismatch(g[0])),
    gaps("Size doesn't match for '{}' in '{}", |g| findings::size_mismatch(g[0])),
    gaps("Size does not match for {} in {} with size {} specified in {} with size {}",
        |g| findings::size_mismatch(g[0]).detail(format!("{} bytes in one input, {} bytes in another", g[2], g[4].trim_end_matches('.')))),
    gaps("Common symbol '{}' in file '{}' has larger size than initialization", |g| findings::size_mismatch(g[0])),
    gaps("Duplicate weak parameter bank for '{}' is not the same size", |g| findings::parameter_mismatch(g[0])),
    gaps("Function '{}' and function '{}' have conflicting cache preference{}",
        |g| Diagnostic::note(Code::KindMismatch, format!("`{}` and `{}` prefer different cache sizes", g[0], g[1])).symbol(g[0])),
    gaps("Function '{}' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2){}",
        |g| findings::cta_groups(g[0])),
    gaps("Function '{}' has address taken but no calls to it found",
        |g| Diagnostic::note(Code::UnusedInput, format!("the address of `{}` is taken, but nothing calls it", g[0])).symbol(g[0])),
    // Resources.
    gaps("entry function '{}' with max regcount of {} calls function '{}' with regcount of {}", registers),
    gaps("Entry function '{}' with max regcount of {} calls function '{}' with regcount of {}", registers),
    gaps("Entry function '{}' uses too much shared data ({} bytes, {} max)",
        |g| findings::shared_memory(g[0]).detail(bytes(g[1], g[2]))),
    gaps("Entry function '{}' uses too much {} data ({} bytes, {} max)",
        |g| Diagnostic::error(Code::ConstantMemory, format!("kernel `{}` has too much {} data", g[0], g[1])).symbol(g[0]).detail(bytes(g[2], g[3]))),
    gaps("Entry function '{}' uses too much data for compiler-generated constants{}",
        |g| Diagnostic::error(Code::ConstantMemory, format!("kernel `{}` has too many constants of its own", g[0])).symbol(g[0])),
    gaps("File uses too much global constant data ({} bytes, {} max)", |g| findings::constant_memory().detail(bytes(g[0], g[1]))),
    gaps("File uses too much global {} data ({} bytes, {} max)",
        |g| Diagnostic::error(Code::ConstantMemory, format!("the inputs have too much {} data", g[0])).detail(bytes(g[1], g[2]))),
    gaps("More than {} {} used in entry function '{}'",
        |g| Diagnostic::error(Code::BackendFailed, format!("kernel `{}` uses more than {} {}", g[2], g[0], g[1])).symbol(g[2])),
    gaps("Function '{}' uses {} bytes stack but limited to {}",
        |g| Diagnostic::error(Code::BackendFailed, format!("`{}` uses {} bytes of stack, but may use {}", g[0], g[1], g[2])).symbol(g[0])),
    gaps("Stack size for entry function '{}' cannot be statically determined", |g| findings::stack_unknown(1, g[0])),
    gaps("Function '{}' uses reserved shared memory when not allowed{}",
        |g| Diagnostic::error(Code::SharedMemory, format!("`{}` uses shared memory that the system keeps for itself", g[0])).symbol(g[0])),
    // Releases.
    hinted("Object '{}' cannot be linked due to version mismatch. Objects using tcgen05 in 12.x{}", Code::InputTooOld, "an input uses tcgen05 as CUDA 12 compiled it", REBUILD),
    gaps("Cannot link sanitized object '{}' from version {}", |_| findings::newer_than_library()),
    hinted("For kernel functions with parameter size higher than 4k bytes on sm_7x and sm_8x, all objects must be compiled with 12.1 or later{}", Code::InputTooOld, "a kernel has more than 4 KiB of parameters, and an input is older than CUDA 12.1", REBUILD),
    gaps("Input file '{}' must be recompiled with toolkit >= Cuda {}", |_| findings::too_old()),
    gaps("Input file '{}' newer than toolkit ({} vs {})", |_| findings::newer_than_library()),
    gaps("Object '{}' has cuda-api-version of {} which is greater than version on link line ({})", |_| findings::newer_than_library()),
    gaps("Finalization failed: 'unsupported binary'{}", |_| findings::newer_than_library()),
    gaps("ERROR 13: finalize error for input: {}", |_| findings::newer_than_library()),
    gaps("Input file '{}' ABI version '{}' is incompatible with target ABI version '{}'", |_| findings::newer_than_library()),
    gaps("Input file '{}' abi does not match", |_| findings::newer_than_library()),
    gaps("expected 64bit object '{}' to have EF_CUDA_64BIT_ADDRESS set", |_| findings::newer_than_library()),
    gaps("Input file '{}' size does not match target '{}'", |_| findings::newer_than_library()),
    gaps("Unsupported .version {}; current version is '{}'", |_| findings::newer_than_library()),
    gaps("Unsupported .target '{}'", |_| findings::newer_than_library()),
    gaps("{}may need newer version of nvJitLink library{}", |_| findings::newer_than_library()),
    gaps("{}parse Invalid value (Producer: 'LLVM{}' Reader: 'LLVM {}')", |_| findings::newer_llvm()),
    gaps("{}NVVM_ERROR_IR_VERSION_MISMATCH{}", |_| findings::too_old()),
    // Architectures.
    error("Input file '{}' arch does not match target '{}'", Code::ArchMissing, OTHER_ARCH),
    error("cannot link accelerated arch to non-accelerated{}", Code::ArchSuffix, "only the suffix of its architecture keeps an input out"),
    error("SM Arch ('{}') not found in '{}'", Code::ArchMissing, OTHER_ARCH),
    error("Output is limited to run on SM Arch '{}' only{}", Code::ArchSuffix, "the result runs on one architecture alone"),
    error("SM version specified by .target is higher than default SM version assumed", Code::ArchMissing, OTHER_ARCH),
    hinted("Link target of '{}' is virtual target that is not JIT-able; use 'sm_' target instead", Code::OptionConflict, "a cubin cannot be made for a virtual architecture", "give a real one with `--arch sm_NN`"),
    error("{}LTOIR arch newer than target arch{}", Code::LtoNewerThanTarget, "LTO-IR was made for a newer architecture than the target"),
    // LTO.
    hinted("{}NVVM_ERROR_NO_MODULE_IN_PROGRAM{}", Code::OptionConflict, "there is no LTO-IR among the inputs", "leave out `--lto`"),
    hinted("{}LTO-IR input cannot be used without LTO enabled{}", Code::OptionConflict, "LTO-IR needs link-time optimisation", "add `--lto`"),
    hinted("TODO: nvvm input without LTO{}", Code::OptionConflict, "LTO-IR needs link-time optimisation", "add `--lto`"),
    hinted("LTO objects found, use -dlto{}", Code::OptionConflict, "LTO-IR needs link-time optimisation", "add `--lto`"),
    hinted("should only see nvvm files when -lto{}", Code::OptionConflict, "LTO-IR needs link-time optimisation", "add `--lto`"),
    note("requested LTO but '{}' not built for LTO so doing partial LTO", Code::OptionConflict, "some inputs are no LTO-IR and are linked as they are"),
    note("Ignoring -dlto option because no LTO objects found", Code::OptionConflict, "there is no LTO-IR among the inputs"),
    hinted("expected libcudadevrt object{}", Code::OptionConflict, "nvlink optimises LTO-IR only together with libcudadevrt", "add `-l cudadevrt`"),
    error("unexpected object after cudadevrt{}", Code::OptionConflict, "libcudadevrt must be the last input of nvlink"),
    // Damage.
    error("{}bad input: does not match type {}", Code::Damaged, "an input is not of the kind that it was taken for"),
    error("{}unrecognized input type{}", Code::Damaged, "an input is of no known kind"),
    error("{}bad input: malformed cubin ELF{}", Code::Damaged, DAMAGED),
    error("{}Uncompress failed{}", Code::Damaged, DAMAGED),
    error("{}library processing:{}", Code::Damaged, "an archive is damaged"),
    error("archive member size exceeds library bounds{}", Code::Damaged, "an archive is damaged"),
    error("unexpected archive format{}", Code::Damaged, "an archive is damaged"),
    error("longnames {}", Code::Damaged, "an archive is damaged"),
    error("unterminated longname in archive{}", Code::Damaged, "an archive is damaged"),
    error("Could not find fatbin in '{}'", Code::Damaged, "a host object has no device code where it says it has"),
    error("cubin not an elf?{}", Code::Damaged, DAMAGED),
    error("cubin not a device elf?{}", Code::Damaged, DAMAGED),
    error("Internal error: symsec not found{}", Code::Damaged, DAMAGED),
    error("Internal error: {}", Code::BackendFailed, "the linker library failed inside"),
    error("Could not open input file '{}'", Code::Unreadable, "an input cannot be opened"),
    gaps("{}cubin not relocatable", |_| findings::not_relocatable()),
    error("{}cubin not compatible", Code::ArchMissing, OTHER_ARCH),
    error("{}cubin arch not compatible", Code::ArchMissing, OTHER_ARCH),
    error("linker library load error{}", Code::LibraryNotFound, "nvlink cannot load libnvvm"),
    note("Input '{}' has no host code{}", Code::NoDeviceCode, "an input has no host code"),
    // Usage.
    error("No input files specified{}", Code::OptionConflict, "there is nothing to link"),
    error("Library file '{}' not found in paths", Code::Unreadable, "a library was not found"),
    error("Skipping incompatible '{}' when searching for -l{}", Code::ArchMissing, OTHER_ARCH),
    error("optimized debugging not supported{}", Code::OptionConflict, "full debug information needs `-O 0`"),
    error("{}-ptx requires {}", Code::OptionConflict, "PTX comes out of a link of LTO-IR alone"),
    error("{}virtual arch requires -ptx", Code::OptionConflict, "a virtual architecture needs `--emit ptx`"),
    error("{}unrecognized option{}", Code::OptionConflict, "the library does not know an option"),
    // Lines that follow others.
    trailer("merge_elf failed{}"),
    trailer("ERROR {}: bad input{}"),
    trailer("ERROR 9: finish{}"),
    trailer("ERROR 9: complete{}"),
    trailer("JIT the PTX{}"),
    trailer("ERROR {}: JIT the PTX{}"),
    trailer("{}NVJITLINK_ERROR_PTX_COMPILE{}"),
    trailer("Ptx assembly aborted due to errors{}"),
    trailer("fatbinary error{}"),
    trailer("nvvm error{}"),
    trailer("internal error{}"),
];

fn registers(gaps: &[&str]) -> Diagnostic {
    let number = |text: &str| text.trim().parse().unwrap_or(0);
    findings::register_conflict(gaps[0], number(gaps[1]), gaps[2], number(gaps[3]))
}

/// `0xc004` and `0xc000` in words.
fn bytes(has: &str, most: &str) -> String {
    let number = |text: &str| {
        let digits = text.trim().trim_start_matches("0x");
        u64::from_str_radix(digits, 16).map_or_else(|_| text.to_owned(), |value| value.to_string())
    };
    format!("{} bytes of {}", number(has), number(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Message {
        let mut all = read(line.as_bytes());
        assert_eq!(all.len(), 1, "{line}");
        all.remove(0)
    }

    #[test]
    fn one_fact_has_one_text_in_every_shape() {
        let wanted = findings::undefined_symbol("_Z1fi");
        for line in [
            "nvlink error   : Undefined reference to '_Z1fi' in 'a.cubin'",
            "error   : Undefined reference to '_Z1fi' in '\u{1}x",
            "@E@error   : Undefined reference to '_Z1fi' in ''",
            "ptxas fatal   : Unresolved extern function '_Z1fi'",
            "ptxas application ptx input, line 9; fatal   : Unresolved extern function '_Z1fi'",
        ] {
            let message = one(line);
            assert_eq!(message.finding.as_ref(), Some(&wanted), "{line}");
            assert!(message.is_failure());
        }
    }

    #[test]
    fn numbers_and_names_are_taken_over() {
        let line = "nvlink error   : entry function 'k' with max regcount of 32 calls function 'f' with regcount of 254";
        let finding = one(line).finding.unwrap();
        assert_eq!(
            finding.message,
            findings::register_conflict("k", 32, "f", 254).message
        );
        let line = "nvlink error   : Entry function 'k' uses too much shared data (0xc004 bytes, 0xc000 max)";
        let finding = one(line).finding.unwrap();
        assert_eq!(finding.details, ["49156 bytes of 49152"]);
        let line =
            "a.ltoir: link error: error: Linking globals named 'f': symbol multiply defined!";
        assert_eq!(one(line).finding.unwrap().symbol.as_deref(), Some("f"));
    }

    #[test]
    fn lines_of_ptx() {
        let message =
            one("ptxas application ptx input, line 23; error   : Unknown modifier '.bogus'");
        assert_eq!((message.line, message.level), (Some(23), Level::Error));
        assert_eq!(one("nvlink error   : merge_elf failed").line, None);
    }

    #[test]
    fn levels() {
        for (line, level, failure) in [
            (
                "nvlink warning : SM Arch ('sm_90') not found in 'a.o'",
                Level::Warning,
                true,
            ),
            (
                "nvlink warning : Stack size for entry function 'k' cannot be statically determined",
                Level::Warning,
                false,
            ),
            ("info    : 0 bytes gmem", Level::Info, false),
            ("INFO: something", Level::Info, false),
            ("nvlink fatal   : merge_elf failed", Level::Error, true),
            ("ERROR 4: bad input:x", Level::Error, true),
            ("error   : something new", Level::Error, true),
            ("my error: in a file name", Level::Info, false),
        ] {
            let message = one(line);
            assert_eq!(
                (message.level, message.is_failure()),
                (level, failure),
                "{line}"
            );
        }
        assert!(is_trailer("merge_elf failed"));
        assert!(!is_trailer("Undefined reference to 'f' in 'x'"));
    }

    #[test]
    fn a_log_of_any_bytes_is_read() {
        let log = b"error   : Undefined reference to 'f\xff' in '\xfe\n\n\r\n'\ninfo    : x\0";
        let messages = read(log);
        assert_eq!(
            messages[0].finding.as_ref().unwrap().symbol.as_deref(),
            Some("f\\xff")
        );
        assert_eq!(messages.last().unwrap().text, "x");
    }

    #[test]
    fn no_row_is_hidden_by_one_before_it() {
        for (at, entry) in TABLE.iter().enumerate() {
            let example = entry.pattern.replace("{}", "0x1");
            let first = TABLE.iter().position(|row| row.gaps(&example).is_some());
            assert_eq!(first, Some(at), "{}", entry.pattern);
        }
    }
}
