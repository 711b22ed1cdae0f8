//! Launching: from flags and inputs to a [`LaunchPlan`](plan::LaunchPlan), and from there to results.
//!
//! ```text
//! flags ─► spec ─► Request ┐
//! inputs ─► program ───────┼─► plan (plain data, no device) ─► session (the driver) ─► report
//! device or model ─► Target┘
//! ```

pub mod compare;
pub mod data;
pub mod fault;
pub mod files;
pub mod job;
pub mod lookup;
pub mod npy;
pub mod plan;
pub mod program;
pub mod report;
pub mod session;
pub mod shape;
pub mod spec;
pub mod target;
pub mod timing;
pub mod types;
pub mod worker;
