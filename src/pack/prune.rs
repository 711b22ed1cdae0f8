//! Files with fewer images. What is kept is copied byte for byte.
//!
//! Fatbins, relocatable ELF objects and archives of them get smaller. In linked files everything has its place: there
//! the rest of each fatbin becomes zeros, which take no room in a package or in a file with holes.

mod archive;
mod elf;

use std::ops::Range;
use std::str::FromStr;

use crate::code::{Arch, ImageKind, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Malformed, Result};
use crate::format::fatbin::{self, Container, Entry, kind};
use crate::format::host::{Host, Role};
use crate::format::{Kind, classify};

/// Images that are kept: all of an architecture, or those of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    pub arch: Arch,
    pub kind: Option<ImageKind>,
}

impl FromStr for Keep {
    type Err = String;

    /// `sm_90` keeps cubins, `compute_90` PTX, `lto_90` LTO-IR, and `9.0` or `90` all of them.
    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = [
            ("sm_", ImageKind::Cubin),
            ("compute_", ImageKind::Ptx),
            ("lto_", ImageKind::LtoIr),
        ];
        let kind = kinds.iter().find(|(prefix, _)| text.starts_with(prefix));
        Ok(Self {
            arch: text.parse()?,
            kind: kind.map(|(_, kind)| *kind),
        })
    }
}

impl Keep {
    pub fn takes(&self, kind: ImageKind, arch: Option<Arch>) -> bool {
        arch == Some(self.arch) && self.kind.is_none_or(|wanted| wanted == kind)
    }
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub bytes: Vec<u8>,
    /// Images.
    pub kept: usize,
    pub dropped: usize,
    /// Fatbins that lost all their images.
    pub emptied: usize,
    /// Zeros stand for what was dropped, in part or everywhere.
    pub in_place: bool,
}

/// Drops the images that no rule takes.
///
/// # Errors
/// `damaged`; `kind-unknown` for what is no fatbin, host file or archive; `arch-missing` if nothing would be left.
pub fn prune(input: &ObjectCode, keep: &[Keep]) -> Result<Pruned> {
    let mut job = Job {
        keep,
        pruned: Pruned::default(),
    };
    let bytes = match input.kind() {
        Kind::Archive => archive::prune(&input.blob, &mut job),
        _ => job.file(&input.blob),
    };
    let damaged = |damage: Malformed| damage.in_input(&input.name);
    let bytes = bytes.map_err(damaged)?.ok_or_else(|| {
        Error::failed(Code::KindUnknown, "cannot be pruned")
            .input(&input.name)
            .hint("give a fatbin, an object, an executable, a library or an archive")
    })?;
    let pruned = job.pruned;
    if pruned.kept == 0 {
        let message = match pruned.dropped {
            0 => Diagnostic::error(Code::NoDeviceCode, "no device code"),
            _ => Diagnostic::error(
                Code::ArchMissing,
                "has none of the images that are to be kept",
            ),
        };
        let message = message
            .input(&input.name)
            .hint("see what it has with `cudalink inspect FILE`");
        return Err(Error::new(Category::Failed, message));
    }
    Ok(Pruned { bytes, ..pruned })
}

struct Job<'k> {
    keep: &'k [Keep],
    pruned: Pruned,
}

/// A fatbin with what is left of it.
struct Smaller {
    /// Where it was, in the bytes that were searched.
    range: Range<usize>,
    bytes: Vec<u8>,
}

impl Job<'_> {
    /// A file that is no archive; none for what cannot be pruned.
    fn file(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        match classify(bytes).kind {
            Kind::Fatbin => {
                let smaller = self.fatbins(bytes, 0)?;
                Ok(Some(
                    smaller.into_iter().flat_map(|one| one.bytes).collect(),
                ))
            }
            Kind::Object | Kind::Executable | Kind::SharedLibrary => {
                self.host(bytes, true).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A host file. `may_move` is whether what follows its end may move up.
    fn host(&mut self, bytes: &[u8], may_move: bool) -> Result<Vec<u8>, Malformed> {
        let host = Host::parse(bytes)?;
        if let Some(damage) = host.damage.first() {
            return Err(damage.clone());
        }
        let mut out = bytes.to_vec();
        let mut smaller = Vec::new();
        for role in [Role::Fatbin, Role::RelocatableFatbin] {
            for section in host.with_role(role) {
                let start = section.range.start;
                let content = bytes.get(section.range.clone()).unwrap_or_default();
                let fatbins = self.fatbins(content, start as u64)?;
                for fatbin in &fatbins {
                    let at = start + fatbin.range.start..start + fatbin.range.end;
                    out[at.clone()].fill(0);
                    out[at.start..at.start + fatbin.bytes.len()].copy_from_slice(&fatbin.bytes);
                }
                // Only a fatbin that is alone in its section leaves none behind it that would move.
                if let [one] = &fatbins[..]
                    && one.range.start == 0
                {
                    smaller.push((section.range.clone(), one.bytes.len()));
                }
            }
        }
        if out == bytes {
            return Ok(out);
        }
        match elf::shrink(&out, &smaller).filter(|_| may_move) {
            Some(shrunk) => Ok(shrunk),
            None => {
                self.pruned.in_place = true;
                Ok(out)
            }
        }
    }

    /// The fatbins in a stretch of bytes that starts at `base` of the file.
    fn fatbins(&mut self, bytes: &[u8], base: u64) -> Result<Vec<Smaller>, Malformed> {
        let containers = fatbin::containers(bytes, base);
        containers
            .map(|container| self.fatbin(&container?, base))
            .collect()
    }

    fn fatbin(&mut self, container: &Container<'_>, base: u64) -> Result<Smaller, Malformed> {
        if let Some(damage) = &container.damage {
            return Err(damage.clone());
        }
        let mut out = container
            .bytes
            .get(..container.header_size)
            .unwrap_or_default()
            .to_vec();
        let kept = self.pruned.kept;
        let mut any = false;
        for entry in container.entries() {
            let entry = entry?;
            any = true;
            if self.keeps(&entry)? {
                let start = within(entry.offset - container.offset);
                let end = start.saturating_add(within(entry.stored_size()));
                out.extend(container.bytes.get(start..end).unwrap_or_default());
            }
        }
        self.pruned.emptied += usize::from(any && self.pruned.kept == kept);
        let size = (out.len() - container.header_size) as u64;
        out[8..16].copy_from_slice(&size.to_le_bytes());
        let start = within(container.offset - base);
        Ok(Smaller {
            range: start..start + container.bytes.len(),
            bytes: out,
        })
    }

    /// Whether an entry stays, counted by its images. Those compressed together stay together.
    fn keeps(&mut self, entry: &Entry<'_>) -> Result<bool, Malformed> {
        // An index describes the images beside it.
        if entry.kind == kind::INDEX {
            return Ok(true);
        }
        let is_taken = |entry: &Entry<'_>| {
            let (kind, arch) = (ImageKind::of_entry(entry.kind), Arch::of_entry(entry));
            self.keep.iter().any(|rule| rule.takes(kind, arch))
        };
        let (stays, images) = if entry.kind == kind::CONCATENATED {
            let members = entry.members()?;
            (
                members.iter().any(|member| is_taken(&member.entry)),
                members.len(),
            )
        } else {
            (is_taken(entry), 1)
        };
        match stays {
            true => self.pruned.kept += images,
            false => self.pruned.dropped += images,
        }
        Ok(stays)
    }
}

fn within(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
