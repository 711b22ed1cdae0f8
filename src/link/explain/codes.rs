//! Diagnostic codes: what leads to a finding of each, and what to do about it.

use crate::error::Code;

/// Causes and remedies of a code.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub causes: &'static [&'static str],
    pub remedies: &'static [&'static str],
}

const fn about(causes: &'static [&'static str], remedies: &'static [&'static str]) -> About {
    About { causes, remedies }
}

/// What is known of a code beside its one-sentence meaning.
#[rustfmt::skip]
pub fn about_code(code: Code) -> About {
    match code {
        Code::UndefinedSymbol => about(
            &["an input or library is missing from the command line",
              "the definition is static, compiled for the host alone, without `-rdc=true`, or for another architecture",
              "the declaration and the definition have different parameters or linkage (`extern \"C\"`)"],
            &["add the input that defines it: the hints name those that nearly do",
              "compile the definition as `__device__` code with `-rdc=true` for the target"]),
        Code::DuplicateSymbol => about(
            &["one object is linked twice, directly and through an archive",
              "a function or variable is defined in a header without `inline` or `static`"],
            &["link only one of them", "make it `static`, `inline` or a template", "allow it with `--allow duplicate-symbol` where the linker can take the first"]),
        Code::PrototypeMismatch => about(
            &["an `extern \"C\"` function is declared with other types than it is defined with",
              "a structure in its signature differs between the inputs", "an input was built from an old header"],
            &["include one header in both, and rebuild both"]),
        Code::SizeMismatch => about(
            &["a variable is declared with another type or array length than it is defined with", "an input was built from an old header"],
            &["include one header in both, and rebuild both"]),
        Code::KindMismatch => about(
            &["a function is `__global__` in one input and `__device__` in another",
              "a variable is `__constant__`, `__managed__` or `__shared__` in one input and not in another",
              "a template kernel has different parameters or launch bounds in two inputs"],
            &["declare it the same way everywhere, in one header"]),
        Code::RegisterConflict => about(
            &["a kernel has `__launch_bounds__`, `.maxnreg` or `-maxrregcount`, and a function in another input was compiled without that limit"],
            &["compile the function's input with `-maxrregcount` at the kernel's limit", "raise the kernel's limit", "link with LTO, which compiles them together"]),
        Code::SharedMemory => about(
            &["static shared arrays of a kernel and of all functions that it calls add up to more than 48 KiB"],
            &["make large arrays dynamic (`extern __shared__`)"]),
        Code::ConstantMemory => about(
            &["`__constant__` variables of all inputs add up to more than 64 KiB"],
            &["move large tables to global memory"]),
        Code::StackUnknown => about(
            &["a kernel calls a function that calls itself, directly or through others"],
            &["set the limit at run time with `cudaDeviceSetLimit(cudaLimitStackSize, …)`"]),
        Code::ArchMissing => about(
            &["an input was not built for the target and has no PTX that could be compiled for it"],
            &["rebuild it with `-gencode arch=compute_NN,code=sm_NN`", "link for an architecture that it has: `cudalink inspect FILE` lists them"]),
        Code::ArchSuffix => about(
            &["`a` code runs on exactly one architecture, `f` code on one family"],
            &["link for the same suffix, for example `--arch sm_90a`", "rebuild the input without the suffix"]),
        Code::ArchAmbiguous => about(
            &["`--arch` was left out, and the inputs can be linked for several architectures"],
            &["give `--arch`, or `--arch native` for the device in this machine"]),
        Code::LtoNewerThanTarget => about(
            &["LTO-IR can be compiled for its own architecture and newer ones alone"],
            &["link for a newer target, or rebuild the input for an older one"]),
        Code::InputNewerThanLibrary => about(
            &["the input was made by a newer toolkit than the library that is used"],
            &["use a newer library with `--toolkit VERSION`; `cudalink toolkit install` fetches one"]),
        Code::InputTooOld => about(
            &["LTO-IR of CUDA 11, and some cubins of CUDA 11 and 12.0, are not read by later libraries"],
            &["rebuild the input with a newer toolkit", "use an older library with `--toolkit VERSION`"]),
        Code::NoDeviceCode => about(
            &["a host object, library or executable without CUDA code"],
            &["leave it out of the device link"]),
        Code::NotRelocatable => about(
            &["the input was compiled without `-rdc=true`, or is the result of a full link"],
            &["compile it with `-rdc=true` (`-dc`)", "link it with `-r` if it is to be linked again"]),
        Code::NotLto => about(
            &["the input was compiled without `-dlto`: machine code and PTX are linked as they are, and nothing of them is inlined"],
            &["compile it with `-dlto` (or `-gencode arch=compute_90,code=lto_90`)", "leave out `--lto`"]),
        Code::UnusedInput => about(
            &["nothing calls the input's functions, and it has no kernel and no variable"],
            &["leave it out, or check that the right one was given"]),
        Code::UnknownKernel => about(
            &["the name is misspelt or not mangled as in the file", "the kernel was dropped in an earlier link"],
            &["list the names with `cudalink inspect --kernels FILE`"]),
        Code::NoKernels => about(
            &["only device functions were given: without a kernel all of them are dropped"],
            &["add the input that has the kernels", "make a relocatable result with `-r`", "allow it with `--allow no-kernels`"]),
        Code::VirtualArchLowered => about(
            &["inputs were compiled from different virtual architectures"],
            &["rebuild the older ones if the difference matters"]),
        Code::Damaged => about(
            &["a download or copy was cut short", "the file is of another kind than its name says"],
            &["make or fetch the file again", "see `cudalink inspect FILE`"]),
        Code::Unreadable => about(
            &["the file is not there, is a directory, or may not be read"],
            &["check the path and its permissions"]),
        Code::KindUnknown => about(
            &["the bytes look like no kind of device code or container"],
            &["say what it is with `--kind KIND=FILE`"]),
        Code::LibraryNotFound => about(
            &["no NVIDIA library of a suitable release is installed where cudalink looks"],
            &["see `cudalink doctor`", "fetch it with `cudalink toolkit install`", "name it with `--nvjitlink PATH` or `--toolkit DIR`"]),
        Code::FetchFailed => about(
            &["there is no network or no `pip`", "`--offline` is on"],
            &["try again with a network", "install the library by hand and name it with `--toolkit DIR`"]),
        Code::ToolkitMixed => about(
            &["several toolkits are installed, and parts of different releases were found first"],
            &["name one toolkit with `--toolkit DIR`"]),
        Code::DriverUnavailable => about(
            &["there is no NVIDIA GPU or driver", "a container runs without access to the device"],
            &["see `cudalink doctor`"]),
        Code::DriverTooOld => about(
            &["the driver is older than the feature that was asked for"],
            &["update the driver, or leave the feature out"]),
        Code::BackendFailed => about(
            &["the linker library refused an input or an option for a reason that has no code of its own"],
            &["read its words in the details", "see the whole log with `--report FILE`"]),
        Code::CompilerMessage => about(
            &["a source has an error, or something in it that the compiler warns of",
              "an option for a compiler (`-Xnvrtc`, `-Xnvvm`, `--std`) is unknown to its release"],
            &["go to the file and line of the message", "compare the options with what the release knows: `cudalink doctor` tells which is used"]),
        Code::BackendCrashed => about(
            &["the linker library was ended by a signal, mostly over a damaged input"],
            &["try `cudalink inspect` on each input", "try another release with `--toolkit VERSION`"]),
        Code::BackendTimeout => about(
            &["link-time optimisation of large inputs takes minutes"],
            &["raise `--timeout`", "use `--ofast-compile max` or `--split-compile 0`"]),
        Code::OutOfMemory => about(
            &["the linker library reached `--memory-limit` or the machine's memory"],
            &["raise `--memory-limit`", "link fewer architectures at a time with `--jobs 1`"]),
        Code::BuiltinUnsupported => about(
            &["an input uses something that the built-in linker has not been proved on"],
            &["use another backend with `--backend nvjitlink`"]),
        Code::OptionConflict => about(
            &["two options, or an option and an input, contradict one another"],
            &["see `cudalink help COMMAND`"]),
        Code::OutputUnwritable => about(
            &["the folder is not there or may not be written to", "the disk is full"],
            &["name another place with `-o`"]),
        Code::LaunchRefused => about(
            &["the arguments do not fit the kernel's parameters", "the grid, block or cluster exceeds what the device or the kernel allows"],
            &["see the plan with `cudalink run --dry-run`"]),
        Code::LaunchFailed => about(
            &["the kernel accessed memory that is not there", "a kernel that synchronises its grid was launched without `--cooperative`"],
            &["explain the driver's code with `cudalink explain CUDA_ERROR_…`", "run it under `compute-sanitizer`"]),
        Code::ResultDiffers => about(
            &["the kernel computed something else than `--expect` says"],
            &["loosen `--rtol` or `--atol` if only rounding differs"]),
        Code::Internal => about(
            &["a fault in cudalink"],
            &["report it with the command line and `--repro FILE`"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_causes_and_remedies() {
        for &code in Code::ALL {
            let about = about_code(code);
            assert!(!about.causes.is_empty(), "{code} has no cause");
            assert!(!about.remedies.is_empty(), "{code} has no remedy");
            for text in about.causes.iter().chain(about.remedies) {
                assert!(!text.ends_with('.'), "{code}: {text}");
            }
        }
    }
}
