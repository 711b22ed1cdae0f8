//! The worker's side: does what stdin says, and tells what came of it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::protocol::{self, Order, Reply, Step, Task};
use super::{MARK, cuda, link, nvvm};
use crate::bytes::Blob;
use crate::error::{Code, Error, Result};

/// Does the task that stdin holds with the library at `path`.
///
/// # Errors
/// Only where not even an answer can be given; the reason is then in the worker's stderr.
pub fn serve(path: &Path) -> Result<()> {
    let exchange = stdin().map_err(|error| broken(&error))?;
    let (order, bytes): (Order, Blob) =
        protocol::read(&exchange, 0).map_err(|error| broken(&error))?;
    restrict(order.memory_limit).map_err(|error| broken(&error))?;
    match order.task {
        Task::Link(task) => reply(&exchange, link::work(path, &task, &bytes)?),
        Task::Cuda(task) => reply(&exchange, cuda::work(path, &task, &bytes)?),
        Task::Nvvm(task) => reply(&exchange, nvvm::work(path, &task, &bytes)?),
    }
}

fn reply(mut exchange: &File, (answer, results): (impl Serialize, Vec<Vec<u8>>)) -> Result<()> {
    let reply = Reply {
        answer,
        results: results.iter().map(Vec::len).collect(),
    };
    exchange
        .seek(SeekFrom::End(0))
        .and_then(|_| protocol::write(exchange, &reply, results.iter().map(Vec::as_slice)))
        .map_err(|error| broken(&error))
}

pub(super) fn broken(error: &io::Error) -> Error {
    Error::failed(Code::Internal, format!("the worker failed: {error}"))
}

#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// A crash leaves no core file, for it is not cudalink's; and a worker ends with whoever waits for it.
#[cfg(unix)]
fn restrict(memory: Option<u64>) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    setrlimit(Resource::Core, limit(0))?;
    if let Some(memory) = memory {
        setrlimit(Resource::As, limit(memory))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(memory: Option<u64>) -> io::Result<()> {
    match memory {
        Some(_) => Err(io::Error::other(
            "there are no memory limits on this system",
        )),
        None => Ok(()),
    }
}

/// Marks the place in what the library prints.
pub(super) fn tell(step: Step) {
    let step = serde_json::to_string(&step).unwrap_or_default();
    // If nobody listens, nobody wants to know.
    let _ = io::stderr().write_all(format!("{MARK}{step}\n").as_bytes());
}

pub(super) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
