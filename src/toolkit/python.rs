//! Where Python keeps packages, found without starting Python: that would cost more than a link.

use std::path::{Path, PathBuf};

use super::{Environment, Os};

/// A `site-packages` folder and why it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    pub origin: &'static str,
    pub path: PathBuf,
    /// With links followed.
    real: PathBuf,
}

/// The active virtual environment, then the user's and the system's packages of the first `python3` on
/// `PATH`. Only folders that exist are returned.
pub(super) fn sites(environment: &Environment) -> Vec<Site> {
    let mut sites = Vec::new();
    if let Some(prefix) = environment.path("VIRTUAL_ENV") {
        add(
            &mut sites,
            "VIRTUAL_ENV",
            packages(&prefix, environment.platform.os),
        );
    }
    if let Some(python) = find_python(environment) {
        python.add_sites(environment, &mut sites);
    }
    sites
}

fn add(sites: &mut Vec<Site>, origin: &'static str, paths: Vec<PathBuf>) {
    for path in paths {
        // Virtual environments have `lib64` as a link to `lib`.
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        if real.is_dir() && !sites.iter().any(|site| site.real == real) {
            sites.push(Site { origin, path, real });
        }
    }
}

/// An interpreter's installation.
struct Python {
    /// The folder that holds `bin` and `lib`.
    prefix: PathBuf,
    /// For a virtual environment that shares its base's packages, the base's prefix.
    base: Option<PathBuf>,
    is_virtual: bool,
}

impl Python {
    fn add_sites(&self, environment: &Environment, sites: &mut Vec<Site>) {
        let os = environment.platform.os;
        let shared = if self.is_virtual {
            add(sites, "python3 on PATH", packages(&self.prefix, os));
            self.base.as_deref()
        } else {
            Some(&*self.prefix)
        };
        if let Some(prefix) = shared {
            add(
                sites,
                "user site-packages",
                user_packages(environment, prefix),
            );
            add(sites, "python3 on PATH", packages(prefix, os));
        }
    }
}

/// The first interpreter on `PATH`, with links, virtual environments and pyenv's shims looked through.
fn find_python(environment: &Environment) -> Option<Python> {
    let name = match environment.platform.os {
        Os::Windows => "python.exe",
        _ => "python3",
    };
    environment.search_path().into_iter().find_map(|folder| {
        let program = folder.join(name);
        if !program.is_file() {
            return None;
        }
        if folder.ends_with("shims") {
            return pyenv_prefix(environment, &folder).map(Python::installed);
        }
        if let Some(python) = virtual_environment(&folder) {
            return Some(python);
        }
        let program = program.canonicalize().ok()?;
        prefix_of(program.parent()?).map(Python::installed)
    })
}

impl Python {
    fn installed(prefix: PathBuf) -> Self {
        Self {
            prefix,
            base: None,
            is_virtual: false,
        }
    }
}

/// `bin` lies in the prefix; on Windows the interpreter lies in the prefix itself.
fn prefix_of(folder: &Path) -> Option<PathBuf> {
    if folder.ends_with("bin") {
        folder.parent().map(Path::to_owned)
    } else {
        Some(folder.to_owned())
    }
}

/// The virtual environment whose programs lie in `folder`, told by its `pyvenv.cfg`.
fn virtual_environment(folder: &Path) -> Option<Python> {
    let prefix = folder.parent()?;
    let text = std::fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
        })
    };
    let shares = value("include-system-site-packages")
        .is_some_and(|shares| shares.eq_ignore_ascii_case("true"));
    let base = value("home")
        .filter(|_| shares)
        .and_then(|home| prefix_of(Path::new(home)));
    Some(Python {
        prefix: prefix.to_owned(),
        base,
        is_virtual: true,
    })
}

/// What a shim of pyenv starts: the version of `PYENV_VERSION`, else of its `version` file.
fn pyenv_prefix(environment: &Environment, shims: &Path) -> Option<PathBuf> {
    let root = shims.parent()?;
    let version = match environment.get("PYENV_VERSION") {
        Some(version) => version.to_string_lossy().into_owned(),
        None => std::fs::read_to_string(root.join("version")).ok()?,
    };
    let first = version.split([':', '\n']).next()?.trim();
    let prefix = root.join("versions").join(first);
    (!first.is_empty() && prefix.is_dir()).then_some(prefix)
}

