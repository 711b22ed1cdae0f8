//! The built-in linker against nvlink: links of `fixtures/builtin/` byte for byte, refusals by name, and damaged inputs.
//!
//! `tests/builtin-nvlink.sh` makes more links and names their folder in `CUDALINK_BUILTIN_LINKS`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cudalink::code::Arch;
use cudalink::error::{Code, Result};
use cudalink::format::cubin::{Cubin, Stage};
use cudalink::link::builtin::{Identity, Input, link};

/// One link: the inputs in order, and what nvlink made of them; none when it refused.
struct Link {
    name: String,
    target: Arch,
    inputs: Vec<(String, Vec<u8>)>,
    nvlink: Option<Vec<u8>>,
}

impl Link {
    fn run(&self, identity: Identity) -> Result<Vec<u8>> {
        run(&self.inputs, self.target, identity)
    }

    /// As nvlink, with the command that it noted.
    fn run_like_nvlink(&self) -> Result<Vec<u8>> {
        let command = self
            .nvlink
            .as_deref()
            .map(noted_command)
            .unwrap_or_default();
        self.run(Identity {
            tool: "nvlink",
            version: "Cuda compilation tools, release 13.5, V13.5.37",
            build: "Build cuda_13.5.r13.5/compiler.39125733_0",
            command: &command,
            like_nvlink: true,
        })
    }
}

fn run(inputs: &[(String, Vec<u8>)], target: Arch, identity: Identity) -> Result<Vec<u8>> {
    let inputs: Vec<Input> = inputs
        .iter()
        .map(|(name, cubin)| Input { name, cubin })
        .collect();
    link(&inputs, target, identity)
}

/// The last text of the first record of `.note.nv.tkinfo`.
fn noted_command(cubin: &[u8]) -> String {
    let cubin = Cubin::parse(cubin).unwrap();
    let note = cubin
        .data(cubin.section(".note.nv.tkinfo").unwrap())
        .unwrap();
    let description = &note[24..];
    let at = u32::from_le_bytes(description[20..24].try_into().unwrap()) as usize;
    let text = &description[24 + at..];
    let end = text.iter().position(|&byte| byte == 0).unwrap();
    String::from_utf8(text[..end].to_vec()).unwrap()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// `PROGRAM.ARCH.UNIT.cubin`, where the unit `nvlink` is the result.
fn fixture_links() -> Vec<Link> {
    let mut links: BTreeMap<String, Link> = BTreeMap::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(fixtures().join("builtin"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "cubin")
        })
        .collect();
    files.sort();
    for path in files {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let parts: Vec<&str> = file.split('.').collect();
        let [program, arch, unit, "cubin"] = parts[..] else {
            panic!("`{file}` is not named like the others");
        };
        let name = format!("{program}.{arch}");
        let link = links.entry(name.clone()).or_insert_with(|| Link {
            name,
            target: arch.parse().unwrap(),
            inputs: Vec::new(),
            nvlink: None,
        });
        let bytes = std::fs::read(&path).unwrap();
        match unit {
            "nvlink" => link.nvlink = Some(bytes),
            _ => link.inputs.push((file, bytes)),
        }
    }
    assert!(links.len() >= 8, "the fixtures were not found");
    links.into_values().collect()
}

fn fixture(name: &str) -> Link {
    let mut links = fixture_links();
    links.retain(|link| link.name == name);
    links.pop().unwrap()
}

/// The first section that differs, or none for the same bytes.
fn difference(expected: &[u8], actual: &[u8]) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (expected, actual) = (
        Cubin::parse(expected).unwrap(),
        Cubin::parse(actual).unwrap(),
    );
    let sections = expected.sections().iter().zip(actual.sections());
    for (a, b) in sections {
        if a.name != b.name {
            return Some(format!(
                "section `{}` where nvlink has `{}`",
                b.name, a.name
            ));
        }
        if expected.data(a).unwrap() != actual.data(b).unwrap() {
            return Some(format!("contents of `{}`", a.name));
        }
        if (a.flags, a.size, a.link, a.info, a.align) != (b.flags, b.size, b.link, b.info, b.align)
        {
            return Some(format!("header of `{}`", a.name));
        }
    }
    let counts = (expected.sections().len(), actual.sections().len());
    Some(format!("headers, or the number of sections: {counts:?}"))
}

