//! The places where a toolkit may be, in the order of preference, and the search of one place.

use std::path::{Path, PathBuf};

use super::{
    Component, Environment, Os, Platform, Source, Version, library, loader, names, python, store,
};
use crate::error::{Code, Diagnostic};

/// A place that may hold components.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub source: Source,
    /// For people: the variable or file that led here.
    pub origin: String,
    pub root: PathBuf,
    layout: Layout,
    /// To be told if the search comes here.
    pub warning: Option<Diagnostic>,
}

#[derive(Debug, Clone)]
enum Layout {
    /// `lib64`, `nvvm`, `bin` … below the root. In wheels since CUDA 13 the root is
    /// `site-packages/nvidia/cu13`.
    Toolkit { site: Option<PathBuf> },
    /// One toolkit a component below `site-packages/nvidia`, as wheels had it up to CUDA 12.
    Wheels { site: PathBuf },
    /// What cudalink fetched: one toolkit a package.
    Fetched,
    /// The files lie in the root itself.
    Folder,
    /// One file that the user named.
    File(PathBuf),
    /// What the system loader's cache lists.
    Cache(Vec<loader::Entry>),
}

impl Layout {
    /// A root such as `site-packages/nvidia/cu13` is a wheel's, whichever way led to it.
    fn toolkit(root: &Path) -> Self {
        let site = root
            .ancestors()
            .nth(2)
            .filter(|_| root.ends_with("nvidia/cu13"));
        Self::Toolkit {
            site: site.map(Path::to_owned),
        }
    }
}

/// A file that may be the component, not yet judged.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// As it was found.
    pub path: PathBuf,
    /// With links followed, to tell whether two are one.
    pub real: PathBuf,
    pub root: PathBuf,
    pub version: Option<Version>,
}

/// Every place but those that the user named, best first. Later stages cost nothing unless the search
/// comes to them.
pub(super) fn general(
    component: Component,
    environment: &Environment,
) -> impl Iterator<Item = Place> + '_ {
    type Stage = fn(&Environment) -> Vec<Place>;
    // The driver belongs to the system: a copy in a toolkit can only be a stub to link against.
    const DRIVER: &[Stage] = &[loader, driver];
    const LIBRARY: &[Stage] = &[fetched, wheels, conda, variables, loader, system];
    // A program on `PATH` may be started, but a library there is how libraries get planted.
    const TOOL: &[Stage] = &[wheels, conda, variables, system, search_path];
    let stages = match component {
        Component::Driver => DRIVER,
        _ if component.is_tool() => TOOL,
        _ => LIBRARY,
    };
    stages.iter().flat_map(|stage| stage(environment))
}

/// The places that a folder named by the user stands for: a toolkit, or Python's packages.
pub(super) fn of_folder(folder: &Path, source: Source, origin: &str) -> Vec<Place> {
    let nested = [folder.join("nvidia/cu13"), folder.join("nvidia")].into_iter();
    std::iter::once(folder.to_owned())
        .chain(nested.filter(|folder| folder.is_dir()))
        .flat_map(|root| of_root(&root, source, origin))
        .collect()
}

/// The toolkit at a root that may be laid out in any of the known ways.
pub(super) fn of_root(root: &Path, source: Source, origin: &str) -> Vec<Place> {
    let mut layouts = vec![Layout::toolkit(root)];
    if let Some(site) = root.parent().filter(|_| root.ends_with("nvidia")) {
        layouts.push(Layout::Wheels {
            site: site.to_owned(),
        });
    }
    layouts.extend([Layout::Fetched, Layout::Folder]);
    let layouts = layouts.into_iter();
    layouts
        .map(|layout| Place::new(source, origin, root.to_owned(), layout))
        .collect()
}

/// One file that the user named.
pub(super) fn of_file(file: &Path, source: Source, origin: &str) -> Place {
    let root = root_of(file);
    Place::new(source, origin, root, Layout::File(file.to_owned()))
}

fn fetched(environment: &Environment) -> Vec<Place> {
    let releases = store::releases(environment).into_iter();
    releases
        .map(|root| {
            Place::new(
                Source::Fetched,
                "fetched by cudalink",
                root,
                Layout::Fetched,
            )
        })
        .collect()
}

