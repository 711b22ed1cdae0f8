//! Names that compilers, linkers and the runtime make up, and what to do when one of them is in the way.

use crate::code::demangled;

/// A family of well-known names.
#[derive(Debug)]
pub struct Known {
    /// The name itself, or how it starts when it ends in `*`.
    pub pattern: &'static str,
    pub meaning: &'static str,
    /// When one is undefined or clashes, or why that does no harm.
    pub remedies: &'static [&'static str],
}

impl Known {
    fn matches(&self, name: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.pattern,
        }
    }
}

macro_rules! known {
    ($($pattern:literal $meaning:literal [$($remedy:literal),* $(,)?],)*) => {
        &[$(Known { pattern: $pattern, meaning: $meaning, remedies: &[$($remedy),*] },)*]
    };
}

/// The first that matches a name is meant.
pub const KNOWN: &[Known] = known! {
    "__cudaRegisterLinkedBinary_*" "a function that each host object with relocatable device code calls when the program starts; the device link makes it"
        ["link the device code of all objects (`nvcc -dlink`) and give the object that it makes to the host linker", "compile without `-rdc=true` if no other object needs its device code"],
    "__fatbinwrap_*" "the device code of one host object, as the object of the device link refers to it"
        ["give the host linker every object that took part in the device link", "archive members that the host linker drops lose theirs: use `--whole-archive`"],
    "__cudaPrelinkedFatbins*" "the table of device code that the object of a device link registers" [],
    "__cudaCDP2*" "a device-side launch or another device runtime call, defined in libcudadevrt"
        ["add `-l cudadevrt`; `cudalink link` does so by itself unless `--add-devrt=false` is given"],
    "cudaCG*" "grid-wide synchronisation of cooperative groups, defined in libcudadevrt"
        ["add `-l cudadevrt`; `cudalink link` does so by itself unless `--add-devrt=false` is given", "launch such a kernel with `--cooperative`"],
    "cudaGetParameterBufferV2" "a device-side launch of an older form, defined in libcudadevrt" ["add `-l cudadevrt`"],
    "cudaLaunchDeviceV2" "a device-side launch of an older form, defined in libcudadevrt" ["add `-l cudadevrt`"],
    "__cuda_syscall*" "a call of the driver from device code" ["it may stay undefined"],
    "cnp*" "a call of the device runtime that the driver provides" ["the names that the driver knows may stay undefined; any other is a misspelling"],
    "vprintf" "what `printf` in device code calls; the driver provides it" ["it may stay undefined"],
    "vfprintf" "what `fprintf` in device code calls; the driver provides it" ["it may stay undefined"],
    "malloc" "memory from the device's heap; the driver provides it" ["it may stay undefined"],
    "free" "gives memory back to the device's heap; the driver provides it" ["it may stay undefined"],
    "__assertfail" "what a failed `assert` in device code calls; the driver provides it" ["it may stay undefined"],
    "__profile" "a profiler's hook; the driver provides it" ["it may stay undefined"],
    "cudaGraph*" "a call of the graph interface from device code; linkers of CUDA 12.4 and later know most of them" ["use a newer library if one is reported undefined"],
    "__nv_static_*" "a static kernel or variable, made unique by the hash and name of its source file" [],
    "__cuda_sm*" "a helper that ptxas adds, such as a division or square root" ["each image brings its own"],
    "printf" "device code has no function of this name; compilers turn it into `vprintf`" ["declare it by including `<cstdio>` and compile for the device"],
    "memcpy" "device code has no function of this name; compilers expand it" ["compile with optimisation, or define it"],
    "memset" "device code has no function of this name; compilers expand it" ["compile with optimisation, or define it"],
    "__UFT*" "the linker's table of functions that are called through pointers" ["it may stay undefined"],
    "__UDT*" "the linker's table of unified data" ["it may stay undefined"],
    "externsharedinstance" "dynamic shared memory in the result of a relocatable link" ["it may stay undefined"],
    ".nv.reservedSmem.*" "shared memory that the system keeps for itself from sm_90 on" ["it may stay undefined"],
    "__cudaRegisterFatBinary*" "registers a host object's device code; the CUDA runtime defines it" ["link the host program with `-lcudart` (or `-lcudart_static`)"],
    "__cudaUnregisterFatBinary" "unregisters a host object's device code; the CUDA runtime defines it" ["link the host program with `-lcudart` (or `-lcudart_static`)"],
    "__cudaRegister*" "registers a kernel or variable; the CUDA runtime defines it" ["link the host program with `-lcudart` (or `-lcudart_static`)"],
    "__cudaPushCallConfiguration" "what `kernel<<<…>>>` calls on the host; the CUDA runtime defines it" ["link the host program with `-lcudart` (or `-lcudart_static`)"],
    "__cudaPopCallConfiguration" "what `kernel<<<…>>>` calls on the host; the CUDA runtime defines it" ["link the host program with `-lcudart` (or `-lcudart_static`)"],
    "__cudaLaunchKernel" "what `kernel<<<…>>>` calls on the host; the CUDA runtime of 13 and later defines it" ["link the host program with the CUDA runtime of the compiler's release"],
    "__cudaGetKernel" "what `kernel<<<…>>>` calls on the host; the CUDA runtime of 13 and later defines it" ["link the host program with the CUDA runtime of the compiler's release"],
    "__NV_MODULE_ID" "marks a host object with relocatable device code and names it" [],
    "__nv_module_id" "the section of a host object that names its relocatable device code" [],
    "__nv_relfatbin" "the section of a host object with its relocatable device code; the device link reads it" [],
    ".nv_fatbin" "the section of a host file with device code that the driver can load" [],
    ".nvFatBinSegment" "the section of a host file with the wrappers that registration hands to the driver" [],
    "__nv_*" "a function of libdevice, the maths library for device code"
        ["compile with libdevice: NVRTC and nvcc do so, libNVVM needs `libdevice.10.bc` as a further module"],
    "nvshmem*" "a function of NVSHMEM for device code" ["add `-l nvshmem_device`"],
    "_Znw*" "`operator new`; device code has it only where the compiler inlines it" ["compile with nvcc, whose headers define it for the device"],
    "__cxa_*" "a function of the C++ runtime; device code has none" ["avoid static objects with destructors and pure virtual calls in device code"],
};

