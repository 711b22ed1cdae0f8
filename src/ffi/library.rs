use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};

/// A shared library loaded from an absolute path. It stays loaded until the process ends, since NVIDIA's
/// libraries start threads that outlive their handles.
#[derive(Debug)]
pub struct Library {
    inner: &'static libloading::Library,
    path: PathBuf,
}

impl Library {
    /// Loads `path`, which must be absolute so that no search path decides what is loaded.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_absolute() {
            return Err(Error::missing(
                Code::LibraryNotFound,
                format!("`{}` is not an absolute path", path.display()),
            ));
        }
        // SAFETY: loading runs the library's initialisers; the path was chosen by the user or by `toolkit`
        // from NVIDIA's own files, which is the trust that using the library needs anyway.
        let loaded = unsafe { libloading::Library::new(path) };
        let inner = loaded.map_err(|e| {
            Error::missing(
                Code::LibraryNotFound,
                format!("cannot load `{}`: {}", path.display(), cause(&e)),
            )
            .hint("run `cudalink doctor` to see which libraries were found")
        })?;
        Ok(Self {
            inner: Box::leak(Box::new(inner)),
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first of `names` that the library exports.
    ///
    /// # Safety
    /// `F` must be the function pointer type that the library declares for each of these names.
    pub(super) unsafe fn optional<F: Copy>(&self, names: &[&str]) -> Option<F> {
        names.iter().find_map(|name| {
            // SAFETY: the caller vouches for `F`; the library is never unloaded.
            unsafe { self.inner.get::<F>(name.as_bytes()) }
                .ok()
                .map(|symbol| *symbol)
        })
    }

    /// Like [`Library::optional`], with an error that names the library when it lacks the function.
    ///
    /// # Safety
    /// As for [`Library::optional`].
    pub(super) unsafe fn required<F: Copy>(&self, names: &[&str]) -> Result<F> {
        // SAFETY: passed on to the caller.
        unsafe { self.optional(names) }.ok_or_else(|| {
            Error::missing(
                Code::LibraryNotFound,
                format!(
                    "`{}` does not export `{}`",
                    self.path.display(),
                    names.first().unwrap_or(&"")
                ),
            )
            .hint("the file is another library or a release that is too old")
        })
    }
}

/// `dlerror`'s own text, which libloading keeps one level down.
fn cause(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

/// A library's static string; empty for a null pointer.
///
/// # Safety
/// `text` must be null or point to a NUL-terminated string that stays valid.
pub(super) unsafe fn static_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller vouches.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// A log as text: cut at the first NUL, bad UTF-8 replaced.
pub(super) fn log_text(mut bytes: Vec<u8>) -> String {
    if let Some(end) = bytes.iter().position(|&b| b == 0) {
        bytes.truncate(end);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
