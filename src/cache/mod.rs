//! Results that were computed before, found again by a hash of everything that they depend on.
//!
//! A cache never fails a command: what cannot be read, written or believed counts as not there.

mod folder;
mod library;

use std::path::{Path, PathBuf};

pub use folder::{Folder, Stats};
pub use library::hash_of_library;

use crate::toolkit::Environment;

/// A hash of everything that a result depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// Of parts in order; none can run into the next.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Results of another build of this program are not its own.
        for part in std::iter::once(env!("CUDALINK_VERSION").as_bytes()).chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// In hexadecimal.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

/// Where results are kept.
pub trait Store: Sync + Send {
    /// What was put under the key, unchanged; errors are a line for people.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, String>;

    fn put(&self, key: &Key, value: &[u8]) -> Result<(), String>;
}

/// The cache of a command.
#[derive(Default)]
pub struct Cache {
    store: Option<Box<dyn Store>>,
    folder: Option<PathBuf>,
    limit: Option<u64>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("folder", &self.folder)
            .finish()
    }
}

impl Cache {
    /// Keeps nothing and finds nothing.
    pub fn off() -> Self {
        Self::default()
    }

    pub fn in_folder(folder: &Path, limit: u64) -> Self {
        Self {
            store: Some(Box::new(Folder::new(folder, limit))),
            folder: Some(folder.to_owned()),
            limit: Some(limit),
        }
    }

    /// The user's cache, as the environment says.
    pub fn of_user(environment: &Environment) -> Self {
        match folder_of(environment) {
            Some(folder) => Self::in_folder(&folder, limit_of(environment)),
            None => Self::off(),
        }
    }

    /// Where this cache keeps what belongs to this machine.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Most bytes that it may take.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub fn is_on(&self) -> bool {
        self.store.is_some()
    }

    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.store.as_ref()?.get(key).ok().flatten()
    }

    pub fn put(&self, key: &Key, value: &[u8]) {
        if let Some(store) = &self.store {
            // The next command computes it again.
            let _ = store.put(key, value);
        }
    }
}

/// `CUDALINK_CACHE_DIR`, or `cudalink` in the user's folder for caches.
pub fn folder_of(environment: &Environment) -> Option<PathBuf> {
    if let Some(folder) = environment.path("CUDALINK_CACHE_DIR") {
        return Some(folder);
    }
    let home = |below: &str| environment.path("HOME").map(|home| home.join(below));
    let base = match environment.platform.os {
        crate::toolkit::Os::Windows => environment.path("LOCALAPPDATA"),
        crate::toolkit::Os::MacOs => home("Library/Caches"),
        crate::toolkit::Os::Linux => environment
            .path("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| home(".cache")),
    };
    base.map(|base| base.join("cudalink"))
}

/// Where compilers unpack the headers that they bring, a folder for each release.
pub fn headers_in(folder: &Path) -> PathBuf {
    folder.join("headers")
}

/// Bytes that the cache may take: `CUDALINK_CACHE_SIZE` in MiB, or 2 GiB.
fn limit_of(environment: &Environment) -> u64 {
    let given = environment
        .get("CUDALINK_CACHE_SIZE")
        .and_then(|text| text.to_str());
    given
        .and_then(|text| text.parse::<u64>().ok())
        .map_or(2 << 30, |mib| mib.saturating_mul(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let key = |parts: &[&str]| Key::of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(key(&["a", "b"]), key(&["a", "b"]));
        assert_ne!(key(&["ab", ""]), key(&["a", "b"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
    }

    #[test]
    fn folders() {
        let of = |variables: &[(&str, &str)]| {
            folder_of(&Environment::of("/", variables.iter().copied()))
        };
        assert_eq!(
            of(&[("CUDALINK_CACHE_DIR", "/c"), ("HOME", "/h")]),
            Some("/c".into())
        );
        assert_eq!(of(&[]), None);
        if cfg!(target_os = "linux") {
            assert_eq!(of(&[("HOME", "/h")]), Some("/h/.cache/cudalink".into()));
            assert_eq!(
                of(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
                Some("/x/cudalink".into())
            );
        }
    }
}
