use std::fmt;

use object::LittleEndian as LE;
use object::elf::{Rel64, Rela64};
use object::pod::slice_from_all_bytes;

use super::{Cubin, Section, SectionKind};
use crate::error::Malformed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// In the section that is relocated.
    pub offset: u64,
    pub symbol: u32,
    pub kind: RelocationKind,
    /// Only `.rela` sections have one.
    pub addend: Option<i64>,
}

/// An `r_type`. Those of the Mercury twin are 0x10000 plus a number, and have no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelocationKind(pub u32);

impl RelocationKind {
    /// `R_CUDA_ABS32_LO_32`, where the vendor's dumper has a name.
    pub fn name(self) -> Option<&'static str> {
        let index = usize::try_from(self.0).ok()?.checked_sub(1)?;
        RELOCATION_NAMES.get(index).copied()
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl<'a> Cubin<'a> {
    /// The relocations of a REL or RELA section, in file order; none for other sections.
    pub fn relocations(
        &self,
        section: &Section<'_>,
    ) -> Result<Box<dyn Iterator<Item = Relocation> + 'a>, Malformed> {
        let odd = || {
            Malformed::new(
                section.offset,
                format!(
                    "section `{}` of {} bytes is no whole number of relocations",
                    section.name, section.size
                ),
            )
        };
        let data = self.data(section)?;
        Ok(match section.kind {
            SectionKind::REL => {
                let list: &[Rel64<LE>] = slice_from_all_bytes(data).map_err(|()| odd())?;
                Box::new(
                    list.iter().map(|entry| {
                        relocation(entry.r_offset.get(LE), entry.r_info.get(LE), None)
                    }),
                )
            }
            SectionKind::RELA => {
                let list: &[Rela64<LE>] = slice_from_all_bytes(data).map_err(|()| odd())?;
                Box::new(list.iter().map(|entry| {
                    let addend = Some(entry.r_addend.get(LE));
                    relocation(entry.r_offset.get(LE), entry.r_info.get(LE), addend)
                }))
            }
            _ => Box::new(std::iter::empty()),
        })
    }

    /// The REL and RELA sections outside the Mercury twin. Their `info` is the section they relocate.
    pub fn relocation_sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.sections.iter().filter(|section| {
            matches!(section.kind, SectionKind::REL | SectionKind::RELA) && !section.is_mercury()
        })
    }
}

fn relocation(offset: u64, info: u64, addend: Option<i64>) -> Relocation {
    Relocation {
        offset,
        symbol: (info >> 32) as u32,
        kind: RelocationKind(info as u32),
        addend,
    }
}

