use std::path::PathBuf;
use std::process::ExitCode;

use super::Context;
use crate::error::{Error, Result};

/// Write man pages, one for each subcommand
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cudalink man ~/.local/share/man/man1")]
pub struct Opts {
    /// The folder to write to; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::io(&self.folder, "create", &e))?;
        clap_mangen::generate_to(super::command(), &self.folder)
            .map_err(|e| Error::io(&self.folder, "write to", &e))?;
        context
            .printer
            .status(&format!("man pages written to {}", self.folder.display()));
        Ok(ExitCode::SUCCESS)
    }
}
