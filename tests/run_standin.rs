//! `cudalink run` on a stand-in for the driver, which records calls and fails as it is told: what the driver
//! is asked for, in which order, and what users are told when it refuses.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/launch.rs"]
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use launch::{Outcome, run};

const KERNELS: &str = "fixtures/run/kernels.sm_90.cubin";

/// The driver that a test pretends to have.
struct Standin {
    folder: tempfile::TempDir,
    library: &'static Path,
    settings: Vec<(String, String)>,
}

/// The compiled stand-ins: of CUDA 13.0 and of 11.4.
fn libraries() -> Option<&'static [PathBuf; 2]> {
    static LIBRARIES: OnceLock<Option<(tempfile::TempDir, [PathBuf; 2])>> = OnceLock::new();
    let built = LIBRARIES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, old: bool| {
            let library = folder.path().join(name);
            let done = Command::new("cc")
                .args([
                    "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                ])
                .args(old.then_some("-DOLD"))
                .arg("-o")
                .arg(&library)
                .arg("tests/standin/libcuda.c")
                .output()
                .ok()?;
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{said}");
            Some(library)
        };
        let both = [
            build("libcuda.so.1", false)?,
            build("libcuda-old.so.1", true)?,
        ];
        Some((folder, both))
    });
    built.as_ref().map(|(_, both)| both)
}

impl Standin {
    fn get(number: usize) -> Option<Self> {
        let Some(libraries) = libraries() else {
            common::skip("there is no C compiler");
            return None;
        };
        Some(Self {
            folder: tempfile::tempdir().unwrap(),
            library: &libraries[number],
            settings: Vec::new(),
        })
    }

    /// With all that there is now.
    fn new() -> Option<Self> {
        Self::get(0)
    }

    /// With nothing that came after CUDA 11.4.
    fn old() -> Option<Self> {
        Self::get(1)
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.settings
            .push((format!("STANDIN_{name}"), value.to_owned()));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = run(arguments);
        command
            .env("CUDALINK_LIBCUDA", self.library)
            .env("STANDIN_LOG", self.path("calls"))
            .envs(self.settings.iter().cloned());
        command
    }

    fn run(&self, arguments: &str) -> Outcome {
        Outcome::of(&mut self.command(arguments))
    }

    /// The calls so far, each with the device it was made on: `0: cuStreamCreate 1`.
    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The launch and what it was given, without the device.
    fn launches(&self) -> Vec<String> {
        let wanted = ["cuLaunch", "attribute", "parameter"];
        self.calls()
            .into_iter()
            .filter_map(|line| Some(line.split_once(": ")?.1.to_owned()))
            .filter(|call| wanted.iter().any(|start| call.starts_with(start)))
            .collect()
    }
}

/// Parameters of kernels of the fixture, as the stand-in is told them.
const AXPY: &str = "0:4,8:8,16:8,24:8";
const AXPY_ARGUMENTS: &str =
    "--arg f32:2 --arg in:f32[1000]=iota --arg inout:f32[1000]=1 --arg i64:1000";

#[test]
fn the_order_of_calls() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", AXPY);
    let outcome = driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --grid 4 --block 256 --print 2:3 --expect 2=f32[1000]=1"
        ))
        .expect(0)
        .says(&["ran `axpy` with grid 4, block 256 on Stand-in 0 (device 0) in 500.0 µs"]);
    assert_eq!(
        outcome.stdout,
        "2 f32[1000]: 1 1 1 …\n2 equals f32[1000]=1: 1000 elements (rtol 0.0000013, atol 0.00001)\n"
    );
    let calls: Vec<String> = driver
        .calls()
        .into_iter()
        // Addresses differ from run to run.
        .filter(|call| !call.contains("parameter 1") && !call.contains("parameter 2"))
        .collect();
    assert_eq!(
        calls,
        [
            "-1: cuInit 0",
            "-1: cuDevicePrimaryCtxRetain 0",
            "0: cuModuleLoadDataEx ELF",
            "0: cuModuleGetFunction axpy",
            "0: cuStreamCreate 1",
            "0: cuMemAlloc_v2 4000",
            "0: cuMemcpyHtoDAsync_v2 4000",
            "0: cuStreamSynchronize",
            "0: cuMemAlloc_v2 4000",
            "0: cuMemsetD32Async 1000",
            "0: cuStreamSynchronize",
            "0: cuEventRecord",
            "0: cuLaunchKernelEx grid 4,1,1 block 256,1,1 shared 0",
            "0: parameter 0 00000040",
            "0: parameter 3 e803000000000000",
            "0: cuEventRecord",
            "0: cuStreamSynchronize",
            "0: cuMemcpyDtoHAsync_v2 4000",
            "0: cuStreamSynchronize",
            "0: cuMemFree_v2",
            "0: cuMemFree_v2",
            "0: cuStreamDestroy_v2",
            "0: cuModuleUnload",
            "0: cuDevicePrimaryCtxRelease_v2 0",
        ]
    );
}

