use std::borrow::Cow;
use std::fmt;

/// Sections of the Mercury twin: a second, finalisable image inside cubins for sm_100 and later.
const MERCURY: u64 = 0x1000_0000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    pub index: u32,
    pub name: Cow<'a, str>,
    pub kind: SectionKind,
    pub flags: u64,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entry_size: u64,
}

impl<'a> Section<'a> {
    /// Whether it belongs to the Mercury twin, which repeats what the plain sections say.
    pub fn is_mercury(&self) -> bool {
        self.flags & MERCURY != 0
    }

    /// The function whose code this is: `f` for `.text.f`.
    pub fn text_of(&self) -> Option<&str> {
        let is_code = self.kind == SectionKind::PROGBITS && !self.is_mercury();
        self.name.strip_prefix(".text.").filter(|_| is_code)
    }
}

/// An `sh_type`. The type alone never identifies a section: one name has had up to four types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKind(pub u32);

impl SectionKind {
    pub const NULL: Self = Self(0);
    pub const PROGBITS: Self = Self(1);
    pub const SYMTAB: Self = Self(2);
    pub const RELA: Self = Self(4);
    pub const NOTE: Self = Self(7);
    pub const REL: Self = Self(9);
    pub const SYMTAB_SHNDX: Self = Self(18);

    /// Whether a section of this type has bytes in the file. Beside NOBITS there are CUDA's own
    /// zero-fill types, for which generic ELF readers return the bytes of the next section.
    pub fn has_bytes(self) -> bool {
        const ZERO_FILL: [u32; 6] = [0, 8, 0x7000_0007, 0x7000_0009, 0x7000_000a, 0x7000_0015];
        !ZERO_FILL.contains(&self.0)
    }

    /// The name as the vendor's dumper prints it.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "NULL",
            1 => "PROGBITS",
            2 => "SYMTAB",
            3 => "STRTAB",
            4 => "RELA",
            5 => "HASH",
            6 => "DYNAMIC",
            7 => "NOTE",
            8 => "NOBITS",
            9 => "REL",
            10 => "SHLIB",
            14 => "INIT_ARRAY",
            15 => "FINI_ARRAY",
            16 => "PREINIT_ARRAY",
            18 => "SYMTAB_SHNDX",
            0x7000_0000 => "CUDA_INFO",
            0x7000_0001 => "CUDA_CALLGRAPH",
            0x7000_0002 => "CUDA_PROTOTYPE",
            0x7000_0003 => "CUDA_RESOLVED_RELA",
            0x7000_0004 => "CUDA_METADATA",
            0x7000_0006 => "CUDA_CONSTANT",
            0x7000_0007 => "CUDA_GLOBAL",
            0x7000_0008 => "CUDA_GLOBAL_INIT",
            0x7000_0009 => "CUDA_LOCAL",
            0x7000_000a => "CUDA_SHARED",
            0x7000_000b => "CUDA_RELOCINFO",
            0x7000_000e => "CUDA_UFT",
            0x7000_0010 => "CUDA_UIDX",
            0x7000_0011 => "CUDA_UFT_ENTRY",
            0x7000_0012 => "CUDA_UDT",
            0x7000_0014 => "CUDA_UDT_ENTRY",
            0x7000_0015 => "CUDA_RESERVED_SHARED",
            0x7000_0064 => "CUDA_CONSTANT_B0",
            0x7000_0065 => "CUDA_CONSTANT_B1",
            0x7000_0066 => "CUDA_CONSTANT_B2",
            0x7000_0067 => "CUDA_CONSTANT_B3",
            0x7000_0068 => "CUDA_CONSTANT_B4",
            0x7000_0069 => "CUDA_CONSTANT_B5",
            0x7000_006a => "CUDA_CONSTANT_B6",
            0x7000_006b => "CUDA_CONSTANT_B7",
            0x7000_0086 => "CUDA_COMPAT_INFO",
            0x7000_0087 => "CUDA_EMBEDDED_HOST",
            0x7000_0089 => "CUDA_METADATA_TRACE_MARK",
            _ => return None,
        })
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}
