use std::ops::Range;
use std::sync::Arc;

use super::{Expander, File};
use crate::bytes::Blob;
use crate::code::image::{Group, codec};
use crate::code::{
    Arch, Compression, Image, ImageData, ImageKind, Loadable, Producer, Suffix, disagreement,
};
use crate::error::{Code, Diagnostic, Malformed};
use crate::format::Kind;
use crate::format::compress;
use crate::format::cubin::{Cubin, Debug, Peek, Stage, Target};
use crate::format::fatbin::{self, Container, Entry};
use crate::format::ltoir;
use crate::format::ptx::Ptx;
use crate::format::text::{text, until_nul};

/// A stretch of a file that images are found in, with what their names and fate follow from.
pub(super) struct Place<'f> {
    file: &'f File,
    section: Option<Arc<str>>,
    /// What it says about images that a driver could load.
    loadable: Loadable,
    /// Number of the next image; none where there is one image alone.
    next: Option<u32>,
}

impl<'f> Place<'f> {
    /// A file that is one image.
    fn whole(file: &'f File) -> Self {
        Self {
            file,
            section: None,
            loadable: Loadable::Yes,
            next: None,
        }
    }

    /// A file of several images.
    pub(super) fn indexed(file: &'f File) -> Self {
        Self {
            next: Some(0),
            ..Self::whole(file)
        }
    }

    pub(super) fn section(file: &'f File, name: &str, loadable: Loadable) -> Self {
        Self {
            section: Some(name.into()),
            loadable,
            ..Self::indexed(file)
        }
    }

    /// The header of a cubin. A section of a host file says what its fatbins are for; elsewhere only the cubin does,
    /// so there the start of a compressed one is unpacked.
    fn peek(&self, stored: &[u8], compression: Compression) -> Option<Result<Peek, Malformed>> {
        const HEADER: usize = 64;
        if compression == Compression::None {
            return Some(Peek::read(stored));
        }
        if self.section.is_some() {
            return None;
        }
        // One that does not unpack is told of when it is read.
        let start = compress::first_bytes(codec(compression), stored, HEADER);
        (start.len() == HEADER).then(|| Peek::read(&start))
    }

    fn blob(&self, range: Range<usize>) -> Option<Blob> {
        self.file.blob.slice(range)
    }

    /// An image at `offset` with what the place says about it.
    fn image(&mut self, kind: ImageKind, offset: u64, data: ImageData, size: u64) -> Image {
        let loadable = match kind {
            ImageKind::LtoIr | ImageKind::NvvmIr | ImageKind::Index => Loadable::No,
            ImageKind::Cubin | ImageKind::Ptx | ImageKind::TileIr | ImageKind::Unknown => {
                self.loadable
            }
        };
        let index = self.next;
        self.next = index.map(|index| index.saturating_add(1));
        Image {
            file: self.file.name.clone(),
            member: self.file.member.clone(),
            section: self.section.clone(),
            index,
            offset,
            container: None,
            kind,
            kind_number: None,
            arch: None,
            arch_source: None,
            loadable,
            compression: Compression::None,
            stored_size: size,
            size,
            name: None,
            options: None,
            debug: false,
            producer: Producer::default(),
            data,
            warnings: Vec::new(),
        }
    }
}

