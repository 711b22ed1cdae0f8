//! The attribute records of `.nv.info`, `.nv.info.<function>` and `.nv.compat`.
//!
//! A record is `u8 format, u8 attribute` and then, by format: 1 two ignored bytes, 2 a byte and a pad,
//! 3 a u16, 4 a u16 length and that many bytes. Names and payloads were measured on cuobjdump and
//! nvdisasm of CUDA 11.8 to 13.5 by altering one byte at a time.

use std::fmt;

use crate::bytes::Reader;
use crate::error::Malformed;

/// An `EIATTR_*` number. Numbers without a name are kept and shown as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attribute(pub u8);

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    None,
    Byte(u8),
    Half(u16),
    Bytes(&'a [u8]),
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub attribute: Attribute,
    pub value: Value<'a>,
    /// Absolute offset of the value, for messages.
    pub offset: u64,
}

/// The records of one section; ends after the first malformed one.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: Reader<'a>,
}

impl<'a> Records<'a> {
    /// `base` is the absolute offset of `bytes[0]`.
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Self {
            reader: Reader::with_base(bytes, base),
        }
    }

    fn read(&mut self) -> Result<Record<'a>, Malformed> {
        let reader = &mut self.reader;
        let start = reader.offset();
        let format = reader.u8("attribute format")?;
        let attribute = Attribute(reader.u8("attribute number")?);
        let mut offset = reader.offset();
        let value = match format {
            1 => {
                reader.skip(2, "attribute without value")?;
                Value::None
            }
            2 => {
                let value = reader.u8("attribute byte")?;
                reader.skip(1, "attribute padding")?;
                Value::Byte(value)
            }
            3 => Value::Half(reader.u16("attribute value")?),
            4 => {
                let length = reader.u16("attribute length")?;
                offset = reader.offset();
                Value::Bytes(reader.bytes(length.into(), "attribute value")?)
            }
            other => {
                return Err(Malformed::new(
                    start,
                    format!("attribute {attribute} has format {other}, expected 1 to 4"),
                ));
            }
        };
        Ok(Record {
            attribute,
            value,
            offset,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            // Where the next record would start is unknown.
            self.reader = Reader::new(&[]);
        }
        Some(record)
    }
}

impl<'a> Record<'a> {
    fn reader(&self) -> Reader<'a> {
        let bytes = match self.value {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        };
        Reader::with_base(bytes, self.offset)
    }

    /// A number of one or two bytes, or the first four of a longer value.
    pub fn number(&self) -> Result<u32, Malformed> {
        match self.value {
            Value::None => Err(self.malformed("has no value, expected a number")),
            Value::Byte(value) => Ok(value.into()),
            Value::Half(value) => Ok(value.into()),
            Value::Bytes(_) => self.reader().u32(self.attribute.what()),
        }
    }

    /// `x, y, z` as three u32.
    pub fn dimensions(&self) -> Result<[u32; 3], Malformed> {
        let mut reader = self.reader();
        let what = self.attribute.what();
        Ok([reader.u32(what)?, reader.u32(what)?, reader.u32(what)?])
    }

    /// The per-symbol records of the global section: symbol index and value.
    pub fn per_symbol(&self) -> Result<(u32, u32), Malformed> {
        let mut reader = self.reader();
        let what = self.attribute.what();
        Ok((reader.u32(what)?, reader.u32(what)?))
    }

    /// A list of u32, such as code offsets or symbol indices.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<'a> {
        let bytes: &'a [u8] = match self.value {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        };
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|&word| u32::from_le_bytes(word))
    }

    fn malformed(&self, what: &str) -> Malformed {
        Malformed::new(self.offset, format!("attribute {} {what}", self.attribute))
    }
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    pub ordinal: u16,
    /// From the start of the parameters, in bytes.
    pub offset: u16,
    /// In bytes.
    pub size: u16,
}

/// Where a function spills registers to local memory and refills them. Written by CUDA 12.6 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillSites<'a> {
    /// Pairs of u32: 1 (spill or refill), code offset of the instruction.
    bytes: &'a [u8],
}

