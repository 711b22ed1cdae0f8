//! From images to the entries of a fatbin.

use super::fatbin::{Codec, Entry, Payload, write_fatbin};
use crate::bytes::Blob;
use crate::code::{Arch, Image, ImageData, ImageKind, Suffix};
use crate::error::{Code, Error, Result};
use crate::format::compress::Limits;
use crate::format::cubin::Cubin;
use crate::format::ltoir::Header;
use crate::format::ptx::Ptx;

/// An image that can be stored in a fatbin, with its bytes.
#[derive(Debug, Clone)]
pub struct Packable {
    /// How messages call it.
    pub id: String,
    pub arch: Arch,
    pub kind: ImageKind,
    bytes: Blob,
    name: Option<String>,
    options: Option<String>,
    debug: bool,
    /// Of another fatbin, copied as it is.
    whole_entry: bool,
}

impl Packable {
    /// Reads an image. `arch` is what the user says of its architecture: cubins of CUDA 12 and LTO-IR do not tell that
    /// they are for a family.
    ///
    /// # Errors
    /// `kind-unknown` for what fatbins do not hold, `option-conflict` where the image contradicts the user, `damaged`.
    pub fn new(image: &Image, arch: Option<Arch>) -> Result<Self> {
        let id = image.id();
        let stored = [ImageKind::Cubin, ImageKind::Ptx, ImageKind::LtoIr];
        if !stored.contains(&image.kind) {
            let message = format!("{} cannot be stored in a fatbin", image.kind.as_str());
            return Err(Error::failed(Code::KindUnknown, message)
                .input(id)
                .hint("give cubins, PTX, LTO-IR, or files that hold them"));
        }
        let (bytes, whole_entry) = match &image.data {
            ImageData::Opaque { entry } => (entry.clone(), true),
            _ => (image.unpack(Limits::default())?, false),
        };
        Ok(Self {
            arch: agreed(image, arch, whole_entry)?,
            id,
            kind: image.kind,
            bytes,
            name: image.name.clone(),
            options: image.options.clone(),
            debug: image.debug,
            whole_entry,
        })
    }

    /// `sm_90a cubin`, `compute_90 ptx`.
    pub fn describe(&self) -> String {
        let arch = match self.kind {
            ImageKind::Ptx => self.arch.compute(),
            ImageKind::LtoIr => format!("lto_{}", self.arch.bare()),
            _ => self.arch.to_string(),
        };
        format!("{arch} {}", self.kind.as_str())
    }

    fn entry(&self) -> Result<Entry<'_>> {
        let payload = match self.kind {
            _ if self.whole_entry => Payload::Opaque(&self.bytes),
            ImageKind::Ptx => {
                let ptx = Ptx::parse_header(&self.bytes).map_err(|e| e.in_input(&self.id))?;
                Payload::Ptx {
                    text: &self.bytes,
                    isa: ptx.version,
                }
            }
            ImageKind::LtoIr => {
                let header = Header::parse(&self.bytes, 0).map_err(|e| e.in_input(&self.id))?;
                let (major, minor) = header.container;
                Payload::LtoIr {
                    blob: &self.bytes,
                    version: (major.into(), minor.into()),
                }
            }
            _ => self.cubin()?,
        };
        // A copy of `.nv.compat` is remade from the cubin.
        let options = self
            .options
            .as_deref()
            .filter(|_| self.kind != ImageKind::Cubin);
        Ok(Entry {
            arch: self.arch,
            payload,
            name: self.name.as_deref(),
            options,
            debug: self.debug,
        })
    }

    fn cubin(&self) -> Result<Payload<'_>> {
        let damaged = |error: crate::error::Malformed| error.in_input(&self.id);
        let cubin = Cubin::parse(&self.bytes).map_err(damaged)?;
        let mercury = match cubin.section(".nv.compat") {
            Some(section) if cubin.has_mercury() => Some(cubin.data(section).map_err(damaged)?),
            _ => None,
        };
        Ok(Payload::Cubin {
            elf: &self.bytes,
            abi: cubin.abi(),
            mercury,
        })
    }
}

/// The architecture that both the image and the user say.
fn agreed(image: &Image, said: Option<Arch>, fixed: bool) -> Result<Arch> {
    let Some(said) = said else {
        return image.arch.ok_or_else(|| {
            Error::failed(Code::ArchMissing, "does not tell its architecture")
                .input(image.id())
                .hint("put it before the file: `sm_90=FILE`")
        });
    };
    match image.arch {
        Some(own) if own == said => Ok(own),
        // PTX and stored entries tell all of it; of others a suffix may be lost.
        Some(own)
            if fixed
                || image.kind == ImageKind::Ptx
                || own.number != said.number
                || own.suffix != Suffix::None =>
        {
            Err(Error::usage(format!("is for {own}, not for {said}")).input(image.id()))
        }
        _ => Ok(said),
    }
}

/// A fatbin of these images in their order.
///
/// # Errors
/// `option-conflict` where two images are of one kind and architecture, of which a driver would see one; and as
/// [`write_fatbin`].
pub fn pack(images: &[Packable], codec: Codec) -> Result<Vec<u8>> {
    for (index, image) in images.iter().enumerate() {
        let same = |other: &&Packable| (other.kind, other.arch) == (image.kind, image.arch);
        if let Some(first) = images[..index].iter().find(same) {
            let message = format!(
                "two images are {}; only one could be loaded",
                image.describe()
            );
            return Err(Error::failed(Code::OptionConflict, message)
                .input(&first.id)
                .input(&image.id)
                .hint("link them into one with `cudalink link`, or leave one out"));
        }
    }
    let entries: Vec<Entry<'_>> = images.iter().map(Packable::entry).collect::<Result<_>>()?;
    write_fatbin(&entries, codec)
}