/// What is known of a name.
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.matches(name))
}

/// What a compiler made of a name: its readable form, and the source file of a static one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded {
    pub readable: Option<String>,
    /// The source file's name with every character but letters and digits turned into `_`.
    pub file: Option<String>,
    /// The function that an inlined or local function was compiled into.
    pub within: Option<String>,
}

/// Takes a name apart. The forms were measured on nvcc 11.8 to 13.5.
pub fn decode(name: &str) -> Decoded {
    if let Some((id, inner)) = static_parts(name) {
        return Decoded {
            file: module_file(id),
            readable: demangled(inner),
            ..Decoded::default()
        };
    }
    if let Some((kernel, function)) = name.strip_prefix('$').and_then(|rest| rest.split_once('$'))
        && !kernel.is_empty()
    {
        return Decoded {
            within: Some(readable(kernel)),
            readable: Some(readable(function)),
            ..Decoded::default()
        };
    }
    for prefix in ["__cudaRegisterLinkedBinary", "__fatbinwrap"] {
        if let Some(id) = name.strip_prefix(prefix) {
            return Decoded {
                file: module_file(id),
                ..Decoded::default()
            };
        }
    }
    let internal = ["_INTERNAL_", "_GLOBAL__N__"];
    let file = internal.iter().find_map(|mark| {
        let (_, id) = name.split_once(mark)?;
        module_file(&format!("_{id}"))
    });
    Decoded {
        readable: demangled(name),
        file,
        within: None,
    }
}

fn readable(name: &str) -> String {
    demangled(name).unwrap_or_else(|| name.to_owned())
}

/// `__nv_static_30__26ea21ef_10_my_file_cu__Z1kPi__Z2skPi`: 30 letters of module id, `_`, the name.
fn static_parts(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("__nv_static_")?;
    let (length, rest) = rest.split_once('_')?;
    let length: usize = length.parse().ok()?;
    let id = rest.get(..length)?;
    let inner = rest.get(length..)?.strip_prefix('_')?;
    Some((id, inner))
}

/// `_26ea21ef_10_my_file_cu__Z1kPi`: a hash, the length of the file's name, the file's name, a symbol.
fn module_file(id: &str) -> Option<String> {
    let (hash, rest) = id.strip_prefix('_')?.split_once('_')?;
    let (length, rest) = rest.split_once('_')?;
    let is_hash = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let length: usize = length.parse().ok()?;
    rest.get(..length).filter(|_| is_hash).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_matches_itself_first() {
        for (at, entry) in KNOWN.iter().enumerate() {
            let name = entry.pattern.trim_end_matches('*');
            let first = KNOWN.iter().position(|known| known.matches(name));
            assert_eq!(first, Some(at), "{} is hidden", entry.pattern);
        }
        assert!(known("_Z4axpyPfi").is_none());
    }

    #[test]
    fn names_that_nvcc_makes() {
        let file = Some("my_file_cu".to_owned());
        let kernel = decode("__nv_static_30__26ea21ef_10_my_file_cu__Z1kPi__Z2skPi");
        assert_eq!(kernel.readable.as_deref(), Some("sk(int*)"));
        assert_eq!(kernel.file, file);
        let variable = decode("__nv_static_30__26ea21ef_10_my_file_cu__Z1kPi_sv");
        assert_eq!((variable.readable, variable.file), (None, file.clone()));
        let function = decode("_ZN39_INTERNAL_26ea21ef_10_my_file_cu__Z1kPi2sfEi");
        assert_eq!(function.file, file);
        assert_eq!(
            decode("__cudaRegisterLinkedBinary_26ea21ef_10_my_file_cu__Z1kPi").file,
            file
        );
        let inlined = decode("$_Z1kPi$_Z1fi");
        assert_eq!(inlined.within.as_deref(), Some("k(int*)"));
        assert_eq!(inlined.readable.as_deref(), Some("f(int)"));
        for odd in [
            "__nv_static_",
            "__nv_static_99999999999999999999_x",
            "__nv_static_9_é",
            "$$",
            "$",
            "__fatbinwrap_",
            "_INTERNAL_é_3",
        ] {
            decode(odd);
        }
    }
}