impl<'a> SpillSites<'a> {
    /// Code offsets of the spilling and refilling instructions; `None` if other notes stand between
    /// them, whose length is not known.
    pub fn offsets(self) -> Option<impl Iterator<Item = u32> + use<'a>> {
        const SPILL_OR_REFILL: u32 = 1;
        let (pairs, rest) = self.bytes.as_chunks::<8>();
        let pair = |pair: &[u8; 8]| {
            let [a, b, c, d, e, f, g, h] = *pair;
            (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            )
        };
        let known = rest.is_empty() && pairs.iter().all(|bytes| pair(bytes).0 == SPILL_OR_REFILL);
        known.then(|| pairs.iter().map(move |bytes| pair(bytes).1))
    }
}

/// Everything `.nv.info.<function>` says that a linker, a launcher or a report uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionInfo<'a> {
    /// In order of their ordinal.
    pub parameters: Vec<Parameter>,
    /// All parameters together, in bytes.
    pub parameter_bytes: Option<u32>,
    /// Where they start in constant bank 0.
    pub parameter_base: Option<u32>,
    /// The register cap; 255 is none.
    pub max_registers: Option<u32>,
    /// `.maxntid`, `__launch_bounds__`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`, `__cluster_dims__`.
    pub cluster: Option<[u32; 3]>,
    /// The launch must give a cluster shape.
    pub explicit_cluster: bool,
    pub max_cluster_rank: Option<u32>,
    pub blocks_are_clusters: bool,
    /// Named barriers (ABI 8).
    pub barriers: Option<u32>,
    /// Whether it has tensor core instructions for one block (`.cta_group::1`), and for a pair (`::2`).
    pub cta_groups: [bool; 2],
    /// Symbols of the functions that are called and not defined here.
    pub externals: Vec<u32>,
    /// The compiler's CUDA release times ten. It stays with the function when that is linked.
    pub api_version: Option<u32>,
    /// `None` when there is no list: nothing spilled, or the compiler does not keep one.
    pub spill_sites: Option<SpillSites<'a>>,
}

impl<'a> FunctionInfo<'a> {
    pub fn parse(records: Records<'a>) -> Result<Self, Malformed> {
        let mut info = Self::default();
        for record in records {
            info.take(&record?)?;
        }
        // They are listed last parameter first.
        info.parameters.sort_by_key(|parameter| parameter.ordinal);
        Ok(info)
    }

