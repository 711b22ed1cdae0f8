//! The CUDA driver (`libcuda`): what is installed, its devices, and everything that a launch needs.
//!
//! [`Driver::load`] finds the library, [`Driver::init`] starts it, and handles of [`Context`], [`Module`],
//! [`Function`], [`Buffer`], [`Stream`] and [`Event`] end with their values. Every call answers with the
//! driver's integer result code and none panics, whatever the library lacks or returns. Works with drivers
//! from CUDA 11.4 on; what came later is used where it is there.

mod api;
mod context;
mod copy;
mod device;
mod error;
mod jit;
mod launch;
mod version;

use std::path::{Path, PathBuf};

pub use context::{Buffer, Context, Event, Function, FunctionFacts, Global, Module, Stream};
pub use device::{Device, DeviceInfo, Limits};
pub use error::{DriverError, Reason, code};
pub use jit::{JitInput, JitInputKind, JitOption, Linked};
pub use launch::{Arguments, Attribute, AttributeKind, LaunchConfig};
pub use version::DriverVersion;

use crate::error::{Code, Error, Result};
use api::Api;

/// Names another driver library: a path, for tests and for drivers in odd places.
pub const LIBRARY_VARIABLE: &str = "CUDALINK_LIBCUDA";

/// The loaded driver library. Copies share it, and it stays loaded until the process ends.
#[derive(Debug, Clone, Copy)]
pub struct Driver {
    api: &'static Api,
    path: &'static Path,
}

impl Driver {
    /// Loads the library and asks for its version; starts nothing.
    ///
    /// # Errors
    /// `driver-unavailable` when there is none, or only the toolkit's stub; `driver-too-old` below CUDA 11.4.
    pub fn load() -> Result<Self> {
        let (library, name) = open_library(candidates())?;
        Self::new(library, loaded_path(&name))
    }

    /// The same with the library at `path`.
    pub fn load_from(path: &Path) -> Result<Self> {
        let (library, path) = open_library(vec![path.to_owned()])?;
        Self::new(library, path)
    }

    fn new(library: libloading::Library, path: PathBuf) -> Result<Self> {
        let mut api = Api::new(library);
        let mut version = 0;
        // SAFETY: the call writes one integer.
        unsafe { api.driver_get_version(&mut version) }.map_err(|e| unusable(&path, &e))?;
        api.version = DriverVersion(version);
        if api.version < DriverVersion::OLDEST {
            return Err(Error::missing(
                Code::DriverTooOld,
                format!(
                    "the driver `{}` is of CUDA {}; {} is the oldest that can be used",
                    path.display(),
                    api.version,
                    DriverVersion::OLDEST
                ),
            )
            .hint("update the NVIDIA driver"));
        }
        Ok(Self {
            api: Box::leak(Box::new(api)),
            path: Box::leak(path.into_boxed_path()),
        })
    }

    /// Starts the driver; takes a tenth of a second. Needed once before devices are asked for.
    pub fn init(self) -> Result<()> {
        // SAFETY: the flags must be 0.
        unsafe { self.api.init(0) }.map_err(|e| unusable(self.path, &e))
    }

    /// The CUDA release that the driver supports, which is its own newest.
    pub fn version(self) -> DriverVersion {
        self.api.version
    }

    /// The library's file, as far as the system tells it.
    pub fn path(self) -> &'static Path {
        self.path
    }

    /// Devices that this process may use; `CUDA_VISIBLE_DEVICES` selects and orders them.
    pub fn devices(self) -> Result<Vec<Device>> {
        let mut count = 0;
        // SAFETY: the call writes one integer.
        unsafe { self.api.device_get_count(&mut count) }?;
        if count <= 0 {
            return Err(
                Error::missing(Code::DriverUnavailable, "the driver sees no device").hint(
                    "`nvidia-smi -L` lists the devices; `CUDA_VISIBLE_DEVICES` may hide them",
                ),
            );
        }
        (0..count)
            .map(|ordinal| Ok(Device::new(self.api, ordinal)?))
            .collect()
    }
}

/// Writes out what the C library still holds of the kernels' `printf`, which would be lost if this process
/// were killed.
pub fn flush_output() {
    unsafe extern "C" {
        fn fflush(stream: *mut std::ffi::c_void) -> std::ffi::c_int;
    }
    // SAFETY: a null pointer means every stream.
    let _ = unsafe { fflush(std::ptr::null_mut()) };
}

/// Where the library may be, most certain first. The plain name without a version comes last: with the
/// toolkit's folder of stubs on the search path it finds the stub.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let names: &[&str] = if cfg!(windows) {
        &["nvcuda.dll"]
    } else {
        &[
            "libcuda.so.1",
            "/usr/lib/wsl/lib/libcuda.so.1",
            "libcuda.so",
        ]
    };
    names.iter().map(PathBuf::from).collect()
}

fn open_library(candidates: Vec<PathBuf>) -> Result<(libloading::Library, PathBuf)> {
    let mut tried = Vec::new();
    for name in candidates {
        // SAFETY: loading runs the library's initialisers. The name is the system's own for the driver, or
        // the user's explicit choice.
        match unsafe { libloading::Library::new(&name) } {
            Ok(library) => return Ok((library, name)),
            Err(error) => tried.push(reason(&error)),
        }
    }
    let mut error = Error::missing(Code::DriverUnavailable, "no CUDA driver is installed")
        .hint("install the NVIDIA driver; `cudalink run --dry-run` plans a launch without one");
    for line in tried {
        error = error.detail(line);
    }
    Err(error)
}

/// The loader's own text, which libloading keeps one level down. It names the file.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Where the loader found `name`.
fn loaded_path(name: &Path) -> PathBuf {
    if name.is_absolute() {
        return name.to_owned();
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let found = maps.lines().find_map(|line| {
        let path = Path::new(&line[line.find('/')?..]);
        let file = path.file_name()?.to_str()?;
        file.starts_with("libcuda.so").then(|| path.to_owned())
    });
    found.unwrap_or_else(|| name.to_owned())
}

/// The driver is there, but does not start.
fn unusable(path: &Path, error: &DriverError) -> Error {
    if error.code() == Some(code::STUB_LIBRARY) {
        return Error::missing(
            Code::DriverUnavailable,
            format!(
                "`{}` is the toolkit's stub for linking, no driver",
                path.display()
            ),
        )
        .hint("take the `stubs` folder off `LD_LIBRARY_PATH`");
    }
    let found = error.diagnostic(if error.code().is_none() {
        Code::DriverTooOld
    } else {
        Code::DriverUnavailable
    });
    Error::new(
        crate::error::Category::Missing,
        found.detail(format!("driver: {}", path.display())),
    )
}
