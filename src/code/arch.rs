//! GPU architectures: parsing, printing, ordering, and which code runs on or links into which.
//! The rules are measured on the vendor's tools of CUDA 12.9 and 13.5.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::fatbin::Entry;

/// What follows the number: nothing, `f` (family-specific) or `a` (exactly this architecture).
/// The order is the vendor's preference among images of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Suffix {
    #[default]
    None,
    Family,
    Accelerated,
}

/// An architecture such as `sm_90a`. Whether it is real (`sm_`) or virtual (`compute_`) is not part
/// of it: a cubin has a real one, PTX and LTO-IR a virtual one, and the numbers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Compute capability times ten: 75, 90, 121.
    pub number: u16,
    pub suffix: Suffix,
}

/// The numbers that current tools know. Others are parsed and kept; only a link target must be known.
const KNOWN: &[u16] = &[
    30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107,
    110, 120, 121,
];

/// Members of one family, oldest first: `f` code of one runs on it and on those after it.
const FAMILIES: &[&[u16]] = &[&[100, 103], &[110], &[120, 121]];

/// What is wrong when a fatbin entry and the cubin in it are for different architectures. Where the numbers differ,
/// the suffixes do not matter.
pub fn disagreement(said: Arch, own: Arch) -> String {
    let (said, own) = if said.number == own.number {
        (said, own)
    } else {
        (Arch::new(said.number), Arch::new(own.number))
    };
    format!("fatbin entry is for {said}, but its cubin is for {own}")
}

impl Arch {
    pub const fn new(number: u16) -> Self {
        Self {
            number,
            suffix: Suffix::None,
        }
    }

    pub const fn accelerated(number: u16) -> Self {
        Self {
            number,
            suffix: Suffix::Accelerated,
        }
    }

    pub const fn family(number: u16) -> Self {
        Self {
            number,
            suffix: Suffix::Family,
        }
    }

    /// The one that a fatbin entry says; none where its number is no architecture's.
    pub fn of_entry(entry: &Entry<'_>) -> Option<Self> {
        let number = u16::try_from(entry.arch)
            .ok()
            .filter(|&number| number > 0)?;
        let suffix = match () {
            () if entry.is_accelerated() => Suffix::Accelerated,
            () if entry.is_family() => Suffix::Family,
            () => Suffix::None,
        };
        Some(Self { number, suffix })
    }

    /// Whether any released tool knows this number, and the suffix exists for it.
    pub fn is_known(self) -> bool {
        KNOWN.contains(&self.number)
            && match self.suffix {
                Suffix::None => true,
                Suffix::Accelerated => self.number >= 90,
                Suffix::Family => FAMILIES.iter().any(|family| family.contains(&self.number)),
            }
    }

    /// Every known architecture with its suffixes, in order.
    pub fn all_known() -> Vec<Self> {
        let with = |suffix| KNOWN.iter().map(move |&number| Self { number, suffix });
        let mut all: Vec<Self> = with(Suffix::None)
            .chain(with(Suffix::Family))
            .chain(with(Suffix::Accelerated))
            .filter(|arch| arch.is_known())
            .collect();
        all.sort();
        all
    }

    /// `90a`: the part after `sm_`.
    pub fn bare(self) -> String {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Accelerated => "a",
        };
        format!("{}{suffix}", self.number)
    }

    /// `compute_90a`, the spelling for PTX.
    pub fn compute(self) -> String {
        format!("compute_{}", self.bare())
    }

    /// `9.0`: the compute capability.
    pub fn capability(self) -> String {
        format!("{}.{}", self.number / 10, self.number % 10)
    }

    /// Whether a cubin for `self` may be linked into (or runs on) `target`: the same decade and no
    /// newer; `a` exactly; `f` within its family. A 90a target takes 90 as well.
    pub fn cubin_fits(self, target: Self) -> bool {
        match self.suffix {
            Suffix::Accelerated => self == target,
            Suffix::Family => self.family_fits(target),
            Suffix::None => self.number / 10 == target.number / 10 && self.number <= target.number,
        }
    }

    /// Whether PTX or LTO-IR for `self` may be compiled for `target`: any newer one; `a` exactly; `f`
    /// within its family.
    pub fn virtual_fits(self, target: Self) -> bool {
        match self.suffix {
            Suffix::Accelerated => self == target,
            Suffix::Family => self.family_fits(target),
            Suffix::None => self.number <= target.number,
        }
    }

    /// The known architectures that machine code for `self` runs on, as `sm_100`.
    pub fn members(self) -> Vec<String> {
        let plain = KNOWN.iter().map(|&number| Self::new(number));
        plain
            .filter(|&target| self.number == target.number || self.cubin_fits(target))
            .map(|target| target.to_string())
            .collect()
    }

    fn family_fits(self, target: Self) -> bool {
        FAMILIES
            .iter()
            .any(|family| family.contains(&self.number) && family.contains(&target.number))
            && self.number <= target.number
    }
}

