//! Libraries by name: `-l NAME`, `-l:FILE`, `-L DIR`.

use std::path::{Path, PathBuf};

use crate::error::{Category, Code, Diagnostic, Error, Result};

/// Finds the archive that `-l` names, in the folders in their order.
///
/// # Errors
/// `unreadable`, with the folders that were searched.
pub fn library(name: &str, folders: &[PathBuf]) -> Result<PathBuf> {
    let files = files(name);
    let found = folders
        .iter()
        .flat_map(|folder| files.iter().map(move |file| folder.join(file)))
        .find(|path| path.is_file());
    found.ok_or_else(|| {
        let message = format!("there is no {} in the folders of `-L`", files.join(" or "));
        let finding = Diagnostic::error(Code::Unreadable, message).input(format!("-l{name}"));
        let finding = match folders {
            [] => finding.hint("name the folder with `-L`"),
            _ => folders.iter().fold(finding, |finding, folder| {
                finding.detail(format!("searched {}", folder.display()))
            }),
        };
        Error::new(Category::Damaged, finding)
    })
}

/// The names that a library's file can have, in the order of preference.
fn files(name: &str) -> Vec<String> {
    match name.strip_prefix(':') {
        Some(file) => vec![file.to_owned()],
        None if Path::new(name)
            .extension()
            .is_some_and(|e| e == "a" || e == "lib") =>
        {
            vec![format!("lib{name}.a"), name.to_owned()]
        }
        None => vec![format!("lib{name}.a"), format!("{name}.lib")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_folders_in_order() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |folder: &tempfile::TempDir, name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, b"").unwrap();
            path
        };
        let folders = [first.path().to_owned(), second.path().to_owned()];
        let windows = put(&first, "x.lib");
        put(&second, "libx.a");
        let exact = put(&second, "odd.bin");
        assert_eq!(library("x", &folders).unwrap(), windows);
        let unix = put(&first, "libx.a");
        assert_eq!(library("x", &folders).unwrap(), unix);
        assert_eq!(library(":odd.bin", &folders).unwrap(), exact);
        let error = library("y", &folders).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ly: there is no liby.a or y.lib in the folders of `-L`"
        );
        assert_eq!(error.diagnostics[0].details.len(), 2);
        assert!(library("y", &[]).unwrap_err().diagnostics[0].hints[0].contains("-L"));
    }
}
