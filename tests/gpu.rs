//! `cudalink run` on a real device. The test program may be carried to a machine that has one, with the
//! program under test (`CUDALINK_BIN`) and the fixtures below the working folder.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/launch.rs"]
mod launch;

use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use launch::{Outcome, run};
use serde_json::Value;

const CUBIN: &str = "fixtures/run/kernels.sm_90.cubin";
const PTX: &str = "fixtures/run/kernels.ptx";

/// The report of an empty kernel, from which tests know the device; or why they are skipped.
fn device() -> Option<&'static Value> {
    static DEVICE: OnceLock<Result<Value, String>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| {
        let outcome = Outcome::of(&mut run(&format!("empty {CUBIN} --format json")));
        match outcome.code {
            Some(0) => Ok(outcome.json()["devices"][0].clone()),
            // The fixtures are for sm_90.
            Some(1) if outcome.stderr.contains("[arch-missing]") => Err(outcome.stderr),
            Some(3) => Err(outcome.stderr),
            _ => panic!("{outcome:#?}"),
        }
    });
    match device {
        Ok(device) => Some(device),
        Err(why) => {
            common::skip(&format!("no device that runs sm_90 code: {}", why.trim()));
            None
        }
    }
}

/// Ends a test where there is no device.
macro_rules! on_device {
    () => {
        match device() {
            Some(device) => device,
            None => return,
        }
    };
}

/// Whether inputs can be linked: nvJitLink of 13.5 or later, which the fixtures need.
fn can_link() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let can = *CAN.get_or_init(|| {
        let arguments = "add_doubled fixtures/run/calls.lto.o fixtures/run/libdoubled.a --arg out:i32[1] --arg i32:1 \
                         --arg i32:2 --dry-run --device-model sm_90";
        Outcome::of(&mut run(arguments)).code == Some(0)
    });
    if !can {
        common::skip("there is no nvJitLink of 13.5 or later; CUDALINK_NVJITLINK may name one");
    }
    can
}

#[track_caller]
fn runs(arguments: &str) -> Outcome {
    Outcome::of(&mut run(arguments)).expect(0)
}

#[track_caller]
fn refused(arguments: &str, words: &[&str]) {
    let outcome = Outcome::of(&mut run(arguments)).expect(1);
    let outcome = outcome.says(&["error[launch-refused]"]).says(words);
    assert!(!outcome.stderr.contains("failed:"), "{outcome:#?}");
}