fn wheels(environment: &Environment) -> Vec<Place> {
    let sites = python::sites(environment).into_iter();
    sites
        .flat_map(|python::Site { origin, path, .. }| {
            let nvidia = path.join("nvidia");
            [
                toolkit(Source::Wheel, origin, nvidia.join("cu13")),
                Place::new(Source::Wheel, origin, nvidia, Layout::Wheels { site: path }),
            ]
        })
        .filter(|place| place.root.is_dir())
        .collect()
}

fn conda(environment: &Environment) -> Vec<Place> {
    let Some(prefix) = environment.path("CONDA_PREFIX") else {
        return Vec::new();
    };
    let root = match environment.platform.os {
        Os::Windows => prefix.join("Library"),
        _ => prefix,
    };
    vec![toolkit(Source::Conda, "CONDA_PREFIX", root)]
}

/// `CUDA_PATH`, then `CUDA_HOME`; that they differ is worth a warning, for other programs take them in
/// the other order.
fn variables(environment: &Environment) -> Vec<Place> {
    let path = environment.path("CUDA_PATH");
    let home = environment.path("CUDA_HOME");
    let mut places = Vec::new();
    if let Some(path) = &path {
        let mut place = toolkit(Source::CudaPath, "CUDA_PATH", path.clone());
        place.warning = home
            .as_ref()
            .filter(|home| !same_folder(path, home))
            .map(|home| {
                Diagnostic::warning(
                    Code::OptionConflict,
                    format!(
                        "`CUDA_PATH` is `{}` and `CUDA_HOME` is `{}`, which are different; the former is used first",
                        path.display(),
                        home.display()
                    ),
                )
                .hint("unset one of them, or choose with `--toolkit DIR`")
            });
        places.push(place);
    }
    if let Some(home) = home
        && path.is_none_or(|path| !same_folder(&path, &home))
    {
        places.push(toolkit(Source::CudaHome, "CUDA_HOME", home));
    }
    places
}

/// Whether two paths name one folder, however they are spelt and whichever links lead there.
fn same_folder(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.components().eq(b.components()),
    }
}

/// What the loader of the system would search. Only Linux has one that NVIDIA's files are given to.
fn loader(environment: &Environment) -> Vec<Place> {
    if environment.platform.os != Os::Linux {
        return Vec::new();
    }
    let folder = |origin: &str, path| Place::new(Source::Loader, origin, path, Layout::Folder);
    let mut places: Vec<Place> = environment
        .folders("LD_LIBRARY_PATH")
        .into_iter()
        .map(|path| folder("LD_LIBRARY_PATH", path))
        .collect();
    let cache = Layout::Cache(loader::cached(environment));
    let root = environment.root.clone();
    places.push(Place::new(Source::Loader, "ld.so.cache", root, cache));
    let fixed = loader::fixed_folders(environment).into_iter();
    places.extend(fixed.map(|path| folder("the loader's own folders", path)));
    places
}

fn driver(environment: &Environment) -> Vec<Place> {
    let folders = match environment.platform.os {
        Os::Linux => loader::driver_folders(environment),
        Os::Windows => environment
            .path("SystemRoot")
            .map(|root| root.join("System32"))
            .into_iter()
            .collect(),
        Os::MacOs => Vec::new(),
    };
    let folders = folders.into_iter();
    folders
        .map(|path| {
            Place::new(
                Source::System,
                "the system's folder for drivers",
                path,
                Layout::Folder,
            )
        })
        .collect()
}

/// Where installers and distributions put toolkits.
fn system(environment: &Environment) -> Vec<Place> {
    let roots = match environment.platform.os {
        Os::Windows => environment
            .path("ProgramFiles")
            .map(|programs| {
                numbered(
                    &programs.join("NVIDIA GPU Computing Toolkit").join("CUDA"),
                    "v",
                )
            })
            .unwrap_or_default(),
        _ => {
            let local = environment.root.join("usr/local");
            let mut roots = vec![local.join("cuda")];
            roots.extend(numbered(&local, "cuda-"));
            roots.push(environment.root.join("opt/cuda"));
            roots.push(environment.root.join("usr/lib/nvidia-cuda-toolkit"));
            roots
        }
    };
    let roots = roots.into_iter().filter(|root| root.is_dir());
    roots
        .map(|root| toolkit(Source::System, "installed on the system", root))
        .collect()
}

