//! Which releases of the library can do a link: one at least as new as every input and option, one that knows the
//! target.

use crate::code::{Arch, ImageKind, Suffix};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::format::cubin::Cubin;
use crate::format::ltoir::{self, Header};
use crate::format::ptx::Ptx;
use crate::link::findings;
use crate::link::options::{Emit, Options, Shape};
use crate::link::picked::Picked;
use crate::toolkit::{Needs, Version};

/// One reason why not any release will do.
#[derive(Debug, Clone)]
pub(super) struct Requirement {
    limit: Limit,
    /// A clause for messages: "`a.ltoir` was made by CUDA 13.5".
    because: String,
    /// What is told when the library that the user chose does not do; without the library's own release.
    finding: Diagnostic,
    category: Category,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    AtLeast(Version),
    Below(Version),
}

impl Requirement {
    fn is_met(&self, release: Version) -> bool {
        match self.limit {
            Limit::AtLeast(least) => release.release() >= least,
            Limit::Below(most) => release.release() < most,
        }
    }
}

/// All that a link asks of the library.
#[derive(Debug, Default)]
pub(super) struct Requirements(Vec<Requirement>);

impl Requirements {
    pub fn new(shape: Shape, options: &Options, picked: &[Picked]) -> Self {
        let mut all = Self::default();
        all.target(shape.target);
        for since in options.since() {
            all.option(since.option, since.release);
        }
        if shape.relocatable {
            all.option("-r", Version::new(13, 0));
        }
        if shape.emit == Emit::LtoIr {
            all.option("--emit ltoir", Version::new(13, 2));
        }
        for picked in picked {
            if let Some(made_by) = made_by(picked) {
                all.input(&picked.name, made_by);
            }
        }
        all
    }

    fn target(&mut self, target: Arch) {
        let (first, gone) = releases_of(target);
        let finding = |words: String| {
            Diagnostic::error(Code::LibraryNotFound, words).hint(
                "leave out `--nvjitlink` and `--toolkit` to have a suitable library found or fetched",
            )
        };
        if let Some(first) = first {
            let words = format!("{target} can be linked for from CUDA {first} on");
            self.add(
                Limit::AtLeast(first),
                &words,
                finding(words.clone()),
                Category::Missing,
            );
        }
        if let Some(gone) = gone {
            let words = format!("{target} cannot be linked for from CUDA {gone} on");
            self.add(
                Limit::Below(gone),
                &words,
                finding(words.clone()),
                Category::Missing,
            );
        }
    }

    fn option(&mut self, option: &str, release: Version) {
        let words = format!("`{option}` needs nvJitLink {release} or newer");
        let finding = Diagnostic::error(Code::OptionConflict, &words);
        self.add(Limit::AtLeast(release), &words, finding, Category::Missing);
    }

    fn input(&mut self, name: &str, made_by: Version) {
        let because = format!("`{name}` was made by CUDA {made_by}");
        let finding = findings::newer_than_library()
            .input(name)
            .detail(format!("it was made by CUDA {made_by}"));
        self.add(Limit::AtLeast(made_by), &because, finding, Category::Failed);
    }

    fn add(&mut self, limit: Limit, because: &str, finding: Diagnostic, category: Category) {
        self.0.push(Requirement {
            limit,
            because: because.to_owned(),
            finding,
            category,
        });
    }

    /// As the search for libraries wants them.
    pub fn needs(&self) -> Needs {
        self.0
            .iter()
            .fold(Needs::default(), |needs, one| match one.limit {
                Limit::AtLeast(version) => needs.at_least(version, &one.because),
                Limit::Below(version) => needs.below(version, &one.because),
            })
    }

