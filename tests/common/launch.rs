//! `cudalink run` as a process, for the test programs that launch kernels.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The program under test: `CUDALINK_BIN` where the test program was carried to another machine, else the
/// one that was built with it.
pub fn program() -> PathBuf {
    std::env::var_os("CUDALINK_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_cudalink")),
        |path| std::path::absolute(path).unwrap(),
    )
}

/// `cudalink run` with `arguments`, which stand in one text between blanks.
pub fn run(arguments: &str) -> Command {
    let mut command = Command::new(program());
    command
        .arg("run")
        .args(arguments.split_whitespace())
        .args(["--color", "never"]);
    command
}

/// What a process left.
#[derive(Debug)]
#[allow(dead_code, reason = "shown when a test fails")]
pub struct Outcome {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn of(command: &mut Command) -> Self {
        let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let arguments = arguments.join(" ");
        let output: Output = command.output().unwrap();
        Self {
            command: arguments,
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Fails unless it ended with this status.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Fails unless stderr has all of these.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "`{part}` is missing in {self:#?}"
            );
        }
        self
    }

    /// Fails unless stdout has all of these.
    #[track_caller]
    pub fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stdout.contains(part),
                "`{part}` is missing in {self:#?}"
            );
        }
        self
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}
