//! Launch attributes and the call that launches.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig,
};
use serde::Serialize;

use super::api::Result;
use super::context::{Function, Stream};
use super::error::{DriverError, Reason};
use super::version::DriverVersion;

/// A launch attribute whose value is plain numbers. The others take handles (events, graph nodes) or
/// addresses, which a command line has none of; the synchronisation policy is one of streams, and a launch with it is
/// refused (measured on a 13.0 driver).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeKind {
    Cooperative,
    Cluster,
    ClusterScheduling,
    /// Programmatic stream serialization.
    Pdl,
    Priority,
    MemSyncDomain,
    PreferredCluster,
    /// Percent of the on-chip memory that should be shared memory.
    Carveout,
    NvlinkUtilCentricScheduling,
    PortableClusterMode,
    SharedMemoryMode,
}

impl AttributeKind {
    fn id(self) -> CUlaunchAttributeID {
        use CUlaunchAttributeID as Id;
        match self {
            Self::Cooperative => Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            Self::Cluster => Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            Self::ClusterScheduling => Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
            Self::Pdl => Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            Self::Priority => Id::CU_LAUNCH_ATTRIBUTE_PRIORITY,
            Self::MemSyncDomain => Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
            Self::PreferredCluster => Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
            Self::Carveout => Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
            Self::NvlinkUtilCentricScheduling => {
                Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING
            }
            Self::PortableClusterMode => Id::CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE,
            Self::SharedMemoryMode => Id::CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE,
        }
    }

    /// The CUDA release whose drivers first take it; an older driver would ignore or misread it.
    pub fn since(self) -> DriverVersion {
        DriverVersion(match self {
            Self::Cooperative
            | Self::Cluster
            | Self::ClusterScheduling
            | Self::Pdl
            | Self::Priority => 11080,
            Self::MemSyncDomain => 12000,
            Self::Carveout => 12050,
            Self::PreferredCluster => 12080,
            Self::NvlinkUtilCentricScheduling => 13000,
            Self::PortableClusterMode | Self::SharedMemoryMode => 13020,
        })
    }
}

/// An attribute with its value: one number, or three for a cluster shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Attribute {
    pub kind: AttributeKind,
    pub value: [u32; 3],
}

impl Attribute {
    pub fn new(kind: AttributeKind, value: u32) -> Self {
        Self {
            kind,
            value: [value, 0, 0],
        }
    }

    fn raw(self) -> CUlaunchAttribute {
        // Every value of these kinds is one to three 32-bit numbers at the start of the union.
        let mut pad = [0 as c_char; 64];
        for (at, byte) in self.value.iter().flat_map(|v| v.to_ne_bytes()).enumerate() {
            pad[at] = byte as c_char;
        }
        CUlaunchAttribute {
            id: self.kind.id(),
            pad: [0; 4],
            value: CUlaunchAttributeValue { pad },
        }
    }
}

/// Shape and attributes of one launch. The grid is as the driver counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub attributes: Vec<Attribute>,
}

impl LaunchConfig {
    fn is_cooperative(&self) -> bool {
        self.attributes
            .iter()
            .any(|a| a.kind == AttributeKind::Cooperative && a.value[0] != 0)
    }

    /// Calls `then` with the driver's form, which points into this value.
    fn with_raw<T>(
        &self,
        stream: Option<&Stream<'_>>,
        then: impl FnOnce(&CUlaunchConfig) -> T,
    ) -> T {
        let mut attributes: Vec<CUlaunchAttribute> = self
            .attributes
            .iter()
            .map(|attribute| attribute.raw())
            .collect();
        then(&CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.shared,
            hStream: stream.map_or(std::ptr::null_mut(), |stream| stream.raw),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        })
    }
}

/// A kernel's arguments in the layout of its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The parameters' bytes as the kernel sees them, gaps included.
    pub bytes: Vec<u8>,
    /// Where each parameter starts.
    pub offsets: Vec<u32>,
}

