//! Result codes of the CUDA driver. The runtime's codes have the same numbers for most of them.

use super::results::{Library, ResultCode};

macro_rules! driver {
    ($number:literal $name:literal $meaning:literal [$($cause:literal),* $(,)?] [$($remedy:literal),* $(,)?]) => {
        ResultCode {
            library: Library::Driver,
            name: $name,
            numbers: &[($number, "every release")],
            meaning: $meaning,
            causes: &[$($cause),*],
            remedies: &[$($remedy),*],
        }
    };
}

#[rustfmt::skip]
pub const DRIVER: &[ResultCode] = &[
    driver!(0 "CUDA_SUCCESS" "the call worked" [] []),
    driver!(1 "CUDA_ERROR_INVALID_VALUE" "an argument is out of range"
        ["a block larger than the device or the kernel's launch bounds allow", "more dynamic shared memory than was opted in to"]
        ["see the plan with `cudalink run --dry-run`"]),
    driver!(2 "CUDA_ERROR_OUT_OF_MEMORY" "the device has not enough free memory" ["other processes use the device"] ["use smaller buffers, or another device"]),
    driver!(3 "CUDA_ERROR_NOT_INITIALIZED" "the driver was not initialised" ["a process that forked after it used CUDA"] []),
    driver!(4 "CUDA_ERROR_DEINITIALIZED" "the driver is shutting down" [] []),
    driver!(5 "CUDA_ERROR_PROFILER_DISABLED" "another profiler holds the device" [] []),
    driver!(6 "CUDA_ERROR_PROFILER_NOT_INITIALIZED" "the profiler was not initialised" [] []),
    driver!(7 "CUDA_ERROR_PROFILER_ALREADY_STARTED" "the profiler runs already" [] []),
    driver!(8 "CUDA_ERROR_PROFILER_ALREADY_STOPPED" "the profiler is stopped already" [] []),
    driver!(34 "CUDA_ERROR_STUB_LIBRARY" "the loaded libcuda is the toolkit's stub and no driver"
        ["the toolkit's `stubs` folder is in `LD_LIBRARY_PATH`"] ["take it out of the path"]),
    driver!(36 "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER" "the driver is too old for this call" [] ["update the driver"]),
    driver!(46 "CUDA_ERROR_DEVICE_UNAVAILABLE" "the device cannot be used now" ["it is in exclusive mode and another process has it"] ["see `nvidia-smi`"]),
    driver!(47 "CUDA_ERROR_MULTICAST_RESOURCE_FULL" "no multicast resource is left" [] []),
    driver!(100 "CUDA_ERROR_NO_DEVICE" "there is no CUDA device"
        ["a container started without `--gpus`", "`CUDA_VISIBLE_DEVICES` hides all devices"] ["see `cudalink doctor`"]),
    driver!(101 "CUDA_ERROR_INVALID_DEVICE" "there is no device of this number" ["`--device` counts from 0"] ["list the devices with `cudalink doctor`"]),
    driver!(102 "CUDA_ERROR_DEVICE_NOT_LICENSED" "the device's licence is missing" [] []),
    driver!(200 "CUDA_ERROR_INVALID_IMAGE" "the image cannot be loaded"
        ["it is truncated or no device code", "it is relocatable and has undefined symbols"] ["see `cudalink inspect FILE`", "link it first"]),
    driver!(201 "CUDA_ERROR_INVALID_CONTEXT" "there is no valid context" [] []),
    driver!(202 "CUDA_ERROR_CONTEXT_ALREADY_CURRENT" "the context is current already" [] []),
    driver!(205 "CUDA_ERROR_MAP_FAILED" "mapping failed" [] []),
    driver!(206 "CUDA_ERROR_UNMAP_FAILED" "unmapping failed" [] []),
    driver!(207 "CUDA_ERROR_ARRAY_IS_MAPPED" "the array is mapped" [] []),
    driver!(208 "CUDA_ERROR_ALREADY_MAPPED" "the resource is mapped already" [] []),
    driver!(209 "CUDA_ERROR_NO_BINARY_FOR_GPU" "no image in the file runs on this device"
        ["it was built for other architectures and has no PTX", "an `a` image runs on exactly its own architecture", "it holds only LTO-IR, which no driver loads"]
        ["see what runs where with `cudalink check FILE --runs-on CC`", "rebuild it for the device's architecture, or with PTX"]),
    driver!(210 "CUDA_ERROR_ALREADY_ACQUIRED" "the resource is acquired already" [] []),
    driver!(211 "CUDA_ERROR_NOT_MAPPED" "the resource is not mapped" [] []),
    driver!(212 "CUDA_ERROR_NOT_MAPPED_AS_ARRAY" "the resource is not mapped as an array" [] []),
    driver!(213 "CUDA_ERROR_NOT_MAPPED_AS_POINTER" "the resource is not mapped as a pointer" [] []),
    driver!(214 "CUDA_ERROR_ECC_UNCORRECTABLE" "the device's memory has an error that cannot be corrected" ["failing hardware"] ["see `nvidia-smi -q`"]),
    driver!(215 "CUDA_ERROR_UNSUPPORTED_LIMIT" "the device has no such limit" [] []),
    driver!(216 "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" "another thread uses the context" [] []),
    driver!(217 "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" "these devices cannot reach each other's memory" [] []),
    driver!(218 "CUDA_ERROR_INVALID_PTX" "the driver could not compile the PTX"
        ["an undefined function: PTX is not linked when it is loaded"] ["link it first with `cudalink link`"]),
    driver!(219 "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT" "the graphics context is wrong" [] []),
    driver!(220 "CUDA_ERROR_NVLINK_UNCORRECTABLE" "a link between devices has an error that cannot be corrected" ["failing hardware"] []),
    driver!(221 "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" "the driver's PTX compiler is not installed"
        ["a container without libnvidia-ptxjitcompiler"] ["link to a cubin for the device, which needs no compiler"]),
    driver!(222 "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" "the PTX is newer than the driver"
        ["it was made by a newer toolkit"] ["link to a cubin for the device", "update the driver"]),
    driver!(223 "CUDA_ERROR_JIT_COMPILATION_DISABLED" "compiling PTX is switched off" ["`CUDA_DISABLE_PTX_JIT` is set"] ["link to a cubin for the device"]),
    driver!(224 "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY" "the device has no such execution affinity" [] []),
    driver!(225 "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC" "device code calls `cudaDeviceSynchronize`, which devices from sm_90 on do not have" [] ["rewrite it with tail launches"]),
    driver!(226 "CUDA_ERROR_CONTAINED" "the device contained an error; the process must be started anew" ["an invalid access to another device's memory"] []),
    driver!(227 "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION" "the driver does not read this kind of fatbin" ["it was made by a newer toolkit"] ["update the driver"]),
    driver!(300 "CUDA_ERROR_INVALID_SOURCE" "the device code is wrong" ["the driver's linker or compiler refused it"] ["link it with `cudalink link`, which says why"]),
    driver!(301 "CUDA_ERROR_FILE_NOT_FOUND" "the file is not there" [] []),
    driver!(302 "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND" "a shared library lacks a symbol" ["a broken driver installation"] ["see `cudalink doctor`"]),
    driver!(303 "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED" "a shared library cannot be started" ["a broken driver installation"] ["see `cudalink doctor`"]),
    driver!(304 "CUDA_ERROR_OPERATING_SYSTEM" "a call to the operating system failed" ["the devices in `/dev` may not be opened"] ["see `cudalink doctor`"]),
    driver!(400 "CUDA_ERROR_INVALID_HANDLE" "a handle is wrong" [] []),
    driver!(401 "CUDA_ERROR_ILLEGAL_STATE" "a resource is in the wrong state" [] []),
    driver!(402 "CUDA_ERROR_LOSSY_QUERY" "the answer would lose what this version of the call cannot say" [] []),
    driver!(500 "CUDA_ERROR_NOT_FOUND" "the module has no such kernel or variable"
        ["the name is not mangled as in the file", "the kernel was dropped in the link"] ["list the kernels with `cudalink inspect --kernels FILE`"]),
    driver!(600 "CUDA_ERROR_NOT_READY" "the work has not finished yet" [] []),
    driver!(700 "CUDA_ERROR_ILLEGAL_ADDRESS" "a kernel accessed memory that is not there"
        ["an index out of bounds", "a host pointer or a buffer that is too small was passed"] ["run it under `compute-sanitizer`"]),
    driver!(701 "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" "the device cannot run such a block"
        ["registers per thread times threads exceed what there is"] ["use a smaller block, or compile with `__launch_bounds__` or `-maxrregcount`"]),
    driver!(702 "CUDA_ERROR_LAUNCH_TIMEOUT" "the kernel ran too long on a device that drives a display" [] ["split the work"]),
    driver!(703 "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING" "the texture mode does not fit" [] []),
    driver!(704 "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" "peer access is on already" [] []),
    driver!(705 "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" "peer access is not on" [] []),
    driver!(708 "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" "the primary context is active already" [] []),
    driver!(709 "CUDA_ERROR_CONTEXT_IS_DESTROYED" "the context is gone" [] []),
    driver!(710 "CUDA_ERROR_ASSERT" "an `assert` in device code failed" [] ["read its message on stderr"]),
    driver!(711 "CUDA_ERROR_TOO_MANY_PEERS" "too many peers" [] []),
    driver!(712 "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" "the host memory is registered already" [] []),
    driver!(713 "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" "the host memory is not registered" [] []),
    driver!(714 "CUDA_ERROR_HARDWARE_STACK_ERROR" "a kernel's stack overflowed or was damaged"
        ["deep recursion"] ["raise `cudaLimitStackSize`"]),
    driver!(715 "CUDA_ERROR_ILLEGAL_INSTRUCTION" "a kernel executed something that is no instruction"
        ["a call of a function that is not there", "damaged code"] ["link it again with `cudalink link`, which finds what is undefined"]),
    driver!(716 "CUDA_ERROR_MISALIGNED_ADDRESS" "a kernel accessed memory at an address of the wrong alignment" [] ["run it under `compute-sanitizer`"]),
    driver!(717 "CUDA_ERROR_INVALID_ADDRESS_SPACE" "a kernel accessed memory of the wrong kind" [] []),
    driver!(718 "CUDA_ERROR_INVALID_PC" "a kernel jumped to where no code is" ["a call through a wrong function pointer"] []),
    driver!(719 "CUDA_ERROR_LAUNCH_FAILED" "the kernel failed; the context cannot be used any more"
        ["a kernel that synchronises its grid was launched without the cooperative attribute", "an invalid access to memory"]
        ["launch it with `--cooperative`", "run it under `compute-sanitizer`"]),
    driver!(720 "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" "a cooperative grid does not fit on the device at once"
        [] ["launch it with `--grid max`"]),
    driver!(721 "CUDA_ERROR_TENSOR_MEMORY_LEAK" "a kernel ended without freeing all of its tensor memory" [] []),
    driver!(800 "CUDA_ERROR_NOT_PERMITTED" "that is not permitted" [] []),
    driver!(801 "CUDA_ERROR_NOT_SUPPORTED" "the device or the system does not support it" [] ["see `cudalink doctor`"]),
    driver!(802 "CUDA_ERROR_SYSTEM_NOT_READY" "the system is not ready" ["the fabric manager does not run"] []),
    driver!(803 "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" "the kernel module and the user library of the driver are of different releases"
        ["the driver was updated without a reboot", "a container brings a libcuda of its own"] ["reboot, or remove the other libcuda; see `cudalink doctor`"]),
    driver!(804 "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" "the forward-compatibility package does not support this device" [] ["remove it from the library path"]),
    driver!(805 "CUDA_ERROR_MPS_CONNECTION_FAILED" "the MPS server cannot be reached" [] []),
    driver!(806 "CUDA_ERROR_MPS_RPC_FAILURE" "a call to the MPS server failed" [] []),
    driver!(807 "CUDA_ERROR_MPS_SERVER_NOT_READY" "the MPS server is not ready" [] []),
    driver!(808 "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED" "the MPS server has no room for another client" [] []),
    driver!(809 "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED" "the MPS server has no room for another connection" [] []),
    driver!(810 "CUDA_ERROR_MPS_CLIENT_TERMINATED" "the MPS server ended this client" [] []),
    driver!(811 "CUDA_ERROR_CDP_NOT_SUPPORTED" "device-side launches do not work in this configuration" [] []),
    driver!(812 "CUDA_ERROR_CDP_VERSION_MISMATCH" "parts built with different versions of device-side launches are mixed" [] ["rebuild all of them with one toolkit"]),
    driver!(900 "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" "that cannot be captured in a graph" [] []),
    driver!(901 "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" "the capture failed before" [] []),
    driver!(902 "CUDA_ERROR_STREAM_CAPTURE_MERGE" "two captures would be merged" [] []),
    driver!(903 "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" "the capture was begun elsewhere" [] []),
    driver!(904 "CUDA_ERROR_STREAM_CAPTURE_UNJOINED" "a fork of the capture was not joined" [] []),
    driver!(905 "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" "a dependency would cross the capture" [] []),
    driver!(906 "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" "the legacy stream would become part of the capture" [] []),
    driver!(907 "CUDA_ERROR_CAPTURED_EVENT" "the event belongs to a capture" [] []),
    driver!(908 "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" "another thread began the capture" [] []),
    driver!(909 "CUDA_ERROR_TIMEOUT" "the wait took too long" [] []),
    driver!(910 "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" "the graph cannot be updated so" [] []),
    driver!(911 "CUDA_ERROR_EXTERNAL_DEVICE" "a device outside of the GPU failed" [] []),
    driver!(912 "CUDA_ERROR_INVALID_CLUSTER_SIZE" "the grid is no whole number of clusters, or the cluster is too large"
        ["a kernel with `__cluster_dims__` and a grid that its cluster does not divide"] ["make each dimension of `--grid` a multiple of the cluster's"]),
    driver!(913 "CUDA_ERROR_FUNCTION_NOT_LOADED" "the function is not loaded" [] []),
    driver!(914 "CUDA_ERROR_INVALID_RESOURCE_TYPE" "a resource is of the wrong type" [] []),
    driver!(915 "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION" "the resources do not suffice" [] []),
    driver!(916 "CUDA_ERROR_KEY_ROTATION" "the rotation of keys failed" [] []),
    driver!(917 "CUDA_ERROR_STREAM_DETACHED" "the stream's context is gone" [] []),
    driver!(918 "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE" "the graph cannot be captured again" [] []),
    driver!(919 "CUDA_ERROR_FABRIC_NOT_READY" "the fabric between devices is not ready" ["the fabric manager is still probing"] ["try again later"]),
    driver!(999 "CUDA_ERROR_UNKNOWN" "the driver failed for an unknown reason" ["the kernel module is not loaded after an update"] ["reboot; see `dmesg`"]),
];

