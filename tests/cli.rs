//! Runs the commands in `tests/cli/<subcommand>/*.txt` and compares all that they print with what stands there.
//! `BLESS=1 cargo test --test cli` rewrites the files: look at the difference before it is committed.
//!
//! In a file, `$` is a command, `>` a line of stdout, `!` one of stderr, `?` an exit status that is not 0, and `+` a
//! file that was made, with its kind. `# needs 12.9` fetches another release of nvJitLink first, `# installs nvrtc`
//! another component. Commands run in an empty folder with
//! the fixtures in it, one after the other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::env;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let folder = env::root().join("tests/cli");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .flat_map(|subcommand| std::fs::read_dir(subcommand.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        trials.push(Trial::test(name, move || run(&file)));
    }
    assert!(!trials.is_empty(), "no test in {}", folder.display());
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(file: &Path) -> Result<(), Failed> {
    let wanted = std::fs::read_to_string(file).unwrap();
    std::sync::LazyLock::force(&env::NVJITLINK);
    let place = tempfile::tempdir().unwrap();
    for fixture in std::fs::read_dir(env::root().join("fixtures")).unwrap() {
        let fixture = fixture.unwrap().path();
        if fixture.is_file() {
            std::fs::copy(&fixture, place.path().join(fixture.file_name().unwrap())).unwrap();
        }
    }
    let mut got = String::new();
    for line in wanted.lines() {
        if let Some(release) = line.strip_prefix("# needs ") {
            env::install(release, "nvjitlink");
        }
        if let Some(component) = line.strip_prefix("# installs ") {
            env::install("13.5", component);
        }
        if line.starts_with('#') || line.is_empty() {
            writeln!(got, "{line}").unwrap();
        }
        if let Some(command) = line.strip_prefix("$ ") {
            writeln!(got, "{line}").unwrap();
            step(command, place.path(), &mut got);
        }
    }
    if got == wanted {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, got).unwrap();
        return Ok(());
    }
    let difference: String = diff(&wanted, &got);
    Err(format!(
        "what is printed is not what {} says:\n{difference}",
        file.display()
    )
    .into())
}

/// Runs one command and writes down all that it did.
fn step(command: &str, place: &Path, got: &mut String) {
    let before = files(place);
    let out = shell(command, place).output().unwrap();
    for (mark, bytes) in [('>', &out.stdout), ('!', &out.stderr)] {
        for line in stable(&String::from_utf8_lossy(bytes), place).lines() {
            writeln!(got, "{}", format!("{mark} {line}").trim_end()).unwrap();
        }
    }
    match out.status.code() {
        Some(0) => {}
        Some(code) => writeln!(got, "? {code}").unwrap(),
        None => writeln!(got, "? {}", out.status).unwrap(),
    }
    for name in files(place).difference(&before) {
        let bytes = std::fs::read(place.join(name)).unwrap();
        let kind = cudalink::format::classify(&bytes);
        writeln!(got, "+ {name} {} {}", kind.kind, kind.format).unwrap();
        if bytes.starts_with(b"\x7fELF") || name.starts_with("out.") {
            std::fs::remove_file(place.join(name)).unwrap();
        }
    }
}

/// The shell gives tests pipes, redirections and printf; `cudalink` in it is the program under test.
fn shell(command: &str, place: &Path) -> Command {
    let program = env::cudalink();
    let mut shell = Command::new("sh");
    shell.env_clear();
    for (name, value) in program.get_envs() {
        shell.env(name, value.unwrap());
    }
    let path = std::env::var("PATH").unwrap();
    // Kept results would hide what the library does.
    let cache = place.with_extension("cache");
    let folder = Path::new(env!("CARGO_BIN_EXE_cudalink")).parent().unwrap();
    shell
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("CUDALINK_OFFLINE", "1")
        .env("CUDALINK_CACHE_DIR", cache)
        .current_dir(place)
        .stdin(Stdio::null())
        .args(["-c", command]);
    shell
}

fn files(place: &Path) -> BTreeSet<String> {
    std::fs::read_dir(place)
        .unwrap()
        .map(Result::unwrap)
        .filter(|file| file.path().is_file())
        .map(|file| file.file_name().into_string().unwrap())
        .collect()
}

/// Without what differs from machine to machine.
fn stable(text: &str, place: &Path) -> String {
    let data = env::data_dir();
    text.replace(&data.display().to_string(), "[DATA]")
        .replace(
            &place.with_extension("cache").display().to_string(),
            "[CACHE]",
        )
        .replace(&place.display().to_string(), "[HERE]")
        .replace(std::env::consts::ARCH, "[CPU]")
}

fn diff(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), got.lines().collect());
    let same = wanted.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let mut out = String::new();
    for line in &wanted[same.saturating_sub(2)..same] {
        writeln!(out, "  {line}").unwrap();
    }
    for (mark, lines) in [('-', &wanted), ('+', &got)] {
        for line in lines.iter().skip(same).take(25) {
            writeln!(out, "{mark} {line}").unwrap();
        }
    }
    out
}
