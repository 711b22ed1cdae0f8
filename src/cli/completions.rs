use std::process::ExitCode;

use clap_complete::Shell;

use super::Context;
use crate::error::Result;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cudalink completions bash > ~/.local/share/bash-completion/completions/cudalink"
)]
pub struct Opts {
    /// The shell to complete for
    shell: Shell,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "cudalink", &mut script);
        context.printer.data(script)?;
        Ok(ExitCode::SUCCESS)
    }
}
