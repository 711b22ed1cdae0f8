//! The search itself: judging candidates, choosing one toolkit, fetching what is missing.

use std::path::{Path, PathBuf};

use super::pins::Package;
use super::places::{self, Place};
use super::{
    Candidate, Component, Located, Needs, Settings, Source, Verdict, Version, VersionRequest,
    fetch, library, names, pins,
};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::observe::Observer;

/// What the user's flags and variables say about one component.
enum Choice {
    /// Nothing: search, best place first.
    Free,
    /// Search, but only this release will do.
    Release(VersionRequest, &'static str),
    /// This file or folder and nothing else.
    Exactly(Vec<Place>, String),
}

/// The strictest word counts: a flag before a variable, one library before a whole toolkit.
fn choice(component: Component, settings: &Settings) -> Choice {
    let environment = &settings.environment;
    let file = |path: &Path, source, origin: &str| {
        let path = absolute(path);
        let said = format!("`{origin}` names `{}`", path.display());
        Choice::Exactly(vec![places::of_file(&path, source, origin)], said)
    };
    if component == Component::Driver {
        return match environment.path("CUDALINK_LIBCUDA") {
            Some(path) => file(&path, Source::Variable, "CUDALINK_LIBCUDA"),
            None => Choice::Free,
        };
    }
    let toolkit = |text: &std::ffi::OsStr, source, origin: &'static str| {
        if let Some(request) = text.to_str().and_then(|text| text.parse().ok()) {
            return Choice::Release(request, origin);
        }
        let path = absolute(Path::new(text));
        let said = format!("`{origin}` names `{}`", path.display());
        Choice::Exactly(places::of_folder(&path, source, origin), said)
    };
    let is_linker = component == Component::NvJitLink;
    if let Some(path) = settings.nvjitlink.as_ref().filter(|_| is_linker) {
        file(path, Source::Flag, "--nvjitlink")
    } else if let Some(text) = &settings.toolkit {
        toolkit(text, Source::Flag, "--toolkit")
    } else if let Some(path) = environment.path("CUDALINK_NVJITLINK").filter(|_| is_linker) {
        file(&path, Source::Variable, "CUDALINK_NVJITLINK")
    } else if let Some(text) = environment.get("CUDALINK_TOOLKIT") {
        toolkit(text, Source::Variable, "CUDALINK_TOOLKIT")
    } else {
        Choice::Free
    }
}