/// What is wrong with a link when it is compared with nvlink's.
fn fault(link: &Link) -> Option<String> {
    match (&link.nvlink, link.run_like_nvlink()) {
        (Some(expected), Ok(actual)) => difference(expected, &actual),
        (Some(_), Err(error)) => Some(format!("refused: {error}")),
        (None, Ok(_)) => Some("linked, but nvlink refuses it".to_owned()),
        (None, Err(_)) => None,
    }
}

fn assert_same(links: &[Link]) {
    let faults: Vec<String> = links
        .iter()
        .filter_map(|link| Some(format!("{}: {}", link.name, fault(link)?)))
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {} links differ:\n{}",
        faults.len(),
        links.len(),
        faults.join("\n")
    );
}

#[test]
fn fixtures_are_linked_as_nvlink_does() {
    assert_same(&fixture_links());
}

/// Folders `ARCH/NAME` of inputs and of nvlink's result, `nvlink.cubin`, if it made one.
#[test]
fn other_links_are_as_nvlinks() {
    let Some(root) = std::env::var_os("CUDALINK_BUILTIN_LINKS") else {
        return;
    };
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths
    };
    let mut links = Vec::new();
    for arch in folders(Path::new(&root)) {
        let target: Arch = arch.file_name().unwrap().to_str().unwrap().parse().unwrap();
        for folder in folders(&arch) {
            let mut link = Link {
                name: folder.display().to_string(),
                target,
                inputs: Vec::new(),
                nvlink: None,
            };
            for path in folders(&folder) {
                let file = path.file_name().unwrap().to_str().unwrap().to_owned();
                let bytes = std::fs::read(&path).unwrap();
                match file.as_str() {
                    "nvlink.cubin" => link.nvlink = Some(bytes),
                    _ => link.inputs.push((file, bytes)),
                }
            }
            links.push(link);
        }
    }
    assert!(!links.is_empty(), "no links in the folder");
    assert_same(&links);
}

#[test]
fn results_are_executable_and_the_same_each_time() {
    for link in fixture_links() {
        let first = link.run(Identity::OWN).unwrap();
        assert_eq!(first, link.run(Identity::OWN).unwrap(), "{}", link.name);
        let cubin = Cubin::parse(&first).unwrap();
        assert_eq!(cubin.stage(), Stage::Executable);
        let note = cubin
            .data(cubin.section(".note.nv.tkinfo").unwrap())
            .unwrap();
        assert!(note.windows(9).any(|part| part == b"cudalink\0"));
    }
}

#[test]
fn callees_of_kept_functions_are_kept() {
    let link = fixture("pointers.sm_80");
    let has_callee = |cubin: &[u8]| {
        let cubin = Cubin::parse(cubin).unwrap();
        assert!(cubin.section(".text._Z9unreachedii").is_some());
        cubin.section(".text._Z5belowi").is_some()
    };
    assert!(has_callee(&link.run(Identity::OWN).unwrap()));
    // nvlink drops it, and leaves a call to address 0.
    assert!(!has_callee(&link.run_like_nvlink().unwrap()));
}

#[track_caller]
fn assert_refused(result: Result<Vec<u8>>, code: Code, part: &str) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(
        error.diagnostics.iter().any(|found| found.code == code) && text.contains(part),
        "{text}"
    );
}

