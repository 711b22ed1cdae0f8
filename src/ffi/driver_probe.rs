//! Whether a CUDA driver answers at all, for `doctor`: two calls with integer results, so that neither a
//! missing function nor a code that no release has had yet can do harm.

use std::ffi::{c_int, c_uint};
use std::path::Path;

use libloading::Library;

/// What a driver said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The newest CUDA release that the driver serves, as `cuDriverGetVersion` counts: 13000 is 13.0.
    /// The error is the call's result code.
    pub version: Result<i32, i32>,
    /// The result code of `cuInit`; 0 is success.
    pub init: i32,
}

/// Loads the library at an absolute path and asks it. Takes a tenth of a second where there is a GPU.
/// The library stays loaded, for it starts threads of its own.
///
/// # Errors
/// The loader's words, or the name of the function that the library lacks.
pub fn ask(path: &Path) -> Result<Answer, String> {
    if !path.is_absolute() {
        return Err(format!("`{}` is no absolute path", path.display()));
    }
    // SAFETY: loading runs the library's initialisers; `toolkit` took the path from where the system
    // keeps its driver, which every CUDA program loads.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        // The loader's own words are one level down.
        let cause = std::error::Error::source(&error);
        cause.map_or_else(|| error.to_string(), ToString::to_string)
    })?;
    let library: &'static Library = Box::leak(Box::new(library));
    let lacks = |name: &str| format!("it lacks the function `{name}`");
    // SAFETY: cuda.h declares `CUresult cuInit(unsigned)`; the enum is 32 bits wide.
    let init = unsafe { library.get::<unsafe extern "system" fn(c_uint) -> c_int>(b"cuInit\0") };
    let init = init.map_err(|_| lacks("cuInit"))?;
    // SAFETY: cuda.h declares `CUresult cuDriverGetVersion(int *)`.
    let get_version = unsafe {
        library.get::<unsafe extern "system" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion\0")
    };
    let get_version = get_version.map_err(|_| lacks("cuDriverGetVersion"))?;
    let mut version = 0;
    // SAFETY: the call writes one integer; cuda.h allows it before `cuInit`.
    let version = match unsafe { get_version(&mut version) } {
        0 => Ok(version),
        code => Err(code),
    };
    // SAFETY: flags must be 0.
    let init = unsafe { init(0) };
    Ok(Answer { version, init })
}

/// What a result code of `cuInit` means for the user, in one line.
pub fn meaning(code: i32) -> &'static str {
    match code {
        0 => "the driver is ready",
        34 => "it is the toolkit's stub to link against, not a driver",
        35 => "the driver is older than the library needs",
        100 => "the driver sees no CUDA device",
        101 => "a device is not valid",
        802 => "the system is not ready, which on machines with NVSwitch needs the fabric manager",
        803 => "the driver's kernel module and its library are of different versions",
        804 => "the compatibility package does not support this device",
        _ => "the driver does not work",
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    fn skip(reason: &str) {
        assert!(
            std::env::var_os("CUDALINK_TEST_STRICT").is_none(),
            "skipped: {reason}"
        );
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("skipped: {reason}\n").as_bytes(),
        );
    }

    /// A stand-in for libcuda, compiled here; `None` where there is no C compiler.
    fn build(folder: &Path, source: &str) -> Option<std::path::PathBuf> {
        let file = folder.join("driver.c");
        std::fs::write(&file, source).unwrap();
        let library = folder.join("libcuda.so.1");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &file])
            .status();
        built
            .is_ok_and(|status| status.success())
            .then_some(library)
    }

    fn answer(source: &str) -> Option<Result<Answer, String>> {
        let folder = tempfile::tempdir().unwrap();
        let library = build(folder.path(), source);
        if library.is_none() {
            skip("there is no C compiler");
        }
        library.map(|library| ask(&library))
    }

    #[test]
    fn drivers_of_all_kinds_answer() {
        let driver = |version: i32, get: i32, init: i32| {
            format!(
                "int cuInit(unsigned f) {{ return {init}; }}\n\
                 int cuDriverGetVersion(int *v) {{ *v = {version}; return {get}; }}\n"
            )
        };
        let cases = [
            (
                driver(13000, 0, 0),
                Answer {
                    version: Ok(13000),
                    init: 0,
                },
            ),
            (
                driver(0, 34, 34),
                Answer {
                    version: Err(34),
                    init: 34,
                },
            ),
            (
                driver(12080, 0, 100),
                Answer {
                    version: Ok(12080),
                    init: 100,
                },
            ),
            // A code that no release has is only a number here.
            (
                driver(20000, 0, 98765),
                Answer {
                    version: Ok(20000),
                    init: 98765,
                },
            ),
        ];
        for (source, expected) in cases {
            let Some(answer) = answer(&source) else {
                return;
            };
            assert_eq!(answer, Ok(expected));
        }
        assert!(meaning(34).contains("stub"));
    }

    #[test]
    fn what_is_no_driver_is_an_error() {
        let Some(answer) = answer("int cuInit(unsigned f) { return 0; }") else {
            return;
        };
        assert_eq!(
            answer,
            Err("it lacks the function `cuDriverGetVersion`".to_owned())
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(ask(file.path()).is_err());
        assert!(
            ask(Path::new("libcuda.so.1"))
                .unwrap_err()
                .contains("absolute")
        );
    }
}
