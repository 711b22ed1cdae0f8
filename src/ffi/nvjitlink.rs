//! nvJitLink, the linker library of CUDA 12 and 13. Declarations follow `nvJitLink.h` of 13.5; what is said of other
//! releases was measured on 12.0 to 13.5.
//!
//! The types leave no room for the calls that crash the library or make it lie: nothing is added to a link that was
//! not created, and nothing is read from one that did not complete. Codes are told for each call, because the
//! library completes a link whose inputs it refused.

use std::borrow::Cow;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

use serde::{Deserialize, Serialize};

use super::library::Library;
use crate::error::{Code, Error, Result};

type RawLink = *mut c_void;
type Create = unsafe extern "C" fn(*mut RawLink, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut RawLink) -> c_int;
type AddData = unsafe extern "C" fn(RawLink, c_int, *const c_void, usize, *const c_char) -> c_int;
type Complete = unsafe extern "C" fn(RawLink) -> c_int;
type GetSize = unsafe extern "C" fn(RawLink, *mut usize) -> c_int;
type GetBytes = unsafe extern "C" fn(RawLink, *mut c_void) -> c_int;
type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;

/// What a call returned. The numbers mean other things in other releases, see [`ResultCode::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultCode(pub i32);

impl ResultCode {
    pub fn is_success(self) -> bool {
        self.0 == 0
    }

    /// The name in the header of that release (`12, 6`). 12.6 put a code in the middle.
    pub fn name(self, release: (u32, u32)) -> Cow<'static, str> {
        const FIRST: &[&str] = &[
            "SUCCESS",
            "ERROR_UNRECOGNIZED_OPTION",
            "ERROR_MISSING_ARCH",
            "ERROR_INVALID_INPUT",
            "ERROR_PTX_COMPILE",
            "ERROR_NVVM_COMPILE",
            "ERROR_INTERNAL",
            "ERROR_THREADPOOL",
            "ERROR_UNRECOGNIZED_INPUT",
        ];
        const THEN: &[&str] = &[
            "ERROR_FINALIZE",
            "ERROR_NULL_INPUT",
            "ERROR_INCOMPATIBLE_OPTIONS",
            "ERROR_INCORRECT_INPUT_TYPE",
            "ERROR_ARCH_MISMATCH",
            "ERROR_OUTDATED_LIBRARY",
            "ERROR_MISSING_FATBIN",
            "ERROR_UNRECOGNIZED_ARCH",
            "ERROR_UNSUPPORTED_ARCH",
            "ERROR_LTO_NOT_ENABLED",
        ];
        let then = match release {
            (0..=11, _) | (12, ..=5) => &THEN[1..],
            _ => THEN,
        };
        let index = usize::try_from(self.0).ok();
        match index.and_then(|index| FIRST.iter().chain(then).nth(index)) {
            Some(name) => format!("NVJITLINK_{name}").into(),
            None => format!("nvJitLink result {}", self.0).into(),
        }
    }
}

/// How an input is given to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    Cubin,
    Ptx,
    LtoIr,
    Fatbin,
}

impl InputKind {
    fn number(self) -> c_int {
        match self {
            Self::Cubin => 1,
            Self::Ptx => 2,
            Self::LtoIr => 3,
            Self::Fatbin => 4,
        }
    }
}

/// What a link is to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    Cubin,
    Ptx,
    LtoIr,
}

/// A loaded library.
#[derive(Debug)]
pub struct NvJitLink {
    library: Library,
    release: (u32, u32),
    create: Create,
    destroy: Destroy,
    add_data: AddData,
    complete: Complete,
    cubin: Getter,
    ptx: Getter,
    /// From 13.2 on.
    ltoir: Option<Getter>,
    error_log: Getter,
    info_log: Getter,
}

#[derive(Debug, Clone, Copy)]
struct Getter {
    size: GetSize,
    bytes: GetBytes,
}

impl NvJitLink {
    /// Loads the library at an absolute path.
    pub fn load(path: &Path) -> Result<Self> {
        let library = Library::open(path)?;
        // SAFETY: each name is declared in nvJitLink.h with the type of the field that it goes to.
        unsafe {
            Ok(Self {
                release: release(&library)?,
                create: required(&library, "Create")?,
                destroy: required(&library, "Destroy")?,
                add_data: required(&library, "AddData")?,
                complete: required(&library, "Complete")?,
                cubin: getter(&library, "LinkedCubin")?,
                ptx: getter(&library, "LinkedPtx")?,
                ltoir: getter(&library, "LinkedLTOIR").ok(),
                error_log: getter(&library, "ErrorLog")?,
                info_log: getter(&library, "InfoLog")?,
                library,
            })
        }
    }

    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Major and minor number; the library tells no more.
    pub fn release(&self) -> (u32, u32) {
        self.release
    }

