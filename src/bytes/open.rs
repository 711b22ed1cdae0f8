use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::Blob;
use crate::error::{Code, Diagnostic, Error, Result};

/// How standard input is called in messages and reports.
pub const STDIN_NAME: &str = "<stdin>";

/// Files below this size are read; mapping costs more than it saves there.
const MAP_FROM: u64 = 64 * 1024;

/// Opens a file, or standard input for `-`.
///
/// Large regular files are mapped, so a file that another program truncates meanwhile can end this
/// process with SIGBUS, as with any linker.
pub fn open(path: &Path) -> Result<Blob> {
    if path == Path::new("-") {
        return read_all(std::io::stdin().lock(), STDIN_NAME);
    }
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let meta = file.metadata().map_err(|e| unreadable(path, &e))?;
    if meta.is_dir() {
        return Err(Error::new(
            crate::error::Category::Damaged,
            Diagnostic::error(Code::Unreadable, "is a directory, expected a file")
                .input(path.display().to_string()),
        ));
    }
    if meta.is_file() && meta.len() >= MAP_FROM {
        map(&file).map_err(|e| unreadable(path, &e))
    } else {
        read_all(file, &path.display().to_string())
    }
}

/// The bytes of an open file from its start, wherever it stands.
pub fn from_file(mut file: &File) -> std::io::Result<Blob> {
    if file.metadata()?.len() >= MAP_FROM {
        return map(file);
    }
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Reads a stream to its end; `name` is for the message when that fails.
pub fn read_all(mut stream: impl Read, name: &str) -> Result<Blob> {
    let mut bytes = Vec::new();
    stream
        .read_to_end(&mut bytes)
        .map_err(|e| unreadable(Path::new(name), &e))?;
    Ok(bytes.into())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let error_text = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::new(
        crate::error::Category::Damaged,
        Diagnostic::error(Code::Unreadable, format!("cannot be read: {error_text}"))
            .input(path.display().to_string()),
    )
}

// The one use of `unsafe` outside `ffi`: a mapping is only sound while nobody changes the file, which
// no linker can promise. Every reader of the bytes is bounds-checked, so a changed file gives wrong
// values, not memory errors.
#[allow(unsafe_code)]
pub(super) fn map(file: &File) -> std::io::Result<Blob> {
    // SAFETY: see above; the map is read-only and is never handed out as `str` or as anything typed.
    Ok(Blob::mapped(unsafe { memmap2::Mmap::map(file)? }))
}
