//! The program as a user runs it: exit codes, documents, and a download that is killed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A folder of one's own, and an environment in which nothing else is found.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.path("bin")).unwrap();
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn store(&self) -> PathBuf {
        let folders = fs::read_dir(self.path("data/toolkit")).unwrap();
        folders.map(|entry| entry.unwrap().path()).next().unwrap()
    }

    /// A shell script on `PATH` that stands for pip.
    fn python(&self, script: &str) {
        let path = self.path("bin/python3");
        let text = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\n\
             while [ $# -gt 0 ]; do case $1 in --dest) dest=$2;; esac; shift; done\n{script}\n"
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn cudalink(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudalink"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("CUDALINK_DATA_DIR", self.path("data"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.cudalink(arguments).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn staging(store: &Path) -> usize {
    let names = fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_str().unwrap().starts_with(".staging-"))
        .count()
}

#[test]
fn doctor_ends_with_3_if_nothing_can_be_linked() {
    let home = Home::new();
    let missing = home.path("gone.so");
    let mut command = home.cudalink(&["doctor", "--nvjitlink", missing.to_str().unwrap()]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    assert!(said.contains("`--nvjitlink` names"), "{said}");
    assert!(output.stderr.is_empty());

    let mut command = home.cudalink(&["doctor", "--format", "json"]);
    let output = command
        .env("CUDALINK_NVJITLINK", &missing)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report = json(&output);
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["work"][0]["name"], "link");
    assert_eq!(report["work"][0]["state"], "missing");
    let candidate = &report["components"][0]["candidates"][0];
    assert_eq!(candidate["source"], "variable");
    assert_eq!(candidate["verdict"], "unsuitable");
}

#[test]
fn doctor_ends_with_0_if_a_download_would_help() {
    let home = Home::new();
    home.python("exit 1");
    let output = home.run(&["doctor", "--toolkit", "12.4"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let output = home.run(&["doctor", "--toolkit", "12.4", "--offline"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_failed_download_ends_with_3_and_quotes_pip() {
    let home = Home::new();
    home.python("echo 'ERROR: something about the index'; exit 1");
    let output = home.run(&["toolkit", "install", "12.4"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("fetching nvJitLink 12.4.127 (20"), "{said}");
    assert!(said.contains("error[fetch-failed]"), "{said}");
    assert!(
        said.contains("  | ERROR: something about the index"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
}

/// The file is not the pinned one, whatever pip thinks of it.
#[test]
fn a_file_with_another_hash_is_refused() {
    let home = Home::new();
    home.python("mkdir -p \"$dest\"; echo junk > \"$dest/a.whl\"");
    let output = home.run(&["toolkit", "install", "12.4"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("expected sha256"));
    assert_eq!(staging(&home.store()), 0);
}

#[test]
fn offline_nothing_starts() {
    let home = Home::new();
    home.python(&format!("echo x > '{}'", home.path("started").display()));
    let mut command = home.cudalink(&["toolkit", "install", "12.4"]);
    let output = command.env("CUDALINK_OFFLINE", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(!home.path("started").exists());
}

#[test]
fn a_killed_download_leaves_nothing_that_counts() {
    let home = Home::new();
    home.python("mkdir -p \"$dest\"; echo half > \"$dest/a.whl\"; exec sleep 5");
    let mut child = home
        .cudalink(&["-q", "toolkit", "install", "12.4"])
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !home.path("data/toolkit").is_dir() || staging(&home.store()) == 0 {
        assert!(Instant::now() < deadline, "the download did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let listing = json(&home.run(&["toolkit", "list", "--format", "json"]));
    assert_eq!(listing["installed"].as_array().unwrap().len(), 0);
    assert_eq!(staging(&home.store()), 1);
    home.python("exit 1");
    home.run(&["toolkit", "install", "12.4"]);
    assert_eq!(staging(&home.store()), 0, "the next one clears up");
}

#[test]
fn wrong_words_are_usage_errors() {
    let home = Home::new();
    for arguments in [
        &["toolkit", "install", "11"][..],
        &["toolkit", "install", "--component", "nvcc"],
        &["toolkit", "install", "--component", "ptxas"],
        &["toolkit", "install", "newest"],
        &["toolkit", "remove"],
        &["toolkit", "remove", "13", "--all"],
        &["toolkit"],
    ] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let output = home.run(&["toolkit", "remove", "13"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing of CUDA 13"));
}

#[test]
fn help_lists_the_variables() {
    let home = Home::new();
    for arguments in [&["help", "environment"][..], &["environment"]] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("CUDALINK_DATA_DIR"));
    }
}
