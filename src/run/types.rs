//! The element types of arguments and buffers: their names, sizes, text forms and values.

use std::fmt;

use half::{bf16, f16};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    F16,
    Bf16,
    F32,
    F64,
    /// Two f32: real and imaginary part.
    C64,
    /// Two f64.
    C128,
}

/// One element, wide enough for every type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

impl Type {
    pub const ALL: &'static [Type] = &[
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::Bool,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Bool => "bool",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "c64",
            Self::C128 => "c128",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// Bytes of what byte order applies to: a complex number's part.
    pub fn word(self) -> usize {
        if self.is_complex() {
            self.size() / 2
        } else {
            self.size()
        }
    }

    pub fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    pub fn is_integer(self) -> bool {
        self.integer().is_some()
    }

    /// Bits and signedness of the integer types.
    fn integer(self) -> Option<(u32, bool)> {
        let signed = match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => true,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => false,
            _ => return None,
        };
        Some((self.size() as u32 * 8, signed))
    }

    /// The little-endian bytes of a value written as text: a decimal number, `0x…` for the bits themselves,
    /// `nan`, `inf`, `true`, `false`, `1+2i`.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let wrong = || format!("`{text}` is no {self}");
        if self.is_complex() {
            let (re, im) = split_complex(text).ok_or_else(wrong)?;
            let part = if self == Self::C64 {
                Self::F32
            } else {
                Self::F64
            };
            return Ok([part.parse(re)?, part.parse(im)?].concat());
        }
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        if let Some(digits) = hex {
            if digits.starts_with(['+', '-']) {
                return Err(wrong());
            }
            let bits = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
            let bytes = bits.to_le_bytes();
            if bytes[self.size()..].iter().any(|&byte| byte != 0)
                || (self == Self::Bool && bits > 1)
            {
                return Err(format!("`{text}` does not fit into {self}"));
            }
            return Ok(bytes[..self.size()].to_vec());
        }
        if self == Self::Bool {
            return match text {
                "true" | "1" => Ok(vec![1]),
                "false" | "0" => Ok(vec![0]),
                _ => Err(wrong()),
            };
        }
        if self.integer().is_some() {
            let value: i128 = text.parse().map_err(|_| wrong())?;
            return self
                .encode_int(value)
                .ok_or_else(|| format!("`{text}` does not fit into {self}"));
        }
        self.parse_float(text)
    }

    fn parse_float(self, text: &str) -> Result<Vec<u8>, String> {
        let wrong = |_| format!("`{text}` is no {self}");
        let wide: f64 = text.parse().map_err(wrong)?;
        let (bytes, is_finite) = match self {
            // Straight from the text, so that it is rounded once.
            Self::F32 => {
                let value: f32 = text.parse().map_err(wrong)?;
                (value.to_le_bytes().to_vec(), value.is_finite())
            }
            Self::F16 => (
                f16::from_f64(wide).to_le_bytes().to_vec(),
                f16::from_f64(wide).is_finite(),
            ),
            Self::Bf16 => (
                bf16::from_f64(wide).to_le_bytes().to_vec(),
                bf16::from_f64(wide).is_finite(),
            ),
            _ => (wide.to_le_bytes().to_vec(), wide.is_finite()),
        };
        // `1e400` is a number, and none of this type.
        let spelled_out = text
            .trim_start_matches(['+', '-'])
            .starts_with(['i', 'I', 'n', 'N']);
        if !is_finite && !spelled_out {
            return Err(format!("`{text}` does not fit into {self}"));
        }
        Ok(bytes)
    }

    fn encode_int(self, value: i128) -> Option<Vec<u8>> {
        let (bits, signed) = self.integer()?;
        let (low, high) = if signed {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        (low..=high)
            .contains(&value)
            .then(|| value.to_le_bytes()[..self.size()].to_vec())
    }

    /// Fills `out` with `first`, `first + 1`, …: integers wrap around, floats round, a bool is the lowest bit.
    pub fn write_counts(self, first: u64, out: &mut [u8]) {
        /// One loop for each type, which the compiler makes fast.
        fn fill<const N: usize>(first: u64, out: &mut [u8], element: impl Fn(u64) -> [u8; N]) {
            for (count, out) in (first..).zip(out.as_chunks_mut().0) {
                *out = element(count);
            }
        }
        match self {
            Self::Bool => fill(first, out, |count| [count as u8 & 1]),
            Self::I8 | Self::U8 => fill(first, out, |count| [count as u8]),
            Self::I16 | Self::U16 => fill(first, out, |count| (count as u16).to_le_bytes()),
            Self::I32 | Self::U32 => fill(first, out, |count| (count as u32).to_le_bytes()),
            Self::I64 | Self::U64 => fill(first, out, u64::to_le_bytes),
            Self::F16 => fill(first, out, |count| {
                f16::from_f64(count as f64).to_le_bytes()
            }),
            Self::Bf16 => fill(first, out, |count| {
                bf16::from_f64(count as f64).to_le_bytes()
            }),
            Self::F32 => fill(first, out, |count| (count as f32).to_le_bytes()),
            Self::F64 => fill(first, out, |count| (count as f64).to_le_bytes()),
            // The imaginary part is zero.
            Self::C64 => fill(first, out, |count| {
                u64::from((count as f32).to_bits()).to_le_bytes()
            }),
            Self::C128 => fill(first, out, |count| {
                u128::from((count as f64).to_bits()).to_le_bytes()
            }),
        }
    }

    /// The value of `bytes`, which are one element.
    pub fn decode(self, bytes: &[u8]) -> Value {
        let mut wide = [0; 8];
        let word = self.word();
        wide[..word].copy_from_slice(&bytes[..word]);
        let bits = u64::from_le_bytes(wide);
        match self {
            Self::Bool => Value::Bool(bits != 0),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Int(bits.into()),
            Self::I8 => Value::Int((bits as i8).into()),
            Self::I16 => Value::Int((bits as i16).into()),
            Self::I32 => Value::Int((bits as i32).into()),
            Self::I64 => Value::Int((bits as i64).into()),
            Self::F16 => Value::Float(f16::from_bits(bits as u16).to_f64()),
            Self::Bf16 => Value::Float(bf16::from_bits(bits as u16).to_f64()),
            Self::F32 => Value::Float(f32::from_bits(bits as u32).into()),
            Self::F64 => Value::Float(f64::from_bits(bits)),
            Self::C64 | Self::C128 => {
                let part = if self == Self::C64 {
                    Self::F32
                } else {
                    Self::F64
                };
                match (part.decode(&bytes[..word]), part.decode(&bytes[word..])) {
                    (Value::Float(re), Value::Float(im)) => Value::Complex(re, im),
                    _ => Value::Complex(0.0, 0.0),
                }
            }
        }
    }

    /// The element as text, short and exact: reading it back gives the same bytes (but for a NaN's payload).
    pub fn text(self, bytes: &[u8]) -> String {
        match self.decode(bytes) {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => self.float_text(value),
            Value::Complex(re, im) => {
                let sign = if im.is_sign_negative() { "" } else { "+" };
                format!("{}{sign}{}i", self.float_text(re), self.float_text(im))
            }
        }
    }

    fn float_text(self, value: f64) -> String {
        match value {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
            // The shortest text that is this f32, not that of the f64 beside it. Half types are f32 here.
            _ if self != Self::F64 && self != Self::C128 => format!("{:?}", value as f32),
            _ => format!("{value:?}"),
        }
        .trim_end_matches(".0")
        .to_owned()
    }
}

