//! Guards of the architecture: the row of folders, `unsafe` only in `ffi`, printing only in `ui`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

/// Each folder (or file) may import only from those before it.
const ROW: &[&str] = &[
    "error", "observe", "bytes", "format", "code", "inspect", "audit", "pack", "ffi", "toolkit",
    "cache", "worker", "compile", "link", "run", "ui", "cli",
];

/// `ui` renders and `cli` uses it; nothing between may. `ffi` is for those to its right.
const UI_USERS: &[&str] = &["ui", "cli"];

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        let mut entries: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut out = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut out);
    assert!(out.len() > 10, "the sources were not found");
    out
}

/// The first folder (or file stem) below `src`: `format` for `src/format/fatbin.rs`.
fn part(path: &Path) -> String {
    let inside = path
        .strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
        .unwrap();
    let first = inside
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_str()
        .unwrap();
    first.trim_end_matches(".rs").to_owned()
}

fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn folders_import_only_to_their_left() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let own = part(&path);
        let Some(own_at) = ROW.iter().position(|name| *name == own) else {
            assert!(
                ["lib", "main", "build"].contains(&own.as_str()),
                "{own} is not in the row of folders"
            );
            continue;
        };
        for (number, line) in code_lines(&text) {
            for imported in line.split("crate::").skip(1) {
                let name: String = imported
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let Some(at) = ROW.iter().position(|known| *known == name) else {
                    continue;
                };
                if at > own_at || (name == "ui" && !UI_USERS.contains(&own.as_str())) {
                    wrong.push(format!("{}:{number}: {own} imports {name}", path.display()));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against the row of folders:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn unsafe_code_is_in_ffi_alone() {
    // The one mapping of a file, explained where it stands.
    const ALLOWED: (&str, usize) = ("bytes/open.rs", 2);
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if part(&path) == "ffi" {
            continue;
        }
        let hits: Vec<_> = code_lines(&text)
            .filter(|(_, line)| line.contains("unsafe"))
            .collect();
        let allowed = if path.ends_with(ALLOWED.0) {
            ALLOWED.1
        } else {
            0
        };
        if hits.len() > allowed {
            wrong.push(format!("{}: {hits:?}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "unsafe outside ffi:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn printing_and_exiting_have_one_place() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let own = part(&path);
        if own == "ui" || own == "build" {
            continue;
        }
        for (number, line) in code_lines(&text) {
            for word in ["println!", "eprintln!", "print!(", "process::exit"] {
                if line.contains(word) {
                    wrong.push(format!("{}:{number}: {word}", path.display()));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "printing or exiting outside ui:\n{}",
        wrong.join("\n")
    );
}