#[test]
fn attributes_of_a_new_driver() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:8").set("VERSION", "13020");
    driver
        .run(&format!(
            "any_cluster {KERNELS} --arg out:u32[4] --grid 8,4 --block 64 --cluster 4,2 --cooperative --pdl \
             --priority -3 --attr carveout=50 --attr preferred-cluster=8,4 --attr portable-cluster-mode=allow-non-portable \
             --attr mem-sync-domain=remote --attr cluster-scheduling=spread \
             --attr nvlink-util-centric-scheduling --attr shared-memory-mode=default"
        ))
        .expect(0);
    let launch: Vec<String> = driver
        .launches()
        .into_iter()
        .filter(|line| !line.starts_with("parameter"))
        .collect();
    // The numbers are those of CUlaunchAttributeID in cuda.h.
    assert_eq!(
        launch,
        [
            "cuLaunchKernelEx grid 8,4,1 block 64,1,1 shared 0",
            "attribute 2 = 1,0,0",
            "attribute 4 = 4,2,1",
            "attribute 6 = 1,0,0",
            "attribute 8 = -3,0,0",
            "attribute 14 = 50,0,0",
            "attribute 11 = 8,4,1",
            "attribute 17 = 2,0,0",
            "attribute 10 = 1,0,0",
            "attribute 5 = 1,0,0",
            "attribute 16 = 1,0,0",
            "attribute 18 = 0,0,0",
        ]
    );
}

/// What was compiled into a kernel is not said again, and the driver counts clusters only where the kernel
/// was compiled so.
#[test]
fn clusters_that_are_compiled_in() {
    for (kernel, block, driver_grid) in [
        ("cluster_of_two", "32", 8),
        ("counted_in_clusters", "64", 4),
    ] {
        let Some(driver) = Standin::new() else { return };
        let driver = driver.set("PARAMS", "0:8");
        driver
            .run(&format!(
                "{kernel} {KERNELS} --arg out:u32[4] --grid 8 --block {block}"
            ))
            .expect(0);
        assert_eq!(
            driver.launches()[0],
            format!("cuLaunchKernelEx grid {driver_grid},1,1 block {block},1,1 shared 0")
        );
        assert!(
            !driver
                .launches()
                .iter()
                .any(|line| line.starts_with("attribute"))
        );
        driver
            .run(&format!(
                "{kernel} {KERNELS} --arg out:u32[4] --grid 8 --block {block} --cluster 4"
            ))
            .expect(1)
            .says(&["has clusters of 2, not of 4", "leave `--cluster` out"]);
    }
}

#[test]
fn an_old_driver_launches_with_what_it_has() {
    let Some(driver) = Standin::old() else { return };
    let driver = driver.set("PARAMS", AXPY);
    let arguments =
        format!("axpy {KERNELS} {AXPY_ARGUMENTS} --grid 4,2,3 --block 32,2 --shared 16");
    driver.run(&arguments).expect(0);
    driver.run(&format!("{arguments} --cooperative")).expect(0);
    let launches: Vec<String> = driver
        .launches()
        .into_iter()
        .filter(|line| line.starts_with("cuLaunch"))
        .collect();
    assert_eq!(
        launches,
        [
            "cuLaunchKernel grid 4,2,3 block 32,2,1 shared 16",
            "cuLaunchCooperativeKernel grid 4,2,3 block 32,2,1 shared 16",
        ]
    );
}

