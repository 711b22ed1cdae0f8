//! What several test programs share.
#![allow(dead_code)]

pub mod env;

use std::path::{Path, PathBuf};

/// A tool of the CUDA toolkit: `$CUDA_HOME/bin`, or on the path.
pub fn cuda_tool(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin").join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    home.into_iter().chain(on_path).find(|path| path.is_file())
}

/// Every file among the fixtures and in `CUDALINK_ORACLE_FILES` (a list separated by `:`, for real files
/// that no repository can hold) that `wanted` takes, with its bytes.
pub fn files(wanted: fn(&[u8]) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    walk(&fixtures, &mut paths);
    let more = std::env::var_os("CUDALINK_ORACLE_FILES").unwrap_or_default();
    for path in std::env::split_paths(&more) {
        if path.is_dir() {
            walk(&path, &mut paths);
        } else if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .filter(|(_, bytes)| wanted(bytes))
        .collect()
}

/// Ends a test early and says why; `CUDALINK_TEST_STRICT=1` makes that a failure.
#[allow(clippy::print_stderr)]
pub fn skip(why: &str) {
    let strict = std::env::var_os("CUDALINK_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(!strict, "would be skipped: {why}");
    eprintln!("skipped: {why}");
}
