//! NVRTC: CUDA C++ to PTX, cubin or LTO-IR. Declarations follow `nvrtc.h` of CUDA 13.5.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::library::{Library, log_text, static_text};
use crate::error::{Code, Error, Result};

type Program = *mut c_void;
type Status = c_int;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> Status;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// What a compilation yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    Ptx,
    Cubin,
    LtoIr,
}

impl Output {
    fn functions(self) -> [&'static str; 2] {
        match self {
            Self::Ptx => ["nvrtcGetPTXSize", "nvrtcGetPTX"],
            Self::Cubin => ["nvrtcGetCUBINSize", "nvrtcGetCUBIN"],
            Self::LtoIr => ["nvrtcGetLTOIRSize", "nvrtcGetLTOIR"],
        }
    }
}

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    log_size: GetSize,
    log: GetBytes,
    add_name: unsafe extern "C" fn(Program, *const c_char) -> Status,
    lowered_name: unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> Status,
    /// `(major, minor)`.
    pub version: (i32, i32),
    /// Architecture numbers it compiles for, 75, 80…
    pub architectures: Vec<i32>,
}

/// A finished compilation.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The code; none when the compilation failed.
    pub code: Option<Vec<u8>>,
    /// Warnings and errors, in the compiler's own words.
    pub log: String,
    /// `NVRTC_SUCCESS`, `NVRTC_ERROR_COMPILATION`…
    pub result: String,
    /// Mangled names of the name expressions asked for, in order.
    pub lowered: Vec<String>,
}

impl Nvrtc {
    pub fn load(path: &Path) -> Result<Self> {
        let library = Library::open(path)?;
        // SAFETY: each name is declared in nvrtc.h with the type of the field it goes to.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status =
                library.required(&["nvrtcVersion"])?;
            let count: unsafe extern "C" fn(*mut c_int) -> Status =
                library.required(&["nvrtcGetNumSupportedArchs"])?;
            let list: unsafe extern "C" fn(*mut c_int) -> Status =
                library.required(&["nvrtcGetSupportedArchs"])?;
            let (mut major, mut minor, mut number) = (0, 0, 0);
            version(&mut major, &mut minor);
            count(&mut number);
            let mut architectures = vec![0; usize::try_from(number).unwrap_or(0)];
            list(architectures.as_mut_ptr());
            Ok(Self {
                error_string: library.required(&["nvrtcGetErrorString"])?,
                create: library.required(&["nvrtcCreateProgram"])?,
                destroy: library.required(&["nvrtcDestroyProgram"])?,
                compile: library.required(&["nvrtcCompileProgram"])?,
                log_size: library.required(&["nvrtcGetProgramLogSize"])?,
                log: library.required(&["nvrtcGetProgramLog"])?,
                add_name: library.required(&["nvrtcAddNameExpression"])?,
                lowered_name: library.required(&["nvrtcGetLoweredName"])?,
                version: (major, minor),
                architectures,
                library,
            })
        }
    }

    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Compiles `source`, called `name` in messages. A failed compilation is not an error here: its log is
    /// in the result.
    pub fn compile(
        &self,
        source: &[u8],
        name: &str,
        options: &[String],
        name_expressions: &[String],
        output: Output,
    ) -> Result<Compiled> {
        let source = c_string(source, "source text")?;
        let name = c_string(name.as_bytes(), "source name")?;
        let mut handle: Program = std::ptr::null_mut();
        // SAFETY: both strings outlive the call, and no headers are passed.
        let status = unsafe {
            (self.create)(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        self.check(status, "nvrtcCreateProgram")?;
        let program = Handle {
            nvrtc: self,
            handle,
        };
        for expression in name_expressions {
            let expression = c_string(expression.as_bytes(), "name expression")?;
            // SAFETY: the library copies the expression.
            let status = unsafe { (self.add_name)(program.handle, expression.as_ptr()) };
            self.check(status, "nvrtcAddNameExpression")?;
        }
        let options: Vec<CString> = options
            .iter()
            .map(|option| c_string(option.as_bytes(), "option"))
            .collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len())
            .map_err(|_| Error::usage("too many compiler options"))?;
        // SAFETY: `pointers` has `count` valid strings.
        let status = unsafe { (self.compile)(program.handle, count, pointers.as_ptr()) };
        let log = log_text(program.fetch(self.log_size, self.log, "nvrtcGetProgramLog")?);
        let mut compiled = Compiled {
            code: None,
            log,
            result: self.name(status),
            lowered: Vec::new(),
        };
        if status == 0 {
            compiled.code = Some(program.code(output)?);
            for expression in name_expressions {
                compiled.lowered.push(program.lowered(expression)?);
            }
        }
        Ok(compiled)
    }

    fn name(&self, status: Status) -> String {
        // SAFETY: the function returns static strings, also for unknown codes.
        let name = unsafe { static_text((self.error_string)(status)) };
        if name.is_empty() || name.contains("unknown") {
            format!("NVRTC result {status}")
        } else {
            name
        }
    }

    fn check(&self, status: Status, call: &str) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        Err(Error::failed(
            Code::BackendFailed,
            format!("{call} returned {}", self.name(status)),
        ))
    }
}

/// A program handle that is destroyed with its owner.
struct Handle<'a> {
    nvrtc: &'a Nvrtc,
    handle: Program,
}

impl Handle<'_> {
    fn fetch(&self, size: GetSize, bytes: GetBytes, call: &str) -> Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the handle is live and `length` is a valid place.
        let status = unsafe { size(self.handle, &mut length) };
        self.nvrtc.check(status, call)?;
        let mut buffer = vec![0u8; length];
        // SAFETY: the library writes exactly the `length` bytes it asked for.
        let status = unsafe { bytes(self.handle, buffer.as_mut_ptr().cast()) };
        self.nvrtc.check(status, call)?;
        Ok(buffer)
    }

    fn code(&self, output: Output) -> Result<Vec<u8>> {
        let [size, bytes] = output.functions();
        // SAFETY: all size and content getters of nvrtc.h share these two types.
        let (get_size, get_bytes) = unsafe {
            (
                self.nvrtc.library.required(&[size])?,
                self.nvrtc.library.required(&[bytes])?,
            )
        };
        let mut code = self.fetch(get_size, get_bytes, bytes)?;
        // PTX comes with its terminating NUL.
        if output == Output::Ptx {
            while code.last() == Some(&0) {
                code.pop();
            }
        }
        Ok(code)
    }

    fn lowered(&self, expression: &str) -> Result<String> {
        let text = c_string(expression.as_bytes(), "name expression")?;
        let mut name = std::ptr::null();
        // SAFETY: the returned string belongs to the live handle and is copied at once.
        unsafe {
            let status = (self.nvrtc.lowered_name)(self.handle, text.as_ptr(), &mut name);
            self.nvrtc.check(status, "nvrtcGetLoweredName")?;
            Ok(static_text(name))
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from a successful create and is destroyed once.
        unsafe { (self.nvrtc.destroy)(&mut self.handle) };
    }
}

fn c_string(bytes: &[u8], what: &str) -> Result<CString> {
    CString::new(bytes).map_err(|e| {
        Error::damaged(format!(
            "{what} has a NUL byte at offset {:#x}",
            e.nul_position()
        ))
    })
}