#[test]
fn an_old_driver_is_not_asked_for_what_it_lacks() {
    let Some(driver) = Standin::old() else { return };
    let driver = driver.set("PARAMS", "0:8");
    for (flags, since) in [
        ("--pdl", "11.8"),
        ("--priority 1", "11.8"),
        ("--attr carveout=10", "12.5"),
    ] {
        driver
            .run(&format!("empty {KERNELS} {flags}"))
            .expect(3)
            .says(&[
                "error[driver-too-old]",
                "CUDA 11.4",
                &format!("CUDA {since}"),
            ]);
    }
    driver
        .run(&format!(
            "any_cluster {KERNELS} --cluster 2 --grid 4 --arg out:u32[4]"
        ))
        .expect(1)
        .says(&["Stand-in 0 (device 0) has no clusters"]);
    // A new driver's attributes fail on one that is new, but not as new.
    let Some(driver) = Standin::new() else { return };
    driver
        .run(&format!(
            "empty {KERNELS} --attr shared-memory-mode=default"
        ))
        .expect(3)
        .says(&["error[driver-too-old]", "CUDA 13.0", "CUDA 13.2"]);
    assert!(driver.launches().is_empty());
}

#[test]
fn every_kind_of_argument() {
    let cases: &[(&str, &str, &str)] = &[
        ("i8", "-5", "fb"),
        ("i16", "-2", "feff"),
        ("i32", "0x10", "10000000"),
        ("i64", "-1", "ffffffffffffffff"),
        ("u8", "255", "ff"),
        ("u16", "65535", "ffff"),
        ("u32", "7", "07000000"),
        ("u64", "18446744073709551615", "ffffffffffffffff"),
        ("bool", "true", "01"),
        ("f16", "1.5", "003e"),
        ("bf16", "-2", "00c0"),
        ("f32", "nan", "0000c07f"),
        ("f64", "-inf", "000000000000f0ff"),
        ("c64", "1-2i", "0000803f000000c0"),
        ("c128", "1+2i", "000000000000f03f0000000000000040"),
    ];
    for (kind, value, bytes) in cases {
        let Some(driver) = Standin::new() else { return };
        let size = bytes.len() / 2;
        let offset = size.max(8);
        let driver = driver.set("PARAMS", &format!("0:{size},{offset}:8"));
        driver
            .run(&format!(
                "store_{kind} {KERNELS} --arg {kind}:{value} --arg out:{kind}[1]"
            ))
            .expect(0);
        assert!(
            driver.launches().contains(&format!("parameter 0 {bytes}")),
            "{kind}: {:?}",
            driver.launches()
        );
    }
}

#[test]
fn structs_pointers_and_the_device() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:1,8:24,32:8");
    driver
        .run(&format!(
            "sum_struct {KERNELS} --arg i8:1 --arg bytes:000102030405060708090a0b0c0d0e0f1011121314151617 --arg out:f64[1]"
        ))
        .expect(0);
    assert!(
        driver
            .launches()
            .contains(&"parameter 1 000102030405060708090a0b0c0d0e0f1011121314151617".to_owned())
    );
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:8,8:8,16:8,24:8");
    driver
        .run(&format!(
            "same_or_null {KERNELS} --arg null --arg in:f32[4]=1 --arg ref:1 --arg out:i32[2]"
        ))
        .expect(0);
    let launches = driver.launches();
    assert_eq!(launches[1], "parameter 0 0000000000000000");
    assert_eq!(
        launches[2].replace("parameter 1", ""),
        launches[3].replace("parameter 2", "")
    );
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:4,4:4,8:8").set("DEVICES", "2");
    driver
        .run(&format!(
            "fails_on {KERNELS} --device 1 --arg i32:@device --arg i32:7 --arg out:i32[1]"
        ))
        .expect(0);
    assert_eq!(driver.launches()[1], "parameter 0 01000000");
}

