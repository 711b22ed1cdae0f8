use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::types::Type;

/// An array's element type and dimensions, in C order: `f32[64,16]`. No dimension at all is one element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    #[serde(rename = "type")]
    pub kind: Type,
    pub dims: Vec<u64>,
}

impl Shape {
    /// # Errors
    /// When the bytes of it all cannot be counted.
    pub fn new(kind: Type, dims: Vec<u64>) -> Result<Self, String> {
        let shape = Self { kind, dims };
        let bytes = shape
            .dims
            .iter()
            .try_fold(kind.size() as u64, |all, &dim| all.checked_mul(dim));
        match bytes {
            Some(bytes) if bytes <= isize::MAX as u64 => Ok(shape),
            _ => Err(format!("{shape} is too large")),
        }
    }

    /// `TYPE[D0,D1,…]`; `TYPE[]` is one element.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shape; expected TYPE[D0,D1,…] such as f32[16,4]");
        let (name, rest) = text.split_once('[').ok_or_else(wrong)?;
        let dims = rest.strip_suffix(']').ok_or_else(wrong)?;
        let kind = Type::from_name(name).ok_or_else(|| unknown_type(name))?;
        let dims = match dims {
            "" => Vec::new(),
            dims => dims
                .split(',')
                .map(|dim| dim.trim().parse().map_err(|_| wrong()))
                .collect::<Result<_, _>>()?,
        };
        Self::new(kind, dims)
    }

    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    pub fn bytes(&self) -> u64 {
        self.elements() * self.kind.size() as u64
    }

    /// Where element `at` (in C order) lies in each dimension.
    pub fn index(&self, mut at: u64) -> Vec<u64> {
        let mut index: Vec<u64> = self
            .dims
            .iter()
            .rev()
            .map(|&dim| {
                let here = at % dim.max(1);
                at /= dim.max(1);
                here
            })
            .collect();
        index.reverse();
        index
    }
}

pub(super) fn unknown_type(name: &str) -> String {
    let all: Vec<&str> = Type::ALL.iter().map(|kind| kind.as_str()).collect();
    format!("`{name}` is no type; expected one of {}", all.join(" "))
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        write!(f, "{}[{}]", self.kind, dims.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_bounded() {
        let shape = Shape::parse("f32[2,3]").unwrap();
        assert_eq!((shape.elements(), shape.bytes()), (6, 24));
        assert_eq!(shape.to_string(), "f32[2,3]");
        assert_eq!(shape.index(5), [1, 2]);
        assert_eq!(Shape::parse("u8[]").unwrap().elements(), 1);
        assert_eq!(Shape::parse("u8[0]").unwrap().bytes(), 0);
        for text in [
            "f32",
            "f32[",
            "f32[2",
            "f32[-1]",
            "f32[1.5]",
            "x[2]",
            "f64[4294967296,4294967296]",
            "[2]",
            "f32[,]",
        ] {
            assert!(Shape::parse(text).is_err(), "{text}");
        }
    }
}
