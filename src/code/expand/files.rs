//! Files that hold files: packages, directories, thin archives.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::names::Names;
use super::{Expander, File, is_candidate};
use crate::bytes::{self, Blob};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::format::package::{Member, Package, gunzip};
use crate::format::text::text;
use crate::format::{Kind, classify};

/// How much of a file is looked at to see whether it can hold device code.
const START: usize = 16 << 10;
/// Below this size a member may have any ratio: zeros compress well.
const RATIO_FROM: u64 = 64 << 20;

impl Expander<'_> {
    pub(super) fn zip(&mut self, file: &File) {
        match Package::zip(&file.blob) {
            Ok(package) => self.package(file, package),
            Err(error) => self.damage(file, &error),
        }
    }

    pub(super) fn tar(&mut self, file: &File) {
        self.package(file, Package::tar(&file.blob));
    }

    fn package(&mut self, file: &File, package: Package) {
        for damage in &package.damage {
            self.damage(file, damage);
        }
        let mut members = package.members;
        let kept = members
            .iter()
            .take_while(|_| self.take_member(file))
            .count();
        members.truncate(kept);
        let stored = &file.blob;
        let kinds: Vec<_> = members
            .par_iter()
            .map(|member| kind_of(stored, member))
            .collect();
        let mut names = Names::default();
        let mut candidates = Vec::new();
        for (member, kind) in members.iter().zip(kinds) {
            let name = names.unique(&member.name);
            match kind {
                Ok(kind) if is_candidate(kind) => candidates.push((name, member)),
                Ok(_) => {}
                Err(error) => self.unpacking_failed(file, &name, &error),
            }
        }
        // Several at once, to use all cores, but not all: each takes memory or disk.
        for batch in candidates.chunks(rayon::current_num_threads()) {
            let allowed: Vec<_> = batch
                .iter()
                .filter(|(name, member)| self.may_unpack(file, name, member))
                .collect();
            let blobs: Vec<_> = allowed
                .par_iter()
                .map(|(_, member)| unpack(stored, member))
                .collect();
            for ((name, _), blob) in allowed.into_iter().zip(blobs) {
                match blob {
                    Ok(blob) => self.member(file, name, blob),
                    Err(error) => self.unpacking_failed(file, name, &error),
                }
            }
        }
    }

    /// Takes a member's size from what may still be unpacked.
    fn may_unpack(&mut self, file: &File, name: &str, member: &Member) -> bool {
        let Some(claim) = member.deflated else {
            return true;
        };
        let stored = member.range.len() as u64;
        let most = stored.saturating_mul(self.options.ratio).max(RATIO_FROM);
        let refused = if claim.size > most {
            format!(
                "claims to unpack {stored} bytes to {}, as no library does",
                claim.size
            )
        } else if claim.size > self.unpacked_left {
            self.too_much_unpacked()
        } else {
            self.unpacked_left -= claim.size;
            return true;
        };
        self.member_problem(file, name, Diagnostic::error(Code::Damaged, refused));
        false
    }

    fn too_much_unpacked(&self) -> String {
        format!(
            "takes what is unpacked of this input above {} bytes",
            self.options.unpacked
        )
    }

    /// The file in a gzip file has no name of its own.
    pub(super) fn gzip(&mut self, file: &File) {
        let mut start = Vec::new();
        let stream = gunzip(&file.blob).take(START as u64);
        let kind = match { stream }.read_to_end(&mut start) {
            Ok(_) => classify(&start).kind,
            Err(error) => return self.problem(file, unpacking_failed(&error)),
        };
        if !is_candidate(kind) {
            return;
        }
        let most = (file.blob.len() as u64)
            .saturating_mul(self.options.ratio)
            .max(RATIO_FROM)
            .min(self.unpacked_left);
        let stream = gunzip(&file.blob).take(most.saturating_add(1));
        let blob = match bytes::unpack(stream, file.blob.len() as u64) {
            Ok(blob) => blob,
            Err(error) => return self.problem(file, unpacking_failed(&error)),
        };
        let size = blob.len() as u64;
        if size > most {
            let message = if size > self.unpacked_left {
                self.too_much_unpacked()
            } else {
                format!(
                    "unpacks {} bytes to more than {most}, as no package does",
                    file.blob.len()
                )
            };
            return self.problem(file, Diagnostic::error(Code::Damaged, message));
        }
        self.unpacked_left -= size;
        let kind = classify(&blob).kind;
        let inner = File {
            name: file.name.clone(),
            member: file.member.clone(),
            closing: file.closing,
            ..file.child("", blob, kind)
        };
        self.file(&inner);
    }

    /// Reads a member of a thin archive, which lies beside the archive.
    pub(super) fn thin_member(&mut self, archive: &File, raw_name: &[u8]) -> Result<Blob> {
        let folder = archive.path.as_deref().and_then(Path::parent);
        let folder = folder.ok_or_else(|| {
            unreadable(
                "is a member of a thin archive that lies in no folder, so its file cannot be found",
            )
            .hint("give the archive by its path")
        })?;
        let name = os_string(raw_name);
        let path = folder.join(&name);
        // The folder of `libx.a` is the current one.
        let folder = if folder == Path::new("") {
            Path::new(".")
        } else {
            folder
        };
        let cannot = |error: io::Error| {
            unreadable(format!(
                "cannot read `{}`, a file of a thin archive: {}",
                path.display(),
                reason(&error)
            ))
        };
        if !self.options.thin_members_anywhere {
            let root = folder.canonicalize().map_err(cannot)?;
            let real = path.canonicalize().map_err(cannot)?;
            if Path::new(&name).is_absolute() || !real.starts_with(&root) {
                let name = text(raw_name);
                return Err(unreadable(format!(
                    "thin archive names `{name}`, which is outside its folder"
                ))
                .hint(
                    "copy the archive's files below its folder, or make a plain archive of them",
                ));
            }
        }
        // A pipe or a device could be waited for without end.
        if !fs::metadata(&path).map_err(cannot)?.is_file() {
            return Err(cannot(io::Error::other("not a file")));
        }
        self.visitor.file(&path);
        bytes::open(&path)
    }

    /// All files below a directory, in the order of their names. Links to directories are not followed, links to files
    /// are, unless their target is found by itself.
    pub(super) fn directory(&mut self, file: &File) {
        let Some(root) = &file.path else {
            return;
        };
        let mut walk = Walk {
            real_root: fs::canonicalize(root).unwrap_or_else(|_| root.clone()),
            linked: HashSet::new(),
        };
        let mut names = Names::default();
        let mut stack = vec![PathBuf::new()];
        while let Some(inside) = stack.pop() {
            let path = root.join(&inside);
            let step = walk.step(&path, inside == Path::new(""));
            let name = || inside_name(&inside);
            match step {
                Ok(Step::Folder(entries)) => {
                    stack.extend(entries.into_iter().rev().map(|entry| inside.join(entry)));
                }
                Ok(Step::File) => {
                    if !self.take_member(file) {
                        return;
                    }
                    self.file_on_disk(file, &names.unique(&name()), path);
                }
                Ok(Step::FolderLink) => self.member_problem(
                    file,
                    &name(),
                    Diagnostic::note(
                        Code::Unreadable,
                        "is a link to a directory, which is not followed",
                    ),
                ),
                Ok(Step::Nothing) => {}
                Err(error) => self.cannot_read(file, &name(), &error),
            }
        }
    }

    fn file_on_disk(&mut self, directory: &File, name: &str, path: PathBuf) {
        match kind_on_disk(&path) {
            Ok(kind) if !is_candidate(kind) => return,
            Ok(_) => {}
            Err(error) => return self.cannot_read(directory, name, &error),
        }
        match bytes::open(&path) {
            Ok(blob) => {
                let kind = classify(&blob).kind;
                let file = File {
                    path: Some(path),
                    // A directory is no package.
                    depth: 0,
                    ..directory.child(name, blob, kind)
                };
                self.file(&file);
            }
            Err(error) => self.member_failed(directory, name, error),
        }
    }

    fn cannot_read(&mut self, file: &File, name: &str, error: &io::Error) {
        let error = unreadable(format!("cannot be read: {}", reason(error)));
        self.member_failed(file, name, error);
    }

    fn unpacking_failed(&mut self, file: &File, name: &str, error: &io::Error) {
        self.member_problem(file, name, unpacking_failed(error));
    }

    pub(super) fn member_failed(&mut self, file: &File, name: &str, error: Error) {
        for mut problem in error.diagnostics {
            problem.inputs.clear();
            self.member_problem(file, name, problem);
        }
    }

    /// A problem with a member that cannot be looked into.
    fn member_problem(&mut self, file: &File, name: &str, problem: Diagnostic) {
        if name.is_empty() {
            return self.problem(file, problem);
        }
        let member = file.child(name, Vec::new().into(), Kind::Unknown);
        self.problem_of(file, &member.name, problem);
    }
}