/// The driver's own list of the parameters is held against that of the image.
#[test]
fn a_driver_that_sees_other_parameters() {
    let Some(driver) = Standin::new() else { return };
    driver
        .set("PARAMS", "0:8")
        .run(&format!("axpy {KERNELS} {AXPY_ARGUMENTS}"))
        .expect(1)
        .says(&["the driver's parameters of `axpy` are not those of the image"]);
}

#[test]
fn shared_memory_is_opted_in() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver
        .set("PARAMS", "0:8,8:4")
        .set("NUMBERS", "shared=1024");
    let run = |bytes| {
        driver.run(&format!(
            "shared_both {KERNELS} --arg out:i32[1] --arg i32:9 --shared {bytes}"
        ))
    };
    run("4096").expect(0);
    let opt_in = |call: &String| call.contains("cuFuncSetAttribute");
    assert!(!driver.calls().iter().any(opt_in));
    run("204800").expect(0);
    assert!(
        driver
            .calls()
            .contains(&"0: cuFuncSetAttribute 8 204800".to_owned())
    );
    assert!(
        driver
            .launches()
            .iter()
            .any(|line| line.ends_with("shared 204800"))
    );
    run("231425").expect(1).says(&[
        "1024 bytes of static and 231425 of dynamic shared memory are 232449",
        "Stand-in 0 (device 0) takes at most 232448",
    ]);
}

#[test]
fn capacity_of_cooperative_grids() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver
        .set("PARAMS", "0:8,8:8")
        .set("NUMBERS", "blocks=16,clusters=33");
    let run = |flags: &str| {
        driver.run(&format!(
            "cooperative_count {KERNELS} --arg out:u32[1] --arg out:u32[1] --block 128 --cooperative {flags}"
        ))
    };
    run("--grid 2112").expect(0);
    run("--grid 2113").expect(1).says(&[
        "grid 2113 has 2113 blocks, but a cooperative launch of `cooperative_count` takes at most 2112 = 16 of each SM × 132 SMs",
        "`--grid max` is the largest that fits",
    ]);
    run("--grid max").expect(0);
    run("--grid max --cluster 2,2").expect(0);
    let launches: Vec<String> = driver
        .launches()
        .into_iter()
        .filter(|line| line.starts_with("cuLaunch"))
        .collect();
    assert_eq!(
        launches,
        [
            "cuLaunchKernelEx grid 2112,1,1 block 128,1,1 shared 0",
            "cuLaunchKernelEx grid 2112,1,1 block 128,1,1 shared 0",
            "cuLaunchKernelEx grid 66,2,1 block 128,1,1 shared 0",
        ]
    );
    // Without cooperation a grid may be as large as it likes.
    let Some(driver) = Standin::new() else { return };
    driver
        .run(&format!("empty {KERNELS} --grid 100000"))
        .expect(0);
}

#[test]
fn what_needs_linking_is_linked() {
    let Some(driver) = Standin::new() else { return };
    let home = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    if !home.is_some_and(|home| home.join("lib/libnvJitLink.so.13").exists()) {
        return common::skip("CUDA_HOME names no toolkit with nvJitLink");
    }
    let driver = driver.set("PARAMS", "0:8,8:4,12:4");
    let arguments = "--arg out:i32[1] --arg i32:123 --arg i32:321 -v";
    for inputs in [
        "fixtures/run/calls.lto.o fixtures/run/libdoubled.a",
        "fixtures/run/calls.rdc.cubin fixtures/run/doubled.rdc.cubin",
        "fixtures/run/calls.ptx fixtures/run/doubled.ptx",
    ] {
        driver
            .run(&format!("add_doubled {inputs} {arguments}"))
            .expect(0)
            .says(&["linking first"]);
    }
    let loads = |driver: &Standin| -> Vec<String> {
        let calls = driver.calls().into_iter();
        calls
            .filter(|call| call.contains("cuModuleLoadDataEx"))
            .collect()
    };
    assert_eq!(loads(&driver), ["0: cuModuleLoadDataEx ELF"; 3]);
    driver
        .run(&format!("add_doubled fixtures/run/calls.ptx {arguments}"))
        .expect(1)
        .says(&["error[undefined-symbol]: fixtures/run/calls.ptx: no input defines `doubled`"]);

    // A driver of CUDA 13.0 compiles PTX up to ISA 9.0; this is of 9.5.
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:8");
    driver
        .run("fixtures/run/triple.new.ptx --arg inout:f32[32]=2 --block 32")
        .expect(0)
        .says(&[
            "note[input-newer-than-library]: fixtures/run/triple.new.ptx: the driver does not know PTX ISA 9.5 yet, \
             so it is linked to a cubin first",
        ]);
    driver
        .set("VERSION", "13050")
        .run("fixtures/run/triple.new.ptx --arg inout:f32[32]=2 --block 32")
        .expect(0);
}