/// Names of the runtime for codes of the driver that people meet, where the words differ.
pub const RUNTIME_NAMES: &[(&str, i32)] = &[
    ("cudaErrorInvalidValue", 1),
    ("cudaErrorMemoryAllocation", 2),
    ("cudaErrorInitializationError", 3),
    ("cudaErrorStubLibrary", 34),
    ("cudaErrorCallRequiresNewerDriver", 36),
    ("cudaErrorDevicesUnavailable", 46),
    ("cudaErrorNoDevice", 100),
    ("cudaErrorInvalidDevice", 101),
    ("cudaErrorInvalidKernelImage", 200),
    ("cudaErrorNoKernelImageForDevice", 209),
    ("cudaErrorInvalidPtx", 218),
    ("cudaErrorJitCompilerNotFound", 221),
    ("cudaErrorUnsupportedPtxVersion", 222),
    ("cudaErrorJitCompilationDisabled", 223),
    ("cudaErrorInvalidSource", 300),
    ("cudaErrorSymbolNotFound", 500),
    ("cudaErrorNotReady", 600),
    ("cudaErrorIllegalAddress", 700),
    ("cudaErrorLaunchOutOfResources", 701),
    ("cudaErrorLaunchTimeout", 702),
    ("cudaErrorAssert", 710),
    ("cudaErrorHardwareStackError", 714),
    ("cudaErrorIllegalInstruction", 715),
    ("cudaErrorMisalignedAddress", 716),
    ("cudaErrorInvalidPc", 718),
    ("cudaErrorLaunchFailure", 719),
    ("cudaErrorCooperativeLaunchTooLarge", 720),
    ("cudaErrorNotPermitted", 800),
    ("cudaErrorNotSupported", 801),
    ("cudaErrorSystemNotReady", 802),
    ("cudaErrorSystemDriverMismatch", 803),
    ("cudaErrorCompatNotSupportedOnDevice", 804),
    ("cudaErrorInvalidClusterSize", 912),
    ("cudaErrorUnknown", 999),
];