/// The package folders of an installation, Debian's `dist-packages` included.
fn packages(prefix: &Path, os: Os) -> Vec<PathBuf> {
    if os == Os::Windows {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let mut paths = Vec::new();
    for folder in ["local/lib", "lib", "lib64"] {
        for version in versions(&prefix.join(folder)) {
            let library = prefix.join(folder).join(version);
            paths.push(library.join("site-packages"));
            paths.push(library.join("dist-packages"));
        }
    }
    paths.push(prefix.join("lib/python3/dist-packages"));
    paths
}

/// The user's own packages, for the versions of Python that are installed in `prefix`.
fn user_packages(environment: &Environment, prefix: &Path) -> Vec<PathBuf> {
    let base = environment.path("PYTHONUSERBASE");
    let home = environment.path("HOME");
    match environment.platform.os {
        Os::Windows => {
            let base = base.or_else(|| environment.path("APPDATA").map(|data| data.join("Python")));
            // `…\Python311` is both the installation's and the user folder's name.
            let version = prefix.file_name();
            let found = base.zip(version);
            found
                .map(|(base, version)| base.join(version).join("site-packages"))
                .into_iter()
                .collect()
        }
        _ => {
            let Some(base) = base.or_else(|| home.map(|home| home.join(".local"))) else {
                return Vec::new();
            };
            versions(&prefix.join("lib"))
                .into_iter()
                .map(|version| base.join("lib").join(version).join("site-packages"))
                .collect()
        }
    }
}

/// The folders `python3.13`, `python3.12` … in `library`, newest first.
fn versions(library: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(library) else {
        return Vec::new();
    };
    let mut found: Vec<(u16, String)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let minor = name.strip_prefix("python3.")?.parse().ok()?;
            Some((minor, name))
        })
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, name)| name).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::toolkit::tests::{Tree, environment};

    fn paths(environment: &Environment) -> Vec<PathBuf> {
        sites(environment)
            .into_iter()
            .map(|site| site.path)
            .collect()
    }

    #[test]
    fn the_active_environment_comes_before_user_and_system() {
        let tree = Tree::new();
        let venv = tree.folder("venv/lib/python3.12/site-packages");
        std::os::unix::fs::symlink("lib", tree.path("venv/lib64")).unwrap();
        tree.file("usr/bin/python3", b"\x7fELF");
        let system = tree.folder("usr/lib/python3.11/site-packages");
        let debian = tree.folder("usr/lib/python3/dist-packages");
        let user = tree.folder("home/.local/lib/python3.11/site-packages");
        let found = paths(&environment(
            &tree,
            &[
                ("VIRTUAL_ENV", &tree.at("venv")),
                ("PATH", &tree.at("usr/bin")),
                ("HOME", &tree.at("home")),
            ],
        ));
        assert_eq!(found, [venv, user, system, debian]);
    }

    #[test]
    fn a_virtual_environment_on_path_hides_the_rest_unless_it_shares() {
        let tree = Tree::new();
        let base = tree.folder("usr/lib/python3.11/site-packages");
        let own = tree.folder("venv/lib/python3.11/site-packages");
        tree.file("venv/bin/python3", b"\x7fELF");
        let home = tree.at("usr/bin");
        let with = |shares: &str| {
            let text = format!("home = {home}\ninclude-system-site-packages = {shares}\n");
            tree.file("venv/pyvenv.cfg", text.as_bytes());
            paths(&environment(&tree, &[("PATH", &tree.at("venv/bin"))]))
        };
        assert_eq!(with("false"), std::slice::from_ref(&own));
        assert_eq!(with("true"), [own, base]);
    }

    #[test]
    fn shims_of_pyenv_are_looked_through() {
        let tree = Tree::new();
        tree.file("pyenv/shims/python3", b"#!/bin/sh\n");
        tree.file("pyenv/version", b"3.11.7\n");
        let old = tree.folder("pyenv/versions/3.11.7/lib/python3.11/site-packages");
        let new = tree.folder("pyenv/versions/3.12.1/lib/python3.12/site-packages");
        let path = tree.at("pyenv/shims");
        assert_eq!(paths(&environment(&tree, &[("PATH", &path)])), [old]);
        let chosen = [("PATH", &*path), ("PYENV_VERSION", "3.12.1")];
        assert_eq!(paths(&environment(&tree, &chosen)), [new]);
        let gone = [("PATH", &*path), ("PYENV_VERSION", "system")];
        assert!(paths(&environment(&tree, &gone)).is_empty());
    }

    #[test]
    fn windows_has_one_folder() {
        let tree = Tree::new();
        tree.file("Python311/python.exe", b"MZ");
        let system = tree.folder("Python311/Lib/site-packages");
        let user = tree.folder("data/Python/Python311/site-packages");
        let mut environment = environment(
            &tree,
            &[
                ("PATH", &tree.at("Python311")),
                ("APPDATA", &tree.at("data")),
            ],
        );
        environment.platform.os = Os::Windows;
        assert_eq!(paths(&environment), [user, system]);
    }
}