#[test]
fn globals_are_set_and_read() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:8,8:8");
    driver
        .run(&format!(
            "use_globals {KERNELS} --arg out:i32[1] --arg out:f32[1] --set-global answer=i32:42 --get-global answer=i32"
        ))
        .expect(0)
        .prints(&["answer i32[]: 42"]);
    driver
        .run(&format!(
            "use_globals {KERNELS} --arg out:i32[1] --arg out:f32[1] --set-global answer=i64:42"
        ))
        .expect(1)
        .says(&["variable `answer` has 4 bytes, but i64[] has 8"]);
    driver
        .run(&format!(
            "use_globals {KERNELS} --arg out:i32[1] --arg out:f32[1] --get-global answr=i32"
        ))
        .expect(1)
        .says(&["there is no variable `answr`", "answer"]);
}

#[test]
fn results_are_saved_and_compared() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", AXPY);
    let path = driver.path("y.npy");
    let (path, raw) = (path.display(), driver.path("y.raw"));
    driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --save 1={path} --save 2={} --expect 1={path}",
            raw.display()
        ))
        // The file to compare with is not there before the run.
        .expect(4);
    driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --save 1={path} --save 2={}",
            raw.display()
        ))
        .expect(0);
    assert_eq!(std::fs::read(&raw).unwrap().len(), 4000);
    driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --expect 1={path} --expect 2=f32[1000]@{}",
            raw.display()
        ))
        .expect(0)
        .prints(&["1 equals", "2 equals"]);
    driver
        .run(&format!("axpy {KERNELS} {AXPY_ARGUMENTS} --expect 1=f32[1000]=999"))
        .expect(1)
        .says(&[
            "error[result-differs]: argument 1 differs from `f32[1000]=999` in 999 of 1000 elements",
            "[0]: got 0, expected 999, off by 999",
        ]);
    let report = driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --expect 1=f32[1000]=999 --expect 2=f32[1000]=1 --format json"
        ))
        .expect(1)
        .json();
    let comparisons = &report["devices"][0]["results"]["comparisons"];
    assert_eq!(comparisons[0]["different"], 999);
    assert_eq!(comparisons[1]["equal"], true);
    assert_eq!(report["ok"], false);
}

#[test]
fn large_buffers_go_in_chunks() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", "0:8,8:8");
    let bytes = (33 << 20) + 5;
    driver
        .run(&format!(
            "mark_last {KERNELS} --arg inout:u8[{bytes}]=rand(1) --arg u64:{bytes} --expect 0=u8[{bytes}]=rand(1)"
        ))
        .expect(0);
    let copies = |name: &str| -> Vec<u64> {
        let calls = driver.calls().into_iter();
        calls
            .filter(|call| call.contains(name))
            .map(|call| call.rsplit(' ').next().unwrap().parse().unwrap())
            .collect()
    };
    let chunks = [16 << 20, 16 << 20, (1 << 20) + 5];
    assert_eq!(copies("HtoD"), chunks);
    assert_eq!(copies("DtoH"), chunks);
    assert_eq!(copies("cuMemHostAlloc"), [16 << 20, 16 << 20]);
}

