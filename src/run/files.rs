//! Writing results: a temporary file beside the target, renamed once it is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::npy;
use super::shape::Shape;
use crate::error::{Error, Result};

/// A file under way. Nothing is left of it unless [`Output::finish`] is called.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: Kind,
}

#[derive(Debug)]
enum Kind {
    Temporary(BufWriter<NamedTempFile>),
    /// A pipe or a device, which nothing can be renamed to.
    Direct(BufWriter<File>),
}

/// Whether a file can be made at `path`, told before work is spent on it.
pub fn check_target(path: &Path) -> Result<()> {
    let folder = folder(path);
    if path.is_dir() || !folder.is_dir() {
        let what = if path.is_dir() {
            "is a folder"
        } else {
            "its folder is not there"
        };
        return Err(Error::io(path, "write", &std::io::Error::other(what)));
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Whether a file's name asks for NumPy's format.
pub fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// `out.npy` becomes `out.1.npy` for device 1.
pub fn with_device(path: &Path, ordinal: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{ordinal}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

impl Output {
    /// Begins a file for elements of `shape`: `.npy` with its header, anything else raw.
    pub fn create(path: &Path, shape: &Shape) -> Result<Self> {
        let failed = |error: std::io::Error| Error::io(path, "write", &error);
        let is_special = path.metadata().is_ok_and(|meta| !meta.is_file());
        let file = if is_special {
            Kind::Direct(BufWriter::new(
                File::options().write(true).open(path).map_err(failed)?,
            ))
        } else {
            Kind::Temporary(BufWriter::new(
                NamedTempFile::new_in(folder(path)).map_err(failed)?,
            ))
        };
        let mut output = Self {
            path: path.to_owned(),
            file,
        };
        if is_npy(path) {
            output.write(&npy::Header::write(shape))?;
        }
        Ok(output)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.file {
            Kind::Temporary(file) => file.write_all(bytes),
            Kind::Direct(file) => file.write_all(bytes),
        };
        written.map_err(|error| Error::io(&self.path, "write", &error))
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<()> {
        let Self { path, file } = self;
        let failed = |error: std::io::Error| Error::io(&path, "write", &error);
        match file {
            Kind::Direct(mut file) => file.flush().map_err(failed),
            Kind::Temporary(file) => {
                let file = file
                    .into_inner()
                    .map_err(|error| failed(error.into_error()))?;
                set_mode(file.as_file()).map_err(failed)?;
                file.persist(&path)
                    .map(drop)
                    .map_err(|error| failed(error.error))
            }
        }
    }
}

/// Temporary files are private; results are as readable as any new file is by default.
#[cfg(unix)]
fn set_mode(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_mode(_: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_files_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        let shape = Shape::parse("u8[3]").unwrap();
        let mut output = Output::create(&path, &shape).unwrap();
        output.write(&[1, 2, 3]).unwrap();
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut output = Output::create(&path, &shape).unwrap();
        output.write(&[1, 2, 3]).unwrap();
        output.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(npy::Header::parse(&bytes).unwrap().shape, shape);
        assert!(check_target(&folder.path().join("no/y.npy")).is_err());
        assert!(check_target(folder.path()).is_err());
    }

    #[test]
    fn names_for_several_devices() {
        assert_eq!(
            with_device(Path::new("d/out.npy"), 1),
            Path::new("d/out.1.npy")
        );
        assert_eq!(with_device(Path::new("out"), 0), Path::new("out.0"));
    }
}
