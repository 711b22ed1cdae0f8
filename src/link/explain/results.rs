//! Result codes of the libraries that cudalink loads. nvJitLink renumbered some of its codes, so a number means
//! something only together with the release (measured on the headers and libraries of 12.0 to 13.5).

/// A library whose functions return a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    NvJitLink,
    Driver,
    Nvrtc,
    Nvvm,
    Runtime,
}

impl Library {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NvJitLink => "nvJitLink",
            Self::Driver => "CUDA driver",
            Self::Nvrtc => "NVRTC",
            Self::Nvvm => "libNVVM",
            Self::Runtime => "CUDA runtime",
        }
    }
}

/// One result code.
#[derive(Debug)]
pub struct ResultCode {
    pub library: Library,
    pub name: &'static str,
    /// Its number, with the releases that it is valid for.
    pub numbers: &'static [(i32, &'static str)],
    pub meaning: &'static str,
    pub causes: &'static [&'static str],
    pub remedies: &'static [&'static str],
}

const ALL: &str = "every release that has it";

macro_rules! code {
    ($library:ident $name:literal $numbers:expr, $meaning:literal, [$($cause:literal),* $(,)?], [$($remedy:literal),* $(,)?]) => {
        ResultCode {
            library: Library::$library,
            name: $name,
            numbers: $numbers,
            meaning: $meaning,
            causes: &[$($cause),*],
            remedies: &[$($remedy),*],
        }
    };
}

/// Every code of nvJitLink.
#[rustfmt::skip]
pub const NVJITLINK: &[ResultCode] = &[
    code!(NvJitLink "NVJITLINK_SUCCESS" &[(0, ALL)], "the call worked, as far as the library noticed",
        ["it is also returned for duplicate definitions, prototype mismatches and inputs that contribute nothing"],
        ["let `cudalink link` check the inputs and verify the result"]),
    code!(NvJitLink "NVJITLINK_ERROR_UNRECOGNIZED_OPTION" &[(1, ALL)], "an option is unknown to this release or misspelt",
        ["`-r` needs 13.0, `-Ofc=` 12.5, `-split-compile` 12.3, `-nvvm-latest` 13.5", "`-O1` and `-O2` do not exist from 12.3 on"],
        ["use a newer nvJitLink or leave the option out"]),
    code!(NvJitLink "NVJITLINK_ERROR_MISSING_ARCH" &[(2, ALL)], "no `-arch=sm_NN` was given",
        ["the option was left out or given in two words"], ["give `-arch=sm_NN`"]),
    code!(NvJitLink "NVJITLINK_ERROR_INVALID_INPUT" &[(3, ALL)], "an input or an argument cannot be used",
        ["no code in the input suits the target architecture", "only an `a` image is there and the target has no `a`",
         "the input is truncated or newer than the library", "a file is missing", "up to 12.5: the input defines a symbol again"],
        ["list what is there with `cudalink inspect FILE`", "link for the architecture that the images are for"]),
    code!(NvJitLink "NVJITLINK_ERROR_PTX_COMPILE" &[(4, ALL)], "compiling PTX failed",
        ["the PTX is newer than the library's ptxas", "an undefined function in a link of LTO-IR alone", "the PTX targets a newer or another `a` architecture"],
        ["read the lines that start with `ptxas`", "use an nvJitLink at least as new as the compiler that made the PTX"]),
    code!(NvJitLink "NVJITLINK_ERROR_NVVM_COMPILE" &[(5, ALL)], "compiling LTO-IR failed",
        ["`-lto` without any LTO-IR input", "LTO-IR of CUDA 11", "LTO-IR that defines one symbol twice",
         "LTO-IR made for sm_100 or later, linked for an older target without `-nvvm-latest`"],
        ["leave out `-lto` when no input is LTO-IR", "rebuild old LTO-IR with CUDA 12 or later"]),
    code!(NvJitLink "NVJITLINK_ERROR_INTERNAL" &[(6, ALL)], "the library failed in a way that has no code of its own",
        ["an undefined symbol", "a kernel whose register limit is below what it calls needs", "a damaged archive",
         "up to 12.9: LTO-IR that is newer than the library", "functions called in the wrong order"],
        ["read the error log and the process's stderr, where the reason stands"]),
    code!(NvJitLink "NVJITLINK_ERROR_THREADPOOL" &[(7, "12.3 and later")], "threads for `-split-compile` could not be started",
        ["a limit on threads or memory"], ["use fewer threads with `-split-compile=N`"]),
    code!(NvJitLink "NVJITLINK_ERROR_UNRECOGNIZED_INPUT" &[(8, "12.4 and later")], "an input's kind cannot be told from its bytes",
        ["text, zeros or LLVM bitcode was given"], ["compile bitcode with libNVVM first; see `cudalink inspect FILE`"]),
    code!(NvJitLink "NVJITLINK_ERROR_FINALIZE" &[(9, "12.6 and later")], "the finalizer refused the linked code",
        ["a cubin for sm_100 or later that was made by a newer toolkit"],
        ["use an nvJitLink at least as new as the newest input"]),
    code!(NvJitLink "NVJITLINK_ERROR_NULL_INPUT" &[(9, "12.4 and 12.5"), (10, "12.6 and later")], "a pointer argument is null",
        ["an empty file"], ["give an input that has bytes"]),
    code!(NvJitLink "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS" &[(10, "12.4 and 12.5"), (11, "12.6 and later")], "two options contradict one another",
        ["`-ptx` without `-lto`", "a virtual architecture without `-lto -ptx`"], ["give a real architecture, or `-lto -ptx`"]),
    code!(NvJitLink "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE" &[(11, "12.4 and 12.5"), (12, "12.6 and later")], "an input is not of the kind that it was said to be",
        ["PTX without a terminating NUL", "LLVM bitcode given as LTO-IR", "`-r -lto -ptx` together"],
        ["let the content decide the kind"]),
    code!(NvJitLink "NVJITLINK_ERROR_ARCH_MISMATCH" &[(12, "12.4 and 12.5"), (13, "12.6 and later")], "an input is for another architecture",
        ["LTO-IR made for a newer architecture than the target"], ["link for the LTO-IR's architecture or a newer one"]),
    code!(NvJitLink "NVJITLINK_ERROR_OUTDATED_LIBRARY" &[(13, "12.4 and 12.5"), (14, "12.6 and later")], "an input is newer than the library",
        ["LTO-IR of a newer toolkit"], ["use an nvJitLink at least as new as the newest input"]),
    code!(NvJitLink "NVJITLINK_ERROR_MISSING_FATBIN" &[(14, "12.4 and 12.5"), (15, "12.6 and later")], "a host object has no device code",
        ["it was compiled from C++ alone, or without `-rdc=true`"], ["compile it with `nvcc -rdc=true`"]),
    code!(NvJitLink "NVJITLINK_ERROR_UNRECOGNIZED_ARCH" &[(16, "13.0 and later")], "`-arch` names no architecture",
        ["a misspelling, or sm_101, which became sm_110 in 13.0"], ["see `cudalink link --help` for the spelling"]),
    code!(NvJitLink "NVJITLINK_ERROR_UNSUPPORTED_ARCH" &[(17, "13.0 and later")], "this release does not compile for the architecture",
        ["CUDA 13 dropped everything below sm_75", "an `f` where there is no family"],
        ["use an nvJitLink of CUDA 12 for sm_50 to sm_72"]),
    code!(NvJitLink "NVJITLINK_ERROR_LTO_NOT_ENABLED" &[(18, "13.0 and later")], "LTO-IR was given without `-lto`",
        ["only LTO-IR in an input suits the target"], ["add `-lto`"]),
];

