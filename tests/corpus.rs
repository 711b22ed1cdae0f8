//! Holds what is found in public packages against `tests/corpus.tsv`, which was compared with cuobjdump 11.8 and 13.5.
//! Run by `tests/corpus.sh`, which fetches the packages; `CUDALINK_CORPUS` names their folder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cudalink::code::{ExpandOptions, Image, ImageData, ObjectCode, Visitor};
use cudalink::error::Diagnostic;
use cudalink::format::compress::Limits;

/// What there is in one file of a package.
#[derive(Default)]
struct Summary {
    /// Fatbins by section.
    containers: BTreeMap<String, BTreeSet<(String, u32)>>,
    /// Images by kind and architecture.
    images: BTreeMap<(&'static str, String), u32>,
    unpacked: u64,
}

/// Summaries by member of a package. Images are unpacked and let go one by one.
#[derive(Default)]
struct Reader {
    members: BTreeMap<String, Summary>,
    problems: Vec<Diagnostic>,
}

impl Visitor for Reader {
    fn image(&mut self, image: Image) {
        assert!(
            image.warnings.is_empty(),
            "{}: {:?}",
            image.id(),
            image.warnings
        );
        let member = image.member.as_deref().unwrap_or_default();
        // A library's members count as one.
        let file = member.split('(').next().unwrap_or_default();
        let summary = self.members.entry(file.to_owned()).or_default();
        let section = image.section.as_deref().unwrap_or("-").to_owned();
        if let Some(container) = image.container {
            let containers = summary.containers.entry(section).or_default();
            // Members of an archive count theirs from 0 each.
            containers.insert((member.to_owned(), container));
        }
        let arch = image.arch.map_or("-".to_owned(), |arch| arch.bare());
        *summary
            .images
            .entry((image.kind.as_str(), arch))
            .or_default() += 1;
        summary.unpacked += image.size;
        if !matches!(image.data, ImageData::Opaque { .. }) {
            let bytes = image.unpack(Limits::default()).unwrap();
            let cut = image.size - bytes.len() as u64;
            // PTX ends in a NUL or none.
            assert!(cut <= 1, "{}", image.id());
        }
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }
}

impl Summary {
    fn line(&self) -> String {
        let containers: Vec<_> = self
            .containers
            .iter()
            .map(|(section, containers)| format!("{section}={}", containers.len()))
            .collect();
        let images: Vec<_> = self
            .images
            .iter()
            .map(|((kind, arch), count)| format!("{kind}:{arch}={count}"))
            .collect();
        let or_none = |list: Vec<String>| {
            if list.is_empty() {
                "none".to_owned()
            } else {
                list.join(" ")
            }
        };
        format!(
            "{}\t{}\t{}",
            or_none(containers),
            or_none(images),
            self.unpacked
        )
    }
}

fn package(folder: &Path, start: &str) -> PathBuf {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(start)
        })
        .unwrap_or_else(|| panic!("{start} is not in {}", folder.display()))
}

#[test]
fn public_packages() {
    let Some(folder) = std::env::var_os("CUDALINK_CORPUS") else {
        return common::skip("CUDALINK_CORPUS names no folder of packages");
    };
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus.tsv");
    let table = std::fs::read_to_string(table).unwrap();
    let mut packages: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (start, rest) = line.split_once('\t').unwrap();
        let (member, expected) = rest.split_once('\t').unwrap();
        packages.entry(start).or_default().push((member, expected));
    }
    let mut wrong = Vec::new();
    for (start, members) in packages {
        let path = package(Path::new(&folder), start);
        let mut reader = Reader::default();
        let code = ObjectCode::open(&path).unwrap();
        code.visit(&ExpandOptions::default(), &mut reader);
        assert!(reader.problems.is_empty(), "{start}: {:?}", reader.problems);
        for (member, expected) in members {
            let summary = reader.members.remove(member).unwrap_or_default().line();
            if summary != expected {
                wrong.push(format!("{start}\t{member}\t{summary}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these differ:\n{}", wrong.join("\n"));
}
