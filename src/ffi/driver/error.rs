use cudarc::driver::sys::CUresult;

use super::version::DriverVersion;
use crate::error::{Category, Code, Diagnostic, Error};

/// Result codes that something is decided by, numbers as in cuda.h.
pub mod code {
    use super::CUresult;

    pub const INVALID_VALUE: u32 = CUresult::CUDA_ERROR_INVALID_VALUE as u32;
    pub const OUT_OF_MEMORY: u32 = CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32;
    pub const STUB_LIBRARY: u32 = CUresult::CUDA_ERROR_STUB_LIBRARY as u32;
    pub const CALL_REQUIRES_NEWER_DRIVER: u32 =
        CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER as u32;
    pub const DEVICE_UNAVAILABLE: u32 = CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE as u32;
    pub const NO_DEVICE: u32 = CUresult::CUDA_ERROR_NO_DEVICE as u32;
    pub const INVALID_DEVICE: u32 = CUresult::CUDA_ERROR_INVALID_DEVICE as u32;
    pub const INVALID_IMAGE: u32 = CUresult::CUDA_ERROR_INVALID_IMAGE as u32;
    pub const NO_BINARY_FOR_GPU: u32 = CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU as u32;
    pub const INVALID_PTX: u32 = CUresult::CUDA_ERROR_INVALID_PTX as u32;
    pub const UNSUPPORTED_PTX_VERSION: u32 = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION as u32;
    pub const NOT_FOUND: u32 = CUresult::CUDA_ERROR_NOT_FOUND as u32;
    pub const ILLEGAL_ADDRESS: u32 = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS as u32;
    pub const LAUNCH_OUT_OF_RESOURCES: u32 = CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES as u32;
    pub const LAUNCH_TIMEOUT: u32 = CUresult::CUDA_ERROR_LAUNCH_TIMEOUT as u32;
    pub const ASSERT: u32 = CUresult::CUDA_ERROR_ASSERT as u32;
    pub const HARDWARE_STACK_ERROR: u32 = CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR as u32;
    pub const ILLEGAL_INSTRUCTION: u32 = CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION as u32;
    pub const MISALIGNED_ADDRESS: u32 = CUresult::CUDA_ERROR_MISALIGNED_ADDRESS as u32;
    pub const INVALID_ADDRESS_SPACE: u32 = CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE as u32;
    pub const INVALID_PC: u32 = CUresult::CUDA_ERROR_INVALID_PC as u32;
    pub const LAUNCH_FAILED: u32 = CUresult::CUDA_ERROR_LAUNCH_FAILED as u32;
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: u32 =
        CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE as u32;
    pub const NOT_PERMITTED: u32 = CUresult::CUDA_ERROR_NOT_PERMITTED as u32;
    pub const SYSTEM_NOT_READY: u32 = CUresult::CUDA_ERROR_SYSTEM_NOT_READY as u32;
    pub const SYSTEM_DRIVER_MISMATCH: u32 = CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH as u32;
    pub const COMPAT_NOT_SUPPORTED: u32 =
        CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE as u32;
    pub const INVALID_CLUSTER_SIZE: u32 = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE as u32;
}

/// A call of the driver that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError {
    /// The driver's function: `cuModuleLoadDataEx`.
    pub call: &'static str,
    pub reason: Reason,
    /// What the driver's compiler or linker said, line by line.
    pub log: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A result code. Name and text are the driver's own; it has none for codes that it does not know.
    Code {
        code: u32,
        name: Option<String>,
        text: Option<String>,
    },
    /// This driver has no such function.
    Lacks {
        since: DriverVersion,
        driver: DriverVersion,
    },
}

impl DriverError {
    pub(super) fn new(call: &'static str, reason: Reason) -> Self {
        Self {
            call,
            reason,
            log: Vec::new(),
        }
    }

    pub fn code(&self) -> Option<u32> {
        match self.reason {
            Reason::Code { code, .. } => Some(code),
            Reason::Lacks { .. } => None,
        }
    }

    /// `CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected`.
    pub fn describe(&self) -> String {
        match &self.reason {
            Reason::Code { code, name, text } => {
                let name = match name {
                    Some(name) => format!("{name} ({code})"),
                    None => format!("result code {code}, which this driver cannot name"),
                };
                match text {
                    Some(text) => format!("{name}: {text}"),
                    None => name,
                }
            }
            Reason::Lacks { since, driver } => {
                format!("is not in this driver (CUDA {driver}); it came with CUDA {since}")
            }
        }
    }

    /// Which kind of end this is for a command, where nobody knows better.
    fn kind(&self) -> (Category, Code) {
        let Some(code) = self.code() else {
            return (Category::Missing, Code::DriverTooOld);
        };
        match code {
            code::CALL_REQUIRES_NEWER_DRIVER => (Category::Missing, Code::DriverTooOld),
            code::STUB_LIBRARY
            | code::DEVICE_UNAVAILABLE
            | code::NO_DEVICE
            | code::INVALID_DEVICE
            | code::NOT_PERMITTED
            | code::SYSTEM_NOT_READY
            | code::SYSTEM_DRIVER_MISMATCH
            | code::COMPAT_NOT_SUPPORTED => (Category::Missing, Code::DriverUnavailable),
            code::OUT_OF_MEMORY => (Category::Failed, Code::OutOfMemory),
            _ => (Category::Failed, Code::LaunchFailed),
        }
    }

    /// What to do, for the codes where that is known.
    fn hint(&self) -> Option<&'static str> {
        Some(match self.code()? {
            code::NO_DEVICE => {
                "`nvidia-smi -L` lists the devices; `CUDA_VISIBLE_DEVICES` may hide them"
            }
            code::DEVICE_UNAVAILABLE => {
                "another process may hold the device in exclusive mode; see `nvidia-smi -q -d COMPUTE`"
            }
            code::SYSTEM_NOT_READY => {
                "start the fabric manager or the other services that this system needs"
            }
            code::SYSTEM_DRIVER_MISMATCH => {
                "the driver was updated while its kernel module stayed loaded; restart the machine"
            }
            code::COMPAT_NOT_SUPPORTED => {
                "take the CUDA compatibility package off the library path, or update the driver"
            }
            code::CALL_REQUIRES_NEWER_DRIVER => "update the NVIDIA driver",
            _ => return None,
        })
    }

    /// The finding for a call that failed before anything was launched.
    pub fn diagnostic(&self, code: Code) -> Diagnostic {
        let separator = if matches!(self.reason, Reason::Lacks { .. }) {
            " "
        } else {
            ": "
        };
        let mut found = Diagnostic::error(
            code,
            format!("`{}`{separator}{}", self.call, self.describe()),
        );
        found.details.extend(self.log.iter().cloned());
        found.hints.extend(self.hint().map(str::to_owned));
        if code == Code::DriverTooOld && found.hints.is_empty() {
            found.hints.push("update the NVIDIA driver".to_owned());
        }
        found
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        let (category, code) = error.kind();
        Self::new(category, error.diagnostic(code))
    }
}