    fn take(&mut self, record: &Record<'a>) -> Result<(), Malformed> {
        match record.attribute {
            Attribute::KPARAM_INFO => self.parameters.push(kparam_info(record)?),
            Attribute::KPARAM_INFO_V2 => self.parameters.push(kparam_info_v2(record)?),
            Attribute::PARAM_CBANK => {
                let mut reader = record.reader();
                reader.skip(4, "parameter bank symbol")?;
                self.parameter_base = Some(reader.u16("parameter bank offset")?.into());
            }
            Attribute::CBANK_PARAM_SIZE => self.parameter_bytes = Some(record.number()?),
            Attribute::MAXREG_COUNT => self.max_registers = Some(record.number()?),
            Attribute::MAX_THREADS => self.max_threads = Some(record.dimensions()?),
            Attribute::REQNTID => self.required_threads = Some(record.dimensions()?),
            Attribute::CTA_PER_CLUSTER => self.cluster = Some(record.dimensions()?),
            Attribute::EXPLICIT_CLUSTER => self.explicit_cluster = true,
            Attribute::MAX_CLUSTER_RANK => self.max_cluster_rank = Some(record.number()?),
            Attribute::BLOCKS_ARE_CLUSTERS => self.blocks_are_clusters = true,
            Attribute::NUM_BARRIERS => self.barriers = Some(record.number()?),
            Attribute::TCGEN05_1CTA_USED => self.cta_groups[0] = true,
            Attribute::TCGEN05_2CTA_USED => self.cta_groups[1] = true,
            Attribute::EXTERNS => self.externals.extend(record.words()),
            Attribute::CUDA_API_VERSION => self.api_version = Some(record.number()?),
            Attribute::ANNOTATIONS => {
                if let Value::Bytes(bytes) = record.value {
                    self.spill_sites = Some(SpillSites { bytes });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// `u32 index, u16 ordinal, u16 offset, u32 bits`: the size is in bits 18 to 31.
fn kparam_info(record: &Record<'_>) -> Result<Parameter, Malformed> {
    let mut reader = record.reader();
    reader.skip(4, "parameter index")?;
    let ordinal = reader.u16("parameter ordinal")?;
    let offset = reader.u16("parameter offset")?;
    let bits = reader.u32("parameter size")?;
    Ok(Parameter {
        ordinal,
        offset,
        // Fourteen bits always fit.
        size: (bits >> 18) as u16,
    })
}

/// The form for kernels with more than 4 KB of parameters: `u32 index, u16 ordinal, u16 offset, u16 size`.
fn kparam_info_v2(record: &Record<'_>) -> Result<Parameter, Malformed> {
    let mut reader = record.reader();
    reader.skip(4, "parameter index")?;
    Ok(Parameter {
        ordinal: reader.u16("parameter ordinal")?,
        offset: reader.u16("parameter offset")?,
        size: reader.u16("parameter size")?,
    })
}

/// Declares the attributes that have a name: constants, and the table of names.
macro_rules! attributes {
    ($($number:literal $name:ident,)*) => {
        impl Attribute {
            $(pub const $name: Self = Self($number);)*

            /// The name without `EIATTR_`, where a tool knows one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some(stringify!($name)),)* _ => None }
            }
        }
    };
}

attributes! {
    0x00 ERROR,
    0x01 PAD,
    0x02 IMAGE_SLOT,
    0x03 JUMPTABLE_RELOCS,
    0x04 CTAIDZ_USED,
    0x05 MAX_THREADS,
    0x06 IMAGE_OFFSET,
    0x07 IMAGE_SIZE,
    0x08 TEXTURE_NORMALIZED,
    0x09 SAMPLER_INIT,
    0x0a PARAM_CBANK,
    0x0b SMEM_PARAM_OFFSETS,
    0x0c CBANK_PARAM_OFFSETS,
    0x0d SYNC_STACK,
    0x0e TEXID_SAMPID_MAP,
    0x0f EXTERNS,
    0x10 REQNTID,
    0x11 FRAME_SIZE,
    0x12 MIN_STACK_SIZE,
    0x13 SAMPLER_FORCE_UNNORMALIZED,
    0x14 BINDLESS_IMAGE_OFFSETS,
    0x15 BINDLESS_TEXTURE_BANK,
    0x16 BINDLESS_SURFACE_BANK,
    0x17 KPARAM_INFO,
    0x18 SMEM_PARAM_SIZE,
    0x19 CBANK_PARAM_SIZE,
    0x1a QUERY_NUMATTRIB,
    0x1b MAXREG_COUNT,
    0x1c EXIT_INSTR_OFFSETS,
    0x1d S2RCTAID_INSTR_OFFSETS,
    0x1e CRS_STACK_SIZE,
    0x1f NEED_CNP_WRAPPER,
    0x20 NEED_CNP_PATCH,
    0x21 EXPLICIT_CACHING,
    0x22 ISTYPEP_USED,
    0x23 MAX_STACK_SIZE,
    0x24 SUQ_USED,
    0x25 LD_CACHEMOD_INSTR_OFFSETS,
    0x26 LOAD_CACHE_REQUEST,
    0x27 ATOM_SYS_INSTR_OFFSETS,
    0x28 COOP_GROUP_INSTR_OFFSETS,
    0x29 COOP_GROUP_MASK_REGIDS,
    0x2a SW1850030_WAR,
    0x2b WMMA_USED,
    0x2c HAS_PRE_V10_OBJECT,
    0x2d ATOMF16_EMUL_INSTR_OFFSETS,
    0x2e ATOM16_EMUL_INSTR_REG_MAP,
    0x2f REGCOUNT,
    0x30 SW2393858_WAR,
    0x31 INT_WARP_WIDE_INSTR_OFFSETS,
    0x32 SHARED_SCRATCH,
    0x33 STATISTICS,
    0x34 INDIRECT_BRANCH_TARGETS,
    0x35 SW2861232_WAR,
    0x36 SW_WAR,
    0x37 CUDA_API_VERSION,
    0x38 NUM_MBARRIERS,
    0x39 MBARRIER_INSTR_OFFSETS,
    0x3a COROUTINE_RESUME_ID_OFFSETS,
    0x3b SAM_REGION_STACK_SIZE,
    0x3c PER_REG_TARGET_PERF_STATS,
    0x3d CTA_PER_CLUSTER,
    0x3e EXPLICIT_CLUSTER,
    0x3f MAX_CLUSTER_RANK,
    0x40 INSTR_REG_MAP,
    0x41 RESERVED_SMEM_USED,
    0x42 RESERVED_SMEM_0_SIZE,
    0x43 UCODE_SECTION_DATA,
    0x44 UNUSED_LOAD_BYTE_OFFSET,
    0x45 KPARAM_INFO_V2,
    0x46 SYSCALL_OFFSETS,
    0x47 SW_WAR_MEMBAR_SYS_INSTR_OFFSETS,
    0x48 GRAPHICS_GLOBAL_CBANK,
    0x49 SHADER_TYPE,
    0x4a VRC_CTA_INIT_COUNT,
    0x4b TOOLS_PATCH_FUNC,
    0x4c NUM_BARRIERS,
    0x4d TEXMODE_INDEPENDENT,
    0x4e PERF_STATISTICS,
    0x4f AT_ENTRY_FRAGMENTS,
    0x50 SPARSE_MMA_MASK,
    0x51 TCGEN05_1CTA_USED,
    0x52 TCGEN05_2CTA_USED,
    0x53 GEN_ERRBAR_AT_EXIT,
    0x54 REG_RECONFIG,
    0x55 ANNOTATIONS,
    0x57 STACK_CANARY_TRAP_OFFSETS,
    0x58 STUB_FUNCTION_KIND,
    0x59 LOCAL_CTA_ASYNC_STORE_OFFSETS,
    0x5a MERCURY_FINALIZER_OPTIONS,
    0x5b BLOCKS_ARE_CLUSTERS,
    0x5c SANITIZE,
    0x5d SYSCALLS_FALLBACK,
    0x5e CUDA_REQ,
    0x5f MERCURY_ISA_VERSION,
    0x61 RTCORE_ENTRY,
    0x62 CLUSTER_LAUNCH_CONTROL_USED,
    0x64 MIN_PER_CTA_MEMORY_SIZE,
    0x65 IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS,
    0x66 LANGUAGE,
    0x68 GRID_ATTRIBUTES,
    0x69 STACK_OFFSET,
    0x6a RT_LIVESTATE_SASS_MAP,
    0x6b NVSAL_SW_WAR,
    0x6c INSTR_OFFSETS,
    0x6d PREEXIT_USED,
}

impl Attribute {
    fn what(self) -> &'static str {
        self.name().unwrap_or("attribute value")
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read_and_unknown_numbers_are_kept() {
        let bytes = [
            1, 0x41, 0, 0, 2, 0x4c, 7, 0, 3, 0x1b, 0xff, 0, 4, 0x56, 2, 0, 0xaa, 0xbb,
        ];
        let records: Vec<_> = Records::new(&bytes, 0x100).map(Result::unwrap).collect();
        assert_eq!(records[0].attribute.to_string(), "RESERVED_SMEM_USED");
        assert_eq!(records[1].value, Value::Byte(7));
        assert_eq!(records[2].value, Value::Half(255));
        assert_eq!(records[3].value, Value::Bytes(&[0xaa, 0xbb]));
        assert_eq!(records[3].attribute.to_string(), "0x56");
        assert_eq!(records[3].offset, 0x110);
    }

    #[test]
    fn a_malformed_record_ends_the_list_with_its_offset() {
        let mut records = Records::new(&[1, 2, 0, 0, 9, 3, 0, 0], 0x20);
        assert!(records.next().unwrap().is_ok());
        assert_eq!(
            records.next().unwrap().unwrap_err().to_string(),
            "at offset 0x24: attribute JUMPTABLE_RELOCS has format 9, expected 1 to 4"
        );
        assert!(records.next().is_none());
        assert!(Records::new(&[4, 1, 9, 0, 1], 0).next().unwrap().is_err());
    }

    #[test]
    fn both_forms_of_parameters() {
        let v1 = [
            4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0xf0, 0x11,
            0, // ordinal 1 at 8, 4 bytes
            4, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x21,
            0, // ordinal 0 at 0, 8 bytes
            3, 0x19, 12, 0,
        ];
        let info = FunctionInfo::parse(Records::new(&v1, 0)).unwrap();
        let sizes: Vec<_> = info
            .parameters
            .iter()
            .map(|p| (p.ordinal, p.offset, p.size))
            .collect();
        assert_eq!(sizes, [(0, 0, 8), (1, 8, 4)]);
        assert_eq!(info.parameter_bytes, Some(12));
        let v2 = [4, 0x45, 12, 0, 0, 0, 0, 0, 2, 0, 0x38, 0x11, 0, 0x10, 0, 0];
        let info = FunctionInfo::parse(Records::new(&v2, 0)).unwrap();
        assert_eq!(info.parameters[0].size, 4096);
    }
}
