use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A library, file or program of NVIDIA's that cudalink can use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The linker library, since CUDA 12.0.
    #[serde(rename = "nvjitlink")]
    NvJitLink,
    /// The compiler for CUDA C++.
    Nvrtc,
    /// Headers and bitcode that NVRTC loads from beside itself.
    NvrtcBuiltins,
    /// The compiler for NVVM IR.
    #[serde(rename = "libnvvm")]
    LibNvvm,
    /// `libdevice.10.bc`, the bitcode of the mathematical functions.
    Libdevice,
    /// `libcudadevrt.a`, the device runtime.
    Cudadevrt,
    /// The CUDA driver, `libcuda.so.1`.
    Driver,
    Nvdisasm,
    Ptxas,
    Nvlink,
}

impl Component {
    pub const ALL: &'static [Self] = &[
        Self::NvJitLink,
        Self::Nvrtc,
        Self::NvrtcBuiltins,
        Self::LibNvvm,
        Self::Libdevice,
        Self::Cudadevrt,
        Self::Driver,
        Self::Nvdisasm,
        Self::Ptxas,
        Self::Nvlink,
    ];

    /// The name on the command line and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NvJitLink => "nvjitlink",
            Self::Nvrtc => "nvrtc",
            Self::NvrtcBuiltins => "nvrtc-builtins",
            Self::LibNvvm => "libnvvm",
            Self::Libdevice => "libdevice",
            Self::Cudadevrt => "cudadevrt",
            Self::Driver => "driver",
            Self::Nvdisasm => "nvdisasm",
            Self::Ptxas => "ptxas",
            Self::Nvlink => "nvlink",
        }
    }

    /// The name in messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::NvJitLink => "nvJitLink",
            Self::Nvrtc => "NVRTC",
            Self::NvrtcBuiltins => "libnvrtc-builtins",
            Self::LibNvvm => "libNVVM",
            Self::Libdevice => "libdevice",
            Self::Cudadevrt => "libcudadevrt",
            Self::Driver => "the CUDA driver",
            Self::Nvdisasm => "nvdisasm",
            Self::Ptxas => "ptxas",
            Self::Nvlink => "nvlink",
        }
    }

    /// Whether it is a program that is started, not a file that is loaded or read.
    pub fn is_tool(self) -> bool {
        matches!(self, Self::Nvdisasm | Self::Ptxas | Self::Nvlink)
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|known| known.as_str() == text);
        known.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
            format!("`{text}` is no component; known are {}", names.join(", "))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Linux,
    Windows,
    /// CUDA ended there with 10.2, before nvJitLink; only files and no library are found.
    MacOs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    X86_64,
    Aarch64,
    Other,
}

impl Os {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
            Self::MacOs => "macos",
        }
    }
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Cpu {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Other => "another processor",
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The machine that the libraries must run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    pub os: Os,
    pub cpu: Cpu,
}

impl Platform {
    /// The machine that this program was built for.
    pub const HOST: Self = Self {
        os: if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        },
        cpu: if cfg!(target_arch = "x86_64") {
            Cpu::X86_64
        } else if cfg!(target_arch = "aarch64") {
            Cpu::Aarch64
        } else {
            Cpu::Other
        },
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_everywhere() {
        for &component in Component::ALL {
            assert_eq!(component.as_str().parse(), Ok(component));
            let json = serde_json::to_string(&component).unwrap();
            assert_eq!(json, format!("\"{component}\""));
        }
        let error = "nvcc".parse::<Component>().unwrap_err();
        assert!(error.contains("nvdisasm, ptxas, nvlink"), "{error}");
    }
}
