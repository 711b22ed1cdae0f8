use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A release of a CUDA component: `13.5`, or `13.5.37` where the third number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u16,
    pub minor: u16,
    pub patch: Option<u16>,
}

impl Version {
    pub const fn new(major: u16, minor: u16) -> Self {
        Self {
            major,
            minor,
            patch: None,
        }
    }

    pub const fn with_patch(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch: Some(patch),
        }
    }

    /// The CUDA release that this belongs to. Components of one release differ in the third number.
    pub const fn release(self) -> Self {
        Self::new(self.major, self.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.patch {
            Some(patch) => write!(f, ".{patch}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Version {
    type Err = String;

    /// Takes `13.5` and `13.5.37`; further numbers, as in `13.5.37.1`, are dropped.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no version; expected one like 13.5 or 13.5.37");
        let mut numbers = text.split('.').map(|number| {
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| number.parse().ok()).flatten()
        });
        let mut next = || numbers.next().map(|number| number.ok_or_else(wrong));
        let version = Self {
            major: next().ok_or_else(wrong)??,
            minor: next().ok_or_else(wrong)??,
            patch: next().transpose()?,
        };
        while let Some(number) = next() {
            number?;
        }
        Ok(version)
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]+(\\.[0-9]+)?$" })
    }
}

/// What a user asks for: `13`, `13.5` or `13.5.37`. The numbers left out may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRequest {
    pub major: u16,
    pub minor: Option<u16>,
    pub patch: Option<u16>,
}

impl VersionRequest {
    /// Whether `version` is what was asked for; an unknown third number is not a given one.
    pub fn accepts(self, version: Version) -> bool {
        self.major == version.major
            && self.minor.is_none_or(|minor| minor == version.minor)
            && self.patch.is_none_or(|patch| Some(patch) == version.patch)
    }
}

impl From<Version> for VersionRequest {
    fn from(version: Version) -> Self {
        Self {
            major: version.major,
            minor: Some(version.minor),
            patch: version.patch,
        }
    }
}

impl fmt::Display for VersionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        for number in [self.minor, self.patch].into_iter().flatten() {
            write!(f, ".{number}")?;
        }
        Ok(())
    }
}

impl FromStr for VersionRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(major) if digits => Ok(Self {
                major,
                minor: None,
                patch: None,
            }),
            _ => text.parse::<Version>().map(Self::from).map_err(|_| {
                format!("`{text}` is no version; expected one like 13, 13.5 or 13.5.37")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn parses_prints_and_orders() {
        assert_eq!(version("13.5"), Version::new(13, 5));
        assert_eq!(version("12.4.127"), Version::with_patch(12, 4, 127));
        assert_eq!(version("13.5.37.1"), Version::with_patch(13, 5, 37));
        assert_eq!(version("12.4.127").to_string(), "12.4.127");
        assert!(version("12.10") > version("12.9.86"));
        assert!(version("13.5") < version("13.5.37"));
        for text in [
            "",
            "13",
            "13.",
            ".5",
            "13.5x",
            "13.+5",
            "13.5.37.x",
            "99999.1",
            "1.2.3.",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_request_leaves_numbers_open() {
        let accepts = |request: &str, text: &str| {
            request
                .parse::<VersionRequest>()
                .unwrap()
                .accepts(version(text))
        };
        assert!(accepts("13", "13.5.37"));
        assert!(accepts("13.5", "13.5.37"));
        assert!(!accepts("13.5", "13.4.92"));
        assert!(!accepts("13.5.37", "13.5"));
        for text in ["", "+13", "13.", "v13", "/opt/cuda"] {
            assert!(text.parse::<VersionRequest>().is_err(), "{text}");
        }
    }
}