fn absolute(path: &Path) -> PathBuf {
    // It fails for an empty path alone, which then names nothing anyway.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Searches for one component, all places or up to the first candidate that suits.
pub(super) fn search(
    component: Component,
    settings: &Settings,
    needs: &Needs,
    everywhere: bool,
) -> Located {
    let choice = choice(component, settings);
    let (first, explicit) = match &choice {
        Choice::Exactly(places, said) => (places.clone(), Some(said.clone())),
        _ => (beside(component, settings, needs), None),
    };
    let general = explicit
        .is_none()
        .then(|| places::general(component, &settings.environment));
    let mut search = Search {
        settings,
        needs,
        request: match choice {
            Choice::Release(request, origin) => Some((request, origin)),
            _ => None,
        },
        seen: Vec::new(),
        located: Located {
            component,
            chosen: None,
            candidates: Vec::new(),
            searched: Vec::new(),
            warnings: Vec::new(),
            explicit,
        },
    };
    for place in first.into_iter().chain(general.into_iter().flatten()) {
        search.visit(&place);
        if search.located.chosen.is_some() && !everywhere {
            break;
        }
    }
    search.located
}

/// The places around a part that is chosen already, or that the user named.
fn beside(component: Component, settings: &Settings, needs: &Needs) -> Vec<Place> {
    if component == Component::Driver {
        return Vec::new();
    }
    let mut roots: Vec<(PathBuf, String)> = Vec::new();
    if let Some(part) = &needs.beside {
        roots.push((part.root.clone(), format!("beside {}", part.title)));
    }
    if let Choice::Exactly(places, _) = self::choice(Component::NvJitLink, settings) {
        let origin = "beside the nvJitLink that was named";
        roots.extend(
            places
                .into_iter()
                .map(|place| (place.root, origin.to_owned())),
        );
    }
    let roots = roots.into_iter();
    roots
        .flat_map(|(root, origin)| places::of_root(&root, Source::Beside, &origin))
        .collect()
}

struct Search<'a> {
    settings: &'a Settings,
    needs: &'a Needs,
    request: Option<(VersionRequest, &'static str)>,
    /// Files with links followed, and what led to them first.
    seen: Vec<(PathBuf, String)>,
    located: Located,
}

impl Search<'_> {
    fn visit(&mut self, place: &Place) {
        let component = self.located.component;
        let platform = self.settings.environment.platform;
        self.located.warnings.extend(place.warning.clone());
        for found in place.find(component, platform, &mut self.located.searched) {
            let known = self.seen.iter().find(|(real, _)| *real == found.real);
            let verdict = if let Some((_, first)) = known {
                Verdict::Outranked(format!("it is the file that {first} led to"))
            } else if let Some(reason) = self.refusal(&found.path, found.version) {
                Verdict::Unsuitable(reason)
            } else if let Some(chosen) = &self.located.chosen {
                Verdict::Outranked(format!("it comes after `{}`", chosen.path.display()))
            } else if self.located.explicit.is_some() {
                Verdict::Chosen("it is named explicitly".to_owned())
            } else if self.located.candidates.is_empty() {
                Verdict::Chosen("it comes first in the order of search".to_owned())
            } else {
                Verdict::Chosen("it is the first that suits".to_owned())
            };
            self.seen.push((found.real, place.origin.clone()));
            let candidate = Candidate {
                component,
                path: found.path,
                version: found.version,
                source: place.source,
                origin: place.origin.clone(),
                root: found.root,
                verdict,
            };
            if matches!(candidate.verdict, Verdict::Chosen(_)) {
                self.located.chosen = Some(candidate.clone());
            }
            self.located.candidates.push(candidate);
        }
    }

    fn refusal(&self, path: &Path, version: Option<Version>) -> Option<String> {
        let component = self.located.component;
        if let Some(reason) = library::unfit(path, component, self.settings.environment.platform) {
            return Some(reason);
        }
        if component == Component::Driver {
            return None;
        }
        if let Some((request, origin)) = self.request
            && !version.is_some_and(|version| request.accepts(version))
        {
            let have = version.map_or("its version is unknown".to_owned(), |v| {
                format!("it is {v}")
            });
            return Some(format!("{have}, and `{origin}` asks for {request}"));
        }
        self.needs.refusal(version)
    }
}

/// Searches for several components and chooses them from one toolkit if any has them all: one root, or
/// else one release.
pub(super) fn together(
    components: &[Component],
    settings: &Settings,
    needs: &Needs,
) -> Vec<Located> {
    if let [component] = components {
        return vec![search(*component, settings, needs, false)];
    }
    let components = components.iter();
    let mut parts: Vec<Located> = components
        .map(|&component| search(component, settings, needs, true))
        .collect();
    let by_root = |candidate: &Candidate| Some(candidate.root.display().to_string());
    let by_release = |candidate: &Candidate| Some(candidate.version?.release().to_string());
    if !unite(&mut parts, "its toolkit has all the parts", by_root) {
        unite(&mut parts, "all the parts are of its release", by_release);
    }
    parts
}

/// Chooses, for the first key that every part has a suitable candidate of, these candidates.
fn unite(parts: &mut [Located], reason: &str, key: impl Fn(&Candidate) -> Option<String>) -> bool {
    let suitable = |part: &Located, wanted: &str| {
        let mut candidates = part.candidates.iter();
        candidates.position(|candidate| {
            candidate.verdict.is_suitable() && key(candidate).as_deref() == Some(wanted)
        })
    };
    let keys: Vec<String> = parts
        .first()
        .map(|part| part.candidates.iter().filter_map(&key).collect())
        .unwrap_or_default();
    let common = keys.iter().find_map(|wanted| {
        let choices = parts.iter().map(|part| suitable(part, wanted));
        choices.collect::<Option<Vec<usize>>>()
    });
    let Some(choices) = common else {
        return false;
    };
    for (part, at) in parts.iter_mut().zip(choices) {
        part.choose(at, reason);
    }
    true
}

