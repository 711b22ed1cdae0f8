//! From an [`ObjectCode`] to its [`Image`]s: through directories, packages, archives and host files down to the
//! leaves. Headers are read and nothing is decompressed, but for the members of packages that have to be.

mod files;
mod image;
mod names;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::image::LastGroup;
use super::{Image, Loadable, ObjectCode};
use crate::bytes::Blob;
use crate::error::{Code, Diagnostic, Malformed};
use crate::format::host::{Host, Role, slices};
use crate::format::scan::{FoundKind, scan};
use crate::format::{Kind, archive, fatbin};
use image::Place;
use names::Names;

/// What expanding one input may cost, and where it may reach.
#[derive(Debug, Clone)]
pub struct ExpandOptions {
    /// Most members of archives, packages and directories that are looked at, in all.
    pub members: u64,
    /// Most images that are shown.
    pub images: u64,
    /// Most bytes that are unpacked from packages, in all.
    pub unpacked: u64,
    /// How many times its stored size a large member of a package may have.
    pub ratio: u64,
    /// How many archives and packages may lie within one another.
    pub depth: u8,
    /// Whether the members of thin archives may lie outside the archive's own folder.
    pub thin_members_anywhere: bool,
}

impl Default for ExpandOptions {
    /// Far above what was seen: the largest wheels hold 13,000 files, or 2 GB in 1; no library shrinks to a tenth.
    fn default() -> Self {
        Self {
            members: 1_000_000,
            images: 4_000_000,
            unpacked: 16 << 30,
            ratio: 256,
            depth: 4,
            thin_members_anywhere: false,
        }
    }
}

/// Receives what is found, in the order of the input.
pub trait Visitor {
    fn image(&mut self, image: Image);

    /// What is wrong with the input. Errors mean that device code may be missing.
    fn problem(&mut self, problem: Diagnostic);

    /// A file beside the input that was read, as those of a thin archive are.
    fn file(&mut self, _path: &Path) {}
}

/// Everything that was found.
#[derive(Debug, Clone, Default)]
pub struct Expansion {
    pub images: Vec<Image>,
    pub problems: Vec<Diagnostic>,
    /// Those beside the input that were read.
    pub files: Vec<PathBuf>,
}

impl Visitor for Expansion {
    fn image(&mut self, image: Image) {
        self.images.push(image);
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn file(&mut self, path: &Path) {
        self.files.push(path.to_owned());
    }
}

impl ObjectCode {
    /// All images, and what is wrong with the input.
    pub fn expand(&self, options: &ExpandOptions) -> Expansion {
        let mut expansion = Expansion::default();
        self.visit(options, &mut expansion);
        expansion
    }

    /// Hands over one image after the other. A visitor that keeps none of them lets the member of a package go before
    /// the next is unpacked.
    pub fn visit(&self, options: &ExpandOptions, visitor: &mut dyn Visitor) {
        let mut expander = Expander {
            options,
            visitor,
            members_left: options.members,
            images_left: options.images,
            told_of_images: false,
            unpacked_left: options.unpacked,
            groups: 0,
            last_group: Arc::default(),
        };
        expander.file(&File::input(self));
    }
}

/// The input that everything is a part of.
#[derive(Debug, Clone)]
struct Root {
    name: Arc<str>,
    /// Members of a directory are named by their paths.
    is_directory: bool,
}

/// One file on the way down: the input itself or a member.
#[derive(Debug)]
struct File {
    root: Root,
    /// `libx.a(b.o)`
    name: Arc<str>,
    /// Where it is in the input; none for the input itself.
    member: Option<Arc<str>>,
    /// How many parentheses close at the end of `member`.
    closing: usize,
    /// Where it is in the file system, if it is there by itself.
    path: Option<PathBuf>,
    blob: Blob,
    kind: Kind,
    /// How many archives and packages it lies in.
    depth: u8,
    /// Fatbins met so far.
    containers: Cell<u32>,
    problems: Cell<u32>,
}

impl File {
    fn input(code: &ObjectCode) -> Self {
        let name: Arc<str> = code.name.as_str().into();
        Self {
            root: Root {
                name: name.clone(),
                is_directory: code.kind() == Kind::Directory,
            },
            name,
            member: None,
            closing: 0,
            path: code.path.clone(),
            blob: code.blob.clone(),
            kind: code.kind(),
            depth: 0,
            containers: Cell::new(0),
            problems: Cell::new(0),
        }
    }

