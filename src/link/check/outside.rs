//! Looks for definitions that a link cannot use: in what was not chosen of its inputs, in their host code, and in
//! archives that lie where libraries are searched. It is asked only when a link lacks something.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::near::{Elsewhere, Why};
use crate::code::{
    Arch, ExpandOptions, Image, ImageKind, Loadable, ObjectCode, SymbolKind, Symbols,
};
use crate::format::compress::Limits;
use crate::format::cubin::{Cubin, Stage};
use crate::format::ptx::Ptx;
use crate::format::{Kind, archive, host};

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct Outside<'a> {
    pub inputs: &'a [ObjectCode],
    /// Folders that libraries are searched in (`-L`).
    pub folders: &'a [PathBuf],
    pub target: Arch,
}

/// Searching must not take longer than a user waits for an error.
const MOST_BYTES: u64 = 256 << 20;
const MOST_ARCHIVES: usize = 200;

/// Definitions of `names` that the link does not use.
pub fn search(names: &[&str], outside: &Outside<'_>) -> Vec<Elsewhere> {
    let mut search = Search {
        names: names.iter().copied().collect(),
        target: outside.target,
        bytes_left: MOST_BYTES,
        found: Vec::new(),
    };
    for input in outside.inputs {
        search.input(input);
    }
    let given: HashSet<&Path> = outside
        .inputs
        .iter()
        .filter_map(|input| input.path.as_deref())
        .collect();
    for archive in archives(outside.folders) {
        if !given.contains(archive.as_path()) {
            search.archive(&archive);
        }
    }
    search.found
}

struct Search<'a> {
    names: HashSet<&'a str>,
    target: Arch,
    bytes_left: u64,
    found: Vec<Elsewhere>,
}

impl Search<'_> {
    /// What keeps an image of an input out of the link is the architecture, or that it is linked already; those that
    /// are in it define nothing that is looked for.
    fn input(&mut self, input: &ObjectCode) {
        let before = self.found.len();
        for image in input.expand(&ExpandOptions::default()).images {
            let Some(definitions) = self.definitions(&image) else {
                continue;
            };
            let why = match image.arch {
                _ if definitions.linked => Why::NotRelocatable,
                Some(arch) => Why::OtherArch(arch.to_string()),
                None => continue,
            };
            self.add(definitions.names, &image.file, &why);
        }
        if self.found.len() == before {
            self.host(input);
        }
    }

    fn host(&mut self, input: &ObjectCode) {
        match input.kind() {
            Kind::Object | Kind::SharedLibrary | Kind::Executable => {
                let names = self.host_symbols(&input.blob);
                self.add(names, &input.name, &Why::HostOnly);
            }
            Kind::Archive => {
                for member in archive::members(&input.blob)
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    if let archive::Content::Here { bytes, .. } = member.content {
                        let names = self.host_symbols(bytes);
                        self.add(
                            names,
                            &format!("{}({})", input.name, member.name()),
                            &Why::HostOnly,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn host_symbols(&self, bytes: &[u8]) -> Vec<String> {
        let mut names = host::defined_symbols(bytes).unwrap_or_default();
        names.retain(|name| self.names.contains(name.as_str()));
        names
    }

    fn archive(&mut self, path: &Path) {
        let Ok(code) = ObjectCode::open(path) else {
            return;
        };
        let why = Why::NotGiven(option(path));
        for image in code.expand(&ExpandOptions::default()).images {
            let fits = |arch: Arch| match image.kind {
                ImageKind::Cubin => arch.cubin_fits(self.target),
                _ => arch.virtual_fits(self.target),
            };
            if image.arch.is_some_and(fits)
                && let Some(definitions) = self.definitions(&image).filter(|all| !all.linked)
            {
                self.add(definitions.names, &image.file, &why);
            }
        }
    }

    fn add(&mut self, symbols: Vec<String>, place: &str, why: &Why) {
        for symbol in symbols {
            let found = Elsewhere {
                symbol,
                place: place.to_owned(),
                why: why.clone(),
            };
            if !self.found.contains(&found) {
                self.found.push(found);
            }
        }
    }

    /// Which of the names an image defines; `None` for none, and when too much was looked at.
    fn definitions(&mut self, image: &Image) -> Option<Definitions> {
        self.bytes_left = self.bytes_left.checked_sub(image.size)?;
        let limits = Limits {
            size: MOST_BYTES,
            ..Limits::default()
        };
        let is_readable = matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx);
        let bytes = is_readable.then(|| image.unpack(limits).ok()).flatten()?;
        // What a host object registers with the driver was compiled as a whole program.
        let mut linked = image.loadable == Loadable::Yes && image.section.is_some();
        let symbols = match image.kind {
            ImageKind::Cubin => {
                let cubin = Cubin::parse(&bytes).ok()?;
                linked |= cubin.stage() == Stage::Executable;
                Symbols::from_cubin(&cubin).ok()?
            }
            _ => Symbols::from_ptx(&Ptx::parse(&bytes).ok()?),
        };
        let kinds = [
            SymbolKind::Kernel,
            SymbolKind::Function,
            SymbolKind::Variable,
        ];
        let defined = symbols.list.iter().filter(|symbol| {
            // In a whole program functions are static, whatever the source says.
            symbol.defined && kinds.contains(&symbol.kind) && (linked || symbol.is_shared())
        });
        let names: Vec<String> = defined
            .map(|symbol| plain(&symbol.name))
            .filter(|name| self.names.contains(name))
            .map(str::to_owned)
            .collect();
        (!names.is_empty()).then_some(Definitions { names, linked })
    }
}

struct Definitions {
    names: Vec<String>,
    /// The image cannot be linked again.
    linked: bool,
}

/// `f` for `$k$f`, the copy of a function that a linked kernel keeps.
fn plain(name: &str) -> &str {
    name.strip_prefix('$')
        .and_then(|rest| rest.split_once('$'))
        .map_or(name, |(_, function)| function)
}

/// The archives in some folders, in the order of their names.
fn archives(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "a" || extension == "lib")
            })
            .collect();
        paths.sort();
        all.extend(paths);
    }
    all.truncate(MOST_ARCHIVES);
    all
}

/// How to give a library: `-l x` for `libx.a`.
fn option(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name
        .strip_prefix("lib")
        .and_then(|name| name.strip_suffix(".a"))
    {
        Some(name) => format!("-l {name}"),
        None => path.display().to_string(),
    }
}
