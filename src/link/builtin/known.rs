//! What the linker knows: everything else is refused by name. Each entry was part of links whose results were compared
//! with nvlink 13.5 byte for byte.

use crate::format::nv_info::Attribute;

/// Architectures, by number; sm_90a too.
pub(super) const ARCHITECTURES: [u16; 5] = [75, 80, 86, 89, 90];

/// Attributes of `.nv.info`.
pub(super) const GLOBAL_ATTRIBUTES: &[Attribute] = &[
    Attribute::FRAME_SIZE,
    Attribute::MIN_STACK_SIZE,
    Attribute::MAX_STACK_SIZE,
    Attribute::REGCOUNT,
    Attribute::MERCURY_ISA_VERSION,
];

/// Attributes of `.nv.info.<function>`.
pub(super) const FUNCTION_ATTRIBUTES: &[Attribute] = &[
    Attribute::CTAIDZ_USED,
    Attribute::MAX_THREADS,
    Attribute::PARAM_CBANK,
    Attribute::EXTERNS,
    Attribute::KPARAM_INFO,
    Attribute::CBANK_PARAM_SIZE,
    Attribute::MAXREG_COUNT,
    Attribute::EXIT_INSTR_OFFSETS,
    Attribute::CRS_STACK_SIZE,
    Attribute::COOP_GROUP_INSTR_OFFSETS,
    Attribute::COOP_GROUP_MASK_REGIDS,
    Attribute::WMMA_USED,
    Attribute::INT_WARP_WIDE_INSTR_OFFSETS,
    Attribute::INDIRECT_BRANCH_TARGETS,
    Attribute::SW2861232_WAR,
    Attribute::SW_WAR,
    Attribute::CUDA_API_VERSION,
    Attribute::NUM_MBARRIERS,
    Attribute::MBARRIER_INSTR_OFFSETS,
    Attribute::CTA_PER_CLUSTER,
    Attribute::EXPLICIT_CLUSTER,
    Attribute::MAX_CLUSTER_RANK,
    Attribute::INSTR_REG_MAP,
    Attribute::UNUSED_LOAD_BYTE_OFFSET,
    Attribute::KPARAM_INFO_V2,
    Attribute::NUM_BARRIERS,
    Attribute::SPARSE_MMA_MASK,
    Attribute::ANNOTATIONS,
    Attribute::MERCURY_ISA_VERSION,
    Attribute::LANGUAGE,
    Attribute::GRID_ATTRIBUTES,
    Attribute::NVSAL_SW_WAR,
    Attribute::PREEXIT_USED,
];

/// What a section is for; the name decides, since one name has had several types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Tables that are made anew.
    Table,
    Text,
    /// `.nv.constant0.<kernel>`: parameters.
    Parameters,
    /// `.nv.constant2.<function>`: the compiler's own constants.
    CompilerConstants,
    /// `.nv.constant3`: `__constant__` variables.
    Constants,
    Global,
    GlobalInit,
    /// Static shared memory of one function.
    Shared,
    /// `.nv_debug.shared`: shared variables that other units may name.
    DebugShared,
    Debug,
    Info,
    FunctionInfo,
    Relocations,
}

const WRITE: u64 = 1;
const ALLOCATE: u64 = 2;
const EXECUTE: u64 = 4;
/// `sh_info` names a section.
const INFO_LINK: u64 = 0x40;
/// ABI 7 keeps the barrier count in the flags of the code.
const BARRIERS: u64 = 0x7F0_0000;
/// The flags of the two notes.
const NOTES: u64 = 0x300_0000;

