use std::fmt::Write;

/// A scalar or vector element type: `.u32`, `.v4 .f32`, `.texref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type<'a> {
    /// Without the dot: `u32`, `b8`, `texref`.
    pub name: &'a str,
    /// 1, 2, 4 or 8.
    pub lanes: u8,
    /// Bytes of one lane; 0 for an unknown type.
    pub lane_bytes: u8,
}

impl<'a> Type<'a> {
    /// `word` is a directive such as `.u32`; `None` when it names no type.
    pub(super) fn parse(word: &'a str) -> Option<Self> {
        let name = word.strip_prefix('.')?;
        let lane_bytes = match name {
            "b8" | "u8" | "s8" | "pred" | "e4m3" | "e5m2" => 1,
            "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
            "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" => 4,
            "b64" | "u64" | "s64" | "f64" | "texref" | "samplerref" | "surfref" => 8,
            "b128" => 16,
            _ => return None,
        };
        Some(Self {
            name,
            lanes: 1,
            lane_bytes,
        })
    }

    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        u64::from(self.lanes) * u64::from(self.lane_bytes)
    }

    /// Whether it names a texture, sampler or surface of the legacy kind.
    pub fn is_reference(self) -> bool {
        matches!(self.name, "texref" | "samplerref" | "surfref")
    }

    /// The letter of a prototype: by width alone, but `f` and `d` where the text says float.
    fn letter(self) -> char {
        match (self.name, self.bytes()) {
            ("f32", 4) => 'f',
            ("f64", 8) => 'd',
            (_, 1) => 'b',
            (_, 2) => 'h',
            (_, 4) => 'i',
            (_, 8) => 'l',
            _ => 'x',
        }
    }
}

/// How many elements a declaration has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Scalar,
    /// All dimensions multiplied.
    Array(u64),
    /// `[]`: as large as its definition or the launch says.
    Unsized,
    /// Written as an expression that is not evaluated here.
    Unknown,
}

/// A parameter or return value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub kind: Type<'a>,
    pub extent: Extent,
    /// In bytes: `.align`, else the natural one.
    pub align: u64,
    /// From the start of the parameters, in bytes; meaningful for kernels.
    pub offset: u64,
    /// In bytes; 0 when unsized or unknown.
    pub size: u64,
}

/// Bytes of a declaration, `None` when the text does not say.
pub(super) fn size(kind: Type<'_>, extent: Extent) -> Option<u64> {
    match extent {
        Extent::Scalar => Some(kind.bytes()),
        Extent::Array(count) => kind.bytes().checked_mul(count),
        Extent::Unsized | Extent::Unknown => None,
    }
}

/// The signature as linkers compare it: `#`, the return value, the parameters. Widths only, measured on
/// ptxas 11.8 to 13.5.
pub(super) fn prototype(returns: &[Parameter<'_>], parameters: &[Parameter<'_>]) -> String {
    let mut out = "#".to_owned();
    if returns.is_empty() {
        out.push('v');
    }
    for parameter in returns.iter().chain(parameters) {
        out.push(parameter.kind.letter());
        let count = match parameter.extent {
            Extent::Scalar => continue,
            Extent::Array(count) => count,
            Extent::Unsized | Extent::Unknown => 0,
        };
        // Writing to a String cannot fail.
        let _ = write!(out, "{count}");
    }
    out
}