impl Located {
    /// Makes another candidate the chosen one.
    fn choose(&mut self, at: usize, reason: &str) {
        let Some(path) = self
            .candidates
            .get(at)
            .map(|candidate| candidate.path.clone())
        else {
            return;
        };
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            let was_chosen = matches!(candidate.verdict, Verdict::Chosen(_));
            if index == at && !was_chosen {
                candidate.verdict = Verdict::Chosen(reason.to_owned());
                self.chosen = Some(candidate.clone());
            } else if index != at && was_chosen {
                let lost = format!("`{}` was taken: {reason}", path.display());
                candidate.verdict = Verdict::Outranked(lost);
            }
        }
    }

    /// The chosen candidate, or the error that says what was tried and what to do.
    ///
    /// # Errors
    /// `library-not-found`, category [`Missing`](Category::Missing).
    pub fn require(self, settings: &Settings, needs: &Needs) -> Result<Candidate> {
        match self.chosen {
            Some(candidate) => Ok(candidate),
            None => Err(self.missing(settings, needs)),
        }
    }

    /// The error that says why nothing was chosen.
    pub fn missing(&self, settings: &Settings, needs: &Needs) -> Error {
        let title = self.component.title();
        let message = match (&self.explicit, self.candidates.first()) {
            (Some(said), Some(first)) => {
                format!("{said}, which cannot be used: {}", first.verdict.reason())
            }
            (Some(said), None) => format!("{said}, which has no {title}"),
            (None, Some(_)) => format!("no {title} that is on this machine can be used"),
            (None, None) => format!("{title} was not found"),
        };
        let mut diagnostic = Diagnostic::error(Code::LibraryNotFound, message);
        if self.explicit.is_none() || self.candidates.len() > 1 {
            for candidate in &self.candidates {
                diagnostic =
                    diagnostic.detail(format!("{candidate}: {}", candidate.verdict.reason()));
            }
        }
        if self.candidates.is_empty() {
            diagnostic = self.where_searched(diagnostic, settings);
        }
        for hint in hints(self.component, settings, needs) {
            diagnostic = diagnostic.hint(hint);
        }
        Error::new(Category::Missing, diagnostic)
    }

    fn where_searched(&self, mut diagnostic: Diagnostic, settings: &Settings) -> Diagnostic {
        let names = names::file_names(self.component, settings.environment.platform.os);
        if names.is_empty() {
            return diagnostic.detail(format!(
                "NVIDIA ships no {} for {}",
                self.component.title(),
                settings.environment.platform.os
            ));
        }
        diagnostic = diagnostic.detail(format!("looked for {}", names.join(", ")));
        for folder in &self.searched {
            diagnostic = diagnostic.detail(format!("in `{}`{}", folder.display(), content(folder)));
        }
        let unset = ["CUDA_PATH", "CUDA_HOME"]
            .iter()
            .all(|name| settings.environment.get(name).is_none());
        if self.explicit.is_none() && self.component != Component::Driver && unset {
            diagnostic = diagnostic.detail("CUDA_PATH and CUDA_HOME are not set");
        }
        diagnostic
    }
}

