//! NVIDIA's libraries and tools: where they are on this machine, which of them suit a piece of work,
//! and how to get the ones that are missing.
//!
//! ```text
//! Settings (flags + environment) ─► places, best first ─► candidates ─► the first that the Needs allow
//!                                                                        └─► none: fetch a pinned wheel with pip
//! ```
//!
//! [`obtain`] is what work calls: one toolkit for all the parts that it needs, fetched if need be.
//! [`locate`] and [`survey`] only look. A library found here is loaded by its absolute path alone.

mod candidate;
mod component;
mod environment;
mod needs;
mod version;

pub use candidate::{Candidate, Located, Source, Verdict};
pub use component::{Component, Cpu, Os, Platform};
pub use environment::{Environment, Settings};
pub use needs::Needs;
pub use version::{Version, VersionRequest};

use crate::error::Result;
use crate::observe::Observer;

/// Looks for one component and stops at the first candidate that suits: what a link can afford.
pub fn locate(component: Component, settings: &Settings, needs: &Needs) -> Located {
    let _ = (settings, needs);
    Located::none(component)
}

/// Looks everywhere: every candidate with the reason why it won or lost.
pub fn survey(component: Component, settings: &Settings, needs: &Needs) -> Located {
    let _ = (settings, needs);
    Located::none(component)
}

/// The components that one piece of work needs, all from one toolkit where there is one, fetched with
/// pip where there is none. Parts of different releases are warned of (`toolkit-mixed`).
///
/// ```no_run
/// # use cudalink::toolkit::*;
/// # fn example(settings: &Settings) -> cudalink::error::Result<()> {
/// let needs = Needs::default().at_least(Version::new(13, 5), "`a.ltoir` was made by CUDA 13.5");
/// let [nvjitlink] = obtain([Component::NvJitLink], settings, &needs, &cudalink::observe::Silent)?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Missing`](crate::error::Category::Missing) with `library-not-found` (nothing suits and nothing may
/// or can be fetched, or an explicit choice does not fit) or `fetch-failed`.
pub fn obtain<const N: usize>(
    components: [Component; N],
    settings: &Settings,
    needs: &Needs,
    observer: &dyn Observer,
) -> Result<[Candidate; N]> {
    let _ = (components, settings, needs, observer);
    Err(crate::error::Error::missing(
        crate::error::Code::LibraryNotFound,
        "the search for libraries is not built yet",
    ))
}
