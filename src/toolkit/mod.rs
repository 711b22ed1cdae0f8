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
//! What the user names explicitly is used or is an error; it is never replaced by something else.

mod candidate;
mod component;
mod environment;
mod fetch;
mod include;
mod library;
mod loader;
mod names;
mod needs;
mod pins;
mod places;
mod python;
mod search;
mod store;
mod version;

#[cfg(all(test, unix))]
mod tests;

pub use candidate::{Candidate, Located, Source, Verdict};
pub use component::{Component, Cpu, Os, Platform};
pub use environment::{Environment, Settings};
pub use include::include_folders;
pub use needs::Needs;
pub use store::{Installed, folder, installed, remove};
pub use version::{Version, VersionRequest};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Code, Diagnostic, Error, Result};
use crate::observe::Observer;

/// Looks for one component and stops at the first candidate that suits: what a link can afford.
pub fn locate(component: Component, settings: &Settings, needs: &Needs) -> Located {
    search::search(component, settings, needs, false)
}

/// Looks everywhere: every candidate with the reason why it won or lost.
pub fn survey(component: Component, settings: &Settings, needs: &Needs) -> Located {
    search::search(component, settings, needs, true)
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
/// or can be fetched, or an explicit choice does not fit) or `fetch-failed`;
/// [`Failed`](crate::error::Category::Failed) where the needs contradict one another.
pub fn obtain<const N: usize>(
    components: [Component; N],
    settings: &Settings,
    needs: &Needs,
    observer: &dyn Observer,
) -> Result<[Candidate; N]> {
    let parts = search::obtain(&components, settings, needs, observer)?;
    <[Candidate; N]>::try_from(parts)
        .map_err(|_| Error::failed(Code::Internal, "the search for libraries lost one of them"))
}

/// What a look for several components says, as `obtain` would choose them, without fetching.
pub fn locate_together(
    components: &[Component],
    settings: &Settings,
    needs: &Needs,
) -> Vec<Located> {
    search::together(components, settings, needs)
}

/// A package that can be fetched for this platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Available {
    /// The CUDA release, such as `13.5`.
    pub release: Version,
    /// The Python package.
    pub package: String,
    pub version: Version,
    pub components: Vec<Component>,
    /// Bytes to download.
    pub size: u64,
}

impl Available {
    fn of(package: &pins::Package, platform: Platform) -> Option<Self> {
        Some(Self {
            release: package.release,
            package: package.name.to_owned(),
            version: package.version,
            components: package.components.to_vec(),
            size: package.wheel(platform)?.size,
        })
    }
}

/// Everything that can be fetched for this platform, newest release first.
pub fn available(platform: Platform) -> Vec<Available> {
    let packages = pins::PACKAGES.iter();
    packages
        .filter_map(|package| Available::of(package, platform))
        .collect()
}

/// What [`obtain`] would download for parts found like this: nothing if they are all here, `None` if
/// they are not and cannot be fetched.
pub fn would_fetch(
    parts: &[Located],
    settings: &Settings,
    needs: &Needs,
) -> Option<Vec<Available>> {
    if parts.iter().all(|part| part.chosen.is_some()) {
        return Some(Vec::new());
    }
    if settings.offline || !fetch::has_downloader(&settings.environment) {
        return None;
    }
    let platform = settings.environment.platform;
    let packages = search::to_fetch(parts, settings, needs)?.into_iter();
    packages
        .map(|package| Available::of(package, platform))
        .collect()
}

/// A warning if the parts that will be used together are of different CUDA releases.
pub fn mixed(parts: &[Candidate]) -> Option<Diagnostic> {
    search::mixed(parts, &Needs::default())
}

/// Fetches components of the newest release that is asked for; all that there are if none is named.
/// What is here already is left alone.
///
/// # Errors
/// Usage if no such release or component can be fetched; else as [`obtain`].
pub fn install(
    release: Option<VersionRequest>,
    components: &[Component],
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Vec<Installed>> {
    let platform = settings.environment.platform;
    let packages = pins::for_install(release, components, platform)?;
    let absent = fetch::absent(&packages, &settings.environment);
    if settings.offline && !absent.is_empty() {
        let names: Vec<_> = absent.iter().map(|package| package.name).collect();
        let message = format!("cannot download {} offline", names.join(", "));
        return Err(Error::missing(Code::FetchFailed, message)
            .hint("leave out `--offline` and unset `CUDALINK_OFFLINE`"));
    }
    fetch::install(&packages, settings, observer)
}
