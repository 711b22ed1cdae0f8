use crate::bytes::Blob;
use crate::code::*;
use crate::error::*;
use crate::format::compress;
use crate::format::fatbin;
pub fn expand(o: &ObjectCode) -> Vec<Image> {
    let b = &o.blob;
    let mk =
        |id: String, kind, offset, container, arch, data: ImageData, compression, stored, size| {
            Image {
                id,
                member: None,
                section: None,
                offset,
                container,
                kind,
                kind_number: None,
                arch,
                arch_source: None,
                loadable: Loadable::Yes,
                compression,
                stored_size: stored,
                size,
                name: None,
                options: None,
                debug: false,
                producer: Producer::default(),
                data,
                warnings: vec![],
            }
        };
    if crate::format::cubin::Cubin::is_cubin(b) {
        return vec![mk(
            o.name.clone(),
            ImageKind::Cubin,
            0,
            None,
            None,
            ImageData::Plain(b.clone()),
            Compression::None,
            b.len() as u64,
            b.len() as u64,
        )];
    }
    if crate::format::ptx::Ptx::is_ptx(b) {
        return vec![mk(
            o.name.clone(),
            ImageKind::Ptx,
            0,
            None,
            None,
            ImageData::Plain(b.clone()),
            Compression::None,
            b.len() as u64,
            b.len() as u64,
        )];
    }
    let mut out = vec![];
    for c in fatbin::find_containers(b, 0) {
        for e in c.entries().filter_map(Result::ok) {
            let kind = match e.kind {
                1 => ImageKind::Ptx,
                2 => ImageKind::Cubin,
                8 => ImageKind::LtoIr,
                _ => ImageKind::Unknown,
            };
            let mut arch = Arch::new(e.arch as u16);
            if e.is_accelerated() {
                arch = Arch::accelerated(e.arch as u16)
            }
            if e.is_family() {
                arch = Arch::family(e.arch as u16)
            }
            let s = e.stored().unwrap();
            let start = s.as_ptr() as usize - b.as_ptr() as usize;
            let blob = b.slice(start..start + s.len()).unwrap();
            let comp = match e.codec() {
                compress::Codec::None => Compression::None,
                compress::Codec::Lz4 => Compression::Lz4,
                compress::Codec::Zstd => Compression::Zstd,
                compress::Codec::Zlib => Compression::Zlib,
                compress::Codec::Scrambled => Compression::Opaque,
                _ => Compression::Unknown,
            };
            let data = if comp == Compression::None {
                ImageData::Plain(blob)
            } else {
                ImageData::Packed {
                    stored: blob,
                    compression: comp,
                    size: e.unpacked_size(),
                }
            };
            out.push(mk(
                format!("{}:[{}]", o.name, out.len()),
                kind,
                e.offset,
                Some(0),
                Some(arch),
                data,
                comp,
                e.stored_size(),
                e.unpacked_size(),
            ));
        }
    }
    out
}
pub fn unpack(i: &Image) -> std::result::Result<std::borrow::Cow<'_, [u8]>, Diagnostic> {
    match &i.data {
        ImageData::Plain(b) => Ok((&**b).into()),
        ImageData::Packed {
            stored,
            compression,
            size,
        } => {
            let c = match compression {
                Compression::Lz4 => compress::Codec::Lz4,
                Compression::Zstd => compress::Codec::Zstd,
                _ => compress::Codec::Zlib,
            };
            compress::decompress(c, stored, *size, Default::default())
                .map(Into::into)
                .map_err(|e| Diagnostic::error(Code::Damaged, e).input(&i.id))
        }
        _ => Err(Diagnostic::error(Code::Damaged, "opaque")),
    }
}
