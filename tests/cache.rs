//! Many processes on one cache, killed at any moment: what they write is always what a link without a cache writes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROCESSES: usize = 16;
const ROUNDS: usize = 4;
/// Links that share their inputs and nothing else.
const VARIANTS: [&str; 4] = ["--ftz", "--lineinfo", "--arch=sm_90a", "-O0"];

fn link(variant: &str, output: &Path, cache: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudalink"));
    command.args([
        "link",
        "-q",
        "fixtures/axpy.ltoir",
        "fixtures/scale.ltoir",
        variant,
    ]);
    command.arg("-o").arg(output);
    match cache {
        Some(folder) => command.env("CUDALINK_CACHE_DIR", folder),
        None => command.arg("--no-cache"),
    };
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn killed_processes_leave_no_wrong_results() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("cache");
    let right: Vec<Vec<u8>> = VARIANTS
        .iter()
        .map(|variant| {
            let output = place.path().join("right.cubin");
            let status = link(variant, &output, None).status().unwrap();
            assert!(status.success(), "{variant}: {status}");
            fs::read(output).unwrap()
        })
        .collect();
    for round in 0..ROUNDS {
        let output = |number: usize| place.path().join(format!("{round}.{number}.cubin"));
        let mut running: Vec<(usize, Child)> = (0..PROCESSES)
            .map(|number| {
                let variant = VARIANTS[number % VARIANTS.len()];
                let child = link(variant, &output(number), Some(&cache)).spawn();
                (number, child.unwrap())
            })
            .collect();
        // One in three dies, at moments that differ from round to round.
        for (number, child) in running.iter_mut().filter(|(number, _)| number % 3 == 0) {
            std::thread::sleep(Duration::from_millis(
                ((round * 37 + *number * 13) % 50) as u64,
            ));
            // It may be done.
            let _ = child.kill();
        }
        for (number, mut child) in running {
            let status = child.wait().unwrap();
            let killed = number % 3 == 0 && status.code().is_none();
            assert!(killed || status.success(), "{number}: {status}");
            match fs::read(output(number)) {
                Ok(bytes) => assert!(bytes == right[number % VARIANTS.len()], "{number} is wrong"),
                Err(error) => assert!(killed, "{number}: {error}"),
            }
        }
    }
    // What they left in the cache is right as well, and is used.
    for (variant, right) in VARIANTS.iter().zip(&right) {
        let output = place.path().join("after.cubin");
        let report = place.path().join("after.json");
        let mut command = link(variant, &output, Some(&cache));
        let status = command.arg("--report").arg(&report).status().unwrap();
        assert!(status.success(), "{variant}: {status}");
        assert!(fs::read(&output).unwrap() == *right, "{variant} is wrong");
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(report["cached"], true, "{variant}");
    }
}
