//! The driver's functions by name, each looked up on its own and called with an integer result.
//!
//! cudarc gives the types and numbers, but none of its calls is used: it panics where a library or a
//! function is missing, and returns result codes as a Rust enum, for which a code of a newer driver is
//! undefined behaviour. One way to call is also simpler than two.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUcontext, CUevent, CUfunction, CUlaunchConfig, CUlinkState, CUmodule, CUstream,
};

use super::error::{DriverError, Reason};
use super::version::DriverVersion;

pub(super) type Result<T, E = DriverError> = std::result::Result<T, E>;

/// `CUdevice`.
pub(super) type RawDevice = c_int;
/// `CUdeviceptr`.
pub(super) type Address = u64;

macro_rules! api {
    ($($name:ident = $symbol:literal since $since:literal ($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// Every function that is used, or `None` where this driver lacks it.
        #[derive(Debug)]
        pub(super) struct Api {
            pub(super) version: DriverVersion,
            $($name: Option<unsafe extern "system" fn($($type),*) -> u32>,)*
            error_name: Option<ErrorText>,
            error_string: Option<ErrorText>,
        }

        impl Api {
            /// Looks every function up in `library`, which is never unloaded: the driver starts threads of its own.
            pub(super) fn new(library: libloading::Library) -> Self {
                let library: &'static libloading::Library = Box::leak(Box::new(library));
                Self {
                    version: DriverVersion::UNKNOWN,
                    // SAFETY: the types are those of cuda.h for these very names; see `lookup`.
                    $($name: unsafe { lookup(library, $symbol) },)*
                    // SAFETY: as above.
                    error_name: unsafe { lookup(library, "cuGetErrorName") },
                    // SAFETY: as above.
                    error_string: unsafe { lookup(library, "cuGetErrorString") },
                }
            }

            $(
                /// # Safety
                /// As cuda.h says of the function: pointers must be valid for what it reads and writes.
                #[allow(clippy::too_many_arguments, reason = "the driver's own")]
                pub(super) unsafe fn $name(&self, $($argument: $type),*) -> Result<()> {
                    let Some(call) = self.$name else {
                        return Err(self.lacks($symbol, DriverVersion($since)));
                    };
                    // SAFETY: the caller's promise.
                    self.check($symbol, unsafe { call($($argument),*) })
                }
            )*
        }
    };
}

type ErrorText = unsafe extern "system" fn(u32, *mut *const c_char) -> u32;

// The numbers are the CUDA releases whose drivers first have the function; 11040 stands for all that
// are older, because no older driver is accepted.
api! {
    init = "cuInit" since 11040 (flags: c_uint);
    driver_get_version = "cuDriverGetVersion" since 11040 (version: *mut c_int);
    device_get_count = "cuDeviceGetCount" since 11040 (count: *mut c_int);
    device_get = "cuDeviceGet" since 11040 (device: *mut RawDevice, ordinal: c_int);
    device_get_name = "cuDeviceGetName" since 11040 (name: *mut c_char, length: c_int, device: RawDevice);
    device_get_uuid = "cuDeviceGetUuid" since 11040 (uuid: *mut [u8; 16], device: RawDevice);
    device_get_uuid_v2 = "cuDeviceGetUuid_v2" since 11040 (uuid: *mut [u8; 16], device: RawDevice);
    device_total_mem = "cuDeviceTotalMem_v2" since 11040 (bytes: *mut usize, device: RawDevice);
    device_get_attribute = "cuDeviceGetAttribute" since 11040 (value: *mut c_int, attribute: u32, device: RawDevice);
    device_get_pci_bus_id = "cuDeviceGetPCIBusId" since 11040 (id: *mut c_char, length: c_int, device: RawDevice);
    primary_ctx_retain = "cuDevicePrimaryCtxRetain" since 11040 (context: *mut CUcontext, device: RawDevice);
    primary_ctx_release = "cuDevicePrimaryCtxRelease_v2" since 11040 (device: RawDevice);
    ctx_set_current = "cuCtxSetCurrent" since 11040 (context: CUcontext);
    module_load_data_ex = "cuModuleLoadDataEx" since 11040 (module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut u32, values: *mut *mut c_void);
    module_unload = "cuModuleUnload" since 11040 (module: CUmodule);
    module_get_function = "cuModuleGetFunction" since 11040 (function: *mut CUfunction, module: CUmodule, name: *const c_char);
    module_get_global = "cuModuleGetGlobal_v2" since 11040 (address: *mut Address, bytes: *mut usize, module: CUmodule, name: *const c_char);
    func_get_attribute = "cuFuncGetAttribute" since 11040 (value: *mut c_int, attribute: u32, function: CUfunction);
    func_set_attribute = "cuFuncSetAttribute" since 11040 (function: CUfunction, attribute: u32, value: c_int);
    func_get_param_info = "cuFuncGetParamInfo" since 12040 (function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    mem_alloc = "cuMemAlloc_v2" since 11040 (address: *mut Address, bytes: usize);
    mem_free = "cuMemFree_v2" since 11040 (address: Address);
    mem_host_alloc = "cuMemHostAlloc" since 11040 (pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    mem_free_host = "cuMemFreeHost" since 11040 (pointer: *mut c_void);
    memcpy_htod_async = "cuMemcpyHtoDAsync_v2" since 11040 (to: Address, from: *const c_void, bytes: usize, stream: CUstream);
    memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2" since 11040 (to: *mut c_void, from: Address, bytes: usize, stream: CUstream);
    memset_d8_async = "cuMemsetD8Async" since 11040 (to: Address, value: u8, count: usize, stream: CUstream);
    memset_d16_async = "cuMemsetD16Async" since 11040 (to: Address, value: u16, count: usize, stream: CUstream);
    memset_d32_async = "cuMemsetD32Async" since 11040 (to: Address, value: u32, count: usize, stream: CUstream);
    stream_create = "cuStreamCreate" since 11040 (stream: *mut CUstream, flags: c_uint);
    stream_destroy = "cuStreamDestroy_v2" since 11040 (stream: CUstream);
    stream_synchronize = "cuStreamSynchronize" since 11040 (stream: CUstream);
    event_create = "cuEventCreate" since 11040 (event: *mut CUevent, flags: c_uint);
    event_destroy = "cuEventDestroy_v2" since 11040 (event: CUevent);
    event_record = "cuEventRecord" since 11040 (event: CUevent, stream: CUstream);
    event_synchronize = "cuEventSynchronize" since 11040 (event: CUevent);
    event_elapsed_time = "cuEventElapsedTime" since 11040 (milliseconds: *mut f32, start: CUevent, end: CUevent);
    launch_kernel = "cuLaunchKernel" since 11040 (
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    launch_cooperative_kernel = "cuLaunchCooperativeKernel" since 11040 (
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: CUstream, parameters: *mut *mut c_void,
    );
    launch_kernel_ex = "cuLaunchKernelEx" since 11080 (config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    occupancy_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor" since 11040 (blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize);
    occupancy_clusters = "cuOccupancyMaxActiveClusters" since 11080 (clusters: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    occupancy_cluster_size = "cuOccupancyMaxPotentialClusterSize" since 11080 (size: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    link_create = "cuLinkCreate_v2" since 11040 (count: c_uint, options: *mut u32, values: *mut *mut c_void, state: *mut CUlinkState);
    link_add_data = "cuLinkAddData_v2" since 11040 (state: CUlinkState, kind: u32, data: *mut c_void, bytes: usize, name: *const c_char, count: c_uint, options: *mut u32, values: *mut *mut c_void);
    link_complete = "cuLinkComplete" since 11040 (state: CUlinkState, cubin: *mut *mut c_void, bytes: *mut usize);
    link_destroy = "cuLinkDestroy" since 11040 (state: CUlinkState);
}

/// The function of this name, or `None`.
///
/// # Safety
/// `F` must be a function pointer of the symbol's type, and `library` must stay loaded.
unsafe fn lookup<F: Copy>(library: &'static libloading::Library, symbol: &str) -> Option<F> {
    // SAFETY: the caller's promise.
    unsafe { library.get::<F>(symbol) }.ok().map(|found| *found)
}

impl Api {
    /// Whether launch attributes are known to this driver (CUDA 11.8).
    pub(super) fn has_launch_kernel_ex(&self) -> bool {
        self.launch_kernel_ex.is_some()
    }

    pub(super) fn has_func_get_param_info(&self) -> bool {
        self.func_get_param_info.is_some()
    }

    fn lacks(&self, call: &'static str, since: DriverVersion) -> DriverError {
        DriverError::new(
            call,
            Reason::Lacks {
                since,
                driver: self.version,
            },
        )
    }

    fn check(&self, call: &'static str, code: u32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let name = self.text(self.error_name, code);
        let text = self.text(self.error_string, code);
        Err(DriverError::new(call, Reason::Code { code, name, text }))
    }

    /// The driver's own words for a result code; `None` for codes that it does not know itself.
    fn text(&self, function: Option<ErrorText>, code: u32) -> Option<String> {
        let mut text = std::ptr::null();
        // SAFETY: the function stores a pointer to a string that lives as long as the driver, or null.
        let result = unsafe { function?(code, &mut text) };
        if result != 0 || text.is_null() {
            return None;
        }
        // SAFETY: as above.
        Some(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}
