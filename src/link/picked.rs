use rayon::prelude::*;

use crate::bytes::Blob;
use crate::code::{Image, ImageData, ImageKind};
use crate::error::{Category, Error, Result};
use crate::format::compress::Limits;
use crate::format::fatbin;

/// An image that takes part in a link, with the bytes that are handed over.
#[derive(Debug, Clone)]
pub struct Picked {
    /// As messages call it: `libx.a(b.o):__nv_relfatbin[3]`.
    pub name: String,
    /// Which input of the command line it came from.
    pub input: usize,
    pub image: Image,
    /// The image itself; for compressed LTO-IR, which only the libraries can unpack, a fatbin with this one entry.
    pub bytes: Blob,
}

impl Picked {
    /// Unpacks the images, in parallel, in order.
    ///
    /// # Errors
    /// Every image that is damaged.
    pub fn all(chosen: &[(usize, &Image)]) -> Result<Vec<Self>> {
        let unpack = |&(input, image): &(usize, &Image)| {
            Ok(Self {
                name: image.id(),
                input,
                bytes: bytes(image)?,
                image: image.clone(),
            })
        };
        let unpacked: Vec<Result<Self>> = if chosen.len() < 8 {
            chosen.iter().map(unpack).collect()
        } else {
            chosen.par_iter().map(unpack).collect()
        };
        let mut picked = Vec::with_capacity(unpacked.len());
        let mut damage = Vec::new();
        for result in unpacked {
            match result {
                Ok(one) => picked.push(one),
                Err(error) => damage.extend(error.diagnostics),
            }
        }
        match Error::from_diagnostics(Category::Damaged, damage) {
            Some(error) => Err(error),
            None => Ok(picked),
        }
    }

    pub fn is_lto(&self) -> bool {
        self.image.kind == ImageKind::LtoIr
    }

    /// Whether the bytes are a fatbin around the image.
    pub fn is_wrapped(&self) -> bool {
        matches!(self.image.data, ImageData::Opaque { .. })
    }
}

fn bytes(image: &Image) -> Result<Blob> {
    if let ImageData::Opaque { entry } = &image.data {
        return Ok(fatbin::single_entry_container(entry, &[]).into());
    }
    let blob = image.unpack(Limits::default())?;
    // The libraries refuse a byte order mark.
    let marked = image.kind == ImageKind::Ptx && blob.starts_with(b"\xef\xbb\xbf");
    let unmarked = marked.then(|| blob.slice(3..blob.len())).flatten();
    Ok(unmarked.unwrap_or(blob))
}
