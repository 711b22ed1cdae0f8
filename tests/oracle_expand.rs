//! Compares what is found in host files, archives and fatbins with what cuobjdump lists and extracts.
//!
//! The inputs are the files among the fixtures and in `CUDALINK_ORACLE_FILES`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::path::Path;
use std::process::Command;

use cudalink::code::{ExpandOptions, Image, ImageKind, ObjectCode};
use cudalink::format::compress::Limits;
use cudalink::format::{Kind, classify};

/// Whether the tool reads such a file. It knows neither PE nor Mach-O.
fn is_known(bytes: &[u8]) -> bool {
    match classify(bytes).kind {
        Kind::Fatbin | Kind::Archive => true,
        Kind::Object | Kind::Executable | Kind::SharedLibrary => bytes.starts_with(b"\x7fELF"),
        _ => false,
    }
}

fn run(tool: &Path, options: &[&str], file: &Path, folder: &Path) -> Result<String, String> {
    let output = Command::new(tool)
        .args(options)
        .arg(file)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// The architectures that the tool lists for one kind of image: `sm_90a`.
fn listed(text: &str, kind: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix(kind)?.split_once(": "))
        .filter_map(|(_, name)| name.split('.').find(|part| part.starts_with("sm_")))
        .map(str::to_owned)
        .collect()
}

/// The tool does not look into data, and does not print `f`.
fn found(images: &[Image], kind: ImageKind) -> impl Iterator<Item = &Image> {
    images.iter().filter(move |image| {
        let section = image.section.as_deref();
        image.kind == kind && matches!(section, None | Some(".nv_fatbin" | "__nv_relfatbin"))
    })
}

fn arches(images: &[Image], kind: ImageKind) -> Vec<String> {
    let arch = |image: &Image| image.arch.unwrap().to_string();
    found(images, kind)
        .map(|image| arch(image).trim_end_matches('f').to_owned())
        .collect()
}

fn compare(tool: &Path, path: &Path) -> Result<(), String> {
    let code = ObjectCode::open(path).unwrap();
    let expansion = code.expand(&ExpandOptions::default());
    if let Some(problem) = expansion.problems.first() {
        return Err(format!("{problem:?}"));
    }
    let mut images = expansion.images;
    // The tool does not look at cubins and PTX that are members themselves.
    images
        .retain(|image| image.member.is_none() || image.section.is_some() || image.index.is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = path.canonicalize().unwrap();
    let list = match run(tool, &["-lelf", "-lptx", "-all"], &path, folder.path()) {
        Ok(list) => list,
        Err(error) if error.contains("does not contain device code") => String::new(),
        Err(error) => {
            eprintln!("{}: refused: {}", path.display(), error.trim());
            return Ok(());
        }
    };
    for (kind, word) in [(ImageKind::Cubin, "ELF"), (ImageKind::Ptx, "PTX")] {
        let (ours, theirs) = (arches(&images, kind), listed(&list, word));
        if ours != theirs {
            return Err(format!("{word}: {ours:?}, but the tool lists {theirs:?}"));
        }
    }
    if list.is_empty() {
        return Ok(());
    }
    compare_bytes(tool, &path, &images)
}

/// Every image must unpack to what the tool writes. It names files by identifiers, where there are any, and equal names
/// overwrite one another, so contents are compared as a set.
fn compare_bytes(tool: &Path, path: &Path, images: &[Image]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-xelf", "all", "-xptx", "all", "-all"];
    if let Err(error) = run(tool, &options, path, folder.path()) {
        eprintln!("{}: extraction refused: {}", path.display(), error.trim());
        return Ok(());
    }
    let mut ours: Vec<_> = [ImageKind::Cubin, ImageKind::Ptx]
        .into_iter()
        .flat_map(|kind| found(images, kind))
        .map(|image| image.unpack(Limits::default()).unwrap())
        .map(|bytes| blake3::hash(&bytes))
        .map(|hash| *hash.as_bytes())
        .collect();
    ours.sort_unstable();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let hash = blake3::hash(&std::fs::read(&path).unwrap());
        if ours.binary_search(hash.as_bytes()).is_err() {
            return Err(format!("no image equals {}", path.display()));
        }
    }
    Ok(())
}

#[test]
fn images_and_bytes() {
    let files = common::files(is_known);
    let Some(tool) = common::cuda_tool("cuobjdump") else {
        return common::skip("cuobjdump is not here");
    };
    if files.is_empty() {
        return common::skip("there are no files to compare");
    }
    let wrong: Vec<_> = files
        .iter()
        .filter_map(|(path, _)| {
            let error = compare(&tool, path).err()?;
            Some(format!("{}: {error}", path.display()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} files differ:\n{}",
        wrong.len(),
        files.len(),
        wrong.join("\n")
    );
    eprintln!("{} files agree", files.len());
}