/// Raw i32 elements in a file.
fn file_of(elements: impl Iterator<Item = i32>) -> tempfile::NamedTempFile {
    let bytes: Vec<u8> = elements.flat_map(i32::to_le_bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn scalars_of_every_type() {
    on_device!();
    let cases: &[(&str, &[&str])] = &[
        ("i8", &["-128", "127"]),
        ("i16", &["-32768", "1234"]),
        ("i32", &["-2147483648", "7"]),
        ("i64", &["-9223372036854775808", "5"]),
        ("u8", &["255"]),
        ("u16", &["65535"]),
        ("u32", &["4294967295"]),
        ("u64", &["18446744073709551615"]),
        ("bool", &["true", "false"]),
        ("f16", &["-1.5", "65504"]),
        ("bf16", &["-3.140625", "1"]),
        ("f32", &["-0.1", "inf", "nan"]),
        ("f64", &["-0.1", "1e300"]),
        ("c64", &["-1.5+2.25i"]),
        ("c128", &["1e100-2i"]),
    ];
    for image in [CUBIN, PTX] {
        for (kind, values) in cases {
            for value in *values {
                runs(&format!(
                    "store_{kind} {image} --arg {kind}:{value} --arg out:{kind}[1] --expect 1={kind}[1]={value}"
                ));
            }
        }
    }
}

#[test]
fn structs_and_pointers() {
    on_device!();
    // a = 1, b = 2.5, c[2] = 3, in the layout of C.
    let mixed = "0100000000000000_0000000000000440_0000030000000000";
    runs(&format!(
        "sum_struct {CUBIN} --arg i8:-1 --arg bytes:{mixed} --arg out:f64[1] --expect 2=f64[1]=5.5"
    ));
    runs(&format!(
        "same_or_null {CUBIN} --arg null --arg in:f32[4]=1 --arg ref:1 --arg out:i32[2] --expect 3=i32[2]=1"
    ));
}

/// One kernel from each kind of image that is loaded as it is.
#[test]
fn images_of_every_loadable_kind() {
    on_device!();
    let arguments = "--arg f32:3 --arg in:f32[1024]=iota --arg inout:f32[1024]=0 --arg i64:1024 --grid 4 --block 256 --print 2:3";
    for image in [CUBIN, PTX] {
        runs(&format!("axpy {image} {arguments}")).prints(&["2 f32[1024]: 0 3 6 …"]);
    }
    runs("triple fixtures/run/triple.fatbin --arg inout:f32[1024]=iota --grid 4 --block 256 --print 0:3")
        .prints(&["0 f32[1024]: 0 3 6 …"]);
    runs(&format!(
        "ns::scale<float> {CUBIN} --block 4 --arg inout:f32[4]=iota --arg f32:2 --print 0"
    ))
    .prints(&["0 f32[4]: 0 2 4 6\n"]);
}

#[test]
fn what_is_not_linked_is_linked_first() {
    on_device!();
    if !can_link() {
        return;
    }
    for inputs in [
        "fixtures/run/calls.lto.o fixtures/run/libdoubled.a",
        "fixtures/run/calls.rdc.cubin fixtures/run/doubled.rdc.cubin",
        "fixtures/run/calls.ptx fixtures/run/doubled.ptx",
        "fixtures/run/calls.ptx fixtures/run/doubled.rdc.cubin",
    ] {
        runs(&format!(
            "add_doubled {inputs} --arg out:i32[1] --arg i32:123 --arg i32:321 --expect 0=i32[1]=765"
        ));
        runs(&format!(
            "double_all {inputs} --arg inout:i32[10]=iota --arg i32:10 --block 32 --print 0"
        ))
        .prints(&["0 i32[10]: 0 2 4 6 8 10 12 14 16 18\n"]);
    }
}

#[test]
fn ptx_that_the_driver_does_not_know_is_linked() {
    let device = on_device!();
    if device["driver"].as_str().unwrap() >= "13.5" {
        return common::skip("the driver knows PTX ISA 9.5");
    }
    if !can_link() {
        return;
    }
    runs("fixtures/run/triple.new.ptx --arg inout:f32[32]=2 --block 32 --expect 0=f32[32]=6").says(&[
        "note[input-newer-than-library]: fixtures/run/triple.new.ptx: the driver does not know PTX ISA 9.5 yet",
    ]);
}

/// Fatbins as `cudalink link` packs them, in each compression and for several architectures.
#[test]
fn fatbins_of_every_compression() {
    on_device!();
    if !can_link() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for compression in ["none", "lz4", "zstd"] {
        let fatbin = folder.path().join(format!("{compression}.fatbin"));
        links_doubled(&fatbin, &["--emit", "fatbin", "--compress", compression]);
        runs(&format!(
            "double_all {} --arg inout:i32[10]=iota --arg i32:10 --block 32 --print 0",
            fatbin.display()
        ))
        .prints(&["0 i32[10]: 0 2 4 6 8 10 12 14 16 18\n"]);
    }
}

/// An object that cc links into a program, which finds the fatbin under its symbol and loads it with the driver.
#[test]
fn an_object_in_a_program() {
    on_device!();
    if !can_link() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("kernels.o");
    links_doubled(&object, &["--emit", "object", "--symbol", "kernels"]);
    let program = folder.path().join("program");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-std=gnu11", "tests/object_user.c"]).arg(&object);
    Outcome::of(cc.arg("-o").arg(&program).arg("-ldl")).expect(0);
    let outcome = Outcome::of(&mut std::process::Command::new(&program)).expect(0);
    assert_eq!(outcome.stdout, "0 2 4 6 8 10 12 14 16 18\n");
}

fn links_doubled(output: &std::path::Path, options: &[&str]) {
    let mut link = std::process::Command::new(launch::program());
    link.args(["link", "fixtures/run/calls.ptx", "fixtures/run/doubled.ptx"]);
    link.args(["--arch", "sm_80,sm_90,sm_100"]).args(options);
    Outcome::of(link.arg("-o").arg(output)).expect(0);
}

/// `cudalink link`, then `cudalink run` on its default output.
#[test]
fn a_link_and_a_run() {
    on_device!();
    if !can_link() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixtures = std::path::absolute("fixtures").unwrap();
    let mut link = std::process::Command::new(launch::program());
    link.current_dir(&folder).arg("link");
    link.args([fixtures.join("coop.ltoir"), fixtures.join("libmirror.a")]);
    Outcome::of(&mut link).expect(0);
    let rows = file_of(
        (0..256 * 256)
            .map(|at| (at / 256) as f32)
            .map(|row| row.to_bits() as i32),
    );
    let mut run = run(&format!(
        "kernel --cooperative --grid max --block 256 --arg inout:f32[256,256]=0 --arg i32:256 --expect 0=f32[256,256]@{}",
        rows.path().display()
    ));
    Outcome::of(run.current_dir(&folder)).expect(0);
}

#[test]
fn rows_made_from_mirrored_rows() {
    on_device!();
    let rows = file_of((0..1024 * 1024).map(|at| at / 1024));
    for image in [CUBIN, PTX] {
        runs(&format!(
            "row_mirror {image} --cooperative --grid 32 --block 32 --arg inout:i32[1024,1024]=0 --arg i32:1024 \
             --arg i32:1024 --expect 0=i32[1024,1024]@{}",
            rows.path().display()
        ));
    }
}

#[test]
fn grid_sync_without_a_cooperative_launch() {
    on_device!();
    refused(
        &format!("cooperative_count {PTX} --arg out:u32[1] --arg out:u32[1] --grid 4"),
        &["synchronises its grid", "add `--cooperative`"],
    );
    // Machine code does not tell; what happened is explained.
    Outcome::of(&mut run(&format!(
        "cooperative_count {CUBIN} --arg out:u32[1] --arg out:u32[1] --grid 4"
    )))
    .expect(1)
    .says(&["`cooperative_count` failed", "--cooperative"]);
}

#[test]
fn the_largest_cooperative_grid() {
    on_device!();
    for block in ["256", "16,16", "16,4,4"] {
        let arguments = |grid: &str| {
            format!(
                "cooperative_count {CUBIN} --cooperative --arg out:u32[1] --arg out:u32[1] --block {block} --grid {grid} \
                 --expect 1=u32[1]=0"
            )
        };
        let report = runs(&format!("{} --format json", arguments("max"))).json();
        let plan = &report["devices"][0]["plan"];
        let blocks = plan["grid"][0].as_u64().unwrap();
        let (per_sm, sms) = (&plan["capacity"]["blocks_per_sm"], &plan["capacity"]["sms"]);
        assert_eq!(blocks, per_sm.as_u64().unwrap() * sms.as_u64().unwrap());
        runs(&format!("{} --print 0", arguments(&blocks.to_string())))
            .prints(&[&format!("0 u32[1]: {blocks}\n")]);
        refused(
            &arguments(&(blocks + 1).to_string()),
            &[&format!(
                "takes at most {blocks} = {per_sm} of each SM × {sms} SMs"
            )],
        );
    }
    runs(&format!(
        "cooperative_count {CUBIN} --cooperative --arg out:u32[1] --arg out:u32[1] --grid 1 --block 32 --expect 0=u32[1]=1"
    ));
}

#[test]
fn clusters() {
    on_device!();
    let launch = |kernel: &str, grid: &str, block: &str, flags: &str, out: [u32; 4]| {
        let [blocks, cluster, ranks, neighbours] = out;
        runs(&format!(
            "{kernel} {CUBIN} --arg out:u32[4] --grid {grid} --block {block} {flags} --print 0"
        ))
        .prints(&[&format!(
            "0 u32[4]: {blocks} {cluster} {ranks} {neighbours}\n"
        )]);
    };
    launch("cluster_of_two", "4", "32", "", [4, 2, 2, 2]);
    launch("any_cluster", "8", "32", "--cluster 2", [8, 2, 4, 4]);
    launch("any_cluster", "4,6", "32", "--cluster 2,2", [24, 4, 36, 36]);
    launch(
        "any_cluster",
        "4,6,8",
        "32",
        "--cluster 2,2,2",
        [192, 8, 672, 672],
    );
    launch(
        "any_cluster",
        "32",
        "32",
        "--cluster 16",
        [32, 16, 240, 240],
    );
    launch("any_cluster", "8", "32", "", [8, 1, 0, 0]);
    launch("counted_in_clusters", "8", "64", "", [8, 2, 4, 4]);
    launch(
        "cooperative_cluster",
        "16",
        "64",
        "--cluster 4 --cooperative",
        [16, 4, 24, 24],
    );
    runs(&format!(
        "cooperative_cluster {CUBIN} --arg out:u32[4] --cooperative --cluster 2 --grid max --block 128"
    ));
    let refuse = |arguments: &str, words: &str| {
        refused(&format!("{arguments} --arg out:u32[4]"), &[words]);
    };
    refuse(
        &format!("cluster_of_two {CUBIN} --grid 3"),
        "grid 3 is no multiple of cluster 2",
    );
    refuse(
        &format!("any_cluster {CUBIN} --cluster 32 --grid 32"),
        "cluster 32 has 32 blocks",
    );
    refuse(
        &format!("cooperative_cluster {CUBIN} --cluster 2 --cooperative --grid 100000 --block 128"),
        "clusters × 2 blocks",
    );
}

#[test]
fn attributes() {
    on_device!();
    for flags in [
        "--pdl",
        "--priority -1",
        "--attr carveout=50",
        "--attr mem-sync-domain=remote",
        "--cluster 2 --attr cluster-scheduling=spread",
    ] {
        runs(&format!(
            "any_cluster {CUBIN} --arg out:u32[4] --grid 4 --block 32 {flags}"
        ));
    }
}

#[test]
fn blocks() {
    on_device!();
    runs(&format!(
        "bounded {CUBIN} --arg out:i32[128] --block max --expect 0=i32[128]=1"
    ));
    refused(
        &format!("bounded {CUBIN} --arg out:i32[129] --block 129"),
        &["block 129 has 129 threads, but `bounded` was compiled for at most 128"],
    );
    refused(
        &format!("empty {CUBIN} --block 1025"),
        &["takes at most 1024"],
    );
    refused(
        &format!("empty {CUBIN} --grid 1,65536"),
        &["65536 blocks in y"],
    );
}

#[test]
fn variables_of_the_module() {
    on_device!();
    for image in [CUBIN, PTX] {
        runs(&format!(
            "use_globals {image} --arg out:i32[1] --arg out:f32[1] --set-global answer=i32:42 --set-global table=f32[4]=iota \
             --get-global answer=i32 --expect 0=i32[1]=42 --expect 1=f32[1]=6"
        ))
        .prints(&["answer i32[]: 43\n"]);
    }
}

#[test]
fn static_and_dynamic_shared_memory() {
    on_device!();
    for image in [CUBIN, PTX] {
        runs(&format!(
            "shared_both {image} --shared 204800 --block 256 --arg out:i32[1] --arg i32:51200 --expect 0=i32[1]=51456"
        ));
        // 227 KiB in all, of which the kernel has one for itself.
        runs(&format!(
            "shared_both {image} --shared 231424 --arg out:i32[1] --arg i32:1"
        ));
        refused(
            &format!("shared_both {image} --shared 231425 --arg out:i32[1] --arg i32:1"),
            &[
                "1024 bytes of static and 231425 of dynamic shared memory are 232449",
                "232448",
            ],
        );
    }
}

#[test]
fn buffers_above_4_gib() {
    let device = on_device!();
    let bytes = (4u64 << 30) + 12_345;
    if device["device"]["memory"].as_u64().unwrap() < bytes * 2 {
        return common::skip("the device has less than 8 GiB");
    }
    Outcome::of(&mut run(&format!(
        "mark_last {CUBIN} --arg inout:u8[{bytes}]=7 --arg u64:{bytes} --expect 0=u8[{bytes}]=7"
    )))
    .expect(1)
    .says(&[
        &format!("in 1 of {bytes} elements"),
        &format!("[{}]: got 8, expected 7, off by 1", bytes - 1),
    ]);
}

#[test]
fn results_in_files() {
    on_device!();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (npy, raw) = (path("y.npy"), path("y.raw"));
    let arguments = "--arg f32:2 --arg in:f32[100,100]=rand(7) --arg inout:f32[100,100]=rand(8) --arg i64:10000 --grid 8 --block 128";
    runs(&format!(
        "axpy {CUBIN} {arguments} --save 2={npy} --save 2={raw}"
    ));
    let (npy_bytes, raw_bytes) = (std::fs::read(&npy).unwrap(), std::fs::read(&raw).unwrap());
    assert!(npy_bytes.ends_with(&raw_bytes) && raw_bytes.len() == 40_000);
    runs(&format!(
        "axpy {PTX} {arguments} --expect 2={npy} --expect 2=f32[100,100]@{raw}"
    ));
    let other = arguments.replace("f32:2", "f32:3");
    Outcome::of(&mut run(&format!("axpy {CUBIN} {other} --expect 2={npy}")))
        .expect(1)
        .says(&["error[result-differs]", "of 10000 elements"]);
}

#[test]
fn timings() {
    on_device!();
    let report = runs(&format!(
        "axpy {CUBIN} --arg f32:1 --arg in:f32[16777216]=1 --arg inout:f32[16777216]=0 --arg i64:16777216 --grid 4096 \
         --block 256 --repeat 1000 --warmup 10 --bytes 201326592 --flops 33554432 --flush-l2 --expect 2=f32[16777216]=1 --format json"
    ))
    .json();
    let timing = &report["devices"][0]["results"]["timing"];
    let number = |name: &str| timing[name].as_f64().unwrap();
    assert_eq!(number("launches"), 1000.0);
    assert!(number("min_us") > 1.0 && number("min_us") <= number("median_us"));
    assert!(number("median_us") <= number("p95_us") && number("p95_us") <= number("max_us"));
    assert!(number("gigabytes_per_s") > 100.0, "{timing}");
}

#[test]
fn what_kernels_print() {
    on_device!();
    runs(&format!("print_hello {CUBIN} --arg i32:5 --grid 2"))
        .prints(&["hello 5 from block 0\n", "hello 5 from block 1\n"]);
    let report = runs(&format!("print_hello {CUBIN} --arg i32:5 --format json"))
        .says(&["hello 5 from block 0\n"])
        .json();
    assert_eq!(report["ok"], true);
}

#[test]
fn faults_are_explained() {
    on_device!();
    let cases = [
        ("out_of_bounds", "--arg out:i32[1]", "illegal address"),
        ("misaligned", "--arg out:i8[8]", "misaligned address"),
        ("trap", "", "`trap` failed"),
        ("failed_assert", "--arg i32:1", "an assertion in it failed"),
    ];
    for (kernel, arguments, words) in cases {
        let outcome = Outcome::of(&mut run(&format!(
            "{kernel} {CUBIN} {arguments} --grid 2 --block 32"
        )))
        .expect(1)
        .says(&[
            "error[launch-failed]",
            &format!("`{kernel}` failed"),
            words,
            "launched with grid 2, block 32",
        ]);
        if kernel == "failed_assert" {
            let said = outcome.stdout + &outcome.stderr;
            assert!(
                said.contains("value == 42"),
                "the assertion's text is missing: {said}"
            );
        }
    }
    Outcome::of(&mut run(&format!(
        "mark_last {CUBIN} --arg out:u8[1000000000000000] --arg u64:1"
    )))
    .expect(1)
    .says(&["error[out-of-memory]", "argument 0 is u8[1000000000000000]"]);
    // The device is as it was.
    runs(&format!("empty {CUBIN}"));
}

#[test]
fn hung_kernels_end_with_the_timeout() {
    on_device!();
    for arguments in [
        format!("deadlock {CUBIN} --cooperative --grid 2 --arg out:i32[1]"),
        format!("spin {CUBIN} --arg out:i32[1]"),
    ] {
        let start = Instant::now();
        Outcome::of(&mut run(&format!("{arguments} --timeout 5")))
            .expect(124)
            .says(&["not finished after 5 s (`--timeout`)", "it was running `"]);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(7), "{arguments}: {took:?}");
    }
    runs(&format!("empty {CUBIN}"));
}

#[test]
fn an_interrupt_ends_a_hung_kernel() {
    on_device!();
    let mut child = run(&format!("spin {CUBIN} --arg out:i32[1]"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "it ended too early");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(3));
    runs(&format!("empty {CUBIN}"));
}

#[test]
fn devices() {
    let device = on_device!();
    let uuid = device["device"]["uuid"].as_str().unwrap();
    runs(&format!("empty {CUBIN} --device {uuid}"));
    let report = runs(&format!(
        "fails_on {CUBIN} --device all --arg i32:@device --arg i32:99 --arg out:i32[1] --print 2 --format json"
    ))
    .json();
    for (number, one) in report["devices"].as_array().unwrap().iter().enumerate() {
        assert_eq!(one["results"]["prints"][0]["values"][0], number.to_string());
    }
    let report = Outcome::of(&mut run(&format!(
        "fails_on {CUBIN} --device all --arg i32:@device --arg i32:0 --arg out:i32[1] --format json"
    )))
    .expect(1)
    .json();
    for (number, one) in report["devices"].as_array().unwrap().iter().enumerate() {
        assert_eq!(one["exit_code"], i32::from(number == 0));
    }
    Outcome::of(run(&format!("empty {CUBIN}")).env("CUDA_VISIBLE_DEVICES", ""))
        .expect(3)
        .says(&["CUDA_VISIBLE_DEVICES"]);
    Outcome::of(run(&format!("empty {CUBIN}")).env("CUDA_VISIBLE_DEVICES", uuid)).expect(0);
}

#[test]
fn a_dry_run_on_the_device() {
    on_device!();
    runs(&format!(
        "cooperative_count {PTX} --arg out:u32[1] --arg out:u32[1] --block 128 --grid max --cooperative --device 0 --dry-run"
    ))
    .prints(&["registers ", "at once ", "grid "]);
}