/// What is in a folder instead, for whoever wonders why nothing was found.
fn content(folder: &Path) -> String {
    const SHOWN: usize = 8;
    let Ok(entries) = std::fs::read_dir(folder) else {
        return ": no such folder".to_owned();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    match names.len() {
        0 => ": it is empty".to_owned(),
        count if count <= SHOWN => format!(": it has {}", names.join(", ")),
        count => format!(
            ": it has {} and {} more",
            names[..SHOWN].join(", "),
            count - SHOWN
        ),
    }
}

fn hints(component: Component, settings: &Settings, needs: &Needs) -> Vec<String> {
    if component == Component::Driver {
        return vec!["install NVIDIA's driver; linking and inspecting work without it".to_owned()];
    }
    let mut hints = Vec::new();
    let request = request(settings);
    let platform = settings.environment.platform;
    let at_most = needs.beside.as_ref().and_then(|part| part.version);
    if let Some((release, _)) = pins::choose(&[component], platform, needs, request, at_most) {
        hints.push(format!(
            "run `cudalink toolkit install {release} --component {component}`, which downloads it"
        ));
    }
    hints.push(match component {
        Component::NvJitLink => {
            "name one with `--nvjitlink PATH`, or a toolkit with `--toolkit DIR`".to_owned()
        }
        _ => "name a toolkit that has it with `--toolkit DIR`".to_owned(),
    });
    hints
}

/// The release that a flag or variable asks for.
fn request(settings: &Settings) -> Option<VersionRequest> {
    // Any component but the driver would do: a release is asked for of the whole toolkit.
    match choice(Component::Nvrtc, settings) {
        Choice::Release(request, _) => Some(request),
        _ => None,
    }
}

/// The parts that a piece of work needs; see [`super::obtain`].
pub(super) fn obtain(
    components: &[Component],
    settings: &Settings,
    needs: &Needs,
    observer: &dyn Observer,
) -> Result<Vec<Candidate>> {
    if let Some(message) = needs.contradiction() {
        return Err(Error::failed(Code::LibraryNotFound, message));
    }
    let mut parts = together(components, settings, needs);
    if parts.iter().any(|part| part.chosen.is_none()) {
        fetch_for(&parts, settings, needs, observer)?;
        parts = together(components, settings, needs);
    }
    let mut warnings: Vec<Diagnostic> = Vec::new();
    for part in &parts {
        for warning in &part.warnings {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        for candidate in &part.candidates {
            observer.detail(&format!("{candidate}: {}", describe(&candidate.verdict)));
        }
    }
    let parts = parts.into_iter().map(|part| part.require(settings, needs));
    let chosen = parts.collect::<Result<Vec<Candidate>>>()?;
    warnings.extend(mixed(&chosen, needs));
    warnings
        .iter()
        .for_each(|warning| observer.diagnostic(warning));
    Ok(chosen)
}

fn describe(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Chosen(reason) => format!("chosen, since {reason}"),
        Verdict::Outranked(reason) => format!("not taken, since {reason}"),
        Verdict::Unsuitable(reason) => format!("unsuitable, since {reason}"),
    }
}

fn fetch_for(
    parts: &[Located],
    settings: &Settings,
    needs: &Needs,
    observer: &dyn Observer,
) -> Result<()> {
    if !settings.offline
        && let Some(packages) = to_fetch(parts, settings, needs)
    {
        return fetch::install(&packages, settings, observer).map(drop);
    }
    let missing = parts.iter().filter(|part| part.chosen.is_none());
    let errors = missing.map(|part| part.missing(settings, needs));
    let error = Error {
        category: Category::Missing,
        diagnostics: errors.flat_map(|error| error.diagnostics).collect(),
    };
    Err(if settings.offline {
        error.detail("nothing is downloaded, because of `--offline` or `CUDALINK_OFFLINE`")
    } else {
        error
    })
}

/// The packages that hold the missing parts, and with them those parts of another release that nobody
/// asked for by name: a toolkit made of two would be worse than a longer download. `None` if an explicit
/// choice is what failed, or nothing that can be fetched suits.
pub(super) fn to_fetch(
    parts: &[Located],
    settings: &Settings,
    needs: &Needs,
) -> Option<Vec<&'static Package>> {
    let (named, free): (Vec<&Located>, Vec<&Located>) =
        parts.iter().partition(|part| part.explicit.is_some());
    if named.iter().any(|part| part.chosen.is_none()) {
        return None;
    }
    let version = named
        .iter()
        .filter_map(|part| part.chosen.as_ref()?.version);
    let at_most = version
        .min()
        .or_else(|| needs.beside.as_ref().and_then(|part| part.version));
    let wanted: Vec<Component> = free.iter().map(|part| part.component).collect();
    let platform = settings.environment.platform;
    let request = request(settings);
    let (release, packages) = pins::choose(&wanted, platform, needs, request, at_most)?;
    let is_here = |part: &Located| {
        part.candidates.iter().any(|candidate| {
            candidate.verdict.is_suitable()
                && candidate.version.map(Version::release) == Some(release)
        })
    };
    let lacking: Vec<Component> = free
        .iter()
        .filter(|part| !is_here(part))
        .map(|part| part.component)
        .collect();
    let packages = packages.into_iter();
    Some(
        packages
            .filter(|package| lacking.iter().any(|c| package.components.contains(c)))
            .collect(),
    )
}

/// A warning if the parts that will be used together are of different releases.
pub(super) fn mixed(chosen: &[Candidate], needs: &Needs) -> Option<Diagnostic> {
    let beside = needs.beside.as_ref();
    let versions = chosen
        .iter()
        .filter_map(|candidate| Some((candidate.version?.release(), candidate.to_string())))
        .chain(beside.and_then(|part| Some((part.version?.release(), part.title.clone()))));
    let versions: Vec<(Version, String)> = versions.collect();
    let (first, _) = versions.first()?;
    versions
        .iter()
        .any(|(version, _)| version != first)
        .then(|| {
            let warning = Diagnostic::warning(
                Code::ToolkitMixed,
                "libraries of different CUDA releases are used together",
            );
            let details = versions.into_iter().map(|(_, title)| title);
            details.fold(warning, Diagnostic::detail).hint(
                "choose one toolkit for all of them with `--toolkit DIR` or `--toolkit VERSION`",
            )
        })
}