#[test]
fn timings_follow_the_checked_launch() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PARAMS", AXPY);
    let report = driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --repeat 600 --warmup 2 --bytes 1e6 --flops 2e6 --flush-l2 --expect 2=f32[1000]=1 --format json"
        ))
        .expect(0)
        .json();
    let timing = &report["devices"][0]["results"]["timing"];
    assert_eq!(
        (&timing["launches"], &timing["warmups"]),
        (&600.into(), &2.into())
    );
    assert_eq!(timing["median_us"], 500.0);
    assert_eq!(
        (&timing["gigabytes_per_s"], &timing["gigaflops"]),
        (&2.0.into(), &4.0.into())
    );
    let calls = driver.calls();
    let launches = calls
        .iter()
        .filter(|call| call.contains("cuLaunch"))
        .count();
    let flushes = calls
        .iter()
        .filter(|call| call.contains("cuMemsetD8Async 125829120"))
        .count();
    assert_eq!((launches, flushes), (603, 602));
    let first = calls
        .iter()
        .position(|call| call.contains("cuLaunch"))
        .unwrap();
    let copied = calls.iter().position(|call| call.contains("DtoH")).unwrap();
    assert!(
        calls[first + 1..copied]
            .iter()
            .all(|call| !call.contains("cuLaunch"))
    );
}

#[test]
fn drivers_that_do_not_start() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "cuInit=100",
            "driver-unavailable",
            "CUDA_ERROR_NO_DEVICE (100)",
        ),
        (
            "cuInit=34",
            "driver-unavailable",
            "is the toolkit's stub for linking, no driver",
        ),
        (
            "cuDriverGetVersion=34",
            "driver-unavailable",
            "is the toolkit's stub for linking, no driver",
        ),
        ("cuInit=803", "driver-unavailable", "restart the machine"),
        // A code of a driver that is newer than anything known here.
        (
            "cuInit=98765",
            "driver-unavailable",
            "result code 98765, which this driver cannot name",
        ),
        (
            "cuDevicePrimaryCtxRetain=46",
            "driver-unavailable",
            "exclusive mode",
        ),
    ];
    for (fail, code, words) in cases {
        let Some(driver) = Standin::new() else { return };
        driver
            .set("FAIL", fail)
            .run(&format!("empty {KERNELS}"))
            .expect(3)
            .says(&[&format!("error[{code}]"), words]);
    }
    let Some(driver) = Standin::new() else { return };
    driver
        .set("VERSION", "11030")
        .run(&format!("empty {KERNELS}"))
        .expect(3)
        .says(&[
            "error[driver-too-old]",
            "is of CUDA 11.3; 11.4 is the oldest that can be used",
        ]);
    let Some(driver) = Standin::new() else { return };
    driver
        .set("DEVICES", "0")
        .run(&format!("empty {KERNELS}"))
        .expect(3)
        .says(&["the driver sees no device", "CUDA_VISIBLE_DEVICES"]);
    let Some(driver) = Standin::new() else { return };
    let mut command = driver.command(&format!("empty {KERNELS}"));
    Outcome::of(command.env("CUDALINK_LIBCUDA", "/no/libcuda.so.1"))
        .expect(3)
        .says(&["no CUDA driver is installed", "/no/libcuda.so.1"]);
    Outcome::of(command.env("CUDALINK_LIBCUDA", std::path::absolute(KERNELS).unwrap()))
        .expect(3)
        .says(&["error[driver-unavailable]"]);
}

#[test]
fn images_that_do_not_load() {
    for (code, words) in [
        (209, "`cudalink inspect` shows what the file holds"),
        (200, "the image may be damaged"),
        (98765, "result code 98765"),
    ] {
        let Some(driver) = Standin::new() else { return };
        driver
            .set("FAIL", &format!("cuModuleLoadDataEx={code}"))
            .run(&format!("empty {KERNELS}"))
            .expect(1)
            .says(&[
                "error[launch-failed]: fixtures/run/kernels.sm_90.cubin: the driver cannot load this image",
                "stand-in: line 1 of the log",
                "stand-in: line 2 of the log",
                words,
            ]);
    }
}