impl Expander<'_> {
    /// A file that is one image.
    pub(super) fn bare(&mut self, file: &File) {
        let mut place = Place::whole(file);
        let range = 0..file.blob.len();
        match file.kind {
            Kind::Cubin => self.cubin(&mut place, range),
            Kind::Ptx => self.ptx(&mut place, range),
            Kind::LtoIr => self.lto_ir(&mut place, range),
            _ => {
                let image = place.image(
                    ImageKind::NvvmIr,
                    0,
                    ImageData::Plain(file.blob.clone()),
                    file.blob.len() as u64,
                );
                self.image(place.file, image);
            }
        }
    }

    /// A cubin outside any fatbin.
    pub(super) fn cubin(&mut self, place: &mut Place<'_>, range: Range<usize>) {
        let Some(blob) = place.blob(range.clone()) else {
            return;
        };
        let cubin = match Cubin::parse(&blob) {
            Ok(cubin) => cubin,
            Err(error) => {
                let offset = (range.start as u64).saturating_add(error.offset);
                return self.damage(place.file, &Malformed { offset, ..error });
            }
        };
        let target = cubin.target();
        let mut image = place.image(
            ImageKind::Cubin,
            range.start as u64,
            ImageData::Plain(blob.clone()),
            range.len() as u64,
        );
        image.size = cubin.extent();
        image.arch = Some(arch_of(&target));
        image.arch_source = Some(target.source);
        image.debug = cubin.debug() != Debug::None;
        image.producer = Producer::from_cubin(&cubin);
        mark_relocatable(&mut image, cubin.stage());
        self.image(place.file, image);
    }

    /// PTX outside any fatbin.
    pub(super) fn ptx(&mut self, place: &mut Place<'_>, range: Range<usize>) {
        let Some(blob) = place.blob(range.clone()) else {
            return;
        };
        let ptx = match Ptx::parse_header(&blob) {
            Ok(ptx) => ptx,
            Err(error) => {
                let offset = (range.start as u64).saturating_add(error.offset);
                return self.damage(place.file, &Malformed { offset, ..error });
            }
        };
        let mut image = place.image(
            ImageKind::Ptx,
            range.start as u64,
            ImageData::Plain(blob.clone()),
            range.len() as u64,
        );
        image.size = without_nuls(&blob);
        image.arch = ptx.target.parse().ok();
        image.arch_source = image.arch.map(|_| ".target");
        image.debug = ptx.options.contains(&"debug");
        image.producer = Producer::from_ptx(&ptx);
        self.image(place.file, image);
    }

    /// LTO-IR outside any fatbin. A host file does not say where it ends.
    pub(super) fn lto_ir(&mut self, place: &mut Place<'_>, range: Range<usize>) {
        let Some(blob) = place.blob(range.clone()) else {
            return;
        };
        let header = match ltoir::Header::parse(&blob, range.start as u64) {
            Ok(header) => header,
            Err(error) => return self.damage(place.file, &error),
        };
        let mut image = place.image(
            ImageKind::LtoIr,
            range.start as u64,
            ImageData::Plain(blob),
            range.len() as u64,
        );
        let suffix = if header.accelerated {
            Suffix::Accelerated
        } else {
            Suffix::None
        };
        image.arch = header.arch.map(|number| Arch { number, suffix });
        image.arch_source = image.arch.map(|_| "LTO-IR header");
        image.producer.toolkit = header.toolkit().map(str::to_owned);
        image.producer.ltoir_version = Some(version(header.container));
        if image.section.is_some() {
            image.warnings.push(Diagnostic::note(
                Code::Damaged,
                "LTO-IR in a data section does not record its length and may be followed by other data",
            ));
        }
        self.image(place.file, image);
    }

    pub(super) fn container(
        &mut self,
        place: &mut Place<'_>,
        container: Result<Container<'_>, Malformed>,
    ) {
        let container = match container {
            Ok(container) => container,
            Err(error) => return self.damage(place.file, &error),
        };
        let number = place.file.containers.get();
        place.file.containers.set(number.saturating_add(1));
        if let Some(damage) = &container.damage {
            self.damage(place.file, damage);
        }
        for entry in container.entries() {
            match entry {
                Ok(entry) if entry.kind == fatbin::kind::CONCATENATED => {
                    self.concatenated(place, &entry, number);
                }
                Ok(entry) => self.entry(place, &entry, number),
                Err(error) => self.damage(place.file, &error),
            }
        }
    }

    fn entry(&mut self, place: &mut Place<'_>, entry: &Entry<'_>, container: u32) {
        let stored = entry.stored().unwrap_or_else(|error| {
            self.damage(place.file, &error);
            &[]
        });
        // Entries lie within the file, so their offsets fit.
        let start = entry.payload_offset() as usize;
        let Some(stored) = place.blob(start..start + stored.len()) else {
            return;
        };
        let kind = ImageKind::of_entry(entry.kind);
        let compression = Compression::from(entry.codec());
        let peek = (kind == ImageKind::Cubin)
            .then(|| place.peek(&stored, compression))
            .flatten();
        let (data, size) = match compression {
            Compression::None => {
                let size = match (&peek, kind) {
                    (Some(Ok(peek)), _) => within_padding(peek.tables_end, stored.len()),
                    (_, ImageKind::Ptx) => without_nuls(&stored),
                    _ => stored.len() as u64,
                };
                (ImageData::Plain(stored), size)
            }
            Compression::Opaque => {
                let start = entry.offset as usize;
                let end = start + entry.stored_size() as usize;
                let Some(entry_blob) = place.blob(start..end) else {
                    return;
                };
                (
                    ImageData::Opaque { entry: entry_blob },
                    entry.unpacked_size(),
                )
            }
            compression => {
                let size = entry.unpacked_size();
                let data = ImageData::Packed {
                    stored,
                    compression,
                    size,
                };
                (data, size)
            }
        };
        let mut image = place.image(kind, entry.offset, data, size);
        describe(&mut image, entry, container);
        image.compression = compression;
        image.stored_size = entry.stored_size();
        if let Some(peek) = peek {
            compare(&mut image, entry, peek);
        }
        self.image(place.file, image);
    }

    /// The images of an entry that compresses several together.
    fn concatenated(&mut self, place: &mut Place<'_>, entry: &Entry<'_>, container: u32) {
        let members = match entry.members() {
            Ok(members) => members,
            Err(error) => {
                self.damage(place.file, &error);
                return self.entry(place, entry, container);
            }
        };
        let stored = match entry.stored() {
            Ok(stored) => stored,
            Err(error) => return self.damage(place.file, &error),
        };
        let start = entry.payload_offset() as usize;
        let Some(stored) = place.blob(start..start + stored.len()) else {
            return;
        };
        let compression = Compression::from(entry.codec());
        let group = Arc::new(Group {
            number: self.groups,
            stored,
            compression,
            size: entry.unpacked_size(),
            last: self.last_group.clone(),
        });
        self.groups += 1;
        let mut share = Share {
            bytes: entry.stored_size(),
            of: members.iter().map(|m| u128::from(m.size)).sum(),
        };
        for member in members {
            let start = u64::from(member.start);
            let range = start..start.saturating_add(member.size);
            if range.end > group.size {
                self.damage(
                    place.file,
                    &Malformed::new(
                        member.entry.offset,
                        format!(
                            "image lies at {range:?} of {} bytes compressed together",
                            group.size
                        ),
                    ),
                );
            }
            let data = ImageData::Part {
                group: group.clone(),
                range,
            };
            let kind = ImageKind::of_entry(member.entry.kind);
            let mut image = place.image(kind, member.entry.offset, data, member.size);
            describe(&mut image, &member.entry, container);
            image.compression = compression;
            image.stored_size = share.take(member.size);
            self.image(place.file, image);
        }
    }
}

