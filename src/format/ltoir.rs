//! The header of LTO-IR blobs. Their body is scrambled; what is here is all that can be read. The layout was
//! measured on blobs of NVRTC 11.8 to 13.5.

use crate::bytes::Reader;
use crate::error::Malformed;

/// The first four bytes, 0x7F4E43ED.
pub const MAGIC: [u8; 4] = [0xED, 0x43, 0x4E, 0x7F];

const TAG_ARCH: u16 = 1;
const TAG_ACCELERATED: u16 = 0x20;
const TAG_END: u16 = 99;

/// What a blob's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Container version; [`Header::toolkit`] tells the CUDA release.
    pub container: (u8, u8),
    pub nvvm_ir: (u8, u8),
    pub debug_ir: (u8, u8),
    /// LLVM dialect of the body: 7.0 below sm_100, 23.0 for sm_100 and later in CUDA 13.5.
    pub llvm: (u8, u8),
    /// Architecture number, 90 for sm_90. The suffix `f` is not recorded.
    pub arch: Option<u16>,
    /// Made for the `a` variant of its architecture.
    pub accelerated: bool,
}

impl Header {
    pub fn parse(bytes: &[u8], base: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::with_base(bytes, base);
        if reader.array::<4>("LTO-IR magic")? != MAGIC {
            return Err(Malformed::new(base, "expected LTO-IR (ED 43 4E 7F)"));
        }
        let mut pair = |what| reader.array::<2>(what).map(|[major, minor]| (major, minor));
        let (container, nvvm_ir) = (pair("container version")?, pair("NVVM IR version")?);
        let (debug_ir, llvm) = (pair("debug version")?, pair("LLVM version")?);
        let tags = usize::from(reader.u16("offset of the tags")?);
        reader.skip(2, "IR level")?;
        let end = reader.u32("end of the tags")? as usize;
        let mut header = Self {
            container,
            nvvm_ir,
            debug_ir,
            llvm,
            arch: None,
            accelerated: false,
        };
        reader.seek(tags, "tags")?;
        while reader.position() < end {
            match (reader.u16("tag")?, reader.u16("tag value")?) {
                (TAG_ARCH, value) => header.arch = Some(value / 10),
                (TAG_ACCELERATED, value) => header.accelerated = value == 1,
                (TAG_END, _) => break,
                _ => {}
            }
        }
        Ok(header)
    }

    /// The CUDA release that writes this container version, e.g. `13.5`; a range where several do.
    pub fn toolkit(&self) -> Option<&'static str> {
        // Measured on each release's own NVRTC; other versions lie between these.
        const RELEASES: &[((u8, u8), &str)] = &[
            ((1, 54), "11.8"),
            ((1, 57), "12.0"),
            ((1, 61), "12.4"),
            ((1, 64), "12.9"),
            ((1, 65), "13.0"),
            ((1, 67), "13.5"),
        ];
        RELEASES
            .iter()
            .find(|(version, _)| *version == self.container)
            .map(|(_, release)| *release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_fields_and_refuses_a_cut() {
        let mut blob = vec![
            0xED, 0x43, 0x4E, 0x7F, 1, 67, 2, 131, 3, 2, 7, 0, 0x18, 0, 1, 0, 0x2C, 0, 0, 0, 0x30,
            0, 0, 0,
        ];
        for (tag, value) in [(1u16, 900u16), (2, 2), (0x20, 1), (99, 0), (0, 0)] {
            blob.extend(tag.to_le_bytes());
            blob.extend(value.to_le_bytes());
        }
        let header = Header::parse(&blob, 0).unwrap();
        assert_eq!(
            (header.container, header.arch, header.accelerated),
            ((1, 67), Some(90), true)
        );
        assert_eq!((header.toolkit(), header.llvm), (Some("13.5"), (7, 0)));
        for cut in [0, 3, 11, 23, 25] {
            assert!(Header::parse(&blob[..cut], 0).is_err(), "cut at {cut}");
        }
    }
}
