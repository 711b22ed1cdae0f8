//! What `pack` and `prune` write, read by NVIDIA's own tools and by the host's linker.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{cuda_tool, env};

fn run(folder: &Path, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
    let out = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{arguments:?}: {text}{errors}");
    text
}

fn cudalink(folder: &Path, arguments: &[&str]) {
    run(folder, env!("CARGO_BIN_EXE_cudalink"), arguments);
}

fn fixture(name: &str) -> String {
    env::root()
        .join("fixtures")
        .join(name)
        .display()
        .to_string()
}

/// The lines that describe the images, without the names of files.
fn listed(folder: &Path, tool: &Path, file: &str) -> Vec<String> {
    let text = run(folder, tool, &[file]);
    let described = [
        "Fatbin ",
        "arch = ",
        "code version",
        "identifier",
        "ptxasOptions",
        "nvvmOptions",
    ];
    let lines = text
        .lines()
        .filter(|line| described.iter().any(|start| line.starts_with(start)));
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn fatbins_are_listed_like_those_of_the_vendor() {
    let Some(tool) = cuda_tool("cuobjdump") else {
        return common::skip("no cuobjdump");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in [
        "axpy.fatbin",
        "whole.fatbin",
        "resources.none.fatbin",
        "resources.size.fatbin",
        "axpy.lto.fatbin",
    ] {
        let original = fixture(name);
        for how in ["none", "lz4", "zstd"] {
            cudalink(
                folder,
                &["pack", &original, "--compress", how, "-o", "packed.fatbin"],
            );
            assert_eq!(
                listed(folder, &tool, "packed.fatbin"),
                listed(folder, &tool, &original),
                "{name}, {how}"
            );
        }
    }
    // The code itself comes out again.
    cudalink(
        folder,
        &[
            "pack",
            &fixture("whole.cubin"),
            &fixture("axpy.ptx"),
            "-o",
            "code.fatbin",
        ],
    );
    run(
        folder,
        &tool,
        &["-xelf", "all", "-xptx", "all", "code.fatbin"],
    );
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let cubin = files
        .filter(|path| path.extension().is_some_and(|e| e == "cubin"))
        .collect::<Vec<_>>();
    assert_eq!(cubin.len(), 1);
    assert!(std::fs::read(&cubin[0]).unwrap() == std::fs::read(fixture("whole.cubin")).unwrap());
}

#[test]
fn pruned_files_are_listed_as_what_was_kept() {
    let Some(tool) = cuda_tool("cuobjdump") else {
        return common::skip("no cuobjdump");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in [
        "axpy.o",
        "axpy.fatbin",
        "libscale.a",
        "libshared.so",
        "two.o",
        "whole.o",
    ] {
        let original = fixture(name);
        cudalink(folder, &["prune", &original, "--keep", "sm_90", "-o", name]);
        let archs = |file: &str| -> Vec<String> {
            let text = run(folder, &tool, &["-lelf", file]);
            let elf = text.lines().filter(|line| line.contains("sm_90."));
            elf.map(|line| line.rsplit_once(':').unwrap().0.to_owned())
                .collect()
        };
        let all = run(folder, &tool, &["-lelf", name]);
        let images = all.lines().filter(|line| line.starts_with("ELF file"));
        assert!(
            images.clone().all(|line| line.contains("sm_90.")),
            "{name}: {all}"
        );
        assert_eq!(images.count(), archs(&original).len(), "{name}: {all}");
        let ptx = Command::new(&tool)
            .args(["-lptx", name])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            !String::from_utf8_lossy(&ptx.stdout).contains("PTX file"),
            "{name}"
        );
    }
}

#[test]
fn pruned_archives_keep_their_index() {
    if !Path::new("/usr/bin/nm").exists() {
        return common::skip("no nm");
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    cudalink(
        folder,
        &[
            "prune",
            &fixture("libscale.a"),
            "--keep",
            "sm_90",
            "-o",
            "libscale.a",
        ],
    );
    let index = |file: &str| run(folder, "/usr/bin/nm", &["--print-armap", file]);
    assert_eq!(index("libscale.a"), index(&fixture("libscale.a")));
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&folder.join("libscale.a")) < size(Path::new(&fixture("libscale.a"))));
}

#[test]
fn an_object_links_into_a_c_program() {
    let Some(cc) = ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"]
        .into_iter()
        .find(|cc| Path::new(cc).exists())
    else {
        return common::skip("no C compiler");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    cudalink(
        folder,
        &["pack", &fixture("whole.cubin"), "-o", "whole.fatbin"],
    );
    cudalink(
        folder,
        &[
            "pack",
            "--emit",
            "object",
            "whole.fatbin",
            "-o",
            "my-kernels.o",
        ],
    );
    let program = "#include <stdio.h>\nextern const unsigned char my_kernels[];\n\
        int main(int n, char **names) {\n  FILE *file = fopen(names[1], \"rb\");\n  int c, at = 0;\n\
        while ((c = fgetc(file)) != EOF) if (c != my_kernels[at++]) return 1;\n  return at == 0; }\n";
    std::fs::write(folder.join("main.c"), program).unwrap();
    run(
        folder,
        cc,
        &[
            "-Wall",
            "-Werror",
            "-Wl,--fatal-warnings",
            "main.c",
            "my-kernels.o",
            "-o",
            "main",
        ],
    );
    run(folder, folder.join("main"), &["whole.fatbin"]);
}

/// Damaged files end in an error or in a result, never in a panic.
#[test]
fn damage_is_an_error() {
    use cudalink::code::ObjectCode;
    use cudalink::pack::{Keep, prune};
    let keep: [Keep; 1] = ["sm_90".parse().unwrap()];
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    for name in [
        "axpy.o",
        "axpy.fatbin",
        "libscale.a",
        "libshared.so",
        "resources.size.fatbin",
    ] {
        let original = std::fs::read(fixture(name)).unwrap();
        for round in 0..400 {
            let mut bytes = original.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match round % 3 {
                    0 => bytes[at] ^= 1 << random(8),
                    1 => bytes[at..(at + 8).min(original.len())].fill(0xff),
                    _ => bytes.truncate(at.max(16)),
                }
            }
            let input = ObjectCode::from_blob(name, bytes.into());
            if let Ok(pruned) = prune(&input, &keep) {
                assert!(pruned.bytes.len() <= 2 * original.len());
            }
        }
    }
}