/// Divides stored bytes among images by size, without losing any.
struct Share {
    bytes: u64,
    of: u128,
}

impl Share {
    fn take(&mut self, size: u64) -> u64 {
        let size = u128::from(size);
        let part = (u128::from(self.bytes) * size).checked_div(self.of);
        // A part is no larger than the whole.
        let part = part.unwrap_or_default() as u64;
        self.bytes -= part;
        self.of -= size;
        part
    }
}

/// Fills in what an entry's header says.
fn describe(image: &mut Image, entry: &Entry<'_>, container: u32) {
    image.container = Some(container);
    if image.kind == ImageKind::Unknown {
        image.kind_number = Some(entry.kind);
    }
    image.arch = Arch::of_entry(entry);
    image.arch_source = image.arch.map(|_| "fatbin entry");
    image.name = entry
        .identifier()
        .map(|name| text(until_nul(name)).into_owned());
    image.debug = entry.is_debug();
    // Cubins have a copy of `.nv.compat` there.
    if matches!(
        image.kind,
        ImageKind::Ptx | ImageKind::LtoIr | ImageKind::TileIr
    ) {
        let options = entry
            .aux()
            .map(|aux| text(until_nul(aux)).trim().to_owned());
        image.options = options.filter(|options| !options.is_empty());
    }
    if entry.kind == fatbin::kind::RELOCATABLE_PTX || is_for_links(image) {
        mark_relocatable(image, Stage::Relocatable);
    }
    match image.kind {
        ImageKind::Ptx => image.producer.ptx_isa = Some(version(entry.code_version)),
        ImageKind::LtoIr => image.producer.ltoir_version = Some(version(entry.code_version)),
        _ => {}
    }
}

/// Whether PTX is to be compiled for a link, as `nvcc -dc` records it.
fn is_for_links(image: &Image) -> bool {
    let options = image.options.as_deref().unwrap_or_default();
    image.kind == ImageKind::Ptx
        && options
            .split_ascii_whitespace()
            .any(|option| matches!(option, "--compile-only" | "-c"))
}

/// Holds what an entry says of a cubin against the cubin's own header, which lies right behind it.
fn compare(image: &mut Image, entry: &Entry<'_>, peek: Result<Peek, Malformed>) {
    let wrong = match peek {
        Err(error) => format!("fatbin entry claims to be a cubin, but: {}", error.message),
        Ok(peek) => {
            mark_relocatable(image, peek.stage);
            if u32::from(peek.number) == entry.arch {
                return;
            }
            let own = Arch::new(peek.number);
            match image.arch {
                Some(said) => disagreement(said, own),
                None => format!(
                    "fatbin entry is for sm_{}, but its cubin is for {own}",
                    entry.arch
                ),
            }
        }
    };
    let warning = Diagnostic::warning(Code::Damaged, wrong).offset(entry.payload_offset());
    image.warnings.push(warning);
}

/// Code that is not linked yet is nothing to load, wherever it sits.
fn mark_relocatable(image: &mut Image, stage: Stage) {
    if stage == Stage::Relocatable && image.loadable == Loadable::Yes {
        image.loadable = Loadable::RelocatableOnly;
    }
}

fn arch_of(target: &Target) -> Arch {
    Arch {
        number: target.number,
        suffix: match target.suffix {
            Some('a') => Suffix::Accelerated,
            Some('f') => Suffix::Family,
            _ => Suffix::None,
        },
    }
}

fn version((major, minor): (impl ToString, impl ToString)) -> String {
    format!("{}.{}", major.to_string(), minor.to_string())
}

/// The end of the header tables where it may be the end of the cubin, else all bytes: fatbins pad to 8.
fn within_padding(tables_end: u64, stored: usize) -> u64 {
    let stored = stored as u64;
    if (stored.saturating_sub(7)..=stored).contains(&tables_end) {
        tables_end
    } else {
        stored
    }
}

/// The length without NULs at the end.
fn without_nuls(bytes: &[u8]) -> u64 {
    let last = bytes.iter().rposition(|&byte| byte != 0);
    last.map_or(0, |last| last as u64 + 1)
}
