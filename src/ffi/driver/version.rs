use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A CUDA release as the driver says it: 13040 is 13.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub i32);

impl DriverVersion {
    /// The oldest driver that is used.
    pub const OLDEST: Self = Self(11040);
    /// The newest whose result codes and launch attributes are known here.
    pub const NEWEST_KNOWN: Self = Self(13040);
    pub(super) const UNKNOWN: Self = Self(0);

    /// The newest PTX ISA that a driver of this release compiles, `(9, 0)` for 13.0. `None` where that is
    /// not known. Each release but 12.6 raised it (from the release notes of the PTX ISA).
    pub fn ptx_isa(self) -> Option<(u16, u16)> {
        let minor = u16::try_from(self.0 % 1000 / 10).ok()?;
        match self.0 / 1000 {
            11 if minor <= 8 => Some((7, minor)),
            12 if minor <= 5 => Some((8, minor)),
            12 if minor <= 9 => Some((8, minor - 1)),
            13 if minor <= 5 => Some((9, minor)),
            _ => None,
        }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl Serialize for DriverVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DriverVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = text.split_once('.').and_then(|(major, minor)| {
            Some(Self(
                major
                    .parse::<i32>()
                    .ok()?
                    .checked_mul(1000)?
                    .checked_add(minor.parse::<i32>().ok()?.checked_mul(10)?)?,
            ))
        });
        parsed.ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no CUDA release")))
    }
}

impl JsonSchema for DriverVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DriverVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_isa_by_release() {
        let isa = |version| DriverVersion(version).ptx_isa();
        assert_eq!(isa(11040), Some((7, 4)));
        assert_eq!(isa(12040), Some((8, 4)));
        assert_eq!((isa(12050), isa(12060)), (Some((8, 5)), Some((8, 5))));
        assert_eq!((isa(12080), isa(12090)), (Some((8, 7)), Some((8, 8))));
        assert_eq!(isa(13000), Some((9, 0)));
        assert_eq!((isa(14000), isa(13060)), (None, None));
        assert_eq!(DriverVersion(12080).to_string(), "12.8");
        let back: DriverVersion = serde_json::from_str("\"12.8\"").unwrap();
        assert_eq!(back, DriverVersion(12080));
    }
}