/// Every code of NVRTC.
#[rustfmt::skip]
pub const NVRTC: &[ResultCode] = &[
    code!(Nvrtc "NVRTC_SUCCESS" &[(0, ALL)], "the call worked", [], []),
    code!(Nvrtc "NVRTC_ERROR_OUT_OF_MEMORY" &[(1, ALL)], "there is not enough memory", [], ["raise `--memory-limit`"]),
    code!(Nvrtc "NVRTC_ERROR_PROGRAM_CREATION_FAILURE" &[(2, ALL)], "the program object could not be made", ["a broken installation"], ["see `cudalink doctor`"]),
    code!(Nvrtc "NVRTC_ERROR_INVALID_INPUT" &[(3, ALL)], "an argument is wrong", [], []),
    code!(Nvrtc "NVRTC_ERROR_INVALID_PROGRAM" &[(4, ALL)], "the program handle is wrong", [], []),
    code!(Nvrtc "NVRTC_ERROR_INVALID_OPTION" &[(5, ALL)], "a compiler option is unknown to this release or has a wrong value",
        ["an architecture that this release does not know", "a misspelt option in `-Xnvrtc`"], ["read the compile log, which names it"]),
    code!(Nvrtc "NVRTC_ERROR_COMPILATION" &[(6, ALL)], "the source has errors", [], ["read the compile log"]),
    code!(Nvrtc "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" &[(7, ALL)], "the library of built-in functions cannot be loaded",
        ["`libnvrtc-builtins` of the same release does not lie beside NVRTC"], ["see `cudalink doctor`", "install the whole NVRTC package"]),
    code!(Nvrtc "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION" &[(8, ALL)], "a name was asked for too late", [], []),
    code!(Nvrtc "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION" &[(9, ALL)], "a mangled name was asked for too early", [], []),
    code!(Nvrtc "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID" &[(10, ALL)], "a name expression names nothing in the program",
        ["a template instance is spelt wrongly"], ["write it as C++ would: `kernel<float, 4>`"]),
    code!(Nvrtc "NVRTC_ERROR_INTERNAL_ERROR" &[(11, ALL)], "the compiler itself failed", [], ["try another release of NVRTC"]),
    code!(Nvrtc "NVRTC_ERROR_TIME_FILE_WRITE_FAILED" &[(12, ALL)], "the file for `--time` cannot be written", [], []),
    code!(Nvrtc "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED" &[(13, ALL)], "no precompiled header was asked for", [], []),
    code!(Nvrtc "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED" &[(14, ALL)], "the memory for precompiled headers is full", [], ["set a larger heap for them"]),
    code!(Nvrtc "NVRTC_ERROR_PCH_CREATE" &[(15, ALL)], "the precompiled header cannot be made", [], []),
    code!(Nvrtc "NVRTC_ERROR_CANCELLED" &[(16, ALL)], "the compilation was cancelled", [], []),
    code!(Nvrtc "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED" &[(17, ALL)], "the file for `--fdevice-time-trace` cannot be written", [], []),
    code!(Nvrtc "NVRTC_ERROR_BUSY" &[(18, ALL)], "the program is being compiled by another thread", [], []),
];