/// The two parts of `1+2i`, `1,2`, `3` and `2i`; the imaginary unit may be `j`.
fn split_complex(text: &str) -> Option<(&str, &str)> {
    if let Some(parts) = text.split_once(',') {
        return Some(parts);
    }
    let Some(body) = text.strip_suffix(['i', 'j']) else {
        return Some((text, "0"));
    };
    let bytes = body.as_bytes();
    let split = (1..bytes.len())
        .rev()
        .find(|&at| matches!(bytes[at], b'+' | b'-') && !matches!(bytes[at - 1], b'e' | b'E'));
    Some(match split {
        Some(at) => (&body[..at], body[at..].trim_start_matches('+')),
        None => ("0", body),
    })
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact_and_checked() {
        let bytes = |kind: Type, text: &str| kind.parse(text).unwrap();
        assert_eq!(bytes(Type::I8, "-128"), [0x80]);
        assert_eq!(bytes(Type::I8, "0xff"), [0xff]);
        assert_eq!(bytes(Type::U64, "18446744073709551615"), [0xff; 8]);
        assert_eq!(bytes(Type::F32, "0x3f800000"), 1f32.to_le_bytes());
        assert_eq!(bytes(Type::F32, "-inf"), f32::NEG_INFINITY.to_le_bytes());
        assert_eq!(bytes(Type::F16, "1.5"), 0x3e00u16.to_le_bytes());
        assert_eq!(bytes(Type::Bf16, "-2"), 0xc000u16.to_le_bytes());
        assert_eq!(bytes(Type::Bool, "true"), [1]);
        assert_eq!(
            bytes(Type::C64, "1e-3-2i"),
            [1e-3f32.to_le_bytes(), (-2f32).to_le_bytes()].concat()
        );
        assert_eq!(
            bytes(Type::C128, "2j"),
            [0f64.to_le_bytes(), 2f64.to_le_bytes()].concat()
        );
        assert_eq!(bytes(Type::C128, "1,2"), bytes(Type::C128, "1+2i"));
        for (kind, text) in [
            (Type::U8, "256"),
            (Type::U8, "-1"),
            (Type::I32, "2147483648"),
            (Type::I32, "1.5"),
            (Type::I32, ""),
            (Type::I8, "0x100"),
            (Type::I8, "0x-1"),
            (Type::F32, "1e39"),
            (Type::F16, "70000"),
            (Type::Bool, "2"),
            (Type::Bool, "0x2"),
            (Type::C64, "1+i+"),
        ] {
            assert!(kind.parse(text).is_err(), "{kind}:{text}");
        }
    }

    #[test]
    fn text_reads_back() {
        for (kind, text) in [
            (Type::I64, "-9223372036854775808"),
            (Type::F32, "0.1"),
            (Type::F64, "0.1"),
            (Type::F64, "1e300"),
            (Type::F16, "0.099975586"),
            (Type::F32, "nan"),
            (Type::C64, "1.5-2.5i"),
            (Type::C128, "-inf+nani"),
            (Type::Bool, "false"),
            (Type::F32, "3"),
            (Type::F32, "-0"),
        ] {
            let bytes = kind.parse(text).unwrap();
            assert_eq!(kind.text(&bytes), text);
            assert_eq!(bytes, kind.parse(&kind.text(&bytes)).unwrap());
        }
    }

    #[test]
    fn counting_up_wraps_and_rounds() {
        let write = |kind: Type, count| {
            let mut out = vec![0; kind.size()];
            kind.write_counts(count, &mut out);
            kind.text(&out)
        };
        assert_eq!(write(Type::U8, 257), "1");
        assert_eq!(write(Type::I8, 255), "-1");
        assert_eq!(write(Type::Bool, 3), "true");
        assert_eq!(write(Type::F32, (1 << 24) + 1), "16777216");
        assert_eq!(write(Type::C64, 7), "7+0i");
    }
}
