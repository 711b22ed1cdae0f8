//! `cudalink inspect` and `cudalink extract` as a user runs them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .visible .entry _Z4axpyfPf(.param .f32 a, .param .u64 x) .maxntid 128 .minnctapersm 2\n{ ret; }\n\
    .visible .entry grid() { .reg .b32 %r<2>; mov.u32 %r1, %envreg2; ret; }\n";

struct Answer {
    status: Option<i32>,
    out: String,
    err: String,
}

fn cudalink(folder: &Path, arguments: &[&str], input: &str) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cudalink"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ends without reading closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    Answer {
        status: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "nothing to see\n").unwrap();
    folder
}

#[test]
fn a_summary_is_the_default() {
    let folder = folder();
    let answer = cudalink(folder.path(), &["inspect", "k.ptx"], "");
    assert_eq!(
        answer.out,
        "k.ptx: ptx, 211 B\n\
         \x20 arch        kind  use       images  stored  unpacked  codec  version\n\
         \x20 compute_90  ptx   loadable       1   211 B     211 B  none   8.0\n"
    );
    assert_eq!((answer.status, answer.err.as_str()), (Some(0), ""));
}

#[test]
fn kernels_for_people() {
    let folder = folder();
    let answer = cudalink(folder.path(), &["inspect", "--kernels", "-"], PTX);
    assert_eq!(
        answer.out,
        "<stdin>: ptx, 211 B\n\
         <stdin>: compute_90 ptx, PTX 8.0\n\
         \x20 regs  stack  spill  shared  param  code  kernel\n\
         \x20    ?      ?      ?       ?     16     ?  axpy(float, float*)\n\
         \x20                                          _Z4axpyfPf\n\
         \x20                                          block up to 128x1x1, 2 blocks a\n\
         \x20                                          multiprocessor\n\
         \x20    ?      ?      ?       ?      0     ?  grid\n\
         \x20                                          synchronises the grid\n"
    );
    let plain = cudalink(
        folder.path(),
        &["inspect", "--kernels", "--no-demangle", "k.ptx"],
        "",
    );
    assert!(!plain.out.contains("float"));
}

#[test]
fn json_has_the_stable_keys() {
    let folder = folder();
    let answer = cudalink(
        folder.path(),
        &["inspect", "--kernels", "--format", "json", "k.ptx"],
        "",
    );
    let report: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["tool"]["name"], "cudalink");
    let image = &report["inputs"][0]["images"][0];
    assert_eq!(image["arch"], "sm_90");
    assert_eq!(image["producer"]["ptx_isa"], "8.0");
    let kernel = &image["kernels"][0];
    assert_eq!(kernel["name"], "_Z4axpyfPf");
    assert_eq!(kernel["demangled"], "axpy(float, float*)");
    assert_eq!(kernel["registers"], serde_json::Value::Null);
    assert_eq!(
        kernel["params"],
        serde_json::json!([
            {"ordinal": 0, "offset": 0, "size": 4},
            {"ordinal": 1, "offset": 8, "size": 8}
        ])
    );
    assert_eq!(kernel["max_threads"], serde_json::json!([128, 1, 1]));
    assert_eq!(kernel["min_blocks"], 2);
    assert_eq!(kernel["uses_grid_sync"], false);
    assert_eq!(image["kernels"][1]["uses_grid_sync"], true);
}

#[test]
fn tables_for_spreadsheets_and_pull_requests() {
    let folder = folder();
    let csv = cudalink(folder.path(), &["inspect", "--format", "csv", "k.ptx"], "");
    assert_eq!(
        csv.out,
        "input,arch,kind,use,images,stored_size,size,compression,versions\n\
         k.ptx,compute_90,ptx,yes,1,211,211,none,8.0\n"
    );
    let arguments = [
        "inspect",
        "--symbols",
        "--format",
        "markdown",
        "--kernel",
        "grid",
        "k.ptx",
    ];
    let markdown = cudalink(folder.path(), &arguments, "");
    let lines: Vec<&str> = markdown.out.lines().collect();
    assert_eq!(
        lines[1].matches("---").count(),
        lines[0].matches('|').count() - 1
    );
    assert_eq!(lines.len(), 3);
    assert!(lines[2].contains("| grid |"));
    let arguments = [
        "inspect",
        "--symbols",
        "--kernels",
        "--format",
        "csv",
        "k.ptx",
    ];
    assert_eq!(cudalink(folder.path(), &arguments, "").status, Some(2));
}

