//! What went wrong on the device, in words.

use super::plan::LaunchPlan;
use crate::code::ImageKind;
use crate::error::{Category, Code, Diagnostic, Error};
use crate::ffi::driver::{DriverError, code};

/// What a kernel did, for the result codes that tell; the second part is the hint.
fn meaning(code: u32) -> Option<(&'static str, &'static str)> {
    const SANITIZE: &str = "run it under `compute-sanitizer` to see which access it was";
    Some(match code {
        code::ILLEGAL_ADDRESS => (
            "illegal address: it read or wrote memory that it may not",
            SANITIZE,
        ),
        code::MISALIGNED_ADDRESS => (
            "misaligned address: an access is not aligned to its size",
            SANITIZE,
        ),
        code::INVALID_ADDRESS_SPACE => ("an access went to the wrong address space", SANITIZE),
        code::HARDWARE_STACK_ERROR => ("its call stack is corrupt or overflowed", SANITIZE),
        code::ASSERT => (
            "an assertion in it failed",
            "the device prints the assertion's text",
        ),
        code::ILLEGAL_INSTRUCTION => (
            "illegal instruction: a trap, or code that is not for this device",
            SANITIZE,
        ),
        code::INVALID_PC => ("it jumped to where there is no code", SANITIZE),
        code::LAUNCH_TIMEOUT => (
            "the system's watchdog ended it for taking too long",
            "a device that drives a display limits how long a kernel may run",
        ),
        code::LAUNCH_FAILED => ("it was ended by an exception, such as a trap", SANITIZE),
        code::LAUNCH_OUT_OF_RESOURCES => (
            "a block needs more registers or memory than there are",
            "make the block smaller with `--block`",
        ),
        code::COOPERATIVE_LAUNCH_TOO_LARGE => (
            "the grid does not fit on the device at once",
            "give `--grid max`",
        ),
        code::INVALID_CLUSTER_SIZE => (
            "the driver refused the cluster shape",
            "a smaller `--cluster`, or a grid that is a multiple of it, may work",
        ),
        _ => return None,
    })
}

/// A failed launch, or a fault that showed when it was waited for.
pub fn launch(error: &DriverError, plan: &LaunchPlan) -> Error {
    let Some(number) = error.code().filter(|&number| number != code::OUT_OF_MEMORY) else {
        return error.clone().into();
    };
    let name = plan.name();
    let (words, hint) = match meaning(number) {
        Some((words, hint)) => (format!("{words} ({})", error.describe()), Some(hint)),
        None => (error.describe(), None),
    };
    let mut found = Diagnostic::error(Code::LaunchFailed, format!("`{name}` failed: {words}"))
        .input(&plan.image.id)
        .symbol(&plan.kernel)
        .detail(format!("launched with {}", plan.configuration()))
        .detail(format!("on {}; `{}` told it", plan.target.name, error.call));
    found.hints.extend(hint.map(str::to_owned));
    if number == code::LAUNCH_FAILED && plan.uses_grid_sync.is_none() && !plan.cooperative {
        found = found.hint("a kernel that synchronises its grid needs `--cooperative`; this image does not tell whether it does");
    }
    Error::new(Category::Failed, found)
}

/// An image that the driver does not load.
pub fn load(error: &DriverError, plan: &LaunchPlan) -> Error {
    let Some(number) = error.code().filter(|&number| number != code::OUT_OF_MEMORY) else {
        return error.clone().into();
    };
    let kind = if plan.image.kind == ImageKind::Ptx {
        "PTX"
    } else {
        "image"
    };
    let mut found = Diagnostic::error(
        Code::LaunchFailed,
        format!("the driver cannot load this {kind}: {}", error.describe()),
    )
    .input(&plan.image.id);
    found.details.extend(error.log.iter().cloned());
    found = found.detail(format!("for {}", plan.target.name));
    found.hints.extend(
        match number {
            code::UNSUPPORTED_PTX_VERSION => {
                Some("update the driver, or let `cudalink link` compile it")
            }
            code::NO_BINARY_FOR_GPU => Some("`cudalink inspect` shows what the file holds"),
            code::INVALID_IMAGE => Some("the image may be damaged, or made for a newer driver"),
            _ => None,
        }
        .map(str::to_owned),
    );
    Error::new(Category::Failed, found)
}
