//! LTO-IR in a link. A blob's body is scrambled: without the library only its header can be read. The library
//! turns a blob into a relocatable cubin, which has every symbol, prototype and call of it.
//!
//! The rules were measured on nvJitLink 12.0 to 13.5, which itself overlooks the suffix of an architecture, and
//! prototypes, sizes and duplicates between LTO-IR and other inputs.

use std::collections::HashSet;

use rayon::prelude::*;

use super::Chosen;
use super::facts::Facts;
use super::names::is_provided;
use super::table::Unit;
use crate::bytes::Blob;
use crate::code::{Arch, ImageKind, Suffix};
use crate::error::{Code, Diagnostic};
use crate::format::ltoir::Header;
use crate::link::findings;
use crate::toolkit::Version;

/// The LTO-IR link that a blob takes part in.
#[derive(Debug, Clone, Copy)]
pub struct LtoTarget {
    pub arch: Arch,
    /// The release of the library that will link.
    pub linker: Version,
    /// The newer LLVM is used for every architecture (`--nvvm-latest`).
    pub nvvm_latest: bool,
}

/// The container version that the compilers of a release write.
const CONTAINERS: &[(Version, (u8, u8))] = &[
    (release(11, 8), (1, 54)),
    (release(12, 0), (1, 57)),
    (release(12, 4), (1, 61)),
    (release(12, 9), (1, 64)),
    (release(13, 0), (1, 65)),
    (release(13, 5), (1, 67)),
];

const fn release(major: u16, minor: u16) -> Version {
    Version::new(major, minor)
}

/// What is wrong with a blob; `arch` is what its container says, where it says more than the header.
pub fn header(
    name: &str,
    header: &Header,
    arch: Option<Arch>,
    target: &LtoTarget,
) -> Vec<Diagnostic> {
    let own = header.arch.map(|number| Arch {
        number,
        suffix: if header.accelerated {
            Suffix::Accelerated
        } else {
            Suffix::None
        },
    });
    let mut found = Vec::new();
    found.extend(version(header, target.linker));
    found.extend(arch.or(own).and_then(|arch| fits(arch, target.arch)));
    // The body is in the dialect of LLVM 7 for targets below sm_100, and in that of LLVM 23 from there on.
    if header.llvm.0 > 7 && target.arch.number < 100 && !target.nvvm_latest {
        found.push(findings::newer_llvm());
    }
    found
        .into_iter()
        .map(|finding: Diagnostic| finding.input(name))
        .collect()
}

fn version(header: &Header, linker: Version) -> Option<Diagnostic> {
    let linker = linker.release();
    let made_by = CONTAINERS
        .iter()
        .find(|(_, container)| *container == header.container);
    if header.container < (1, 57) && linker >= release(12, 0) {
        return Some(findings::too_old());
    }
    let is_newer = match made_by {
        Some(&(release, _)) => release > linker,
        // A version between two known ones: it is too new if it is above the next known release's.
        None => CONTAINERS
            .iter()
            .find(|(release, _)| *release >= linker)
            .is_none_or(|(_, newest)| header.container > *newest),
    };
    // What nobody has seen may still be read by a library that nobody has seen.
    let known = linker <= release(13, 5) || made_by.is_some();
    let made_by = made_by.map(|(release, _)| {
        format!("it was made by CUDA {release}, and the library is of {linker}")
    });
    (is_newer && known).then(|| {
        let (major, minor) = header.container;
        let words = made_by.unwrap_or_else(|| {
            format!("it has container version {major}.{minor}, and the library is of {linker}")
        });
        findings::newer_than_library().detail(words)
    })
}