#[test]
fn the_unknown_is_refused_by_name() {
    let read = |name: &str| {
        vec![(
            name.to_owned(),
            std::fs::read(fixtures().join(name)).unwrap(),
        )]
    };
    let linked = run(
        &read("whole.cubin"),
        "sm_90".parse().unwrap(),
        Identity::OWN,
    );
    assert_refused(linked, Code::NotRelocatable, "linked already");

    let Link { target, inputs, .. } = fixture("calls.sm_80");
    let other = run(&inputs, "sm_86".parse().unwrap(), Identity::OWN);
    assert_refused(other, Code::BuiltinUnsupported, "sm_80 code for sm_86");
    assert_refused(
        run(&[], target, Identity::OWN),
        Code::NoDeviceCode,
        "no input",
    );

    // One field altered: each time something that no toolkit has made so far.
    let altered = |alter: fn(&mut Vec<u8>)| {
        let mut inputs = inputs.clone();
        alter(&mut inputs[0].1);
        run(&inputs, target, Identity::OWN)
    };
    let attribute = altered(|bytes| {
        let at = section_offset(bytes, ".nv.info._Z5callsPfi");
        bytes[at + 1] = 0xEE;
    });
    assert_refused(attribute, Code::BuiltinUnsupported, "attribute 0xee");
    let relocation = altered(|bytes| {
        let at = section_offset(bytes, ".rel.text._Z5callsPfi");
        bytes[at + 8] = 0xF0;
    });
    assert_refused(relocation, Code::BuiltinUnsupported, "relocation");
    let name = altered(|bytes| {
        let at = bytes
            .windows(10)
            .position(|part| part == b".nv.global")
            .unwrap();
        bytes[at + 4] = b'x';
    });
    assert_refused(name, Code::BuiltinUnsupported, "section `.nv.xlobal");
    let debug = altered(|bytes| bytes[51] = 0x0E);
    assert_refused(debug, Code::BuiltinUnsupported, "`-G`");
}

fn section_offset(bytes: &[u8], name: &str) -> usize {
    let cubin = Cubin::parse(bytes).unwrap();
    usize::try_from(cubin.section(name).unwrap().offset).unwrap()
}

#[test]
fn missing_and_repeated_symbols_are_named() {
    let Link { target, inputs, .. } = fixture("calls.sm_80");
    let missing = run(&inputs[..1], target, Identity::OWN);
    assert_refused(missing, Code::UndefinedSymbol, "_Z5scalefi");
    let twice = [inputs.as_slice(), &inputs[1..]].concat();
    assert_refused(
        run(&twice, target, Identity::OWN),
        Code::DuplicateSymbol,
        "_Z",
    );
}

/// A generator of numbers that is the same everywhere (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Alters bytes, words or the length of one input. Half of the changes are in tables, where they matter.
fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    const WORDS: [u32; 8] = [0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, u32::MAX];
    for _ in 0..=numbers.below(6) {
        let at = match numbers.below(4) {
            0 => numbers.below(64),
            1 => bytes
                .len()
                .saturating_sub(1 + numbers.below(bytes.len() / 3)),
            _ => numbers.below(bytes.len()),
        };
        match numbers.below(3) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = numbers.below(256) as u8,
            _ => {
                let word = WORDS[numbers.below(WORDS.len())].to_le_bytes();
                let at = at & !3;
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
        }
    }
    if numbers.below(20) == 0 {
        bytes.truncate(numbers.below(bytes.len()));
    }
}

/// 5,000 damaged inputs; `CUDALINK_MUTATIONS` asks for another number.
#[test]
fn damaged_inputs_are_linked_or_refused() {
    let count: usize =
        std::env::var("CUDALINK_MUTATIONS").map_or(5_000, |number| number.parse().unwrap());
    let links = fixture_links();
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut linked, mut slowest) = (0, Duration::ZERO);
    for round in 0..count {
        let link = &links[round % links.len()];
        let mut inputs = link.inputs.clone();
        let which = numbers.below(inputs.len());
        damage(&mut inputs[which].1, &mut numbers);
        let start = Instant::now();
        let result = catch_unwind(|| run(&inputs, link.target, Identity::OWN));
        slowest = slowest.max(start.elapsed());
        let result = result.unwrap_or_else(|_| {
            panic!("round {round}: a panic on a damaged input of {}", link.name)
        });
        if let Ok(bytes) = result {
            linked += 1;
            assert!(
                bytes.len() < 64 << 20,
                "round {round}: {} bytes",
                bytes.len()
            );
        }
    }
    assert!(slowest < Duration::from_secs(5), "one took {slowest:?}");
    // The damage is neither always fatal nor always harmless.
    assert!(
        linked > count / 50 && linked < count - count / 50,
        "{linked} of {count} linked"
    );
}