#[test]
fn faults_of_kernels() {
    for (code, words) in [
        (700, "illegal address"),
        (710, "an assertion in it failed"),
        (719, "ended by an exception"),
        (702, "watchdog"),
        (98765, "result code 98765"),
    ] {
        let Some(driver) = Standin::new() else { return };
        driver
            .set("FAULT", &format!("0:{code}"))
            .set("PRINTF", "last words\n")
            .run(&format!("empty {KERNELS} --grid 3 --block 5"))
            .expect(1)
            .says(&[
                "error[launch-failed]",
                "`empty` failed",
                words,
                "launched with grid 3, block 5",
            ])
            .prints(&["last words"]);
    }
    // Refused at the launch itself.
    let Some(driver) = Standin::new() else { return };
    driver
        .set("FAIL", "cuLaunchKernelEx=720")
        .run(&format!("empty {KERNELS}"))
        .expect(1)
        .says(&[
            "the grid does not fit on the device at once",
            "`cuLaunchKernelEx` told it",
        ]);
    let Some(driver) = Standin::new() else { return };
    driver
        .set("FAIL", "cuMemAlloc_v2=2")
        .set("PARAMS", AXPY)
        .run(&format!("axpy {KERNELS} {AXPY_ARGUMENTS}"))
        .expect(1)
        .says(&[
            "error[out-of-memory]",
            "argument 1 is f32[1000], 4000 bytes; all buffers together have 8000",
        ]);
}

#[test]
fn a_driver_that_crashes() {
    let Some(driver) = Standin::new() else { return };
    driver
        .set("ABORT", "cuModuleLoadDataEx")
        .run(&format!("empty {KERNELS}"))
        .expect(1)
        .says(&[
            "the process that drives the device was ended by signal 6",
            "it was loading the image",
        ]);
}

#[test]
fn a_hang_ends_with_the_timeout() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("HANG", "cuLaunchKernelEx");
    let start = Instant::now();
    driver
        .run(&format!("empty {KERNELS} --grid 9 --timeout 0.5"))
        .expect(124)
        .says(&[
            "not finished after 0.5 s (`--timeout`)",
            "it was running `empty` with grid 9, block 1",
        ]);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn an_interrupt_ends_it() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("HANG", "cuLaunchKernelEx");
    let mut child = driver
        .command(&format!("empty {KERNELS}"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !driver.calls().iter().any(|call| call.contains("cuLaunch")) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "it does not start"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let own = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(own, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("interrupted"), "{said}");
}

#[test]
fn several_devices() {
    let two = || Standin::new().map(|driver| driver.set("DEVICES", "2"));
    let Some(driver) = two() else { return };
    driver
        .run(&format!("empty {KERNELS} --device all"))
        .expect(0)
        .prints(&["device 0: Stand-in 0", "device 1: Stand-in 1"]);
    let mut devices: Vec<_> = driver
        .calls()
        .into_iter()
        .filter(|call| call.contains("cuLaunch"))
        .map(|call| call[..1].to_owned())
        .collect();
    devices.sort();
    assert_eq!(devices, ["0", "1"]);

    let Some(driver) = two() else { return };
    driver
        .run(&format!("empty {KERNELS} --device GPU-11111111"))
        .expect(0)
        .says(&["on Stand-in 1 (device 1)"]);
    driver
        .run(&format!("empty {KERNELS} --device GPU-"))
        .expect(3)
        .says(&[
            "several devices fit `GPU-`",
            "device 0: Stand-in 0 (GPU-10101010-",
        ]);
    driver
        .run(&format!("empty {KERNELS} --device 2"))
        .expect(3)
        .says(&["there is no device `2`"]);
    driver
        .run(&format!("empty {KERNELS} --device two"))
        .expect(2)
        .says(&["`two` is no device"]);

    // What one device does wrong leaves the other's results.
    let Some(driver) = two() else { return };
    let driver = driver.set("FAULT", "1:700");
    let report = driver
        .run(&format!("empty {KERNELS} --device 0,1 --format json"))
        .expect(1)
        .says(&["illegal address", "on device 1"])
        .json();
    assert_eq!(report["devices"][0]["exit_code"], 0);
    assert_eq!(report["devices"][1]["exit_code"], 1);

    let Some(driver) = two() else { return };
    let driver = driver.set("PARAMS", AXPY);
    let path = driver.path("y.npy");
    driver
        .run(&format!(
            "axpy {KERNELS} {AXPY_ARGUMENTS} --device all --save 2={}",
            path.display()
        ))
        .expect(0);
    assert!(driver.path("y.0.npy").exists() && driver.path("y.1.npy").exists() && !path.exists());
}

#[test]
fn parts_of_devices() {
    let Some(driver) = Standin::new() else { return };
    let report = driver
        .set("MIG", "1")
        .run(&format!("empty {KERNELS} --device MIG-8 --format json"))
        .expect(0)
        .json();
    let device = &report["devices"][0]["device"];
    assert_eq!(device["mig"], true);
    assert_eq!(device["uuid"], "MIG-80808080-8080-8080-8080-808080808080");
}

#[test]
fn documents_stay_clean_of_what_kernels_print() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("PRINTF", "from the kernel\n");
    let outcome = driver
        .run(&format!("empty {KERNELS} --format json"))
        .expect(0)
        .says(&["from the kernel"]);
    assert_eq!(outcome.json()["ok"], true);
    driver
        .run(&format!("empty {KERNELS}"))
        .expect(0)
        .prints(&["from the kernel"]);
}