    /// A file within this one; `name` is its name here.
    fn child(&self, name: &str, blob: Blob, kind: Kind) -> Self {
        let (member, closing) = match &self.member {
            Some(member) => {
                let open = &member[..member.len() - self.closing];
                let closing = self.closing + 1;
                (format!("{open}({name}{}", ")".repeat(closing)), closing)
            }
            None => (name.to_owned(), 0),
        };
        let root = &self.root.name;
        let full_name = if self.root.is_directory {
            format!("{}/{member}", root.trim_end_matches('/'))
        } else {
            format!("{root}({member})")
        };
        Self {
            root: self.root.clone(),
            name: full_name.into(),
            member: Some(member.into()),
            closing,
            path: None,
            blob,
            kind,
            depth: self.depth + 1,
            containers: Cell::new(0),
            problems: Cell::new(0),
        }
    }
}

/// Whether a file of this kind can hold device code, or members that do.
fn is_candidate(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::CudaSource | Kind::Directory | Kind::Empty | Kind::Unknown
    )
}

/// More problems than this of one file help nobody.
const PROBLEMS_OF_A_FILE: u32 = 20;

struct Expander<'v> {
    options: &'v ExpandOptions,
    visitor: &'v mut dyn Visitor,
    members_left: u64,
    images_left: u64,
    told_of_images: bool,
    unpacked_left: u64,
    /// Groups of images met so far.
    groups: u32,
    last_group: Arc<LastGroup>,
}

