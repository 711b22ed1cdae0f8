//! What NVIDIA calls its files, and where in a toolkit they lie. Names and folders were read off the
//! wheels of CUDA 12.4, 12.9 and 13.5 and the installers' documentation.

use super::{Component, Cpu, Os, Platform, Version};

/// File names of a component, best first: the newest version, then the name without one. `*` stands
/// for a version. The list is empty where NVIDIA ships no such file.
pub(super) fn file_names(component: Component, os: Os) -> &'static [&'static str] {
    use Component::*;
    match (os, component) {
        (_, Libdevice) => &["libdevice.10.bc"],
        (Os::Windows, Cudadevrt) => &["cudadevrt.lib"],
        (_, Cudadevrt) => &["libcudadevrt.a"],

        (Os::Linux, NvJitLink) => &[
            "libnvJitLink.so.13",
            "libnvJitLink.so.12",
            "libnvJitLink.so",
        ],
        (Os::Linux, Nvrtc) => &[
            "libnvrtc.so.13",
            "libnvrtc.so.12",
            "libnvrtc.so.11.2",
            "libnvrtc.so",
        ],
        (Os::Linux, NvrtcBuiltins) => &["libnvrtc-builtins.so.*"],
        (Os::Linux, LibNvvm) => &["libnvvm.so.4", "libnvvm.so"],
        (Os::Linux, Driver) => &["libcuda.so.1"],
        (Os::Linux, Nvdisasm) => &["nvdisasm"],
        (Os::Linux, Ptxas) => &["ptxas"],
        (Os::Linux, Nvlink) => &["nvlink"],

        (Os::Windows, NvJitLink) => &["nvJitLink_130_0.dll", "nvJitLink_120_0.dll"],
        (Os::Windows, Nvrtc) => &[
            "nvrtc64_130_0.dll",
            "nvrtc64_120_0.dll",
            "nvrtc64_112_0.dll",
        ],
        (Os::Windows, NvrtcBuiltins) => &["nvrtc-builtins64_*.dll"],
        (Os::Windows, LibNvvm) => &["nvvm64_40_0.dll"],
        (Os::Windows, Driver) => &["nvcuda.dll"],
        (Os::Windows, Nvdisasm) => &["nvdisasm.exe"],
        (Os::Windows, Ptxas) => &["ptxas.exe"],
        (Os::Windows, Nvlink) => &["nvlink.exe"],

        // CUDA for macOS ended with 10.2, before nvJitLink and before the IR that is linked today.
        (Os::MacOs, _) => &[],
    }
}

/// The folders of a toolkit in which a component may lie, best first, with `/` between the parts.
pub(super) fn folders(component: Component, platform: Platform) -> &'static [&'static str] {
    use Component::*;
    match (component, platform.os) {
        // The second is Debian's.
        (Libdevice, _) => &["nvvm/libdevice", "libdevice"],
        (Driver, _) => &[],
        (Nvdisasm | Ptxas | Nvlink, _) => &["bin"],
        (Cudadevrt, Os::Windows) => &["lib/x64", "lib"],
        // CUDA 13 moved the libraries to `bin/x64`; its wheels have them in `bin/x86_64`.
        (LibNvvm, Os::Windows) => &["nvvm/bin/x64", "nvvm/bin", "bin/x64", "bin/x86_64", "bin"],
        (_, Os::Windows) => &["bin/x64", "bin/x86_64", "bin"],
        (LibNvvm, _) => &["nvvm/lib64", "nvvm/lib", "lib64", "lib"],
        (_, _) if platform.cpu == Cpu::Aarch64 => &[
            "lib64",
            "lib",
            "targets/sbsa-linux/lib",
            "targets/aarch64-linux/lib",
        ],
        (_, _) => &["lib64", "lib", "targets/x86_64-linux/lib"],
    }
}

/// The folder of a component under `site-packages/nvidia`, as wheels had it up to CUDA 12.
pub(super) fn wheel_folder(component: Component) -> Option<&'static str> {
    use Component::*;
    match component {
        NvJitLink => Some("nvjitlink"),
        Nvrtc | NvrtcBuiltins => Some("cuda_nvrtc"),
        LibNvvm | Libdevice | Ptxas | Nvlink => Some("cuda_nvcc"),
        Cudadevrt => Some("cuda_runtime"),
        Driver | Nvdisasm => None,
    }
}

/// The names that a component's wheel may have, without the `_cu12` at the end, as a `.dist-info`
/// folder spells them.
pub(super) fn wheel_names(component: Component) -> &'static [&'static str] {
    use Component::*;
    match component {
        NvJitLink => &["nvidia_nvjitlink"],
        Nvrtc | NvrtcBuiltins => &["nvidia_cuda_nvrtc"],
        LibNvvm | Libdevice => &["nvidia_nvvm", "nvidia_cuda_nvcc"],
        Cudadevrt => &["nvidia_cuda_runtime"],
        Ptxas | Nvlink => &["nvidia_cuda_nvcc"],
        Nvdisasm => &["nvidia_cuda_nvdisasm"],
        Driver => &[],
    }
}

