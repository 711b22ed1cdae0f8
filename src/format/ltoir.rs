//! The header of LTO-IR blobs. Their body is scrambled; what is here is all that can be read, and nothing in it tells
//! where the blob ends. The layout was measured on blobs of NVRTC 11.7 to 13.5.

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
    pub container: (u8, u8),
    /// Tells the CUDA release; see [`Header::toolkit`].
    pub nvvm_ir: (u8, u8),
    pub debug_ir: (u8, u8),
    /// LLVM dialect of the body: 7.0 below sm_100, 20.0 (CUDA 12.8) to 23.0 (13.5) from there on.
    pub llvm: (u8, u8),
    pub level: u16,
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
        let level = reader.u16("IR level")?;
        let end = reader.u32("end of the tags")? as usize;
        let mut header = Self {
            container,
            nvvm_ir,
            debug_ir,
            llvm,
            level,
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

    /// The CUDA release that made it, `13.5`.
    pub fn toolkit(&self) -> Option<&'static str> {
        RELEASES
            .iter()
            .find(|release| (release.0, release.1) == (self.container, self.nvvm_ir))
            .map(|release| release.2)
    }
}

/// Major and minor number.
type Pair = (u8, u8);

/// Container version, NVVM IR version, and the CUDA release whose NVRTC was seen to write both. Only the second differs
/// from each release to the next.
const RELEASES: &[(Pair, Pair, &str)] = &[
    ((1, 54), (2, 47), "11.7"),
    ((1, 54), (2, 48), "11.8"),
    ((1, 57), (2, 51), "12.0"),
    ((1, 57), (2, 53), "12.1"),
    ((1, 59), (2, 58), "12.2"),
    ((1, 60), (2, 63), "12.3"),
    ((1, 61), (2, 71), "12.4"),
    ((1, 61), (2, 83), "12.5"),
    ((1, 62), (2, 84), "12.6"),
    ((1, 64), (2, 89), "12.8"),
    ((1, 64), (2, 93), "12.9"),
    ((1, 65), (2, 98), "13.0"),
    ((1, 66), (2, 107), "13.1"),
    ((1, 66), (2, 114), "13.2"),
    ((1, 67), (2, 115), "13.3"),
    ((1, 67), (2, 120), "13.4"),
    ((1, 67), (2, 131), "13.5"),
];

/// The oldest CUDA release that writes containers of this version, which is all that a scrambled fatbin entry tells.
pub fn first_release(container: (u8, u8)) -> Option<&'static str> {
    RELEASES
        .iter()
        .find(|release| release.0 == container)
        .map(|release| release.2)
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
        assert_eq!((header.nvvm_ir, header.debug_ir), ((2, 131), (3, 2)));
        blob[7] = 132;
        assert_eq!(Header::parse(&blob, 0).unwrap().toolkit(), None);
        for cut in [0, 3, 11, 23, 25] {
            assert!(Header::parse(&blob[..cut], 0).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_container_version_lasts_for_some_releases() {
        assert_eq!(first_release((1, 57)), Some("12.0"));
        assert_eq!(first_release((1, 67)), Some("13.3"));
        assert_eq!(first_release((1, 68)), None);
    }

    #[test]
    fn endless_tags_end_with_the_bytes() {
        let mut blob = b"\xed\x43\x4e\x7f\x01\x43\x02\x83\x03\x02\x07\x00".to_vec();
        blob.extend([0x18, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
        blob.extend([5; 4000]);
        assert!(Header::parse(&blob, 0).is_err());
    }
}
