//! cudalink links, inspects, checks and launches CUDA device code.
//!
//! ```text
//! path | - | @file ─► Blob ─► classify ─► ObjectCode ─► Images
//!                                           ├─► inspect ─► Report ─► text | json | csv     no NVIDIA software
//!                                           ├─► link: plan ─► Backend ─► verify ─► artifact
//!                                           └─► run:  plan ─► load ─► launch ─► results
//! ```
//!
//! The folders stand in one row and each imports only from those to its left:
//!
//! `error · bytes · format · code · inspect · audit · pack │ ffi · toolkit · cache · worker · compile · link · run │ ui · cli`
//!
//! Left of the first bar everything is pure: no NVIDIA software, no `unsafe`, no network.
//! `tests/tidy.rs` enforces the row.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bytes;
pub mod cache;
pub mod code;
pub mod compile;
pub mod error;
pub mod ffi;
pub mod format;
pub mod inspect;
pub mod link;
pub mod observe;
pub mod pack;
pub mod run;
pub mod toolkit;
pub mod worker;

pub mod cli;
pub mod ui;
