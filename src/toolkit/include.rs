//! CUDA's headers, which lie in the toolkit of the compiler that they are for.

use std::path::{Path, PathBuf};

use super::{Candidate, Cpu, Environment, Os};

/// Where headers may be below a toolkit's root; the last are the wheels' of CUDA 12, whose root is
/// `site-packages/nvidia`.
fn places(environment: &Environment) -> &'static [&'static str] {
    match (environment.platform.os, environment.platform.cpu) {
        (Os::Windows, _) => &["include", "cuda_runtime/include"],
        (_, Cpu::Aarch64) => &[
            "include",
            "targets/sbsa-linux/include",
            "targets/aarch64-linux/include",
            "cuda_runtime/include",
        ],
        _ => &[
            "include",
            "targets/x86_64-linux/include",
            "cuda_runtime/include",
        ],
    }
}

/// The folders to search for `cuda_fp16.h` and for CUDA's C++ libraries: those of the compiler's own toolkit, since
/// headers of another release may not suit it. Empty where that has none, as when only the compiler was fetched.
pub fn include_folders(compiler: &Candidate, environment: &Environment) -> Vec<PathBuf> {
    let roots = places(environment).iter();
    let mut folders = roots.map(|place| compiler.root.join(place));
    let Some(main) = folders.find(|folder| folder.join("cuda_fp16.h").is_file()) else {
        return Vec::new();
    };
    // CUDA 13 moved them into a folder of their own.
    let libraries = [main.join("cccl"), compiler.root.join("cuda_cccl/include")];
    let libraries = libraries.into_iter().filter(|folder| has_cccl(folder));
    std::iter::once(main.clone()).chain(libraries).collect()
}

fn has_cccl(folder: &Path) -> bool {
    folder.join("cuda/std").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::{Component, Source, Verdict};

    #[test]
    fn headers_come_from_the_compilers_own_toolkit() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = Candidate {
            component: Component::Nvrtc,
            path: folder.path().join("lib/libnvrtc.so.13"),
            version: None,
            source: Source::Wheel,
            origin: String::new(),
            root: folder.path().to_owned(),
            verdict: Verdict::Chosen(String::new()),
        };
        let mut environment = Environment::of("/", [("", ""); 0]);
        environment.platform.os = Os::Linux;
        let make = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let found = || include_folders(&compiler, &environment);
        assert!(found().is_empty());
        make("cuda_runtime/include/cuda_fp16.h");
        make("cuda_cccl/include/cuda/std/atomic");
        let old = ["cuda_runtime/include", "cuda_cccl/include"].map(|f| folder.path().join(f));
        assert_eq!(found(), old);
        std::fs::remove_dir_all(folder.path().join("cuda_cccl")).unwrap();
        make("include/cuda_fp16.h");
        make("include/cccl/cuda/std/atomic");
        let new = ["include", "include/cccl"].map(|f| folder.path().join(f));
        assert_eq!(found(), new);
    }
}
