//! What a launch is planned for: a device that is here, or the model of one that is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::Arch;
use crate::ffi::driver::{DeviceInfo, DriverVersion, Limits};

/// The device as a plan sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// `NVIDIA H200 (device 0)`, `model of sm_90`.
    pub name: String,
    pub arch: Arch,
    /// Multiprocessors; null for a model.
    pub sms: Option<u32>,
    pub cooperative: bool,
    pub limits: Limits,
    /// The CUDA release of the driver; null for a model.
    pub driver: Option<DriverVersion>,
}

impl Target {
    pub fn device(info: &DeviceInfo, driver: DriverVersion) -> Self {
        Self {
            name: format!("{} (device {})", info.name, info.ordinal),
            arch: info.arch,
            sms: Some(info.sms),
            cooperative: info.cooperative,
            limits: info.limits,
            driver: Some(driver),
        }
    }

    /// A device of this compute capability; `None` for one whose limits are not known.
    pub fn model(arch: Arch) -> Option<Self> {
        let arch = Arch::new(arch.number);
        Some(Self {
            name: format!("model of {arch}"),
            arch,
            sms: None,
            cooperative: true,
            limits: limits(arch.number)?,
            driver: None,
        })
    }

    /// The numbers that [`Target::model`] knows.
    pub fn models() -> impl Iterator<Item = Arch> {
        MODELS.iter().map(|model| Arch::new(model.number))
    }

    /// The architecture whose code the device runs, with the `a` that devices have from sm_90 on.
    pub fn runs(&self) -> Arch {
        let accelerated = Arch::accelerated(self.arch.number);
        if self.arch.number >= 90 {
            accelerated
        } else {
            self.arch
        }
    }

    /// The most threads of a block when each needs so many registers, or 0 when not even one warp fits.
    /// Registers are given out to a warp 256 at a time, from a quarter of the multiprocessor's.
    pub fn threads_for_registers(&self, registers: u32) -> u32 {
        const QUARTERS: u32 = 4;
        let warp = (registers.max(1) * 32).next_multiple_of(256);
        let warps = self.limits.registers / QUARTERS / warp * QUARTERS;
        (warps * 32).min(self.limits.block_threads)
    }
}

/// What differs between compute capabilities.
struct Model {
    number: u16,
    sm_threads: u32,
    sm_blocks: u32,
    /// KiB of shared memory of a multiprocessor, and of a block with the opt-in.
    sm_shared: u32,
    shared_opt_in: u32,
    /// Blocks of the largest cluster without and with the opt-in.
    clusters: (u32, u32),
}

const fn model(
    number: u16,
    sm_threads: u32,
    sm_blocks: u32,
    sm_shared: u32,
    shared_opt_in: u32,
    clusters: (u32, u32),
) -> Model {
    Model {
        number,
        sm_threads,
        sm_blocks,
        sm_shared,
        shared_opt_in,
        clusters,
    }
}

/// From the table of technical specifications in the CUDA programming guide and `cuda_occupancy.h`.
const MODELS: &[Model] = &[
    model(50, 2048, 32, 64, 48, (0, 0)),
    model(52, 2048, 32, 96, 48, (0, 0)),
    model(53, 2048, 32, 64, 48, (0, 0)),
    model(60, 2048, 32, 64, 48, (0, 0)),
    model(61, 2048, 32, 96, 48, (0, 0)),
    model(62, 2048, 32, 64, 48, (0, 0)),
    model(70, 2048, 32, 96, 96, (0, 0)),
    model(72, 2048, 32, 96, 96, (0, 0)),
    model(75, 1024, 16, 64, 64, (0, 0)),
    model(80, 2048, 32, 164, 163, (0, 0)),
    model(86, 1536, 16, 100, 99, (0, 0)),
    model(87, 1536, 16, 164, 163, (0, 0)),
    model(89, 1536, 24, 100, 99, (0, 0)),
    model(90, 2048, 32, 228, 227, (8, 16)),
    model(100, 2048, 32, 228, 227, (8, 16)),
    model(103, 2048, 32, 228, 227, (8, 16)),
    model(110, 1536, 24, 228, 227, (8, 8)),
    model(120, 1536, 24, 100, 99, (8, 8)),
    model(121, 1536, 24, 100, 99, (8, 8)),
];

fn limits(number: u16) -> Option<Limits> {
    let model = MODELS.iter().find(|model| model.number == number)?;
    Some(Limits {
        block_threads: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65_535, 65_535],
        cluster: model.clusters.0,
        cluster_non_portable: model.clusters.1,
        shared: 48 * 1024,
        shared_opt_in: model.shared_opt_in * 1024,
        shared_reserved: if number >= 80 { 1024 } else { 0 },
        sm_threads: model.sm_threads,
        sm_blocks: model.sm_blocks,
        sm_registers: 65_536,
        sm_shared: model.sm_shared * 1024,
        registers: if number == 62 { 32_768 } else { 65_536 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_bound_a_block() {
        let target = Target::model(Arch::new(90)).unwrap();
        assert_eq!(target.limits.shared_opt_in, 232_448);
        for (registers, threads) in [
            (32, 1024),
            (64, 1024),
            (65, 896),
            (128, 512),
            (255, 256),
            (0, 1024),
        ] {
            assert_eq!(
                target.threads_for_registers(registers),
                threads,
                "{registers}"
            );
        }
        assert!(Target::model(Arch::new(99)).is_none());
        assert!(Target::models().all(|arch| arch.is_known()));
    }
}
