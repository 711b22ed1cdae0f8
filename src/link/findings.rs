//! The words for what can be wrong with a link. The check before a link and the reader of the linkers' own
//! messages both speak through these, so that one fact has one text whoever finds it.

use crate::error::{Code, Diagnostic};
use crate::toolkit::Version;

/// Static shared memory of a block, in bytes, on every architecture.
pub const SHARED_LIMIT: u64 = 0xC000;

/// All `__constant__` variables together, in bytes.
pub const CONSTANT_LIMIT: u64 = 0x1_0000;

pub fn undefined_symbol(name: &str) -> Diagnostic {
    Diagnostic::error(Code::UndefinedSymbol, format!("no input defines `{name}`")).symbol(name)
}

pub fn duplicate_symbol(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::DuplicateSymbol,
        format!("`{name}` is defined more than once"),
    )
    .symbol(name)
}

pub fn prototype_mismatch(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::PrototypeMismatch,
        format!("`{name}` is used with different signatures"),
    )
    .symbol(name)
}

pub fn size_mismatch(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::SizeMismatch,
        format!("`{name}` is declared with different sizes"),
    )
    .symbol(name)
}

/// Kernel against function, function against variable, one memory space against another, managed or not.
pub fn kind_mismatch(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::KindMismatch,
        format!("`{name}` is declared as different things"),
    )
    .symbol(name)
}

pub fn parameter_mismatch(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::KindMismatch,
        format!("kernel `{name}` is defined with different parameters"),
    )
    .symbol(name)
}

/// Weak kernels whose parameters add up to the same size, so that linkers see nothing.
pub fn launch_mismatch(name: &str) -> Diagnostic {
    Diagnostic::warning(
        Code::KindMismatch,
        format!("kernel `{name}` is defined with different parameters or launch bounds; the first is taken"),
    )
    .symbol(name)
}

pub fn initial_values(name: &str) -> Diagnostic {
    Diagnostic::warning(
        Code::DuplicateSymbol,
        format!("`{name}` is defined with different initial values"),
    )
    .symbol(name)
}

/// For `functions` weak functions, of which `example` is one.
pub fn weak_bodies(functions: usize, example: &str) -> Diagnostic {
    let message = match functions {
        1 => format!("`{example}` is compiled differently in several inputs; the first is taken"),
        _ => format!(
            "{functions} functions are compiled differently in several inputs; the first of each is taken"
        ),
    };
    Diagnostic::note(Code::DuplicateSymbol, message).symbol(example)
}

pub fn register_conflict(kernel: &str, limit: u32, callee: &str, needs: u32) -> Diagnostic {
    Diagnostic::error(
        Code::RegisterConflict,
        format!("kernel `{kernel}` is limited to {limit} registers, but calls `{callee}`, which needs {needs}"),
    )
    .symbol(kernel)
    .hint(format!("raise the limit of `{kernel}` (`__launch_bounds__`, `.maxnreg`, `-maxrregcount`) to {needs} registers"))
    .hint(format!("or compile `{callee}` with `-maxrregcount={limit}`"))
}

/// Tensor core instructions for one block and for pairs of blocks cannot run in one launch.
pub fn cta_groups(kernel: &str) -> Diagnostic {
    Diagnostic::error(
        Code::KindMismatch,
        format!("kernel `{kernel}` runs tensor core instructions for single blocks and for pairs (`.cta_group::1` and `::2`)"),
    )
    .symbol(kernel)
    .hint("use one `.cta_group` in all that a kernel calls")
}

pub fn shared_memory(kernel: &str) -> Diagnostic {
    Diagnostic::error(
        Code::SharedMemory,
        format!("kernel `{kernel}` has more static shared memory than the {SHARED_LIMIT} bytes there are"),
    )
    .symbol(kernel)
    .hint("make large arrays dynamic (`extern __shared__`); launches can have more of it")
}

pub fn constant_memory() -> Diagnostic {
    Diagnostic::error(
        Code::ConstantMemory,
        format!("the `__constant__` variables need more than the {CONSTANT_LIMIT} bytes there are"),
    )
    .hint("move large tables to global memory (`__device__ const`)")
}

/// For `kernels` kernels, of which `example` is one.
pub fn stack_unknown(kernels: usize, example: &str) -> Diagnostic {
    let message = match kernels {
        1 => {
            format!("the stack size of kernel `{example}` cannot be computed, because it recurses")
        }
        _ => {
            format!("the stack size of {kernels} kernels cannot be computed, because they recurse")
        }
    };
    Diagnostic::note(Code::StackUnknown, message)
        .symbol(example)
        .hint("set the limit at run time with `cudaDeviceSetLimit(cudaLimitStackSize, …)`")
}

pub fn not_relocatable() -> Diagnostic {
    Diagnostic::error(
        Code::NotRelocatable,
        "is linked already and cannot be linked again",
    )
    .hint("compile it with `-rdc=true` (or `-dc`)")
}

pub fn no_kernels() -> Diagnostic {
    Diagnostic::error(Code::NoKernels, "the result would hold no kernel")
        .hint("allow it with `--allow no-kernels`, or link a relocatable result with `-r`")
}

pub fn unknown_kernel(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::UnknownKernel,
        format!("no input has a kernel `{name}`"),
    )
    .symbol(name)
}

pub fn newer_than_library() -> Diagnostic {
    Diagnostic::error(
        Code::InputNewerThanLibrary,
        "was made by a newer toolkit than the library",
    )
    .hint("use a library at least as new as the newest input (`--toolkit VERSION`)")
}

pub fn too_old() -> Diagnostic {
    Diagnostic::error(
        Code::InputTooOld,
        "was made by a toolkit that the library no longer reads",
    )
    .hint("rebuild it with a newer toolkit")
}

/// LTO-IR in the dialect of the newer LLVM, for a target that gets the older one.
pub fn newer_llvm() -> Diagnostic {
    Diagnostic::error(
        Code::InputNewerThanLibrary,
        "LTO-IR in the form for sm_100 and later needs the newer LLVM for this target",
    )
    .hint("add `--nvvm-latest`")
}

pub fn headers_unknown(library: &str, since: Version) -> Diagnostic {
    Diagnostic::error(
        Code::LibraryNotFound,
        "includes headers, and a depfile must list them, but the compiler does not tell them",
    )
    .detail(format!("it is {library}; NVRTC tells them from {since} on"))
    .hint("leave out `--toolkit`, or the depfile")
}