/// Every code of libNVVM.
#[rustfmt::skip]
pub const NVVM: &[ResultCode] = &[
    code!(Nvvm "NVVM_SUCCESS" &[(0, ALL)], "the call worked", [], []),
    code!(Nvvm "NVVM_ERROR_OUT_OF_MEMORY" &[(1, ALL)], "there is not enough memory", [], ["raise `--memory-limit`"]),
    code!(Nvvm "NVVM_ERROR_PROGRAM_CREATION_FAILURE" &[(2, ALL)], "the program object could not be made", ["a broken installation"], ["see `cudalink doctor`"]),
    code!(Nvvm "NVVM_ERROR_IR_VERSION_MISMATCH" &[(3, ALL)], "the IR is of a version that the library does not read",
        ["LTO-IR of CUDA 11", "bitcode of a newer LLVM"], ["rebuild it with the toolkit that links it"]),
    code!(Nvvm "NVVM_ERROR_INVALID_INPUT" &[(4, ALL)], "an argument is wrong", [], []),
    code!(Nvvm "NVVM_ERROR_INVALID_PROGRAM" &[(5, ALL)], "the program handle is wrong", [], []),
    code!(Nvvm "NVVM_ERROR_INVALID_IR" &[(6, ALL)], "the module is no valid NVVM IR",
        ["a wrong target triple or data layout", "LLVM features that NVVM IR does not have"], ["read the compile log, which names the instruction"]),
    code!(Nvvm "NVVM_ERROR_INVALID_OPTION" &[(7, ALL)], "an option is unknown or has a wrong value",
        ["an architecture that this release does not know"], ["read the compile log, which names it"]),
    code!(Nvvm "NVVM_ERROR_NO_MODULE_IN_PROGRAM" &[(8, ALL)], "there is nothing to compile",
        ["`-lto` without any LTO-IR input"], ["leave out `-lto`"]),
    code!(Nvvm "NVVM_ERROR_COMPILATION" &[(9, ALL)], "compiling failed",
        ["modules that define one symbol twice or with different types"], ["read the compile log"]),
    code!(Nvvm "NVVM_ERROR_CANCELLED" &[(10, ALL)], "the compilation was cancelled", [], []),
];

/// Codes of the runtime that the driver has no counterpart of, and that people meet.
#[rustfmt::skip]
pub const RUNTIME: &[ResultCode] = &[
    code!(Runtime "cudaErrorInvalidConfiguration" &[(9, ALL)], "the grid, block or cluster cannot be launched",
        ["a block of more than 1,024 threads, or of none", "more shared memory than a block can have", "a block larger than the kernel's launch bounds"],
        ["see the kernel's limits with `cudalink inspect --kernels FILE`", "see the plan with `cudalink run --dry-run`"]),
    code!(Runtime "cudaErrorInvalidSymbol" &[(13, ALL)], "the program has no such device variable",
        ["the variable's object was not device-linked", "a name is passed where the runtime wants the variable itself"], []),
    code!(Runtime "cudaErrorInsufficientDriver" &[(35, ALL)], "the driver is older than the CUDA runtime of the program",
        ["the runtime is of a newer CUDA release than the driver supports", "no driver was found at all"],
        ["see `cudalink doctor`", "update the driver, or use an older runtime"]),
    code!(Runtime "cudaErrorInvalidDeviceFunction" &[(98, ALL)], "the program has no such kernel for this device",
        ["the kernel's object was not device-linked, or its registration was dropped by the host linker", "the program was built for other architectures"],
        ["list the kernels with `cudalink inspect --kernels FILE`"]),
];