/// The folders `<prefix>13.5`, `<prefix>12.9` … in `parent`, newest first.
fn numbered(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<(Version, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix(prefix)?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn search_path(environment: &Environment) -> Vec<Place> {
    let folders = environment.search_path().into_iter();
    folders
        .map(|path| Place::new(Source::Path, "PATH", path, Layout::Folder))
        .collect()
}

fn toolkit(source: Source, origin: &str, root: PathBuf) -> Place {
    let layout = Layout::toolkit(&root);
    Place::new(source, origin, root, layout)
}

impl Place {
    fn new(source: Source, origin: impl Into<String>, root: PathBuf, layout: Layout) -> Self {
        Self {
            source,
            origin: origin.into(),
            root,
            layout,
            warning: None,
        }
    }

    /// The files here that may be the component, best first, each once. Folders that were looked into
    /// are added to `searched`.
    pub fn find(
        &self,
        component: Component,
        platform: Platform,
        searched: &mut Vec<PathBuf>,
    ) -> Vec<Found> {
        let names = names::file_names(component, platform.os);
        let paths = match &self.layout {
            Layout::File(path) => vec![path.clone()],
            Layout::Cache(entries) => in_cache(entries, names),
            _ => {
                let folders = self.folders(component, platform);
                let found = in_folders(&folders, names);
                searched.extend(folders);
                found
            }
        };
        let mut found: Vec<Found> = Vec::new();
        for path in paths {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            if found.iter().all(|known| known.real != real) {
                found.push(self.describe(component, path, real));
            }
        }
        found
    }

    fn folders(&self, component: Component, platform: Platform) -> Vec<PathBuf> {
        let below = |root: PathBuf| -> Vec<PathBuf> {
            let folders = names::folders(component, platform).iter();
            folders.map(|folder| root.join(folder)).collect()
        };
        match &self.layout {
            Layout::Folder => vec![self.root.clone()],
            Layout::Toolkit { .. } => below(self.root.clone()),
            Layout::Wheels { .. } => names::wheel_folder(component)
                .map(|folder| below(self.root.join(folder)))
                .unwrap_or_default(),
            Layout::Fetched => store::package(&self.root, component)
                .map(below)
                .unwrap_or_default(),
            Layout::File(_) | Layout::Cache(_) => Vec::new(),
        }
    }

    fn describe(&self, component: Component, path: PathBuf, real: PathBuf) -> Found {
        let root = match &self.layout {
            Layout::Toolkit { .. } | Layout::Wheels { .. } | Layout::Fetched => self.root.clone(),
            Layout::Folder | Layout::File(_) | Layout::Cache(_) => root_of(&real),
        };
        let version = self.version(component, &real, &root);
        // Whatever the loader goes by, what is loaded is the file itself.
        let path = match &self.layout {
            Layout::Cache(_) => real.clone(),
            _ => path,
        };
        Found {
            path,
            real,
            root,
            version,
        }
    }

    /// The release of the file, from the most exact source that is cheap to read.
    fn version(&self, component: Component, real: &Path, root: &Path) -> Option<Version> {
        if component == Component::Driver {
            return None;
        }
        let packaged = match &self.layout {
            Layout::Fetched => store::version(root, component),
            Layout::Wheels { site } => wheel_version(site, component, true),
            Layout::Toolkit { site: Some(site) } => wheel_version(site, component, false),
            _ => None,
        };
        packaged
            .or_else(|| names::version_in_name(component, real.file_name()?.to_str()?))
            .or_else(|| {
                (component == Component::NvJitLink)
                    .then(|| library::nvjitlink_release(real))
                    .flatten()
            })
            .or_else(|| toolkit_version(root, component))
    }
}

/// Every file whose name fits, by name first, so that a newer soname anywhere precedes an older one.
fn in_folders(folders: &[PathBuf], names: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names {
        for folder in folders {
            if name.contains('*') {
                found.extend(matching(folder, name));
            } else {
                let path = folder.join(name);
                // A link to nowhere is nothing.
                if path.is_file() {
                    found.push(path);
                }
            }
        }
    }
    found
}

fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<(Option<Version>, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let version = names::version_in_name(Component::NvrtcBuiltins, &name);
            names::matches(pattern, &name).then(|| (version, entry.path()))
        })
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn in_cache(entries: &[loader::Entry], names: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names {
        for entry in entries {
            if names::matches(name, &entry.soname) && entry.path.is_file() {
                found.push(entry.path.clone());
            }
        }
    }
    found
}

/// The toolkit that a library is a part of: what stands above `lib64`, `lib` or `targets/<triple>/lib`,
/// else the library's own folder.
fn root_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let is = |path: &Path, name: &str| path.file_name().is_some_and(|own| own == name);
    if !is(folder, "lib64") && !is(folder, "lib") {
        return folder.to_owned();
    }
    let Some(above) = folder.parent() else {
        return folder.to_owned();
    };
    match above.parent() {
        Some(targets) if is(targets, "targets") => targets.parent().unwrap_or(targets).to_owned(),
        _ if is(above, "nvvm") => above.parent().unwrap_or(above).to_owned(),
        _ => above.to_owned(),
    }
}