/// Why LTO-IR for `arch` cannot be linked for `target`, if it cannot.
pub fn fits(arch: Arch, target: Arch) -> Option<Diagnostic> {
    if arch.virtual_fits(target) {
        return None;
    }
    let finding = if arch.number > target.number {
        Diagnostic::error(
            Code::LtoNewerThanTarget,
            format!("LTO-IR for {arch} cannot be linked for {target}, which is older"),
        )
        .hint(format!("link for {arch} or a newer architecture"))
    } else {
        Diagnostic::error(
            Code::ArchSuffix,
            format!(
                "LTO-IR for {arch} cannot be linked for {target}: its suffix ties it to {arch}"
            ),
        )
        .hint(format!(
            "link for {arch}, or rebuild the input without the suffix"
        ))
    };
    Some(finding)
}

/// What the library does with LTO-IR for the check. Every call is a link of its own, in a process of its own.
pub trait LtoLibrary: Sync {
    /// A relocatable cubin of one blob, compiled as fast as can be (`-lto -r -Ofc=max`); needs release 13.0.
    fn relocatable(&self, image: &Chosen<'_>) -> crate::error::Result<Blob>;

    /// The PTX of several blobs together (`-lto -ptx`). It comes out even when symbols are undefined, and declares
    /// them.
    fn ptx(&self, images: &[Chosen<'_>]) -> crate::error::Result<Blob>;
}

/// Blobs from this size on take too long to be compiled for a check: 10 MB took 79 s.
const MOST_BYTES: usize = 256 * 1024;

/// A blob takes about 0.1 s.
const MOST_BLOBS: usize = 100;

/// Looks into the LTO-IR of a link and fills in the facts of its units. Returns a note about what was not looked at.
///
/// A link of a single blob is not looked into: there is nothing that it could contradict, and the library reports
/// what it lacks.
pub fn look_inside(
    units: &mut [Unit<'_>],
    images: &[Chosen<'_>],
    linker: Version,
    library: &dyn LtoLibrary,
) -> Option<Diagnostic> {
    let blobs = units.iter().filter(|unit| unit.facts.is_none()).count();
    if units.len() < 2 || blobs == 0 {
        return None;
    }
    let able = linker >= release(13, 0) && blobs <= MOST_BLOBS;
    let read = |(unit, image): (&mut Unit<'_>, &Chosen<'_>)| {
        if unit.facts.is_some() {
            return true;
        }
        if able && image.bytes.len() < MOST_BYTES {
            unit.facts = library
                .relocatable(image)
                .ok()
                .and_then(|cubin| facts(&cubin));
        }
        unit.facts.is_some()
    };
    let known: Vec<bool> = units.par_iter_mut().zip(images).map(read).collect();
    let unknown: Vec<&Chosen<'_>> = images
        .iter()
        .zip(known)
        .filter(|(_, known)| !known)
        .map(|(image, _)| image)
        .collect();
    let (first, others) = unknown.split_first()?;
    let small = unknown.iter().all(|image| image.bytes.len() < MOST_BYTES);
    let reason = if linker < release(13, 0) {
        format!("nvJitLink {linker} cannot show the symbols of LTO-IR; 13.0 and later can")
    } else if able && small {
        "the library could not show its symbols".to_owned()
    } else {
        format!(
            "symbols are looked at in up to {MOST_BLOBS} LTO-IR inputs below {} KiB each",
            MOST_BYTES / 1024
        )
    };
    let finding = Diagnostic::note(
        Code::BackendFailed,
        "LTO-IR is not checked for duplicates, signatures and sizes",
    )
    .input(first.name)
    .detail(reason);
    Some(
        others
            .iter()
            .fold(finding, |finding, image| finding.input(image.name)),
    )
}

/// The facts of a blob, from the cubin that the library made of it.
fn facts(cubin: &[u8]) -> Option<Facts> {
    let mut facts = Facts::from_cubin(cubin).ok().flatten()?;
    for symbol in &mut facts.symbols {
        // The real link compiles functions anew and together.
        symbol.registers = None;
        symbol.content = None;
    }
    Some(facts)
}

/// Whether the LTO-IR of a link must be made into a relocatable cubin first, and linked with the rest then: another
/// input needs something that only LTO-IR can define. The library, in one step, drops what only other inputs need as
/// soon as the LTO-IR has a kernel.
pub fn needs_two_steps(units: &[Unit<'_>], images: &[Chosen<'_>], linker: Version) -> bool {
    let is_lto = |image: &Chosen<'_>| image.kind == ImageKind::LtoIr;
    if !images.iter().any(is_lto) {
        return false;
    }
    let symbols = || {
        let others = units.iter().zip(images).filter(|(_, image)| !is_lto(image));
        others
            .filter_map(|(unit, _)| unit.facts.as_ref())
            .flat_map(|facts| &facts.symbols)
    };
    let defined: HashSet<&str> = symbols()
        .filter(|symbol| symbol.is_defined() && !symbol.is_static)
        .map(|symbol| &*symbol.name)
        .collect();
    symbols().any(|symbol| {
        !symbol.is_defined()
            && !symbol.is_dynamic_shared()
            && !defined.contains(&*symbol.name)
            && !is_provided(&symbol.name, linker)
    })
}

/// Everything that the LTO-IR of a failed link lacks, from the PTX that the library makes of it: the library itself
/// names the first one only. `defined` tells what other inputs define.
pub fn lacking(ptx: &[u8], linker: Version, defined: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
    let Ok(facts) = Facts::from_ptx(ptx) else {
        return Vec::new();
    };
    facts
        .symbols
        .iter()
        .filter(|symbol| !symbol.is_defined() && !symbol.is_dynamic_shared())
        .filter(|symbol| !is_provided(&symbol.name, linker) && !defined(&symbol.name))
        .map(|symbol| findings::undefined_symbol(&symbol.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(
        container: (u8, u8),
        llvm: u8,
        arch: &str,
        target: &str,
        linker: Version,
    ) -> Vec<Code> {
        let arch: Arch = arch.parse().unwrap();
        let blob = Header {
            container,
            nvvm_ir: (2, 131),
            debug_ir: (3, 2),
            llvm: (llvm, 0),
            level: 0,
            arch: Some(arch.number),
            accelerated: arch.suffix == Suffix::Accelerated,
        };
        let target = LtoTarget {
            arch: target.parse().unwrap(),
            linker,
            nvvm_latest: false,
        };
        let found = header("x", &blob, None, &target);
        found.into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn versions() {
        let newer = vec![Code::InputNewerThanLibrary];
        for (container, linker, wanted) in [
            ((1, 67), release(13, 5), vec![]),
            ((1, 67), release(13, 4), newer.clone()),
            ((1, 65), release(12, 9), newer.clone()),
            ((1, 61), release(13, 5), vec![]),
            ((1, 54), release(13, 5), vec![Code::InputTooOld]),
            ((1, 54), release(11, 8), vec![]),
            ((1, 66), release(13, 2), vec![]),
            ((1, 68), release(13, 5), newer),
            ((1, 68), release(13, 6), vec![]),
        ] {
            assert_eq!(
                codes(container, 7, "sm_80", "sm_80", linker),
                wanted,
                "{container:?} with {linker}"
            );
        }
    }

    #[test]
    fn architectures_and_dialects() {
        let check = |llvm, arch, target| codes((1, 67), llvm, arch, target, release(13, 5));
        assert_eq!(check(7, "sm_80", "sm_90"), []);
        assert_eq!(check(7, "sm_90", "sm_80"), [Code::LtoNewerThanTarget]);
        assert_eq!(check(7, "sm_90a", "sm_90"), [Code::ArchSuffix]);
        assert_eq!(check(7, "sm_90a", "sm_90a"), []);
        assert_eq!(check(23, "sm_100", "sm_120"), []);
        assert_eq!(check(23, "sm_80", "sm_90"), [Code::InputNewerThanLibrary]);
    }
}
