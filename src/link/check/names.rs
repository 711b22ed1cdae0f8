//! Names that need no definition, and names whose definition is known to be in libcudadevrt.
//!
//! The lists were measured by linking calls of each name with nvlink and nvJitLink 11.8 to 13.5.

use crate::format::cubin::Release;

/// Provided by the driver, in every version.
const ALWAYS: &[&str] = &[
    "vprintf",
    "vfprintf",
    "malloc",
    "free",
    "__assertfail",
    "__profile",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpCtxSynchronize",
    "cnpFuncGetAttribute",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cnpEventCreate",
    "cnpEventRecord",
    "cnpEventDestroy",
    "cnpDeviceGetName",
    "cnpDeviceGetAttribute",
    "cnpDeviceGetTotalMem",
    "cnpGetDeviceCount",
    "cnpGetDevice",
    "cnpGetLastError",
    "cnpSetLastError",
    "cnpGetCacheConfig",
    "cnpGetSharedMemConfig",
    "cnpGetLimit",
    // Of the linker itself.
    "__UFT",
    "__UFT_OFFSET",
    "__UFT_CANONICAL",
    "__UFT_END",
    "__UDT",
    "__UDT_OFFSET",
    "__UDT_CANONICAL",
    "__UDT_END",
    "externsharedinstance",
];

/// Names that a linker knows from a release on.
const SINCE: &[((u16, u16), &[&str])] = &[
    ((12, 0), &["cudaGraphLaunch"]),
    (
        (12, 4),
        &[
            "cudaGraphSetConditional",
            "cudaGraphKernelNodeSetParam",
            "cudaGraphKernelNodeSetGridDim",
            "cudaGraphKernelNodeSetEnabled",
            "cudaGraphKernelNodeUpdatesApply",
        ],
    ),
    (
        (13, 5),
        &[
            "cudaDeviceMemcpyAsync",
            "cudaDeviceMemcpyBatchAsync",
            "cudaResizeSharedMemory",
            "cudaFabricOpErrorStatusCount",
            "cudaFabricOpErrorStatusGet",
            "cudaSubgridSynchronousWorkspaceInitialize",
            "cudaSubgridSynchronousWorkspaceCompleteAndFetchWorkItem",
            "cudaSubgridSynchronousWorkspaceAdvanceWorkset",
            "cudaSubgridSynchronousWorkspaceGetWorksetUserData",
            "cudaSubgridWarpSpecializedWorkspaceInitialize",
            "cudaSubgridWarpSpecializedWorkspaceAdvanceWorkset",
            "cudaSubgridWarpSpecializedWorkspaceGetWorksetUserData",
            "cudaSubgridWarpSpecializedWorkspaceFetchWorkItem",
            "cudaSubgridWarpSpecializedWorkspaceWaitOnWorkItemDependencies",
            "cudaSubgridWarpSpecializedWorkspaceCompleteWorkItem",
            "cudaSubgridScheduleManageWarpSpecializedWorkspaceAndDependencies",
        ],
    ),
];

/// Whether a linker of release `linker` lets `name` stay undefined, since the driver or the linker itself
/// provides it.
pub fn is_provided(name: &str, linker: Release) -> bool {
    name.starts_with("__cuda_syscall")
        || ALWAYS.contains(&name)
        || SINCE.iter().any(|&((major, minor), names)| {
            linker >= Release { major, minor } && names.contains(&name)
        })
}

/// The release from which on linkers provide `name`, if there is one.
pub fn provided_since(name: &str) -> Option<Release> {
    SINCE
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|&((major, minor), _)| Release { major, minor })
}

/// Whether libcudadevrt defines `name`: device-side launches and grid-wide synchronisation.
pub fn is_in_devrt(name: &str) -> bool {
    const NAMES: &[&str] = &["cudaGetParameterBufferV2", "cudaLaunchDeviceV2"];
    name.starts_with("cudaCG") || name.starts_with("__cudaCDP2") || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn release(major: u16, minor: u16) -> Release {
        Release { major, minor }
    }

    #[test]
    fn provided_names_depend_on_the_linker() {
        assert!(is_provided("vprintf", release(11, 8)));
        assert!(is_provided("__cuda_syscall_anything", release(11, 8)));
        assert!(!is_provided("cnpFoo", release(13, 5)));
        assert!(!is_provided("printf", release(13, 5)));
        assert!(is_provided("cudaGraphSetConditional", release(12, 4)));
        assert!(!is_provided("cudaGraphSetConditional", release(12, 0)));
        assert_eq!(provided_since("cudaGraphLaunch"), Some(release(12, 0)));
    }

    #[test]
    fn device_runtime_names() {
        assert!(is_in_devrt("cudaCGSynchronizeGrid"));
        assert!(is_in_devrt("__cudaCDP2LaunchDeviceV2"));
        assert!(!is_in_devrt("cudaGraphLaunch"));
    }
}
