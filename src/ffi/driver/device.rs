use std::ffi::CStr;
use std::fmt::Write;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::api::{Api, RawDevice, Result};
use crate::code::Arch;

/// One device that the driver shows.
#[derive(Debug, Clone, Copy)]
pub struct Device {
    pub(super) api: &'static Api,
    pub(super) raw: RawDevice,
    ordinal: u32,
}

/// What a device is and can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    /// Its number for this process, from 0.
    pub ordinal: u32,
    pub name: String,
    /// `GPU-…`, or `MIG-…` for a part of a device.
    pub uuid: String,
    /// `0000:3b:00.0`.
    pub pci: Option<String>,
    pub arch: Arch,
    /// Bytes.
    pub memory: u64,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Kilohertz.
    pub clock_khz: Option<u32>,
    pub memory_clock_khz: Option<u32>,
    /// Bits.
    pub memory_bus: Option<u32>,
    /// Bytes.
    pub l2: u64,
    pub cooperative: bool,
    pub clusters: bool,
    /// Whether it is a part of a device.
    pub mig: bool,
    pub limits: Limits,
}

/// What bounds a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Threads of a block, in all and in x, y and z.
    pub block_threads: u32,
    pub block: [u32; 3],
    /// Blocks of a grid in x, y and z.
    pub grid: [u32; 3],
    /// Blocks of a cluster that every device of the architecture takes, and with the opt-in; 0 without clusters.
    pub cluster: u32,
    pub cluster_non_portable: u32,
    /// Bytes of shared memory of a block: without and with the opt-in.
    pub shared: u32,
    pub shared_opt_in: u32,
    /// Bytes of each block's shared memory that the system keeps.
    pub shared_reserved: u32,
    /// Of one multiprocessor.
    pub sm_threads: u32,
    pub sm_blocks: u32,
    pub sm_registers: u32,
    pub sm_shared: u32,
    /// Registers of a block.
    pub registers: u32,
}

impl Device {
    pub(super) fn new(api: &'static Api, ordinal: i32) -> Result<Self> {
        let mut raw = 0;
        // SAFETY: the call writes one integer.
        unsafe { api.device_get(&mut raw, ordinal) }?;
        Ok(Self {
            api,
            raw,
            ordinal: ordinal.unsigned_abs(),
        })
    }

    pub fn ordinal(self) -> u32 {
        self.ordinal
    }

    pub fn name(self) -> Result<String> {
        let mut name = [0; 256];
        // SAFETY: the length is the buffer's.
        unsafe {
            self.api
                .device_get_name(name.as_mut_ptr(), name.len() as i32, self.raw)
        }?;
        Ok(text(&name))
    }

    /// Spelled as `nvidia-smi -L` does.
    pub fn uuid(self) -> Result<String> {
        Ok(self.identity()?.0)
    }

    /// The UUID, and whether it is that of a part (MIG) of a device.
    fn identity(self) -> Result<(String, bool)> {
        let mut whole = [0; 16];
        // SAFETY: the call writes sixteen bytes.
        unsafe { self.api.device_get_uuid(&mut whole, self.raw) }?;
        let mut own = whole;
        // The second version gives a part's own UUID where the first gives that of the whole device.
        // SAFETY: as above.
        let part =
            unsafe { self.api.device_get_uuid_v2(&mut own, self.raw) }.is_ok() && own != whole;
        Ok((format_uuid(if part { "MIG" } else { "GPU" }, &own), part))
    }

    /// Everything about it. Needs no context.
    pub fn info(self) -> Result<DeviceInfo> {
        let (uuid, mig) = self.identity()?;
        let mut memory = 0;
        // SAFETY: the call writes one size.
        unsafe { self.api.device_total_mem(&mut memory, self.raw) }?;
        let major = self.number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let clusters = self.optional(Attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == Some(1);
        Ok(DeviceInfo {
            ordinal: self.ordinal,
            name: self.name()?,
            uuid,
            pci: self.pci(),
            arch: Arch::new((major * 10 + minor) as u16),
            memory: memory as u64,
            sms: self.number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            clock_khz: self.optional(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            memory_clock_khz: self.optional(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            memory_bus: self.optional(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            l2: self
                .number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?
                .into(),
            cooperative: self.number(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? == 1,
            clusters,
            mig,
            limits: self.limits(clusters)?,
        })
    }

    fn limits(self, clusters: bool) -> Result<Limits> {
        use Attribute as A;
        Ok(Limits {
            block_threads: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                self.number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            // The driver tells the limit of clusters for a kernel only; these are the largest of any.
            cluster: if clusters { 8 } else { 0 },
            cluster_non_portable: if clusters { 16 } else { 0 },
            shared: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_opt_in: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_reserved: self
                .optional(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)
                .unwrap_or(0),
            sm_threads: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            sm_blocks: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            sm_registers: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            sm_shared: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            registers: self.number(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        })
    }

    fn number(self, attribute: Attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the call writes one integer.
        unsafe {
            self.api
                .device_get_attribute(&mut value, attribute as u32, self.raw)
        }?;
        Ok(value.max(0).unsigned_abs())
    }

    /// For attributes that old drivers do not know, or newer ones no longer tell.
    fn optional(self, attribute: Attribute) -> Option<u32> {
        self.number(attribute).ok().filter(|&value| value != 0)
    }

    fn pci(self) -> Option<String> {
        let mut id = [0; 32];
        // SAFETY: the length is the buffer's.
        unsafe {
            self.api
                .device_get_pci_bus_id(id.as_mut_ptr(), id.len() as i32, self.raw)
        }
        .ok()?;
        Some(text(&id))
    }
}

/// Text up to the first NUL.
fn text(buffer: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&c| c as u8).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn format_uuid(prefix: &str, bytes: &[u8; 16]) -> String {
    let mut out = format!("{prefix}-");
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_spelled_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|at| (at as u8) * 17);
        assert_eq!(
            format_uuid("GPU", &bytes),
            "GPU-00112233-4455-6677-8899-aabbccddeeff"
        );
    }
}