/// What a section is for, by its name, with the types and flags that it may have.
pub(super) fn section(name: &str) -> Option<(Role, &'static [u32], u64)> {
    const EXACT: &[(&str, Role, &[u32], u64)] = &[
        ("", Role::Table, &[0], 0),
        (".shstrtab", Role::Table, &[3], 0),
        (".strtab", Role::Table, &[3], 0),
        (".symtab", Role::Table, &[2], 0),
        (".symtab_shndx", Role::Table, &[18], 0),
        (".note.nv.tkinfo", Role::Table, &[7], NOTES | INFO_LINK),
        (".note.nv.cuinfo", Role::Table, &[7], NOTES | INFO_LINK),
        (".note.nv.cuver", Role::Table, &[7], NOTES | INFO_LINK),
        (".nv.compat", Role::Table, &[0x7000_0086], 0),
        (".nv.callgraph", Role::Table, &[0x7000_0001], 0),
        (".nv.prototype", Role::Table, &[0x7000_0002], 0),
        (".nv.rel.action", Role::Table, &[0x7000_000B], 0),
        (".nv.info", Role::Info, &[0x7000_0000], 0),
        (".nv.constant3", Role::Constants, &[0x7000_0067], ALLOCATE),
        (".nv.global", Role::Global, &[0x7000_0007], WRITE | ALLOCATE),
        (
            ".nv.global.init",
            Role::GlobalInit,
            &[0x7000_0008],
            WRITE | ALLOCATE,
        ),
        (
            ".nv_debug.shared",
            Role::DebugShared,
            &[0x7000_000A],
            WRITE | ALLOCATE,
        ),
    ];
    const PREFIX: &[(&str, Role, &[u32], u64)] = &[
        (".text.", Role::Text, &[1], ALLOCATE | EXECUTE | BARRIERS),
        (".nv.info.", Role::FunctionInfo, &[0x7000_0000], INFO_LINK),
        (
            ".nv.constant0.",
            Role::Parameters,
            &[0x7000_0064],
            ALLOCATE | INFO_LINK,
        ),
        (
            ".nv.constant2.",
            Role::CompilerConstants,
            &[0x7000_0066],
            ALLOCATE | INFO_LINK,
        ),
        (
            ".nv.shared.",
            Role::Shared,
            &[0x7000_000A],
            WRITE | ALLOCATE | INFO_LINK,
        ),
        (".debug_", Role::Debug, &[1], 0),
        (".nv_debug_", Role::Debug, &[1], 0),
        (".rela.", Role::Relocations, &[4], INFO_LINK),
        (".rel.", Role::Relocations, &[9], INFO_LINK),
    ];
    EXACT
        .iter()
        .find(|(exact, ..)| *exact == name)
        .or_else(|| PREFIX.iter().find(|(prefix, ..)| name.starts_with(prefix)))
        .map(|&(_, role, kinds, flags)| (role, kinds, flags))
}

/// Types of relocation, by number.
pub(super) mod relocation {
    /// 32.
    pub const ABS32: u32 = 1;
    /// 64.
    pub const ABS64: u32 = 2;
    /// Clears the range of a dropped function in debug sections.
    pub const UNUSED_CLEAR64: u32 = 73;
    /// Reserved shared memory, which the driver places.
    pub const RESERVED_SHARED: u32 = 114;
    /// An address that may go through the unified function table; without one it is [`ABS64`].
    pub const UNIFIED: u32 = 102;
    /// YIELD_OPCODE9_0, YIELD_CLEAR_PRED4_87: hints for a linker that schedules anew; they need no symbol.
    pub const DROPPED: [u32; 2] = [68, 69];
    /// 64, G64, FUNC_DESC_64, ABS32_LO_32, ABS32_HI_32, ABS47_34, ABS55_16_34: addresses of functions and variables.
    pub const FOR_DRIVER: [u32; 7] = [ABS64, 4, 35, 56, 57, 58, 75];

    /// What the linker itself writes into a 128-bit instruction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Content {
        /// An offset in shared memory or in a constant bank.
        Offset,
        /// CONST_FIELD19_40: the bank, and the offset in words of four bytes.
        BankAndWord,
        /// CONST_FIELD21_38: the bank, and the offset in bytes.
        BankAndByte,
    }

    /// Position and width of the field, in bits.
    pub fn field(kind: u32) -> Option<(u32, u32, Content)> {
        Some(match kind {
            // ABS32_32, ABS16_32, ABS24_32 (CUDA 10), ABS24_40, ABS20_44.
            55 => (32, 32, Content::Offset),
            59 => (32, 16, Content::Offset),
            60 => (32, 24, Content::Offset),
            74 => (40, 24, Content::Offset),
            100 => (44, 20, Content::Offset),
            64 => (40, 19, Content::BankAndWord),
            66 => (38, 21, Content::BankAndByte),
            _ => return None,
        })
    }

    pub fn is_known(kind: u32) -> bool {
        [ABS32, UNUSED_CLEAR64, RESERVED_SHARED, UNIFIED].contains(&kind)
            || DROPPED.contains(&kind)
            || FOR_DRIVER.contains(&kind)
            || field(kind).is_some()
    }
}
