//! The driver's compiler and linker: options, logs, and linking without loading.

use std::ffi::{CString, c_void};

use cudarc::driver::sys::{CUjit_option, CUjitInputType, CUlinkState};

use super::api::{Api, Result};
use super::context::Context;

/// An option of the compiler with its number; on and off are 1 and 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitOption {
    MaxRegisters(u32),
    OptimizationLevel(u32),
    DebugInfo(bool),
    LineInfo(bool),
    /// Compute capability times ten; the context's device where this is not given.
    Target(u32),
    FlushToZero(bool),
    PreciseDivision(bool),
    PreciseSquareRoot(bool),
    FuseMultiplyAdd(bool),
}

impl JitOption {
    fn raw(self) -> (CUjit_option, u32) {
        use CUjit_option as O;
        match self {
            Self::MaxRegisters(count) => (O::CU_JIT_MAX_REGISTERS, count),
            Self::OptimizationLevel(level) => (O::CU_JIT_OPTIMIZATION_LEVEL, level),
            Self::DebugInfo(on) => (O::CU_JIT_GENERATE_DEBUG_INFO, on.into()),
            Self::LineInfo(on) => (O::CU_JIT_GENERATE_LINE_INFO, on.into()),
            Self::Target(number) => (O::CU_JIT_TARGET, number),
            Self::FlushToZero(on) => (O::CU_JIT_FTZ, on.into()),
            Self::PreciseDivision(on) => (O::CU_JIT_PREC_DIV, on.into()),
            Self::PreciseSquareRoot(on) => (O::CU_JIT_PREC_SQRT, on.into()),
            Self::FuseMultiplyAdd(on) => (O::CU_JIT_FMA, on.into()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitInputKind {
    Cubin,
    Ptx,
    Fatbin,
    Object,
    Library,
}

/// One input of a link by the driver.
#[derive(Debug, Clone, Copy)]
pub struct JitInput<'a> {
    pub kind: JitInputKind,
    /// How the driver's messages call it.
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// What a link by the driver gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    pub cubin: Vec<u8>,
    /// What the driver said beside, line by line.
    pub log: Vec<String>,
}

/// The options of one call, with the buffers for what the driver says.
pub(super) struct Jit {
    options: Vec<u32>,
    values: Vec<*mut c_void>,
    errors: Vec<u8>,
    infos: Vec<u8>,
}

/// Bytes of each log. The driver cuts what is longer.
const LOG: usize = 256 * 1024;

impl Jit {
    pub(super) fn new(extra: &[JitOption]) -> Self {
        let mut jit = Self {
            options: Vec::new(),
            values: Vec::new(),
            errors: vec![0; LOG],
            infos: vec![0; LOG],
        };
        // A value smaller than a pointer stands in the pointer itself.
        let logs = [
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                jit.errors.as_mut_ptr().cast(),
            ),
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                LOG as *mut c_void,
            ),
            (
                CUjit_option::CU_JIT_INFO_LOG_BUFFER,
                jit.infos.as_mut_ptr().cast(),
            ),
            (
                CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                LOG as *mut c_void,
            ),
        ];
        let extra = extra.iter().map(|option| {
            let (option, value) = option.raw();
            (option, value as usize as *mut c_void)
        });
        for (option, value) in logs.into_iter().chain(extra) {
            jit.options.push(option as u32);
            jit.values.push(value);
        }
        jit
    }

    /// Count, options and values, as the driver's functions take them. They stay as long as this value.
    pub(super) fn raw(&mut self) -> (u32, *mut u32, *mut *mut c_void) {
        (
            self.options.len() as u32,
            self.options.as_mut_ptr(),
            self.values.as_mut_ptr(),
        )
    }

    /// What was said, errors first.
    pub(super) fn log(&self) -> Vec<String> {
        [&self.errors, &self.infos]
            .into_iter()
            .flat_map(|buffer| lines(buffer))
            .collect()
    }
}

fn lines(buffer: &[u8]) -> Vec<String> {
    let end = buffer
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(buffer.len());
    let text = String::from_utf8_lossy(&buffer[..end]);
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if end + 1 >= buffer.len() {
        lines.push("(the driver cut its message here)".to_owned());
    }
    lines
}

/// A link under way.
struct Session {
    api: &'static Api,
    raw: CUlinkState,
    /// The driver writes to its buffers until the end.
    jit: Jit,
}

impl Context {
    /// Links to a cubin with the driver's own linker, for this device unless an option says otherwise.
    pub fn link(&self, inputs: &[JitInput<'_>], options: &[JitOption]) -> Result<Linked> {
        let mut session = Session {
            api: self.api,
            raw: std::ptr::null_mut(),
            jit: Jit::new(options),
        };
        session.run(inputs).map_err(|mut error| {
            error.log = session.jit.log();
            error
        })
    }
}

impl Session {
    fn run(&mut self, inputs: &[JitInput<'_>]) -> Result<Linked> {
        let (count, options, values) = self.jit.raw();
        // SAFETY: options and buffers live in `self`, which outlives the link.
        unsafe { self.api.link_create(count, options, values, &mut self.raw) }?;
        for input in inputs {
            self.add(input)?;
        }
        let (mut cubin, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: the call writes a pointer and a size.
        unsafe { self.api.link_complete(self.raw, &mut cubin, &mut bytes) }?;
        // SAFETY: the cubin belongs to the link, which ends with `self`.
        let cubin = unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), bytes) }.to_vec();
        Ok(Linked {
            cubin,
            log: self.jit.log(),
        })
    }

    fn add(&self, input: &JitInput<'_>) -> Result<()> {
        let kind = match input.kind {
            JitInputKind::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
            JitInputKind::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
            JitInputKind::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
            JitInputKind::Object => CUjitInputType::CU_JIT_INPUT_OBJECT,
            JitInputKind::Library => CUjitInputType::CU_JIT_INPUT_LIBRARY,
        };
        // PTX is text that ends with a NUL for the driver.
        let mut bytes = input.bytes.to_vec();
        if input.kind == JitInputKind::Ptx {
            bytes.push(0);
        }
        let name = CString::new(input.name.replace('\0', "?")).unwrap_or_default();
        // SAFETY: the driver copies the data; it takes no options here.
        unsafe {
            self.api.link_add_data(
                self.raw,
                kind as u32,
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                name.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: created once, destroyed once.
            let _ = unsafe { self.api.link_destroy(self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_end_at_the_nul_and_say_when_they_are_cut() {
        assert_eq!(lines(b"one\r\n\n two\0junk____"), ["one", " two"]);
        assert_eq!(
            lines(b"full"),
            ["full", "(the driver cut its message here)"]
        );
        assert!(lines(&[0; 8]).is_empty());
    }
}
