//! What a launch gave, as data: one report for each device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use super::plan::LaunchPlan;
use super::shape::Shape;
use super::timing::Timing;
use crate::error::Diagnostic;
use crate::ffi::driver::{DeviceInfo, DriverVersion};

/// The JSON document of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub schema_version: u32,
    pub tool: Tool,
    /// Whether every device did what was asked.
    pub ok: bool,
    /// The highest of the devices'.
    pub exit_code: u8,
    pub devices: Vec<DeviceReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

impl Report {
    pub fn new(devices: Vec<DeviceReport>) -> Self {
        let exit_code = devices
            .iter()
            .map(|device| device.exit_code)
            .max()
            .unwrap_or(0);
        Self {
            schema_version: 1,
            tool: Tool {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            ok: exit_code == 0,
            exit_code,
            devices,
        }
    }
}

/// One device's part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceReport {
    /// As asked for: `0`, `GPU-…`.
    pub selector: String,
    /// The exit status of this device's part.
    pub exit_code: u8,
    /// Null when it did not come that far.
    pub device: Option<DeviceInfo>,
    pub driver: Option<DriverVersion>,
    pub plan: Option<LaunchPlan>,
    /// Null in a dry run and after a failure.
    pub results: Option<Results>,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// The checked launch, in microseconds.
    pub elapsed_us: f64,
    pub timing: Option<Timing>,
    pub prints: Vec<Printed>,
    pub globals: Vec<PrintedGlobal>,
    pub comparisons: Vec<Comparison>,
    pub saved: Vec<Saved>,
}

/// The first elements of a buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Printed {
    pub argument: usize,
    #[serde(flatten)]
    pub shape: Shape,
    /// As text, so that every value of every type is exact.
    pub values: Vec<String>,
}

/// A variable of the module after the launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrintedGlobal {
    /// Mangled.
    pub name: String,
    #[serde(flatten)]
    pub shape: Shape,
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saved {
    pub argument: usize,
    pub path: String,
    pub bytes: u64,
}

impl DeviceReport {
    pub fn new(selector: impl Into<String>) -> Self {
        Self {
            selector: selector.into(),
            exit_code: 0,
            device: None,
            driver: None,
            plan: None,
            results: None,
            diagnostics: Vec::new(),
        }
    }
}
