use std::process::ExitCode;

use super::Context;
use crate::error::Result;
use crate::ui::table::Table;

/// Every variable that is read, and what for, in the order of its help.
#[rustfmt::skip] // one variable a line
const VARIABLES: &[(&str, &str)] = &[
    ("CUDALINK_NVJITLINK", "the nvJitLink library to use and no other, as --nvjitlink"),
    ("CUDALINK_TOOLKIT", "the toolkit's folder or release to use and no other, as --toolkit"),
    ("CUDALINK_LIBCUDA", "the CUDA driver library to use and no other"),
    ("CUDALINK_OFFLINE", "never use the network, as --offline; `0`, `false` and `no` mean not set"),
    ("CUDALINK_DATA_DIR", "where fetched libraries are kept, instead of `cudalink` in the user's folder for data"),
    ("CUDALINK_CACHE_DIR", "where results of links and unpacked headers are kept, instead of `cudalink` in the user's folder for caches"),
    ("CUDALINK_CACHE_SIZE", "most MiB that they may take; 2048 if not set"),
    ("NO_COLOR", "no colour"),
    ("CLICOLOR", "`0` means no colour"),
    ("CLICOLOR_FORCE", "colour even where the output is no terminal"),
    ("TERM", "`dumb` means no colour"),
    ("VIRTUAL_ENV", "the Python environment in whose packages libraries are looked for first"),
    ("PYENV_VERSION", "which Python a shim of pyenv on PATH stands for"),
    ("PYTHONUSERBASE", "where the user's own Python packages are"),
    ("CONDA_PREFIX", "the conda environment in which libraries are looked for"),
    ("CUDA_PATH", "a CUDA toolkit in which libraries are looked for"),
    ("CUDA_HOME", "the same, after CUDA_PATH"),
    ("LD_LIBRARY_PATH", "folders in which libraries are looked for by soname"),
    ("PATH", "where python3, pip, uv and NVIDIA's programs are; libraries are never taken from there"),
    ("HOME", "the user's folder"),
    ("XDG_CACHE_HOME", "the user's folder for caches, on Linux"),
    ("XDG_DATA_HOME", "the user's folder for data, on Linux"),
    ("LOCALAPPDATA", "the user's folder for data and caches, on Windows"),
    ("APPDATA", "where the user's own Python packages are, on Windows"),
    ("ProgramFiles", "where CUDA toolkits are installed, on Windows"),
    ("SystemRoot", "where the driver is, on Windows"),
];

/// Show the environment variables that cudalink reads
#[derive(Debug, clap::Args)]
#[command(long_about = long_about())]
pub struct Opts {}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        context.printer.data(table())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn table() -> String {
    let mut table = Table::new(["variable", "meaning"]);
    for (name, meaning) in VARIABLES {
        table.row([(*name).to_owned(), (*meaning).to_owned()]);
    }
    table.render()
}

fn long_about() -> String {
    format!(
        "Show the environment variables that cudalink reads\n\nAn empty variable counts as not set. \
         Programs that cudalink starts, such as pip, read their own.\n\n{}",
        table()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The quoted words in the code before its tests.
    fn literals(folder: &Path, out: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                literals(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.ends_with("cli/environment.rs")
                && !path.ends_with("tests.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("\nmod tests {").next().unwrap();
                out.extend(code.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }

    #[test]
    fn the_table_and_the_sources_agree() {
        let mut words = BTreeSet::new();
        literals(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut words,
        );
        let listed: BTreeSet<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed.len(), VARIABLES.len());
        // These are the build's, the tests' and the workers' own.
        let foreign = [
            "CUDALINK_VERSION",
            "CUDALINK_TEST_STRICT",
            "CUDALINK_RUN_STDIN",
            "CUDALINK_RUN_WORKER",
        ];
        let is_variable = |word: &&String| {
            word.strip_prefix("CUDALINK_").is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            })
        };
        for word in words.iter().filter(is_variable) {
            assert!(
                listed.contains(&**word) || foreign.contains(&&**word),
                "`{word}` is read and not listed"
            );
        }
        // Colour is decided in a crate of its own.
        let elsewhere = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"];
        for name in listed {
            assert!(
                words.contains(name) || elsewhere.contains(&name),
                "`{name}` is listed and not read"
            );
        }
    }

    /// The functions of `toolkit` that read a variable, against the table.
    #[test]
    fn what_the_search_reads_is_listed() {
        fn reads(folder: &Path, out: &mut BTreeSet<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                for call in [
                    "nvironment.get(\"",
                    "nvironment.path(\"",
                    "self.path(\"",
                    "self.folders(\"",
                    ".folders(\"",
                ] {
                    let calls = text.split(call).skip(1);
                    out.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
                }
            }
        }
        let mut read = BTreeSet::new();
        reads(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/toolkit"),
            &mut read,
        );
        assert!(read.len() > 10, "{read:?}");
        for name in read {
            assert!(
                VARIABLES.iter().any(|(listed, _)| *listed == name),
                "`{name}` is read and not listed"
            );
        }
    }
}
