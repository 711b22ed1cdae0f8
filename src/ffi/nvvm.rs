//! libNVVM: NVVM IR (text or bitcode) to PTX or LTO-IR. Declarations follow `nvvm.h`.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use super::library::{Library, log_text, static_text};
use crate::error::{Code, Error, Result};

type Program = *mut c_void;
type Status = c_int;
type AddModule = unsafe extern "C" fn(Program, *const c_char, usize, *const c_char) -> Status;
type WithOptions = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> Status;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// One module of a program.
#[derive(Debug, Clone, Copy)]
pub struct Module<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// A library: only what others need is taken from it.
    pub lazy: bool,
}

/// A finished compilation.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// PTX or LTO-IR; none when verification or compilation failed.
    pub code: Option<Vec<u8>>,
    pub log: String,
    /// The result's name and the step it belongs to: `NVVM_ERROR_INVALID_IR` of `nvvmVerifyProgram`.
    pub result: String,
    pub step: &'static str,
}

/// A loaded libNVVM.
#[derive(Debug)]
pub struct Nvvm {
    library: Library,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: unsafe extern "C" fn(*mut Program) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    add: AddModule,
    add_lazily: AddModule,
    verify: WithOptions,
    compile: WithOptions,
    result_size: GetSize,
    result: GetBytes,
    log_size: GetSize,
    log: GetBytes,
    /// Newest NVVM IR it reads: `(IR major, IR minor, debug major, debug minor)`.
    pub ir_version: (i32, i32, i32, i32),
}

impl Nvvm {
    pub fn load(path: &Path) -> Result<Self> {
        let library = Library::open(path)?;
        // SAFETY: each name is declared in nvvm.h with the type of the field it goes to.
        unsafe {
            let version: unsafe extern "C" fn(
                *mut c_int,
                *mut c_int,
                *mut c_int,
                *mut c_int,
            ) -> Status = library.required(&["nvvmIRVersion"])?;
            let mut ir = (0, 0, 0, 0);
            version(&mut ir.0, &mut ir.1, &mut ir.2, &mut ir.3);
            Ok(Self {
                error_string: library.required(&["nvvmGetErrorString"])?,
                create: library.required(&["nvvmCreateProgram"])?,
                destroy: library.required(&["nvvmDestroyProgram"])?,
                add: library.required(&["nvvmAddModuleToProgram"])?,
                add_lazily: library.required(&["nvvmLazyAddModuleToProgram"])?,
                verify: library.required(&["nvvmVerifyProgram"])?,
                compile: library.required(&["nvvmCompileProgram"])?,
                result_size: library.required(&["nvvmGetCompiledResultSize"])?,
                result: library.required(&["nvvmGetCompiledResult"])?,
                log_size: library.required(&["nvvmGetProgramLogSize"])?,
                log: library.required(&["nvvmGetProgramLog"])?,
                ir_version: ir,
                library,
            })
        }
    }

    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// The LLVM release (major) whose IR it reads for `arch` (`compute_90`); none before libNVVM of CUDA 13.
    pub fn llvm_version(&self, arch: &str) -> Option<i32> {
        let arch = CString::new(arch).ok()?;
        let mut major = 0;
        // SAFETY: declared so in nvvm.h; both arguments are valid for the call.
        unsafe {
            let query: unsafe extern "C" fn(*const c_char, *mut c_int) -> Status =
                self.library.optional(&["nvvmLLVMVersion"])?;
            (query(arch.as_ptr(), &mut major) == 0).then_some(major)
        }
    }

    /// Verifies and compiles `modules`. Bad IR is not an error here: the verifier's log is in the result.
    pub fn compile(&self, modules: &[Module], options: &[String]) -> Result<Compiled> {
        let mut handle: Program = std::ptr::null_mut();
        // SAFETY: `handle` is a valid place for the new program.
        self.check(unsafe { (self.create)(&mut handle) }, "nvvmCreateProgram")?;
        let program = Handle { nvvm: self, handle };
        for module in modules {
            let (add, call) = if module.lazy {
                (self.add_lazily, "nvvmLazyAddModuleToProgram")
            } else {
                (self.add, "nvvmAddModuleToProgram")
            };
            let name = CString::new(module.name.replace('\0', "")).unwrap_or_default();
            // SAFETY: the buffer and name are valid for the call, and the library copies what it keeps.
            let status = unsafe {
                add(
                    program.handle,
                    module.bytes.as_ptr().cast(),
                    module.bytes.len(),
                    name.as_ptr(),
                )
            };
            if status != 0 {
                return program.failed(status, call);
            }
        }
        let options: Vec<CString> = options
            .iter()
            .map(|option| {
                CString::new(option.as_str()).map_err(|_| Error::usage("an option has a NUL byte"))
            })
            .collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len())
            .map_err(|_| Error::usage("too many compiler options"))?;
        for (function, step) in [
            (self.verify, "nvvmVerifyProgram"),
            (self.compile, "nvvmCompileProgram"),
        ] {
            // SAFETY: `pointers` has `count` valid strings and the handle is live.
            let status = unsafe { function(program.handle, count, pointers.as_ptr()) };
            if status != 0 {
                return program.failed(status, step);
            }
        }
        let log = program.log()?;
        let mut code = program.fetch(self.result_size, self.result, "nvvmGetCompiledResult")?;
        // PTX comes with a terminating NUL; LTO-IR starts with a byte no PTX has.
        if code.first() != Some(&0xED) {
            while code.last() == Some(&0) {
                code.pop();
            }
        }
        Ok(Compiled {
            code: Some(code),
            log,
            result: self.name(0),
            step: "nvvmCompileProgram",
        })
    }

    fn name(&self, status: Status) -> String {
        // SAFETY: the function returns static strings, also for unknown codes.
        let name = unsafe { static_text((self.error_string)(status)) };
        if name.is_empty() {
            format!("NVVM result {status}")
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
    nvvm: &'a Nvvm,
    handle: Program,
}

impl Handle<'_> {
    fn fetch(&self, size: GetSize, bytes: GetBytes, call: &str) -> Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the handle is live and `length` is a valid place.
        let status = unsafe { size(self.handle, &mut length) };
        self.nvvm.check(status, call)?;
        let mut buffer = vec![0u8; length];
        // SAFETY: the library writes exactly the `length` bytes it asked for.
        let status = unsafe { bytes(self.handle, buffer.as_mut_ptr().cast()) };
        self.nvvm.check(status, call)?;
        Ok(buffer)
    }

    fn log(&self) -> Result<String> {
        Ok(log_text(self.fetch(
            self.nvvm.log_size,
            self.nvvm.log,
            "nvvmGetProgramLog",
        )?))
    }

    fn failed(&self, status: Status, step: &'static str) -> Result<Compiled> {
        Ok(Compiled {
            code: None,
            log: self.log()?,
            result: self.nvvm.name(status),
            step,
        })
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from a successful create and is destroyed once.
        unsafe { (self.nvvm.destroy)(&mut self.handle) };
    }
}
