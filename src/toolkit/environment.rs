use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::Platform;

/// What the search for libraries depends on, as plain data: no function here reads the process's own
/// environment, so that tests can give any.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `--nvjitlink PATH`.
    pub nvjitlink: Option<PathBuf>,
    /// `--toolkit DIR|VERSION`.
    pub toolkit: Option<String>,
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
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }
}
