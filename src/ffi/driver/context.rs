//! Handles of one device: context, module, kernel, memory, stream and event, each freed with its value.
//! Calls act on the context that is current on the thread, which [`Context::make_current`] sets; without
//! it they fail with a result code.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;

use cudarc::driver::sys::{
    CUcontext, CUevent, CUfunction, CUfunction_attribute, CUmodule, CUstream,
};

use super::api::{Address, Api, RawDevice, Result};
use super::device::Device;
use super::error::{DriverError, Reason, code};
use super::jit::Jit;

/// The primary context of a device, which the process shares.
#[derive(Debug)]
pub struct Context {
    pub(super) api: &'static Api,
    raw: CUcontext,
    device: RawDevice,
}

// SAFETY: the driver's contexts may be used from any thread; what is current is set on each.
unsafe impl Send for Context {}

impl Device {
    /// Makes the device ready; takes a tenth of a second. The context is not yet current on any thread.
    pub fn context(self) -> Result<Context> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.api.primary_ctx_retain(&mut raw, self.raw) }?;
        Ok(Context {
            api: self.api,
            raw,
            device: self.raw,
        })
    }
}

impl Context {
    /// Makes it current on this thread.
    pub fn make_current(&self) -> Result<()> {
        // SAFETY: the handle is alive.
        unsafe { self.api.ctx_set_current(self.raw) }
    }

    /// Loads a cubin, PTX or a fatbin at once, not on first use, so that every fault shows here. A failure
    /// carries what the driver's compiler said. `image` must have been checked to be as long as it claims.
    pub fn load(&self, image: &[u8]) -> Result<Module<'_>> {
        // PTX is text that ends with a NUL for the driver.
        let mut image = image.to_vec();
        image.push(0);
        let mut raw = std::ptr::null_mut();
        let mut jit = Jit::new(&[]);
        let (count, options, values) = jit.raw();
        // SAFETY: image, options and log buffers outlive the call.
        let loaded = unsafe {
            self.api
                .module_load_data_ex(&mut raw, image.as_ptr().cast(), count, options, values)
        };
        match loaded {
            Ok(()) => Ok(Module {
                api: self.api,
                raw,
                context: PhantomData,
            }),
            Err(mut error) => {
                error.log = jit.log();
                Err(error)
            }
        }
    }

    /// Device memory, not initialised. No bytes at all still give an address of its own.
    pub fn allocate(&self, bytes: u64) -> Result<Buffer<'_>> {
        let mut address = 0;
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: the call writes one address.
        unsafe { self.api.mem_alloc(&mut address, size) }?;
        Ok(Buffer {
            api: self.api,
            address,
            bytes,
            context: PhantomData,
        })
    }

    /// A stream that does not wait for the default one.
    pub fn stream(&self) -> Result<Stream<'_>> {
        const NON_BLOCKING: u32 = 1;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.api.stream_create(&mut raw, NON_BLOCKING) }?;
        Ok(Stream {
            api: self.api,
            raw,
            slots: Default::default(),
            context: PhantomData,
        })
    }

    pub fn event(&self) -> Result<Event<'_>> {
        Event::new(self.api)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Nothing is left to do about a failure at the end, here and below.
        // SAFETY: this value holds one reference.
        let _ = unsafe { self.api.primary_ctx_release(self.device) };
    }
}

/// Loaded device code.
#[derive(Debug)]
pub struct Module<'c> {
    api: &'static Api,
    raw: CUmodule,
    context: PhantomData<&'c Context>,
}

/// A variable of a module.
#[derive(Debug, Clone, Copy)]
pub struct Global<'m> {
    pub(super) address: Address,
    pub(super) bytes: u64,
    module: PhantomData<&'m ()>,
}

impl<'c> Module<'c> {
    /// The kernel of this mangled name.
    pub fn function(&self, name: &str) -> Result<Function<'_>> {
        let mut raw = std::ptr::null_mut();
        let text = c_name("cuModuleGetFunction", name)?;
        // SAFETY: the name is NUL-terminated; the call writes one handle.
        unsafe {
            self.api
                .module_get_function(&mut raw, self.raw, text.as_ptr())
        }?;
        Ok(Function {
            api: self.api,
            raw,
            module: PhantomData,
        })
    }

    /// The variable of this mangled name.
    pub fn global(&self, name: &str) -> Result<Global<'_>> {
        let (mut address, mut bytes) = (0, 0);
        let text = c_name("cuModuleGetGlobal", name)?;
        // SAFETY: the name is NUL-terminated; the call writes an address and a size.
        unsafe {
            self.api
                .module_get_global(&mut address, &mut bytes, self.raw, text.as_ptr())
        }?;
        Ok(Global {
            address,
            bytes: bytes as u64,
            module: PhantomData,
        })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: functions and globals borrow the module, so none is left.
        let _ = unsafe { self.api.module_unload(self.raw) };
    }
}

impl Global<'_> {
    pub fn bytes(self) -> u64 {
        self.bytes
    }
}

/// A name that cannot be a C string is the name of nothing.
fn c_name(call: &'static str, name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| {
        let reason = Reason::Code {
            code: code::NOT_FOUND,
            name: None,
            text: Some("the name holds a NUL".to_owned()),
        };
        DriverError::new(call, reason)
    })
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub struct Function<'m> {
    pub(super) api: &'static Api,
    pub(super) raw: CUfunction,
    module: PhantomData<&'m ()>,
}

