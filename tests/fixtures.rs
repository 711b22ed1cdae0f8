//! The table of `fixtures/README.md` and the files beside it say the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cudalink::code::ObjectCode;

const MOST_BYTES: u64 = 3 << 20;

/// What the table says of one file; a row of a folder says neither kind nor size.
#[derive(Debug)]
struct Row {
    kind: String,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Table {
    files: BTreeMap<String, Row>,
    folders: BTreeSet<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn table() -> Table {
    let text = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut table = Table::default();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", name, kind, bytes, _tool, _command, _property, ""] = cells[..] else {
            panic!("is no row of six cells: {line}");
        };
        let name = name.trim_matches('`').to_owned();
        let is_new = if let Some(name) = name.strip_suffix('/') {
            table.folders.insert(name.to_owned())
        } else {
            let kind = kind.to_owned();
            let bytes = bytes.parse().unwrap();
            table.files.insert(name, Row { kind, bytes }).is_none()
        };
        assert!(is_new, "stands twice: {line}");
    }
    table
}

#[test]
fn the_table_lists_what_is_there() {
    let table = table();
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            folders.insert(name);
        } else if !["README.md", "make.sh"].contains(&&*name) {
            files.insert(name);
        }
    }
    assert_eq!(folders, table.folders);
    assert_eq!(files, table.files.into_keys().collect());
}

#[test]
fn each_file_has_the_size_and_the_kind_of_its_row() {
    for (name, row) in table().files {
        let code = ObjectCode::open(&folder().join(&name)).unwrap();
        assert_eq!(code.blob.len() as u64, row.bytes, "{name}");
        assert_eq!(code.kind().as_str(), row.kind, "{name}");
    }
}

#[test]
fn all_are_small() {
    fn size(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap());
        entries
            .map(|entry| match entry.path() {
                path if path.is_dir() => size(&path),
                _ => entry.metadata().unwrap().len(),
            })
            .sum()
    }
    let bytes = size(&folder());
    assert!(bytes < MOST_BYTES, "{bytes} bytes of fixtures");
}
