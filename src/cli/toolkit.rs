use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use crate::error::{Code, Error, Result};
use crate::toolkit::{
    self, Available, Component, Environment, Installed, Settings, VersionRequest,
};
use crate::ui::table::{Table, human_bytes};

/// Fetch, list and remove NVIDIA's libraries
///
/// cudalink fetches what a link lacks by itself. These commands do it beforehand, for a machine that
/// will be without a network, or for another release. Downloads go through pip, with its mirrors,
/// proxies and certificates, and each is checked against a hash that is built in.
#[derive(Debug, clap::Args)]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Install(Install),
    List(List),
    Remove(Remove),
}

/// Download libraries into cudalink's own folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudalink toolkit install\n  cudalink toolkit install 12.9 --component nvjitlink"
)]
struct Install {
    /// The CUDA release: 13, 13.5 or 13.5.37; left out, the newest
    #[arg(value_name = "VERSION")]
    release: Option<VersionRequest>,
    /// Only what holds this component; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    component: Vec<Component>,
}

/// Show what has been fetched and what can be
#[derive(Debug, clap::Args)]
struct List {
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
}

/// Delete libraries that have been fetched
#[derive(Debug, clap::Args)]
struct Remove {
    /// The CUDA release: 13, 13.5 or 13.5.37
    #[arg(value_name = "VERSION", required_unless_present = "all")]
    release: Option<VersionRequest>,
    /// Delete every release
    #[arg(long, conflicts_with = "release")]
    all: bool,
    /// Only what holds this component; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    component: Vec<Component>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let settings = Settings::from_process(context.offline);
        match self.action {
            Action::Install(opts) => opts.run(context, &settings),
            Action::List(opts) => opts.run(context, &settings.environment),
            Action::Remove(opts) => opts.run(context, &settings.environment),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Install {
    fn run(&self, context: &Context, settings: &Settings) -> Result<()> {
        toolkit::install(self.release, &self.component, settings, &context.printer).map(drop)
    }
}

/// What `toolkit list --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing {
    pub schema_version: u32,
    /// Where fetched libraries are, unless no home is set.
    pub folder: Option<PathBuf>,
    pub installed: Vec<Installed>,
    /// What can be fetched for this platform, the installed included.
    pub available: Vec<Available>,
}

impl Listing {
    fn new(environment: &Environment) -> Self {
        Self {
            schema_version: 1,
            folder: toolkit::folder(environment),
            installed: toolkit::installed(environment),
            available: toolkit::available(environment.platform),
        }
    }

    fn text(&self) -> String {
        let mut table = Table::new([
            "release",
            "components",
            "version",
            "package",
            ">size",
            "state",
        ]);
        let names = |components: &[Component]| {
            let names: Vec<_> = components
                .iter()
                .map(|component| component.as_str())
                .collect();
            names.join(", ")
        };
        for package in &self.installed {
            table.row([
                package.release.to_string(),
                names(&package.components),
                package.version.to_string(),
                package.package.clone(),
                human_bytes(package.size),
                format!("in {}", package.path.display()),
            ]);
        }
        let is_here = |package: &Available| {
            let mut installed = self.installed.iter();
            installed.any(|here| here.package == package.package && here.version == package.version)
        };
        for package in self.available.iter().filter(|package| !is_here(package)) {
            table.row([
                package.release.to_string(),
                names(&package.components),
                package.version.to_string(),
                package.package.clone(),
                human_bytes(package.size),
                "can be fetched".to_owned(),
            ]);
        }
        table.render()
    }
}

impl List {
    fn run(&self, context: &Context, environment: &Environment) -> Result<()> {
        let listing = Listing::new(environment);
        context.printer.data(match self.format {
            Format::Text => listing.text(),
            Format::Json => json(&listing)?,
        })
    }
}

/// One document, readable, with a newline at its end.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    let text =
        text.map_err(|e| Error::failed(Code::Internal, format!("cannot write JSON: {e}")))?;
    Ok(text + "\n")
}

impl Remove {
    fn run(&self, context: &Context, environment: &Environment) -> Result<()> {
        let removed =
            toolkit::remove(environment, self.release, &self.component, &context.printer)?;
        if removed.is_empty() {
            let message = match self.release {
                Some(release) => format!("nothing of CUDA {release} that cudalink fetched is here"),
                None => "nothing that cudalink fetched is here".to_owned(),
            };
            return Err(Error::failed(Code::LibraryNotFound, message)
                .hint("`cudalink toolkit list` shows what is here"));
        }
        for package in removed {
            context.printer.status(&format!(
                "removed `{}` {} ({})",
                package.package,
                package.version,
                human_bytes(package.size)
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_current() {
        crate::cli::tests::schema_is_current::<Listing>("toolkit-list.json");
    }

    #[test]
    fn the_list_shows_each_package_once() {
        let environment = Environment::of("/", [("HOME", "/nowhere")]);
        let listing = Listing::new(&environment);
        assert!(listing.installed.is_empty());
        let lines = listing.text().lines().count();
        assert_eq!(lines, 1 + listing.available.len());
    }
}
