use std::ffi::OsString;
use std::path::PathBuf;

use super::Context;
use crate::toolkit::Settings;

/// Flags that say which of NVIDIA's libraries are used.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LibraryFlags {
    /// Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]
    #[arg(long, value_name = "PATH")]
    nvjitlink: Option<PathBuf>,
    /// Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]
    #[arg(long, value_name = "DIR|VERSION")]
    toolkit: Option<OsString>,
}

impl LibraryFlags {
    /// The flags, with the environment of this process.
    pub fn settings(&self, context: &Context) -> Settings {
        Settings {
            nvjitlink: self.nvjitlink.clone(),
            toolkit: self.toolkit.clone(),
            ..Settings::from_process(context.offline)
        }
    }
}