/// What the driver and the runtime print for a code, or a telling part of it, as programs pass it on.
pub const MESSAGES: &[(&str, &str)] = &[
    ("CUDA driver is a stub library", "CUDA_ERROR_STUB_LIBRARY"),
    (
        "CUDA driver version is insufficient",
        "cudaErrorInsufficientDriver",
    ),
    (
        "PTX JIT compiler library not found",
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    ),
    (
        "PTX was compiled with an unsupported toolchain",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    ),
    ("a PTX JIT compilation failed", "CUDA_ERROR_INVALID_PTX"),
    ("device kernel image is invalid", "CUDA_ERROR_INVALID_IMAGE"),
    ("device-side assert triggered", "CUDA_ERROR_ASSERT"),
    (
        "illegal instruction was encountered",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    ),
    (
        "illegal memory access was encountered",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    (
        "invalid configuration argument",
        "cudaErrorInvalidConfiguration",
    ),
    ("invalid device function", "cudaErrorInvalidDeviceFunction"),
    ("invalid device ordinal", "CUDA_ERROR_INVALID_DEVICE"),
    ("invalid device symbol", "cudaErrorInvalidSymbol"),
    (
        "launch timed out and was terminated",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
    ),
    ("misaligned address", "CUDA_ERROR_MISALIGNED_ADDRESS"),
    ("named symbol not found", "CUDA_ERROR_NOT_FOUND"),
    ("no CUDA-capable device is detected", "CUDA_ERROR_NO_DEVICE"),
    (
        "no kernel image is available for execution",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    (
        "too many blocks in cooperative launch",
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    ),
    (
        "too many resources requested for launch",
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    ),
    ("unspecified launch failure", "CUDA_ERROR_LAUNCH_FAILED"),
];
