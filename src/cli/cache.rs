use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use crate::cache::{self, Cache, Folder, Stats};
use crate::error::{Code, Error, Result};
use crate::toolkit::Environment;
use crate::ui::table::human_bytes;

/// Show or empty the cache of links
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Links that were done before, with the same inputs, options and library, are not done again.
The cache is bounded, and any number of cudalinks may share it. Examples:
  cudalink cache stats
  cudalink cache clear
  CUDALINK_CACHE_DIR=/fast/cache cudalink link a.o b.o
  cudalink link --no-cache a.o b.o"
)]
pub struct Opts {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say where the cache is and how much it holds
    Stats {
        /// How it is written to stdout
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Remove all that it holds
    Clear,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

/// What `cudalink cache stats --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    schema_version: u32,
    folder: String,
    #[serde(flatten)]
    stats: Stats,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let cache = Cache::of_user(&Environment::of_process());
        let (Some(folder), Some(limit)) = (cache.folder(), cache.limit()) else {
            return Err(
                Error::failed(Code::Unreadable, "there is no folder for a cache")
                    .hint("set `CUDALINK_CACHE_DIR`"),
            );
        };
        let store = Folder::new(folder, limit);
        match self.command {
            Command::Stats { format } => {
                let report = Report {
                    schema_version: 1,
                    folder: folder.display().to_string(),
                    stats: store.stats(),
                };
                context.printer.data(match format {
                    Format::Text => text(&report),
                    Format::Json => {
                        serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
                    }
                })?;
            }
            Command::Clear => {
                let removed = store
                    .clear()
                    .map_err(|error| Error::io(folder, "remove", &error))?;
                let size = human_bytes(removed.bytes);
                let headers = match remove_headers(folder)? {
                    true => ", and unpacked headers",
                    false => "",
                };
                context
                    .printer
                    .status(&format!("removed {} files, {size}{headers}", removed.files));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Removes what compilers unpacked there; tells whether there was something.
fn remove_headers(folder: &Path) -> Result<bool> {
    let headers = cache::headers_in(folder);
    match std::fs::remove_dir_all(&headers) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(&headers, "remove", &error)),
    }
}

fn text(report: &Report) -> String {
    let stats = report.stats;
    format!(
        "folder  {}\nfiles   {}\nsize    {} of {}\n",
        report.folder,
        stats.files,
        human_bytes(stats.bytes),
        human_bytes(stats.limit)
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn schema() {
        super::super::tests::schema_is_current::<super::Report>("cache-stats.json");
    }
}