    /// Whether a library that the user chose can do it.
    ///
    /// # Errors
    /// Every requirement that it does not meet.
    pub fn check(&self, library: &str, release: Version) -> Result<()> {
        let unmet: Vec<&Requirement> = self.0.iter().filter(|one| !one.is_met(release)).collect();
        let category = unmet.iter().map(|one| one.category).min();
        let findings = unmet
            .iter()
            .map(|one| {
                one.finding
                    .clone()
                    .detail(format!("the library is {library}"))
            })
            .collect();
        match category.and_then(|category| Error::from_diagnostics(category, findings)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// The first release that knows an architecture, and the first that does not any more; nothing where every release of
/// nvJitLink does.
fn releases_of(target: Arch) -> (Option<Version>, Option<Version>) {
    let mut first = match target.number {
        100 | 101 | 120 => Some(Version::new(12, 8)),
        103 | 121 => Some(Version::new(12, 9)),
        88 | 110 => Some(Version::new(13, 0)),
        107 => Some(Version::new(13, 5)),
        _ => None,
    };
    if target.suffix == Suffix::Family {
        first = first.max(Some(Version::new(12, 9)));
    }
    // CUDA 13 knows nothing older than Turing, and calls sm_101 sm_110.
    let gone = (target.number < 75 || target.number == 101).then_some(Version::new(13, 0));
    (first, gone)
}

/// The release that made an image, where it says so.
fn made_by(picked: &Picked) -> Option<Version> {
    let bytes = &picked.bytes;
    match picked.image.kind {
        ImageKind::Cubin => {
            let release = Cubin::parse(bytes).ok()?.release()?;
            Some(Version::new(release.major, release.minor))
        }
        ImageKind::Ptx => Some(release_of_isa(Ptx::parse_header(bytes).ok()?.version)),
        ImageKind::LtoIr => match Header::parse(bytes, 0) {
            Ok(header) => {
                let release = header
                    .toolkit()
                    .or_else(|| ltoir::first_release(header.container));
                release?.parse().ok()
            }
            Err(_) => picked.image.producer.toolkit.as_deref()?.parse().ok(),
        },
        _ => None,
    }
}

/// The first CUDA release whose ptxas reads a PTX ISA version.
fn release_of_isa((major, minor): (u16, u16)) -> Version {
    match (major, minor) {
        // From 9.0 on both count alike.
        (9.., _) => Version::new(major + 4, minor),
        (8, 0..=4) => Version::new(12, minor),
        (8, 5) => Version::new(12, 5),
        // CUDA 12.7 had no toolkit.
        (8, 6 | 7) => Version::new(12, 8),
        (8, _) => Version::new(12, 9),
        _ => Version::new(11, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(release_of_isa((9, 5)), Version::new(13, 5));
        assert_eq!(release_of_isa((8, 8)), Version::new(12, 9));
        assert_eq!(release_of_isa((8, 4)), Version::new(12, 4));
        assert_eq!(release_of_isa((6, 4)), Version::new(11, 0));
        let of = |arch: &str| releases_of(arch.parse().unwrap());
        assert_eq!(of("sm_90a"), (None, None));
        assert_eq!(of("sm_70"), (None, Some(Version::new(13, 0))));
        assert_eq!(of("sm_100f"), (Some(Version::new(12, 9)), None));
        assert_eq!(of("sm_120"), (Some(Version::new(12, 8)), None));
    }

    #[test]
    fn a_chosen_library_is_held_against_all() {
        let shape = Shape {
            target: Arch::new(120),
            lto: false,
            emit: Emit::Cubin,
            relocatable: true,
        };
        let all = Requirements::new(shape, &Options::default(), &[]);
        assert!(
            all.check("nvJitLink 13.5", Version::with_patch(13, 5, 37))
                .is_ok()
        );
        let error = all
            .check("nvJitLink 12.4", Version::new(12, 4))
            .unwrap_err();
        assert_eq!(
            (error.category, error.diagnostics.len()),
            (Category::Missing, 2)
        );
        let needs = all.needs();
        assert!(
            needs
                .refusal(Some(Version::new(12, 9)))
                .unwrap()
                .contains("`-r`")
        );
    }
}
