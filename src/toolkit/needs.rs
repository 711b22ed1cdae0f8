use std::path::PathBuf;

use super::{Candidate, Version};

/// What a piece of work asks of the toolkit that does it. Each limit carries its reason, a clause for
/// messages such as "`a.ltoir` was made by CUDA 13.5".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub(super) at_least: Option<Limit>,
    pub(super) below: Option<Limit>,
    pub(super) beside: Option<Beside>,
}

/// A part that is already chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beside {
    pub root: PathBuf,
    pub version: Option<Version>,
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    pub version: Version,
    pub because: String,
}

impl Needs {
    /// The release must be `version` or newer; the strictest of several calls holds.
    pub fn at_least(mut self, version: Version, because: impl Into<String>) -> Self {
        let strictest = self
            .at_least
            .as_ref()
            .is_none_or(|old| old.version < version);
        if strictest {
            self.at_least = Some(Limit {
                version,
                because: because.into(),
            });
        }
        self
    }

    /// The release must be older than `version`, as for a target that CUDA 13 no longer knows.
    pub fn below(mut self, version: Version, because: impl Into<String>) -> Self {
        let strictest = self.below.as_ref().is_none_or(|old| old.version > version);
        if strictest {
            self.below = Some(Limit {
                version,
                because: because.into(),
            });
        }
        self
    }

    /// The other parts should come from the toolkit of this one: they are looked for there first, and
    /// nothing newer is fetched.
    pub fn beside(mut self, part: &Candidate) -> Self {
        self.beside = Some(Beside {
            root: part.root.clone(),
            version: part.version,
            title: part.to_string(),
        });
        self
    }

    /// Why a component of this version does not do, or `None` when it does. An unknown version does
    /// only where nothing is asked for.
    pub fn refusal(&self, version: Option<Version>) -> Option<String> {
        let limits = [
            (self.at_least.as_ref(), "older than", true),
            (self.below.as_ref(), "not older than", false),
        ];
        for (limit, relation, wants_newer) in limits {
            let Some(limit) = limit else { continue };
            let Some(version) = version else {
                return Some(format!("its version is unknown, and {}", limit.because));
            };
            // Only as many numbers as are known of both can be compared.
            let (have, want) = match (version.patch, limit.version.patch) {
                (Some(_), Some(_)) => (version, limit.version),
                _ => (version.release(), limit.version.release()),
            };
            if (have >= want) != wants_newer {
                return Some(format!(
                    "{version} is {relation} {}, and {}",
                    limit.version, limit.because
                ));
            }
        }
        None
    }

    /// Why no release at all can do, or `None` when one can.
    pub fn contradiction(&self) -> Option<String> {
        let (at_least, below) = (self.at_least.as_ref()?, self.below.as_ref()?);
        (at_least.version >= below.version).then(|| {
            format!(
                "no CUDA release can do this: {} (needs {} or newer), but {} (needs one older than {})",
                at_least.because, at_least.version, below.because, below.version
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_limits_decide() {
        let needs = Needs::default()
            .at_least(Version::new(12, 4), "`a` is 12.4")
            .at_least(Version::new(12, 9), "`b` is 12.9")
            .below(Version::new(13, 0), "sm_70 is gone");
        assert_eq!(needs.refusal(Some(Version::with_patch(12, 9, 41))), None);
        assert_eq!(
            needs.refusal(Some(Version::with_patch(12, 8, 93))).unwrap(),
            "12.8.93 is older than 12.9, and `b` is 12.9"
        );
        assert_eq!(
            needs.refusal(Some(Version::new(13, 0))).unwrap(),
            "13.0 is not older than 13.0, and sm_70 is gone"
        );
        assert!(needs.refusal(None).is_some());
        assert_eq!(Needs::default().refusal(None), None);
        assert_eq!(needs.contradiction(), None);
        let both = needs.at_least(Version::new(13, 5), "`c` is 13.5");
        assert!(both.contradiction().unwrap().contains("`c` is 13.5"));
    }
}