fn unreadable(message: impl Into<String>) -> Error {
    Error::new(
        Category::Damaged,
        Diagnostic::error(Code::Unreadable, message),
    )
}

fn unpacking_failed(error: &io::Error) -> Diagnostic {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::OutOfMemory => Code::Unreadable,
        _ => Code::Damaged,
    };
    Diagnostic::error(code, format!("cannot be unpacked: {error}"))
}

/// The kind of a member, from its start.
fn kind_of(package: &Blob, member: &Member) -> io::Result<Kind> {
    let Some(claim) = member.deflated else {
        let stored = package.get(member.range.clone()).unwrap_or_default();
        return Ok(classify(&stored[..stored.len().min(START)]).kind);
    };
    let mut start = Vec::new();
    let stream = member.unpack(package, claim);
    stream.take(START as u64).read_to_end(&mut start)?;
    Ok(classify(&start).kind)
}

fn unpack(package: &Blob, member: &Member) -> io::Result<Blob> {
    match member.deflated {
        Some(claim) => bytes::unpack(member.unpack(package, claim), claim.size),
        None => package
            .slice(member.range.clone())
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

fn kind_on_disk(path: &Path) -> io::Result<Kind> {
    let mut start = Vec::new();
    fs::File::open(path)?
        .take(START as u64)
        .read_to_end(&mut start)?;
    Ok(classify(&start).kind)
}

enum Step {
    /// With the names in it, sorted.
    Folder(Vec<OsString>),
    File,
    FolderLink,
    /// Something that is found by another name, or that is no file.
    Nothing,
}

struct Walk {
    real_root: PathBuf,
    /// Files outside the root that were reached by a link.
    linked: HashSet<PathBuf>,
}

impl Walk {
    fn step(&mut self, path: &Path, is_root: bool) -> io::Result<Step> {
        let mut kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_symlink() && !is_root {
            let real = fs::canonicalize(path)?;
            if real.starts_with(&self.real_root) {
                return Ok(Step::Nothing);
            }
            kind = fs::metadata(&real)?.file_type();
            if kind.is_dir() {
                return Ok(Step::FolderLink);
            }
            if !self.linked.insert(real) {
                return Ok(Step::Nothing);
            }
        }
        if kind.is_dir() || is_root {
            let mut names = fs::read_dir(path)?
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<io::Result<Vec<_>>>()?;
            names.sort_unstable();
            return Ok(Step::Folder(names));
        }
        // Pipes and devices could be waited for without end.
        Ok(if kind.is_file() {
            Step::File
        } else {
            Step::Nothing
        })
    }
}

/// A path below a directory, with slashes on every system.
fn inside_name(inside: &Path) -> String {
    let parts = inside.iter().map(|part| text(part.as_encoded_bytes()));
    parts.collect::<Vec<_>>().join("/")
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    text(bytes).into_owned().into()
}