/// What the driver says of a loaded kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct FunctionFacts {
    /// Threads of a block, for its registers and launch bounds.
    pub max_threads: u32,
    pub registers: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Bytes of local memory of a thread.
    pub local: u32,
}

impl Function<'_> {
    pub fn facts(&self) -> Result<FunctionFacts> {
        use CUfunction_attribute as A;
        Ok(FunctionFacts {
            max_threads: self.attribute(A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            registers: self.attribute(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared: self.attribute(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: self.attribute(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }

    /// Offset and size of the first `count` parameters, fewer if there are fewer; `None` with drivers before CUDA 12.4,
    /// which do not tell. Asking past the last one is an error to the driver, which tools that watch it report.
    pub fn parameters(&self, count: usize) -> Result<Option<Vec<(u32, u32)>>> {
        if !self.api.has_func_get_param_info() {
            return Ok(None);
        }
        let mut all = Vec::new();
        while all.len() < count {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the call writes two sizes.
            let told = unsafe {
                self.api
                    .func_get_param_info(self.raw, all.len(), &mut offset, &mut size)
            };
            match told {
                Ok(()) => all.push((offset as u32, size as u32)),
                // Past the last one.
                Err(error) if error.code() == Some(code::INVALID_VALUE) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(all))
    }

    /// Lets a launch ask for up to so many bytes of dynamic shared memory.
    pub fn allow_dynamic_shared(&self, bytes: u32) -> Result<()> {
        self.set(
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            bytes,
        )
    }

    /// Lets a launch ask for clusters that not every device of the architecture takes.
    pub fn allow_non_portable_clusters(&self) -> Result<()> {
        self.set(
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
            1,
        )
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the call writes one integer.
        unsafe {
            self.api
                .func_get_attribute(&mut value, attribute as u32, self.raw)
        }?;
        Ok(value.max(0).unsigned_abs())
    }

    fn set(&self, attribute: CUfunction_attribute, value: u32) -> Result<()> {
        let value = i32::try_from(value).unwrap_or(i32::MAX);
        // SAFETY: plain numbers for a live handle.
        unsafe {
            self.api
                .func_set_attribute(self.raw, attribute as u32, value)
        }
    }
}

/// Device memory.
#[derive(Debug)]
pub struct Buffer<'c> {
    api: &'static Api,
    pub(super) address: Address,
    pub(super) bytes: u64,
    context: PhantomData<&'c Context>,
}

impl Buffer<'_> {
    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. Freeing waits for what still uses it.
        let _ = unsafe { self.api.mem_free(self.address) };
    }
}

/// Work in order.
#[derive(Debug)]
pub struct Stream<'c> {
    pub(super) api: &'static Api,
    pub(super) raw: CUstream,
    pub(super) slots: super::copy::Slots<'c>,
    context: PhantomData<&'c Context>,
}

impl Stream<'_> {
    /// Waits until everything in it is done. Faults of kernels show here.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is alive.
        unsafe { self.api.stream_synchronize(self.raw) }
    }

    pub fn record(&self, event: &Event<'_>) -> Result<()> {
        // SAFETY: both handles are alive.
        unsafe { self.api.event_record(event.raw, self.raw) }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        self.free_slots();
        // SAFETY: created once, destroyed once.
        let _ = unsafe { self.api.stream_destroy(self.raw) };
    }
}

/// A point in a stream.
#[derive(Debug)]
pub struct Event<'c> {
    pub(super) api: &'static Api,
    pub(super) raw: CUevent,
    context: PhantomData<&'c Context>,
}

impl Event<'_> {
    pub(super) fn new(api: &'static Api) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { api.event_create(&mut raw, 0) }?;
        Ok(Self {
            api,
            raw,
            context: PhantomData,
        })
    }

    /// Waits until it has passed; at once when it was never recorded.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is alive.
        unsafe { self.api.event_synchronize(self.raw) }
    }

    /// Milliseconds from `start` to here; both must have passed.
    pub fn since(&self, start: &Event<'_>) -> Result<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: the call writes one float.
        unsafe {
            self.api
                .event_elapsed_time(&mut milliseconds, start.raw, self.raw)
        }?;
        Ok(milliseconds)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        let _ = unsafe { self.api.event_destroy(self.raw) };
    }
}

/// Memory of the host that the device copies from and to directly.
#[derive(Debug)]
pub(super) struct Pinned {
    api: &'static Api,
    pointer: *mut u8,
    bytes: usize,
}

impl Pinned {
    pub(super) fn new(api: &'static Api, bytes: usize) -> Result<Self> {
        let mut pointer: *mut c_void = std::ptr::null_mut();
        // SAFETY: the call writes one pointer.
        unsafe { api.mem_host_alloc(&mut pointer, bytes, 0) }?;
        // SAFETY: the driver just gave so many bytes; they are written here so that reading them is defined.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), 0, bytes) };
        Ok(Self {
            api,
            pointer: pointer.cast(),
            bytes,
        })
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// The bytes. No copy may be under way from or to them.
    pub(super) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: initialised in `new`, and owned by this value.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once; whoever copies waits for the end first.
        let _ = unsafe { self.api.mem_free_host(self.pointer.cast()) };
    }
}
