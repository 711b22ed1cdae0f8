//! The command line: global flags, one file a subcommand (`Opts` + `run`), and the way from an error
//! to an exit status.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser};

use crate::error::{Category, Result};
use crate::ui::{ColorChoice, MessageFormat, Printer};
use crate::worker;

mod interrupt;
mod libraries;
mod response;

/// Declares each subcommand once: module, variant, and dispatch.
macro_rules! subcommands {
    ($($(#[$attribute:meta])* $module:ident :: $variant:ident,)*) => {
        $(mod $module;)*

        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($(#[$attribute])* $variant(Box<$module::Opts>),)*
        }

        impl Command {
            fn run(self, context: &Context) -> Result<ExitCode> {
                match self { $(Self::$variant(opts) => opts.run(context),)* }
            }
        }
    };
}

subcommands! {
    link::Link,
    inspect::Inspect,
    extract::Extract,
    pack::Pack,
    prune::Prune,
    run::Run,
    doctor::Doctor,
    toolkit::Toolkit,
    cache::Cache,
    environment::Environment,
    explain::Explain,
    completions::Completions,
    man::Man,
}

/// Link, inspect, check and launch CUDA device code.
#[derive(Debug, Parser)]
#[command(name = "cudalink", version = env!("CUDALINK_VERSION"), propagate_version = true)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    args_override_self = true
)]
#[command(
    after_help = "Exit status: 0 done or yes, 1 failed or no, 2 usage, 3 a library, driver or device is \
    missing, 4 an input is damaged or unreadable, 124 timeout, 130 interrupted"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags that every subcommand takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Say nothing but results, warnings and errors
    #[arg(short, long, global = true, overrides_with = "verbose")]
    quiet: bool,
    /// Say what is decided and why
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = false
    )]
    color: ColorChoice,
    /// Show no progress bars
    #[arg(long, global = true)]
    no_progress: bool,
    /// How diagnostics are written to stderr
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    message_format: MessageFormat,
    /// Never use the network
    #[arg(long, global = true, env = "CUDALINK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
}

/// What a subcommand gets beside its own options.
#[derive(Debug)]
pub struct Context {
    pub printer: Printer,
    pub offline: bool,
    /// `@FILE`s that arguments were read from.
    pub response_files: Vec<PathBuf>,
}

/// Parses `arguments` (the first is the program), runs, prints, and returns the exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [_, argument, library] = &arguments[..]
        && argument == worker::ARGUMENT
    {
        return serve(library);
    }
    let mut response_files = Vec::new();
    let arguments = match prepare(arguments, &mut response_files) {
        Ok(arguments) => arguments,
        Err(error) => {
            Printer::default().error(&error);
            return ExitCode::from(error.category.exit_code());
        }
    };
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let global = &cli.global;
    let verbosity = if global.quiet {
        -1
    } else {
        i8::try_from(global.verbose).unwrap_or(i8::MAX)
    };
    let printer = Printer::new(
        global.color,
        global.message_format,
        verbosity,
        !global.no_progress,
    );
    let context = Context {
        printer,
        offline: global.offline,
        response_files,
    };
    match cli.command.run(&context) {
        Ok(code) => code,
        Err(error) => {
            printer.error(&error);
            ExitCode::from(error.category.exit_code())
        }
    }
}

/// This process is the worker of another one.
fn serve(library: &OsStr) -> ExitCode {
    match worker::serve(Path::new(library)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Printer::default().error(&error);
            ExitCode::from(error.category.exit_code())
        }
    }
}

/// Puts response files in their place, and foreign spellings into ours. `explain` takes any text as it is.
fn prepare(arguments: Vec<OsString>, files: &mut Vec<PathBuf>) -> Result<Vec<OsString>> {
    let mut is_value = false;
    let command = arguments.iter().skip(1).position(|argument| {
        let skip = is_value;
        is_value = argument == "--color" || argument == "--message-format";
        !skip
            && argument
                .to_str()
                .is_some_and(|text| !text.starts_with(['-', '@']))
    });
    let Some(command) = command.map(|index| index + 1) else {
        return response::expand(arguments, files);
    };
    if arguments[command] == "explain" {
        return Ok(arguments);
    }
    let is_link = arguments[command] == "link";
    let mut before = arguments;
    let after = response::expand(before.split_off(command + 1), files)?;
    before.extend(if is_link {
        link::spellings::turn(after)
    } else {
        after
    });
    Ok(before)
}

/// The parser itself, from which help, completions and man pages are made.
pub fn command() -> clap::Command {
    Cli::command()
}

fn usage(error: &clap::Error) -> ExitCode {
    // Help and version come this way as well and are no errors; a closed pipe is not one either.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(Category::Usage.exit_code())
    } else {
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    /// Compares the JSON schema of a report with the one in `tests/schema`; `BLESS=1` rewrites that.
    pub(super) fn schema_is_current<T: schemars::JsonSchema>(name: &str) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema");
        let path = folder.join(name);
        let text = serde_json::to_string_pretty(&schemars::schema_for!(T)).unwrap() + "\n";
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            known == text,
            "tests/schema/{name} is not what the code says: look at the change, then run with BLESS=1"
        );
    }

    #[test]
    fn the_command_tree_is_consistent() {
        super::command().debug_assert();
    }
}