/// Types 1 to 115 as cuobjdump 13.5 names them.
const RELOCATION_NAMES: &[&str] = &[
    "R_CUDA_32",
    "R_CUDA_64",
    "R_CUDA_G32",
    "R_CUDA_G64",
    "R_CUDA_ABS32_26",
    "R_CUDA_TEX_HEADER_INDEX",
    "R_CUDA_SAMP_HEADER_INDEX",
    "R_CUDA_SURF_HW_DESC",
    "R_CUDA_SURF_HW_SW_DESC",
    "R_CUDA_ABS32_LO_26",
    "R_CUDA_ABS32_HI_26",
    "R_CUDA_ABS32_23",
    "R_CUDA_ABS32_LO_23",
    "R_CUDA_ABS32_HI_23",
    "R_CUDA_ABS24_26",
    "R_CUDA_ABS24_23",
    "R_CUDA_ABS16_26",
    "R_CUDA_ABS16_23",
    "R_CUDA_TEX_SLOT",
    "R_CUDA_SAMP_SLOT",
    "R_CUDA_SURF_SLOT",
    "R_CUDA_TEX_BINDLESSOFF13_32",
    "R_CUDA_TEX_BINDLESSOFF13_47",
    "R_CUDA_CONST_FIELD19_28",
    "R_CUDA_CONST_FIELD19_23",
    "R_CUDA_TEX_SLOT9_49",
    "R_CUDA_6_31",
    "R_CUDA_2_47",
    "R_CUDA_TEX_BINDLESSOFF13_41",
    "R_CUDA_TEX_BINDLESSOFF13_45",
    "R_CUDA_FUNC_DESC32_23",
    "R_CUDA_FUNC_DESC32_LO_23",
    "R_CUDA_FUNC_DESC32_HI_23",
    "R_CUDA_FUNC_DESC_32",
    "R_CUDA_FUNC_DESC_64",
    "R_CUDA_CONST_FIELD21_26",
    "R_CUDA_QUERY_DESC21_37",
    "R_CUDA_CONST_FIELD19_26",
    "R_CUDA_CONST_FIELD21_23",
    "R_CUDA_PCREL_IMM24_26",
    "R_CUDA_PCREL_IMM24_23",
    "R_CUDA_ABS32_20",
    "R_CUDA_ABS32_LO_20",
    "R_CUDA_ABS32_HI_20",
    "R_CUDA_ABS24_20",
    "R_CUDA_ABS16_20",
    "R_CUDA_FUNC_DESC32_20",
    "R_CUDA_FUNC_DESC32_LO_20",
    "R_CUDA_FUNC_DESC32_HI_20",
    "R_CUDA_CONST_FIELD19_20",
    "R_CUDA_BINDLESSOFF13_36",
    "R_CUDA_SURF_HEADER_INDEX",
    "R_CUDA_INSTRUCTION64",
    "R_CUDA_CONST_FIELD21_20",
    "R_CUDA_ABS32_32",
    "R_CUDA_ABS32_LO_32",
    "R_CUDA_ABS32_HI_32",
    "R_CUDA_ABS47_34",
    "R_CUDA_ABS16_32",
    "R_CUDA_ABS24_32",
    "R_CUDA_FUNC_DESC32_32",
    "R_CUDA_FUNC_DESC32_LO_32",
    "R_CUDA_FUNC_DESC32_HI_32",
    "R_CUDA_CONST_FIELD19_40",
    "R_CUDA_BINDLESSOFF14_40",
    "R_CUDA_CONST_FIELD21_38",
    "R_CUDA_INSTRUCTION128",
    "R_CUDA_YIELD_OPCODE9_0",
    "R_CUDA_YIELD_CLEAR_PRED4_87",
    "R_CUDA_32_LO",
    "R_CUDA_32_HI",
    "R_CUDA_UNUSED_CLEAR32",
    "R_CUDA_UNUSED_CLEAR64",
    "R_CUDA_ABS24_40",
    "R_CUDA_ABS55_16_34",
    "R_CUDA_8_0",
    "R_CUDA_8_8",
    "R_CUDA_8_16",
    "R_CUDA_8_24",
    "R_CUDA_8_32",
    "R_CUDA_8_40",
    "R_CUDA_8_48",
    "R_CUDA_8_56",
    "R_CUDA_G8_0",
    "R_CUDA_G8_8",
    "R_CUDA_G8_16",
    "R_CUDA_G8_24",
    "R_CUDA_G8_32",
    "R_CUDA_G8_40",
    "R_CUDA_G8_48",
    "R_CUDA_G8_56",
    "R_CUDA_FUNC_DESC_8_0",
    "R_CUDA_FUNC_DESC_8_8",
    "R_CUDA_FUNC_DESC_8_16",
    "R_CUDA_FUNC_DESC_8_24",
    "R_CUDA_FUNC_DESC_8_32",
    "R_CUDA_FUNC_DESC_8_40",
    "R_CUDA_FUNC_DESC_8_48",
    "R_CUDA_FUNC_DESC_8_56",
    "R_CUDA_ABS20_44",
    "R_CUDA_SAMP_HEADER_INDEX_0",
    "R_CUDA_UNIFIED",
    "R_CUDA_UNIFIED_32",
    "R_CUDA_UNIFIED_8_0",
    "R_CUDA_UNIFIED_8_8",
    "R_CUDA_UNIFIED_8_16",
    "R_CUDA_UNIFIED_8_24",
    "R_CUDA_UNIFIED_8_32",
    "R_CUDA_UNIFIED_8_40",
    "R_CUDA_UNIFIED_8_48",
    "R_CUDA_UNIFIED_8_56",
    "R_CUDA_UNIFIED32_LO_32",
    "R_CUDA_UNIFIED32_HI_32",
    "R_CUDA_ABS56_16_34",
    "R_CUDA_CONST_FIELD22_37",
];