impl Function<'_> {
    /// Launches. The driver copies each parameter's bytes at once; it knows their sizes from the image,
    /// which is where the offsets of `arguments` come from too.
    ///
    /// # Errors
    /// Also when an attribute is newer than the driver.
    pub fn launch(
        &self,
        stream: &Stream<'_>,
        config: &LaunchConfig,
        arguments: &Arguments,
    ) -> Result<()> {
        let version = self.api.version;
        if let Some(new) = config.attributes.iter().find(|a| self.is_too_new(**a)) {
            let reason = Reason::Lacks {
                since: new.kind.since(),
                driver: version,
            };
            return Err(DriverError::new("cuLaunchKernelEx", reason));
        }
        // One slot more than the parameters, so that the array is never empty.
        let mut bytes = arguments.bytes.clone();
        bytes.resize(bytes.len() + 16, 0);
        let base = bytes.as_mut_ptr();
        let mut pointers: Vec<*mut c_void> = arguments
            .offsets
            .iter()
            // An offset past the end would be a fault of the caller; the padding's start is valid memory.
            .map(|&offset| {
                base.wrapping_add((offset as usize).min(arguments.bytes.len()))
                    .cast()
            })
            .chain([std::ptr::null_mut()])
            .collect();
        if self.api.has_launch_kernel_ex() {
            return config.with_raw(Some(stream), |raw| {
                // SAFETY: the configuration, the pointers and the bytes they lead to outlive the call, which
                // keeps none of them.
                unsafe {
                    self.api.launch_kernel_ex(
                        raw,
                        self.raw,
                        pointers.as_mut_ptr(),
                        std::ptr::null_mut(),
                    )
                }
            });
        }
        self.launch_before_attributes(stream, config, &mut pointers)
    }

    fn is_too_new(&self, attribute: Attribute) -> bool {
        // Cooperative launches are older than attributes and have a call of their own.
        attribute.kind != AttributeKind::Cooperative && attribute.kind.since() > self.api.version
    }

    fn launch_before_attributes(
        &self,
        stream: &Stream<'_>,
        config: &LaunchConfig,
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        let [gx, gy, gz] = config.grid;
        let [bx, by, bz] = config.block;
        let pointers = pointers.as_mut_ptr();
        // SAFETY: as in `launch`.
        unsafe {
            if config.is_cooperative() {
                self.api.launch_cooperative_kernel(
                    self.raw,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    config.shared,
                    stream.raw,
                    pointers,
                )
            } else {
                self.api.launch_kernel(
                    self.raw,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    config.shared,
                    stream.raw,
                    pointers,
                    std::ptr::null_mut(),
                )
            }
        }
    }

    /// Blocks of this shape that fit on one multiprocessor together.
    pub fn blocks_per_sm(&self, threads: u32, shared: u32) -> Result<u32> {
        let mut blocks = 0;
        // SAFETY: the call writes one integer.
        unsafe {
            self.api
                .occupancy_blocks(&mut blocks, self.raw, threads as i32, shared as usize)
        }?;
        Ok(blocks.max(0).unsigned_abs())
    }

    /// Clusters of the configuration that fit on the device together. Needs CUDA 11.8.
    pub fn active_clusters(&self, config: &LaunchConfig) -> Result<u32> {
        let mut clusters = 0;
        config.with_raw(None, |raw| {
            // SAFETY: the call reads the configuration and writes one integer.
            unsafe { self.api.occupancy_clusters(&mut clusters, self.raw, raw) }
        })?;
        Ok(clusters.max(0).unsigned_abs())
    }

    /// The largest cluster, in blocks, that this kernel can be launched with. Needs CUDA 11.8.
    pub fn max_cluster_size(&self, config: &LaunchConfig) -> Result<u32> {
        let mut size = 0;
        config.with_raw(None, |raw| {
            // SAFETY: the call reads the configuration and writes one integer.
            unsafe { self.api.occupancy_cluster_size(&mut size, self.raw, raw) }
        })?;
        Ok(size.max(0).unsigned_abs())
    }
}
