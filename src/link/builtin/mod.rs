//! A device linker of our own for relocatable cubins of sm_75 to sm_90a: no NVIDIA library is needed.
//!
//! It is small because the driver relocates: the linked cubin keeps its relocations against functions and
//! global variables, and nothing is placed at an address. What is left is one phase a file:
//!
//! ```text
//! read ─► merge ─► live ─► layout ─► resources ─► relocate ─► write
//! ```
//!
//! Every phase takes what the ones before made and returns something new. The rules were found by comparing
//! with nvlink 13.5 byte by byte. What a rule does not cover is refused by name ([`Code::BuiltinUnsupported`]),
//! never guessed.
//!
//! [`Code::BuiltinUnsupported`]: crate::error::Code::BuiltinUnsupported

mod known;
mod layout;
mod limits;
mod live;
mod merge;
mod program;
mod read;
mod relocate;
mod resources;
mod sort;
mod write;

use crate::code::Arch;
use crate::error::{Code, Error, Result};

/// One relocatable cubin.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// How messages call it: `libx.a(b.o):__nv_relfatbin[0]`.
    pub name: &'a str,
    pub cubin: &'a [u8],
}

/// What the result says of its maker, and which of nvlink's habits are copied.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    pub tool: &'a str,
    pub version: &'a str,
    pub build: &'a str,
    /// The options to record.
    pub command: &'a str,
    /// Drop what only an unreached address-taken function calls, as nvlink does. Its call then goes to address 0,
    /// so this is for comparing files only.
    pub like_nvlink: bool,
}

impl Identity<'_> {
    /// This program.
    pub const OWN: Self = Self {
        tool: "cudalink",
        version: concat!(
            "cudalink built-in linker, release ",
            env!("CARGO_PKG_VERSION")
        ),
        build: "",
        command: "",
        like_nvlink: false,
    };
}

/// Links `inputs`, in this order, into an executable cubin for `target`.
///
/// # Errors
/// `builtin-unsupported` for anything outside the known rules, `undefined-symbol` and `duplicate-symbol` as for any
/// link, `damaged` for cubins whose tables contradict one another.
pub fn link(inputs: &[Input], target: Arch, identity: Identity) -> Result<Vec<u8>> {
    if inputs.is_empty() {
        return Err(Error::failed(
            Code::NoDeviceCode,
            "there is no input to link",
        ));
    }
    let units: Vec<read::Unit> = inputs
        .iter()
        .map(|input| read::unit(*input, target))
        .collect::<Result<_>>()?;
    let program = merge::merge(&units)?;
    let live = live::find(&program, identity)?;
    let layout = layout::lay_out(&program, &live)?;
    let resources = resources::propagate(&program, &live)?;
    limits::check(&program, &live, &layout, &resources)?;
    let relocated = relocate::relocate(&program, &live, &layout)?;
    write::write(&program, &live, &layout, &resources, &relocated, identity)
}
