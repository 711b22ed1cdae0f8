//! What cudalink has fetched: `<data>/toolkit/<os>-<cpu>/<release>/<package>/`, each package folder
//! complete from the moment it is there, because it arrives by one rename.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Component, Environment, Version, VersionRequest, pins};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::observe::Observer;

/// The file in a package's folder that says what it is.
pub(super) const MANIFEST: &str = "package.json";
/// How the names of unfinished and of dying folders begin.
pub(super) const STAGING: &str = ".staging-";

/// One fetched package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Installed {
    /// The CUDA release, such as `13.5`.
    pub release: Version,
    /// The Python package that it came from.
    pub package: String,
    pub version: Version,
    pub components: Vec<Component>,
    /// Of the wheel.
    pub sha256: String,
    /// Bytes on disk.
    pub size: u64,
    /// Where it is; not stored, since folders may be moved.
    #[serde(skip_deserializing)]
    pub path: PathBuf,
}

/// The folder of all that is fetched for this platform, whether it is there or not; `None` where no home
/// is set.
pub fn folder(environment: &Environment) -> Option<PathBuf> {
    let platform = environment.platform;
    let data = std::path::absolute(environment.data_dir()?).ok()?;
    Some(
        data.join("toolkit")
            .join(format!("{}-{}", platform.os, platform.cpu)),
    )
}

/// The folders of the fetched releases, newest first.
pub(super) fn releases(environment: &Environment) -> Vec<PathBuf> {
    let Some(Ok(entries)) = folder(environment).map(fs::read_dir) else {
        return Vec::new();
    };
    let mut found: Vec<(Version, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The folder of the package that holds a component, given its release's folder; only if complete.
pub(super) fn package(release: &Path, component: Component) -> Option<PathBuf> {
    let folder = release.join(pins::package_folder(component)?);
    folder.join(MANIFEST).is_file().then_some(folder)
}

/// The version of a fetched component, given its release's folder.
pub(super) fn version(release: &Path, component: Component) -> Option<Version> {
    Some(read_manifest(&package(release, component)?)?.version)
}

pub(super) fn read_manifest(folder: &Path) -> Option<Installed> {
    let text = fs::read(folder.join(MANIFEST)).ok()?;
    let mut package: Installed = serde_json::from_slice(&text).ok()?;
    package.path = folder.to_owned();
    Some(package)
}

/// Everything that is fetched, newest release first.
pub fn installed(environment: &Environment) -> Vec<Installed> {
    let mut packages = Vec::new();
    for release in releases(environment) {
        let Ok(entries) = fs::read_dir(release) else {
            continue;
        };
        let mut found: Vec<Installed> = entries
            .filter_map(|entry| read_manifest(&entry.ok()?.path()))
            .collect();
        found.sort_unstable_by(|a, b| a.components.cmp(&b.components));
        packages.extend(found);
    }
    packages
}

/// Deletes what is fetched: of one release, or of all; of some components, or of all. Returns what was
/// deleted.
///
/// # Errors
/// `output-unwritable` where the file system refuses; what was not deleted is then still whole.
pub fn remove(
    environment: &Environment,
    release: Option<VersionRequest>,
    components: &[Component],
    observer: &dyn Observer,
) -> Result<Vec<Installed>> {
    let Some(root) = folder(environment).filter(|root| root.is_dir()) else {
        return Ok(Vec::new());
    };
    let _lock = Lock::acquire(&root, observer).map_err(|e| Error::io(&root, "lock", &e))?;
    let mut removed = Vec::new();
    for package in installed(environment) {
        let wanted = release.is_none_or(|release| release.accepts(package.version))
            && (components.is_empty() || components.iter().any(|c| package.components.contains(c)));
        if !wanted {
            continue;
        }
        // First out of sight, in one step; then the deletion may take its time, or be interrupted.
        let dying = root.join(format!("{STAGING}{}-{}", package.package, package.version));
        let moved = fs::rename(&package.path, &dying);
        moved.map_err(|e| Error::io(&package.path, "remove", &e))?;
        fs::remove_dir_all(&dying).map_err(|e| Error::io(&dying, "remove", &e))?;
        if let Some(release) = package.path.parent() {
            // It stays if another package is in it.
            let _ = fs::remove_dir(release);
        }
        removed.push(package);
    }
    Ok(removed)
}

/// One process at a time changes the store. The lock goes with the process, however that ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for whoever has it. File systems that know no locks are used without: what is installed
    /// still arrives by a rename.
    pub fn acquire(root: &Path, observer: &dyn Observer) -> io::Result<Self> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join(".lock"))?;
        match file.try_lock() {
            Ok(()) => remove_leftovers(root),
            Err(TryLockError::WouldBlock) => {
                observer
                    .status("waiting for another cudalink that is changing the fetched libraries");
                file.lock()?;
            }
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(Self { _file: file })
    }
}

/// Deletes what a process left that was killed; the lock says that none is at work.
fn remove_leftovers(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(STAGING)) {
            // Leftovers do no harm but take room.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The store's folder, made if it is not there.
pub(super) fn create(environment: &Environment) -> Result<PathBuf> {
    let refuse = |message: String| {
        Error::new(
            Category::Missing,
            Diagnostic::error(Code::FetchFailed, message)
                .hint("name a folder that can be written to with `CUDALINK_DATA_DIR`"),
        )
    };
    let root = folder(environment)
        .ok_or_else(|| refuse("there is no folder to install to: no home is set".to_owned()))?;
    fs::create_dir_all(&root)
        .map_err(|error| refuse(format!("cannot create `{}`: {error}", root.display())))?;
    Ok(root)
}