    /// Starts a link. Its options are not checked by the library as they should be: see `link::options`.
    ///
    /// # Errors
    /// The library's code and its log, which is there even though the link is not.
    pub fn create<'data>(&self, options: &[String]) -> Result<Link<'_, 'data>, Refusal> {
        let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut raw = std::ptr::null_mut();
        // SAFETY: `pointers` holds that many valid strings, which the library copies.
        let code = unsafe { (self.create)(&mut raw, pointers.len() as u32, pointers.as_ptr()) };
        let code = ResultCode(code);
        let Some(raw) = NonNull::new(raw) else {
            return Err(Refusal {
                code,
                log: Vec::new(),
            });
        };
        let link = Link {
            library: self,
            raw,
            terminated: Vec::new(),
            data: PhantomData,
        };
        if code.is_success() {
            return Ok(link);
        }
        Err(Refusal {
            code,
            log: link.error_log(),
        })
    }
}

/// A link that the library would not start.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub code: ResultCode,
    pub log: Vec<u8>,
}

/// A link under way.
#[derive(Debug)]
pub struct Link<'library, 'data> {
    library: &'library NvJitLink,
    raw: NonNull<c_void>,
    /// Whether the library copies its inputs is nowhere said, so they live as long as the link.
    terminated: Vec<CString>,
    data: PhantomData<&'data [u8]>,
}

impl<'library, 'data> Link<'library, 'data> {
    /// Adds an input; `name` is how the library's messages call it.
    pub fn add(&mut self, kind: InputKind, data: &'data [u8], name: &str) -> ResultCode {
        let name = c_string(name);
        let (data, size) = match kind {
            // The library reads PTX up to a NUL, whatever size it is told.
            InputKind::Ptx => {
                let text = c_string_of(data);
                let place = (text.as_ptr().cast(), text.as_bytes_with_nul().len());
                self.terminated.push(text);
                place
            }
            _ => (data.as_ptr().cast(), data.len()),
        };
        // SAFETY: `data` points at `size` bytes that live until the link is destroyed.
        let code = unsafe {
            (self.library.add_data)(self.raw.as_ptr(), kind.number(), data, size, name.as_ptr())
        };
        ResultCode(code)
    }

    /// Links what was added. The logs of a link are lost with it, so they come with the answer.
    pub fn complete(self) -> Result<Linked<'library, 'data>, (ResultCode, Self)> {
        // SAFETY: the link is live.
        let code = ResultCode(unsafe { (self.library.complete)(self.raw.as_ptr()) });
        if code.is_success() {
            Ok(Linked(self))
        } else {
            Err((code, self))
        }
    }

    pub fn error_log(&self) -> Vec<u8> {
        self.log(self.library.error_log)
    }

    pub fn info_log(&self) -> Vec<u8> {
        self.log(self.library.info_log)
    }

    /// Logs end in a NUL.
    fn log(&self, getter: Getter) -> Vec<u8> {
        let mut log = self.get(getter).unwrap_or_default();
        while log.last() == Some(&0) {
            log.pop();
        }
        log
    }

    fn get(&self, getter: Getter) -> Result<Vec<u8>, ResultCode> {
        let mut size = 0;
        // SAFETY: the link is live.
        let code = ResultCode(unsafe { (getter.size)(self.raw.as_ptr(), &mut size) });
        if !code.is_success() {
            return Err(code);
        }
        let mut bytes = vec![0u8; size];
        if size == 0 {
            return Ok(bytes);
        }
        // SAFETY: the library writes the bytes whose number it just told.
        let code = unsafe { (getter.bytes)(self.raw.as_ptr(), bytes.as_mut_ptr().cast()) };
        let code = ResultCode(code);
        code.is_success().then_some(bytes).ok_or(code)
    }
}

impl Drop for Link<'_, '_> {
    fn drop(&mut self) {
        let mut raw = self.raw.as_ptr();
        // SAFETY: the link came from `create`, also where that failed, and is destroyed once.
        unsafe { (self.library.destroy)(&mut raw) };
    }
}

/// A link that completed.
#[derive(Debug)]
pub struct Linked<'library, 'data>(Link<'library, 'data>);