#[test]
fn a_dry_run_on_a_device_launches_nothing() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver
        .set("PARAMS", "0:8,8:8")
        .set("NUMBERS", "blocks=16,registers=17");
    driver
        .run(&format!(
            "cooperative_count {KERNELS} --arg out:u32[1] --arg out:u32[1] --block max --grid max --cooperative --device 0 --dry-run"
        ))
        .expect(0)
        .prints(&["grid        2112\n", "block       1024\n", "registers   17\n"]);
    assert!(driver.launches().is_empty());
}

#[test]
fn inputs_from_standard_input() {
    let Some(driver) = Standin::new() else { return };
    let mut command = driver.command("empty -");
    command.stdin(std::fs::File::open(KERNELS).unwrap());
    Outcome::of(&mut command).expect(0);
}

#[test]
fn doctor_lists_the_devices() {
    let Some(driver) = Standin::new() else { return };
    let driver = driver.set("DEVICES", "2");
    let doctor = |format: &str| {
        let mut command = Command::new(launch::program());
        command
            .args(["doctor", "--offline", "--format", format])
            .env("CUDALINK_LIBCUDA", driver.library)
            .envs(driver.settings.iter().cloned());
        Outcome::of(&mut command)
    };
    let text = doctor("text");
    for part in [
        "serves CUDA 13.0 and PTX up to 9.0",
        "Stand-in 0",
        "GPU-11111111-1111-1111-1111-111111111111",
    ] {
        assert!(text.stdout.contains(part), "{part}: {text:#?}");
    }
    let report = doctor("json").json();
    let device = &report["driver"]["devices"][1];
    assert_eq!(device["arch"], "sm_90");
    assert_eq!(
        (&device["sms"], &device["limits"]["shared_opt_in"]),
        (&132.into(), &232_448.into())
    );
    assert_eq!(
        (&device["cooperative"], &device["clusters"], &device["mig"]),
        (&true.into(), &true.into(), &false.into())
    );
    // What is wrong with the devices is told, and the rest of the report stands.
    let broken = driver.set("FAIL", "cuDeviceTotalMem_v2=98765");
    let mut command = Command::new(launch::program());
    command
        .args(["doctor", "--offline"])
        .env("CUDALINK_LIBCUDA", broken.library)
        .envs(broken.settings.iter().cloned());
    Outcome::of(&mut command).prints(&["result code 98765", "launch kernels"]);
}
