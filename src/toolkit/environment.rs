use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Os, Platform};

/// What the search for libraries depends on, as plain data: nothing in this folder reads the process's
/// own environment, so that tests can give any.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `--nvjitlink PATH`.
    pub nvjitlink: Option<PathBuf>,
    /// `--toolkit DIR|VERSION`.
    pub toolkit: Option<OsString>,
    /// Never use the network.
    pub offline: bool,
    pub environment: Environment,
}

impl Settings {
    /// No flags, and the environment of this process.
    pub fn from_process(offline: bool) -> Self {
        Self {
            nvjitlink: None,
            toolkit: None,
            offline,
            environment: Environment::of_process(),
        }
    }
}

impl Settings {
    /// Whether the user says which library to use.
    pub fn names_library(&self) -> bool {
        let variables = ["CUDALINK_NVJITLINK", "CUDALINK_TOOLKIT"];
        self.nvjitlink.is_some()
            || self.toolkit.is_some()
            || variables
                .iter()
                .any(|name| self.environment.get(name).is_some())
    }
}

/// A snapshot of the environment variables, and where the file system begins.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// What stands for `/` in fixed places such as `/usr/local/cuda`.
    pub root: PathBuf,
    pub platform: Platform,
}

impl Environment {
    pub fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            root: PathBuf::from("/"),
            platform: Platform::HOST,
        }
    }

    /// An environment of these variables alone.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(
        root: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        Self {
            variables: variables.map(|(k, v)| (k.into(), v.into())).collect(),
            root: root.into(),
            platform: Platform::HOST,
        }
    }

    /// The value of a variable; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = match self.platform.os {
            // There `Path` and `PATH` are one variable.
            Os::Windows => {
                let mut all = self.variables.iter();
                all.find(|(key, _)| key.eq_ignore_ascii_case(name))?.1
            }
            _ => self.variables.get(OsStr::new(name))?,
        };
        (!value.is_empty()).then_some(value)
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }

    /// The absolute folders of a variable such as `PATH`. Relative ones depend on the folder one
    /// happens to be in, and nothing is loaded or started from there.
    pub(super) fn folders(&self, name: &str) -> Vec<PathBuf> {
        let value = self.get(name).unwrap_or_default();
        std::env::split_paths(value)
            .filter(|folder| folder.is_absolute())
            .collect()
    }

    pub(super) fn search_path(&self) -> Vec<PathBuf> {
        self.folders("PATH")
    }

    /// An absolute path as it is below [`Environment::root`].
    pub(super) fn at_root(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The program that a shell would start for `name`.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let name = match self.platform.os {
            Os::Windows => format!("{name}.exe"),
            _ => name.to_owned(),
        };
        let mut folders = self.search_path().into_iter();
        folders.find_map(|folder| {
            let program = folder.join(&name);
            program.is_file().then_some(program)
        })
    }

    /// Where the user's programs keep data: `CUDALINK_DATA_DIR`, or `cudalink` in the system's usual
    /// folder. `None` where neither that nor a home is set.
    pub fn data_dir(&self) -> Option<PathBuf> {
        if let Some(folder) = self.path("CUDALINK_DATA_DIR") {
            return Some(folder);
        }
        let home = || self.path("HOME");
        let base = match self.platform.os {
            Os::Windows => self.path("LOCALAPPDATA"),
            Os::MacOs => home().map(|home| home.join("Library/Application Support")),
            Os::Linux => self
                .path("XDG_DATA_HOME")
                .filter(|folder| folder.is_absolute())
                .or_else(|| home().map(|home| home.join(".local/share"))),
        };
        base.map(|base| base.join("cudalink"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_of_each_system() {
        let folder = |os, variables: &[(&str, &str)]| {
            let mut environment = Environment::of("/", variables.iter().copied());
            environment.platform.os = os;
            environment.data_dir()
        };
        let home = ("HOME", "/home/u");
        let of = |path: &str| Some(PathBuf::from(path));
        assert_eq!(
            folder(Os::Linux, &[home]),
            of("/home/u/.local/share/cudalink")
        );
        assert_eq!(
            folder(Os::Linux, &[home, ("XDG_DATA_HOME", "/d")]),
            of("/d/cudalink")
        );
        assert_eq!(
            folder(Os::Linux, &[home, ("XDG_DATA_HOME", "d")]),
            of("/home/u/.local/share/cudalink")
        );
        assert_eq!(
            folder(Os::MacOs, &[home]),
            of("/home/u/Library/Application Support/cudalink")
        );
        assert_eq!(
            folder(Os::Windows, &[("LOCALAPPDATA", "/l")]),
            of("/l/cudalink")
        );
        assert_eq!(folder(Os::Windows, &[home]), None);
        assert_eq!(
            folder(Os::Linux, &[home, ("CUDALINK_DATA_DIR", "/x")]),
            of("/x")
        );
        assert_eq!(folder(Os::Linux, &[("HOME", "")]), None);
    }
}
