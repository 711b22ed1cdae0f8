//! Writing results so that nobody ever sees half of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};

/// Writes a file whole or not at all: into a temporary file beside it, which then takes its name. A symbolic link is
/// followed; a device or pipe is written to.
///
/// # Errors
/// `output-unwritable`; what was there before is then still there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |error: &std::io::Error| unwritable(path, error);
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => {
            return Err(Error::failed(
                Code::OutputUnwritable,
                format!("cannot write `{}`: it is a directory", path.display()),
            ));
        }
        Ok(meta) if !meta.is_file() => {
            return fs::OpenOptions::new()
                .write(true)
                .open(&target)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(|e| failed(&e));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(&error)),
    }
    replace(&target, bytes).map_err(|e| failed(&e))
}

fn replace(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cudalink-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the user's mask takes off what it should.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder(target))?;
    file.write_all(bytes)?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

fn folder(target: &Path) -> PathBuf {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::failed(
        Code::OutputUnwritable,
        format!("cannot write `{}`: {why}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.cubin");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let error = write(&folder.path().join("no/out"), b"x").unwrap_err();
        assert!(error.to_string().contains("no such folder"), "{error}");
        let error = write(folder.path(), b"x").unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_modes_are_usual() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_ne!(mode & 0o044, 0, "readable for others under the usual mask");
        write(Path::new("/dev/null"), b"gone").unwrap();
    }
}
