//! What the header of an LTO-IR blob says about a link. Its body is scrambled, so this is all that can be known
//! without the library. The rules were measured on nvJitLink 12.0 to 13.5, which itself overlooks the suffix.

use crate::code::{Arch, Suffix};
use crate::error::{Code, Diagnostic};
use crate::format::cubin::Release;
use crate::format::ltoir::Header;
use crate::link::findings;

/// The LTO-IR link that a blob takes part in.
#[derive(Debug, Clone, Copy)]
pub struct LtoTarget {
    pub arch: Arch,
    /// The release of the library that will link.
    pub linker: Release,
    /// The newer LLVM is used for every architecture (`--nvvm-latest`).
    pub nvvm_latest: bool,
}

/// The container version that the compilers of a release write.
const CONTAINERS: &[(Release, (u8, u8))] = &[
    (release(11, 8), (1, 54)),
    (release(12, 0), (1, 57)),
    (release(12, 4), (1, 61)),
    (release(12, 9), (1, 64)),
    (release(13, 0), (1, 65)),
    (release(13, 5), (1, 67)),
];

const fn release(major: u16, minor: u16) -> Release {
    Release { major, minor }
}

/// What is wrong with a blob; `arch` is what its container says, where it says more than the header.
pub fn header(name: &str, header: &Header, arch: Option<Arch>, target: &LtoTarget) -> Vec<Diagnostic> {
    let own = header.arch.map(|number| Arch {
        number,
        suffix: if header.accelerated { Suffix::Accelerated } else { Suffix::None },
    });
    let mut found = Vec::new();
    found.extend(version(header, target.linker));
    found.extend(arch.or(own).and_then(|arch| fits(arch, target.arch)));
    // The body is in the dialect of LLVM 7 for targets below sm_100, and in that of LLVM 23 from there on.
    if header.llvm.0 > 7 && target.arch.number < 100 && !target.nvvm_latest {
        found.push(findings::newer_llvm());
    }
    found.into_iter().map(|finding: Diagnostic| finding.input(name)).collect()
}

fn version(header: &Header, linker: Release) -> Option<Diagnostic> {
    let made_by = CONTAINERS.iter().find(|(_, container)| *container == header.container);
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
    let made_by = made_by.map(|(release, _)| format!("it was made by CUDA {release}, and the library is of {linker}"));
    (is_newer && known).then(|| {
        let (major, minor) = header.container;
        let words = made_by.unwrap_or_else(|| format!("it has container version {major}.{minor}, and the library is of {linker}"));
        findings::newer_than_library().detail(words)
    })
}

fn fits(arch: Arch, target: Arch) -> Option<Diagnostic> {
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
            format!("LTO-IR for {arch} cannot be linked for {target}: its suffix ties it to {arch}"),
        )
        .hint(format!("link for {arch}, or rebuild the input without the suffix"))
    };
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(container: (u8, u8), llvm: u8, arch: &str, target: &str, linker: Release) -> Vec<Code> {
        let arch: Arch = arch.parse().unwrap();
        let blob = Header {
            container,
            nvvm_ir: (2, 131),
            debug_ir: (3, 2),
            llvm: (llvm, 0),
            arch: Some(arch.number),
            accelerated: arch.suffix == Suffix::Accelerated,
        };
        let target = LtoTarget { arch: target.parse().unwrap(), linker, nvvm_latest: false };
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
            assert_eq!(codes(container, 7, "sm_80", "sm_80", linker), wanted, "{container:?} with {linker}");
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