/// The keys of a component in a toolkit's `version.json`, the most exact first.
pub(super) fn version_keys(component: Component) -> &'static [&'static str] {
    use Component::*;
    match component {
        NvJitLink => &["libnvjitlink", "cuda"],
        Nvrtc | NvrtcBuiltins => &["cuda_nvrtc", "cuda"],
        LibNvvm | Libdevice => &["libnvvm", "cuda_nvcc", "cuda"],
        Cudadevrt => &["cuda_cudart", "cuda"],
        Ptxas | Nvlink => &["cuda_nvcc", "cuda"],
        Nvdisasm => &["cuda_nvdisasm", "cuda"],
        Driver => &[],
    }
}

/// Whether `name` is `pattern`, in which one `*` may stand for anything but nothing.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|version| !version.is_empty()),
    }
}

/// The CUDA version that a file's full name tells: `libnvrtc.so.12.4.127`, `nvrtc-builtins64_135.dll`.
/// A soname of one number, such as `libnvrtc.so.13`, tells only the major version: that is none.
pub(super) fn version_in_name(component: Component, name: &str) -> Option<Version> {
    // These two count versions of their own.
    if matches!(component, Component::LibNvvm | Component::Driver) {
        return None;
    }
    // NVRTC 11.2 to 11.8 all answer to this name.
    if name == "libnvrtc.so.11.2" {
        return None;
    }
    if let Some((_, version)) = name.split_once(".so.") {
        return version.parse().ok();
    }
    let digits = name
        .strip_prefix("nvrtc-builtins64_")?
        .strip_suffix(".dll")?;
    // All but the last digit are the major version.
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_names() {
        let version = |component, name: &str| {
            version_in_name(component, name).map(|version| version.to_string())
        };
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(
            version(Component::NvJitLink, "libnvJitLink.so.12.4.127"),
            of("12.4.127")
        );
        assert_eq!(version(Component::NvJitLink, "libnvJitLink.so.13"), None);
        assert_eq!(version(Component::Nvrtc, "libnvrtc.so.11.2"), None);
        assert_eq!(
            version(Component::NvrtcBuiltins, "libnvrtc-builtins.so.13.5"),
            of("13.5")
        );
        assert_eq!(
            version(Component::NvrtcBuiltins, "nvrtc-builtins64_129.dll"),
            of("12.9")
        );
        assert_eq!(
            version(Component::NvrtcBuiltins, "nvrtc-builtins64_.dll"),
            None
        );
        assert_eq!(version(Component::LibNvvm, "libnvvm.so.4.0.0"), None);
        assert_eq!(version(Component::Driver, "libcuda.so.580.159.04"), None);
    }

    #[test]
    fn patterns() {
        assert!(matches(
            "libnvrtc-builtins.so.*",
            "libnvrtc-builtins.so.13.5"
        ));
        assert!(!matches("libnvrtc-builtins.so.*", "libnvrtc-builtins.so."));
        assert!(!matches(
            "libnvrtc-builtins.so.*",
            "libnvrtc-builtins.alt.so.12.9"
        ));
        assert!(matches(
            "nvrtc-builtins64_*.dll",
            "nvrtc-builtins64_135.dll"
        ));
        assert!(!matches("ptxas", "ptxas.exe"));
    }

    /// What the wheels of 13.5 and 12.9 hold, path by path, for systems that this test cannot run on.
    #[test]
    fn the_table_covers_the_wheels_of_every_platform() {
        use Component::*;
        let windows = Platform {
            os: Os::Windows,
            cpu: Cpu::X86_64,
        };
        let linux = Platform {
            os: Os::Linux,
            cpu: Cpu::X86_64,
        };
        let arm = Platform {
            os: Os::Linux,
            cpu: Cpu::Aarch64,
        };
        let known = [
            (windows, NvJitLink, "bin/x86_64/nvJitLink_130_0.dll"),
            (windows, NvJitLink, "bin/nvJitLink_120_0.dll"),
            (windows, Nvrtc, "bin/x86_64/nvrtc64_130_0.dll"),
            (windows, Nvrtc, "bin/nvrtc64_120_0.dll"),
            (
                windows,
                NvrtcBuiltins,
                "bin/x86_64/nvrtc-builtins64_135.dll",
            ),
            (windows, LibNvvm, "bin/x86_64/nvvm64_40_0.dll"),
            (windows, LibNvvm, "nvvm/bin/nvvm64_40_0.dll"),
            (windows, Libdevice, "nvvm/libdevice/libdevice.10.bc"),
            (windows, Cudadevrt, "lib/x64/cudadevrt.lib"),
            (windows, Ptxas, "bin/ptxas.exe"),
            (linux, NvJitLink, "lib/libnvJitLink.so.13"),
            (linux, NvrtcBuiltins, "lib/libnvrtc-builtins.so.13.5"),
            (linux, LibNvvm, "lib/libnvvm.so.4"),
            (linux, LibNvvm, "nvvm/lib64/libnvvm.so"),
            (arm, NvJitLink, "targets/sbsa-linux/lib/libnvJitLink.so.13"),
            (arm, Cudadevrt, "lib/libcudadevrt.a"),
        ];
        for (platform, component, path) in known {
            let (folder, name) = path.rsplit_once('/').unwrap();
            assert!(folders(component, platform).contains(&folder), "{path}");
            assert!(
                file_names(component, platform.os)
                    .iter()
                    .any(|known| matches(known, name)),
                "{path}"
            );
        }
        for &component in Component::ALL {
            let files = matches!(component, Libdevice | Cudadevrt);
            assert_eq!(
                !file_names(component, Os::MacOs).is_empty(),
                files,
                "{component}"
            );
        }
    }
}