impl Linked<'_, '_> {
    /// The result. PTX comes without its NUL.
    ///
    /// # Errors
    /// The library's code; `None` if it is too old for this kind.
    pub fn output(&self, kind: OutputKind) -> Result<Vec<u8>, Option<ResultCode>> {
        let library = self.0.library;
        let getter = match kind {
            OutputKind::Cubin => library.cubin,
            OutputKind::Ptx => library.ptx,
            OutputKind::LtoIr => library.ltoir.ok_or(None)?,
        };
        let mut bytes = self.0.get(getter)?;
        while kind == OutputKind::Ptx && bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(bytes)
    }

    pub fn error_log(&self) -> Vec<u8> {
        self.0.error_log()
    }

    pub fn info_log(&self) -> Vec<u8> {
        self.0.info_log()
    }
}

/// The names of a function: plain from 12.3 on, with the first release of its major version before that and in some
/// packages of Linux distributions.
fn names(function: &str) -> [String; 3] {
    [
        format!("nvJitLink{function}"),
        format!("__nvJitLink{function}_13_0"),
        format!("__nvJitLink{function}_12_0"),
    ]
}

/// # Safety
/// `F` must be the function's type in nvJitLink.h.
unsafe fn required<F: Copy>(library: &Library, function: &str) -> Result<F> {
    let names = names(function);
    // SAFETY: the caller vouches for `F`.
    unsafe { library.required(&names.each_ref().map(String::as_str)) }
}

/// # Safety
/// `nvJitLinkGet<what>Size` and `nvJitLinkGet<what>` must have the types of a [`Getter`]'s fields.
unsafe fn getter(library: &Library, what: &str) -> Result<Getter> {
    // SAFETY: as the caller vouches.
    unsafe {
        // `…LTOIRSize` and `…LTOIR` have had suffixed names from 13.0 on.
        Ok(Getter {
            size: required(library, &format!("Get{what}Size"))?,
            bytes: required(library, &format!("Get{what}"))?,
        })
    }
}

fn release(library: &Library) -> Result<(u32, u32)> {
    // SAFETY: the type is that of nvJitLink.h. The function came with 12.3 and has never had a suffix.
    let get: Option<GetVersion> = unsafe { library.optional(&["nvJitLinkVersion"]) };
    if let Some(get) = get {
        let mut release = (0, 0);
        // SAFETY: the function writes two integers.
        let code = unsafe { get(&mut release.0, &mut release.1) };
        if code == 0 {
            return Ok(release);
        }
    }
    // Before that, each release exported names for itself and those before it.
    let minor = (0..=2).rev().find(|minor| {
        let name = format!("__nvJitLinkCreate_12_{minor}");
        // SAFETY: the function is not called here.
        unsafe { library.optional::<Create>(&[&name]) }.is_some()
    });
    minor.map(|minor| (12, minor)).ok_or_else(|| {
        let path = library.path().display();
        Error::missing(
            Code::LibraryNotFound,
            format!("`{path}` does not tell its version, so it is no nvJitLink"),
        )
    })
}

/// The text up to its first NUL; no option or name of ours has one.
fn c_string(text: &str) -> CString {
    c_string_of(text.as_bytes())
}

fn c_string_of(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&byte| byte == 0);
    // There is no NUL before `end`.
    CString::new(&bytes[..end.unwrap_or(bytes.len())]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_named_by_release() {
        let name = |code, release| ResultCode(code).name(release);
        assert_eq!(name(9, (12, 5)), "NVJITLINK_ERROR_NULL_INPUT");
        assert_eq!(name(9, (12, 6)), "NVJITLINK_ERROR_FINALIZE");
        assert_eq!(name(14, (12, 4)), "NVJITLINK_ERROR_MISSING_FATBIN");
        assert_eq!(name(15, (13, 5)), "NVJITLINK_ERROR_MISSING_FATBIN");
        assert_eq!(name(18, (13, 5)), "NVJITLINK_ERROR_LTO_NOT_ENABLED");
        assert_eq!(name(0, (13, 5)), "NVJITLINK_SUCCESS");
        assert_eq!(name(99, (13, 5)), "nvJitLink result 99");
        assert_eq!(name(-1, (13, 5)), "nvJitLink result -1");
    }

    #[test]
    fn strings_end_at_the_first_nul() {
        assert_eq!(c_string("a\0b").as_bytes(), b"a");
        assert_eq!(c_string_of(b"ptx\0\0").as_bytes(), b"ptx");
        assert_eq!(c_string_of(b"ptx").as_bytes_with_nul(), b"ptx\0");
    }
}