/// The version in the name of a package's `.dist-info` folder: `nvidia_nvjitlink_cu12-12.9.86.dist-info`.
fn wheel_version(site: &Path, component: Component, with_suffix: bool) -> Option<Version> {
    let names: Vec<String> = std::fs::read_dir(site)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names::wheel_names(component).iter().find_map(|package| {
        names.iter().find_map(|name| {
            let rest = name.strip_prefix(package)?.strip_suffix(".dist-info")?;
            let (suffix, version) = rest.split_once('-')?;
            let fits = match with_suffix {
                true => suffix.starts_with("_cu"),
                false => suffix.is_empty(),
            };
            fits.then(|| version.parse().ok()).flatten()
        })
    })
}

/// The release of a whole toolkit, for parts that do not tell their own: `version.json`, a library
/// beside it that does, or the name of the folder.
fn toolkit_version(root: &Path, component: Component) -> Option<Version> {
    version_json(root, component)
        .or_else(|| {
            [
                "lib64",
                "lib",
                "targets/x86_64-linux/lib",
                "targets/sbsa-linux/lib",
                "bin/x64",
                "bin",
                "",
            ]
            .iter()
            .find_map(|folder| neighbour_version(&root.join(folder)))
        })
        .or_else(|| {
            let name = root.canonicalize().ok()?;
            let name = name.file_name()?.to_str()?;
            ["cuda-", "v"]
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix)?.parse().ok())
        })
}

fn version_json(root: &Path, component: Component) -> Option<Version> {
    let text = std::fs::read(root.join("version.json")).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    names::version_keys(component)
        .iter()
        .find_map(|key| value.get(key)?.get("version")?.as_str()?.parse().ok())
}

/// The release that NVRTC's builtins in this folder tell by their name.
fn neighbour_version(folder: &Path) -> Option<Version> {
    let patterns = [
        names::file_names(Component::NvrtcBuiltins, Os::Linux),
        names::file_names(Component::NvrtcBuiltins, Os::Windows),
    ];
    patterns.concat().into_iter().find_map(|pattern| {
        let newest = matching(folder, pattern).into_iter().next()?;
        names::version_in_name(Component::NvrtcBuiltins, newest.file_name()?.to_str()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case by case what a library's place says of its toolkit.
    #[test]
    fn the_root_is_derived_from_the_usual_folders_alone() {
        let root = |path: &str| root_of(Path::new(path));
        assert_eq!(root("/opt/cuda/lib64/libx.so"), Path::new("/opt/cuda"));
        assert_eq!(root("/opt/cuda/lib/libx.so"), Path::new("/opt/cuda"));
        assert_eq!(
            root("/opt/cuda/targets/x86_64-linux/lib/libx.so"),
            Path::new("/opt/cuda")
        );
        assert_eq!(root("/opt/cuda/nvvm/lib64/libx.so"), Path::new("/opt/cuda"));
        assert_eq!(root("/odd/place/libx.so"), Path::new("/odd/place"));
    }

    #[test]
    fn folders_are_the_same_however_they_are_spelt() {
        let same = |a: &str, b: &str| same_folder(Path::new(a), Path::new(b));
        assert!(same("/gone/cuda", "/gone/cuda/"));
        assert!(!same("/gone/cuda", "/gone/cuda-12"));
    }
}