impl Expander<'_> {
    fn file(&mut self, file: &File) {
        if file.depth > self.options.depth {
            let depth = self.options.depth;
            self.problem(
                file,
                Diagnostic::error(
                    Code::Damaged,
                    format!("lies in more than {depth} archives or packages"),
                ),
            );
            return;
        }
        match file.kind {
            Kind::Cubin | Kind::Ptx | Kind::LtoIr | Kind::NvvmIr => self.bare(file),
            Kind::Fatbin => {
                let mut place = Place::indexed(file);
                for container in fatbin::containers(&file.blob, 0) {
                    self.container(&mut place, container);
                }
            }
            Kind::Object | Kind::Executable | Kind::SharedLibrary => self.host(file),
            Kind::Archive | Kind::ThinArchive => self.archive(file),
            Kind::Wheel | Kind::Zip => self.zip(file),
            Kind::Tar => self.tar(file),
            Kind::Gzip => self.gzip(file),
            Kind::Directory => self.directory(file),
            Kind::CudaSource | Kind::Empty | Kind::Unknown => {}
        }
    }

    fn host(&mut self, file: &File) {
        if self.fat_mach_o(file) {
            return;
        }
        let host = match Host::parse(&file.blob) {
            Ok(host) => host,
            Err(error) => return self.damage(file, &error),
        };
        for damage in &host.damage {
            self.damage(file, damage);
        }
        let mut names = Names::default();
        let named = [
            (Role::Fatbin, Loadable::Yes),
            (Role::RelocatableFatbin, Loadable::RelocatableOnly),
        ];
        for (role, loadable) in named {
            for section in host.with_role(role) {
                let name = names.unique(&section.name);
                let mut place = Place::section(file, &name, loadable);
                let bytes = &file.blob[section.range.clone()];
                for container in fatbin::containers(bytes, section.range.start as u64) {
                    self.container(&mut place, container);
                }
            }
        }
        for section in host.with_role(Role::Data) {
            let mut place = None;
            for found in scan(&file.blob, section.range.clone()) {
                let place = place.get_or_insert_with(|| {
                    let name = names.unique(&section.name);
                    Place::section(file, &name, Loadable::Unregistered)
                });
                match found {
                    Ok(found) => match found.kind {
                        FoundKind::Fatbin(container) => self.container(place, Ok(container)),
                        FoundKind::Cubin => self.cubin(place, found.range),
                        FoundKind::Ptx => self.ptx(place, found.range),
                        FoundKind::LtoIr => self.lto_ir(place, found.range),
                    },
                    // Whether these bytes were meant to be device code is not known.
                    Err(error) => self.problem(
                        file,
                        Diagnostic::warning(
                            Code::Damaged,
                            format!(
                                "data in section `{}` looks like device code, but {}",
                                section.name, error.message
                            ),
                        )
                        .offset(error.offset),
                    ),
                }
            }
        }
    }

    /// Goes into each part of a fat Mach-O file; false when it is something else.
    fn fat_mach_o(&mut self, file: &File) -> bool {
        let Some(parts) = slices(&file.blob) else {
            return false;
        };
        let parts = match parts {
            Ok(parts) => parts,
            Err(error) => {
                self.damage(file, &error);
                return true;
            }
        };
        let mut names = Names::default();
        for part in parts {
            if let Some(blob) = file.blob.slice(part.range) {
                self.member(file, &names.unique(&part.arch), blob);
            }
        }
        true
    }

    fn archive(&mut self, file: &File) {
        if self.fat_mach_o(file) {
            return;
        }
        let members = match archive::members(&file.blob) {
            Ok(members) => members,
            Err(error) => return self.damage(file, &error),
        };
        let mut names = Names::default();
        for member in members {
            let member = match member {
                Ok(member) => member,
                Err(error) => return self.damage(file, &error),
            };
            if !self.take_member(file) {
                return;
            }
            let name = names.unique(&member.name());
            let blob = match member.content {
                archive::Content::Here { offset, bytes } => {
                    // The member lies within the archive, so its offset fits.
                    let start = offset as usize;
                    let blob = file.blob.slice(start..start + bytes.len());
                    Ok(blob.unwrap_or_else(|| Vec::new().into()))
                }
                archive::Content::Elsewhere => self.thin_member(file, member.raw_name),
            };
            match blob {
                Ok(blob) => {
                    if let Some(damage) = &member.damage {
                        self.damage(file, damage);
                    }
                    self.member(file, &name, blob);
                }
                Err(error) => self.member_failed(file, &name, error),
            }
        }
    }

    /// Goes into a member that is here.
    fn member(&mut self, file: &File, name: &str, blob: Blob) {
        let kind = crate::format::classify(&blob).kind;
        if is_candidate(kind) {
            self.file(&file.child(name, blob, kind));
        }
    }

    fn image(&mut self, file: &File, image: Image) {
        if let Some(left) = self.images_left.checked_sub(1) {
            self.images_left = left;
            return self.visitor.image(image);
        }
        if !std::mem::replace(&mut self.told_of_images, true) {
            let most = self.options.images;
            let message = format!("holds more than {most} images, the rest is not shown");
            self.problem(file, Diagnostic::error(Code::Damaged, message));
        }
    }

    /// Counts a member; false when there are too many.
    fn take_member(&mut self, file: &File) -> bool {
        match self.members_left.checked_sub(1) {
            Some(left) => {
                self.members_left = left;
                true
            }
            None => {
                let most = self.options.members;
                let message = format!("holds more than {most} members, the rest is not read");
                self.problem(file, Diagnostic::error(Code::Damaged, message));
                false
            }
        }
    }

    fn damage(&mut self, file: &File, damage: &Malformed) {
        self.problem(
            file,
            Diagnostic::error(Code::Damaged, &damage.message).offset(damage.offset),
        );
    }

    fn problem(&mut self, file: &File, problem: Diagnostic) {
        self.problem_of(file, &file.name, problem);
    }

    /// A problem with something in `file` that `name` names.
    fn problem_of(&mut self, file: &File, name: &str, problem: Diagnostic) {
        let count = file.problems.get();
        file.problems.set(count.saturating_add(1));
        let problem = match count.cmp(&PROBLEMS_OF_A_FILE) {
            std::cmp::Ordering::Less => problem,
            std::cmp::Ordering::Equal => Diagnostic::error(
                Code::Damaged,
                "has more things wrong with it, which are not listed",
            ),
            std::cmp::Ordering::Greater => return,
        };
        self.visitor.problem(problem.input(name));
    }
}

#[cfg(test)]
mod tests;
