//! Links of damaged inputs: whatever happens, there is a message or a proven result, and never half of one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::env;
use rayon::prelude::*;

/// Links with the input that is damaged in each.
const LINKS: &[(&str, &[&str])] = &[
    ("axpy.cubin", &["scale.cubin"]),
    ("axpy.abi7.cubin", &["scale.cubin"]),
    ("axpy.ptx", &["scale.cubin"]),
    ("axpy.ltoir", &["libscale.a"]),
    ("scale.ltoir", &["axpy.ltoir"]),
    ("axpy.o", &["scale.o", "--arch=sm_90"]),
    ("axpy.lto.o", &["scale.lto.o"]),
    ("scale.fatbin", &["axpy.cubin", "--arch=sm_90"]),
    ("scale.lto.fatbin", &["axpy.ltoir", "--arch=sm_90"]),
    ("libscale.a", &["axpy.cubin"]),
    ("libscale.thin.a", &["axpy.cubin"]),
    ("two.o", &[]),
    ("libshared.so", &[]),
    ("templates.cubin", &[]),
];

const EACH: u64 = 150;

#[test]
fn two_thousand_mutations() {
    std::sync::LazyLock::force(&env::NVJITLINK);
    let fixtures = env::root().join("fixtures");
    let jobs: Vec<(usize, u64)> = (0..LINKS.len())
        .flat_map(|link| (0..EACH).map(move |seed| (link, seed)))
        .collect();
    assert!(jobs.len() >= 2000);
    let ends: Vec<String> = jobs
        .par_iter()
        .map(|&(link, seed)| {
            let (victim, others) = LINKS[link];
            let bytes = std::fs::read(fixtures.join(victim)).unwrap();
            let place = tempfile::tempdir().unwrap();
            // A thin archive's member lies beside it.
            std::fs::copy(fixtures.join("scale.o"), place.path().join("scale.o")).unwrap();
            let damaged = mutate(&bytes, seed * 31 + link as u64);
            std::fs::write(place.path().join(victim), damaged).unwrap();
            one(
                place.path(),
                victim,
                others,
                &format!("{victim}, seed {seed}"),
            )
        })
        .collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for end in ends {
        *counts.entry(end).or_default() += 1;
    }
    // Damage that nothing notices is in code and names; most must be noticed.
    let refused: usize = counts
        .iter()
        .filter(|(end, _)| *end != "0")
        .map(|(_, count)| count)
        .sum();
    assert!(refused * 2 > jobs.len(), "{counts:?}");
    eprintln!("{counts:?}");
}

fn one(place: &Path, victim: &str, others: &[&str], what: &str) -> String {
    let fixtures = env::root().join("fixtures");
    let others = others.iter().map(|other| match other.starts_with('-') {
        true => (*other).to_owned(),
        false => fixtures.join(other).display().to_string(),
    });
    let out = env::cudalink()
        .args(["link", "--timeout=20", "-o", "out.cubin", victim])
        .args(others)
        .env("CUDALINK_OFFLINE", "1")
        .current_dir(place)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    let made = place.join("out.cubin");
    let code = out
        .status
        .code()
        .unwrap_or_else(|| panic!("{what}: {}: {said}", out.status));
    match code {
        0 => {
            let bytes = std::fs::read(&made).unwrap();
            cudalink::format::cubin::Cubin::parse(&bytes).unwrap();
        }
        1 | 3 | 4 => {
            assert!(said.contains("error["), "{what}: {said}");
            assert!(!made.exists(), "{what}: a result in spite of: {said}");
            // A damaged header can ask for a library that there is not.
            assert!(
                code != 3 || said.contains("library-not-found"),
                "{what}: {said}"
            );
        }
        _ => panic!("{what}: exit status {code}: {said}"),
    }
    assert!(!said.contains("panicked"), "{what}: {said}");
    code.to_string()
}

/// Cuts the bytes, flips bits, or writes over a stretch; the same for the same seed.
fn mutate(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % bound.max(1)
    };
    let mut out = bytes.to_vec();
    match next(4) {
        0 => out.truncate(next(out.len())),
        1 => {
            let at = next(out.len());
            out[at] ^= 1 << next(8);
        }
        2 => {
            for _ in 0..8 {
                let at = next(out.len());
                out[at] ^= 1 << next(8);
            }
        }
        _ => {
            let at = next(out.len());
            let end = (at + 1 + next(16)).min(out.len());
            let value = [0, 0xff, 0x7f, 0x80][next(4)];
            out[at..end].fill(value);
        }
    }
    out
}