impl From<crate::format::cubin::Target> for Arch {
    fn from(target: crate::format::cubin::Target) -> Self {
        Self {
            number: target.number,
            suffix: match target.suffix {
                Some('a') => Suffix::Accelerated,
                Some('f') => Suffix::Family,
                _ => Suffix::None,
            },
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.bare())
    }
}

impl FromStr for Arch {
    type Err = String;

    /// Takes `sm_90a`, `compute_90a`, `lto_90a`, `90a` and `9.0a`. Unknown numbers are accepted here;
    /// see [`Arch::is_known`].
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no architecture; expected one like sm_90, sm_90a, compute_100f or 9.0"
            )
        };
        let rest = ["sm_", "compute_", "lto_"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let (digits, suffix) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Suffix::Accelerated),
            Some(b'f') => (&rest[..rest.len() - 1], Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let number = match digits.split_once('.') {
            Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
            Some(_) => return Err(wrong()),
            None => digits.to_owned(),
        };
        if !(2..=4).contains(&number.len()) || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        Ok(Self {
            number: number.parse().map_err(|_| wrong())?,
            suffix,
        })
    }
}

impl Serialize for Arch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arch {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Arch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Arch".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^sm_[0-9]+[af]?$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    #[test]
    fn every_spelling_is_one_arch() {
        for text in ["sm_90a", "compute_90a", "lto_90a", "90a", "9.0a"] {
            assert_eq!(arch(text), Arch::accelerated(90), "{text}");
        }
        assert_eq!(arch("10.0f"), Arch::family(100));
        for text in [
            "", "sm_", "sm_9", "sm_XX", "9.00", "sm_90b", "sm_90aa", "-90", "sm_99999", "９０",
        ] {
            assert!(text.parse::<Arch>().is_err(), "{text}");
        }
    }

    /// The acceptance tables measured on nvJitLink and nvlink 13.5.
    #[test]
    fn acceptance_follows_the_measured_tables() {
        let targets = [
            "75", "80", "86", "87", "89", "90", "90a", "100", "100a", "100f", "103", "103a",
            "103f", "110", "120", "120a", "120f", "121", "121a",
        ];
        let cubins: &[(&str, &[&str])] = &[
            ("75", &["75"]),
            ("80", &["80", "86", "87", "89"]),
            ("86", &["86", "87", "89"]),
            ("90", &["90", "90a"]),
            ("90a", &["90a"]),
            ("100", &["100", "100a", "100f", "103", "103a", "103f"]),
            ("100f", &["100", "100a", "100f", "103", "103a", "103f"]),
            ("100a", &["100a"]),
            ("103", &["103", "103a", "103f"]),
            ("110", &["110"]),
            ("120", &["120", "120a", "120f", "121", "121a"]),
            ("121", &["121", "121a"]),
            ("121a", &["121a"]),
        ];
        for (from, accepted) in cubins {
            for to in targets {
                assert_eq!(
                    arch(from).cubin_fits(arch(to)),
                    accepted.contains(&to),
                    "cubin {from} into {to}"
                );
            }
        }
        assert!(arch("80").virtual_fits(arch("121a")));
        assert!(!arch("90a").virtual_fits(arch("100")));
        assert!(arch("100f").virtual_fits(arch("103a")));
        assert!(!arch("100f").virtual_fits(arch("120")));
    }

    #[test]
    fn known_suffixes() {
        assert!(arch("sm_100f").is_known());
        assert!(!arch("sm_90f").is_known());
        assert!(!arch("sm_80a").is_known());
        assert!(!arch("sm_99").is_known());
    }
}