#[test]
fn every_line_fits() {
    let folder = folder();
    let long = PTX.replace("grid", &"a_very_long_name_".repeat(40));
    for detail in ["--kernels", "--symbols", "--images", "--all"] {
        let answer = cudalink(folder.path(), &["inspect", detail, "-"], &long);
        assert_eq!(answer.status, Some(0));
        for line in answer.out.lines() {
            assert!(line.chars().count() <= 80, "{detail}: {line}");
        }
    }
}

#[test]
fn what_is_not_there_or_not_whole() {
    let folder = folder();
    let run = |arguments: &[&str]| cudalink(folder.path(), arguments, "");
    let none = run(&["inspect", "notes.txt"]);
    assert_eq!(none.status, Some(0));
    assert_eq!(
        none.err,
        "note[no-device-code]: notes.txt: no device code\n"
    );
    let missing = run(&["inspect", "absent", "k.ptx"]);
    assert_eq!(missing.status, Some(4));
    assert!(missing.out.contains("compute_90"), "the rest is shown");
    let arch = run(&["inspect", "--arch", "sm_80,sm_86", "k.ptx"]);
    assert_eq!(arch.status, Some(1));
    assert!(
        arch.err.contains("hint: ask for one of sm_90"),
        "{}",
        arch.err
    );
    let kernel = run(&["inspect", "--kernel", "gri", "k.ptx"]);
    assert_eq!(kernel.status, Some(1));
    assert!(kernel.err.starts_with("error[unknown-kernel]"));
    std::fs::write(folder.path().join("cut.ptx"), &PTX[..150]).unwrap();
    let cut = run(&["inspect", "--kernels", "cut.ptx", "k.ptx"]);
    assert_eq!(cut.status, Some(4));
    assert!(
        cut.err.starts_with("error[damaged]: cut.ptx at 0x"),
        "{}",
        cut.err
    );
    assert!(cut.out.contains("axpy(float, float*)"), "the rest is shown");
    assert_eq!(run(&["inspect"]).status, Some(2));
    assert_eq!(run(&["inspect", "--kind", "elf", "k.ptx"]).status, Some(2));
}

#[test]
fn the_schema_is_the_one_checked_in() {
    let folder = folder();
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema/inspect.json");
    let answer = cudalink(folder.path(), &["inspect", "--schema"], "");
    assert!(answer.out == std::fs::read_to_string(known).unwrap());
}

#[test]
fn images_are_written_out_whole_and_never_over_others() {
    let folder = folder();
    let run = |arguments: &[&str]| cudalink(folder.path(), arguments, PTX);
    let answer = run(&["extract", "k.ptx", "-", "-o", "out"]);
    assert_eq!(
        (answer.status, answer.err.as_str()),
        (Some(0), "2 images written to out\n")
    );
    for name in ["out/k.1.sm_90.ptx", "out/stdin.1.sm_90.ptx"] {
        assert_eq!(
            std::fs::read_to_string(folder.path().join(name)).unwrap(),
            PTX
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path().join("out"))
            .unwrap()
            .count(),
        2
    );
    let again = run(&["extract", "k.ptx", "-o", "out"]);
    assert_eq!(again.status, Some(1));
    assert!(again.err.contains("there already"), "{}", again.err);
    assert_eq!(
        run(&["extract", "--force", "k.ptx", "-o", "out"]).status,
        Some(0)
    );
    assert_eq!(run(&["extract", "k.ptx", "-o", "-"]).out, PTX);
    assert_eq!(run(&["extract", "k.ptx", "-", "-o", "-"]).status, Some(2));
    assert_eq!(
        run(&["extract", "--kernel", "absent", "k.ptx", "-o", "out"]).status,
        Some(1)
    );
    assert_eq!(
        run(&["extract", "--arch", "80", "k.ptx", "-o", "out"]).status,
        Some(1)
    );
    assert_eq!(run(&["extract", "k.ptx"]).status, Some(2));
}
