//! Links the same inputs with nvlink, in every order, and compares the kernels of the results.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::process::Command;

use common::env;
use cudalink::code::Functions;
use cudalink::format::cubin::Cubin;

/// Inputs, and whether nvlink must be told to optimise at link time.
const LINKS: &[(&[&str], bool)] = &[
    (&["axpy.cubin", "scale.cubin"], false),
    (&["axpy.ptx", "scale.cubin"], false),
    (&["axpy.cubin", "scale.ptx"], false),
    (&["axpy.o", "libscale.a"], false),
    (
        &["axpy.abi7.cubin", "scale.cubin", "whole.rdc.cubin"],
        false,
    ),
    (&["templates.o", "weak_a.cubin", "weak_b.cubin"], false),
    (&["cdp.o"], false),
    (&["cdp.o", "axpy.cubin", "libscale.a"], false),
    (&["coop.o", "libmirror.a"], false),
    (&["axpy.ltoir", "libscale.a"], true),
    (&["axpy.ltoir", "scale.ltoir", "weak_a.cubin"], true),
    (&["coop.ltoir", "libmirror.a"], true),
];

#[test]
fn the_same_kernels_as_nvlink() {
    let Some(nvlink) = common::cuda_tool("nvlink") else {
        return common::skip("nvlink is not here");
    };
    std::sync::LazyLock::force(&env::NVJITLINK);
    env::install("13.5", "cudadevrt");
    let home = nvlink.ancestors().nth(2).unwrap();
    let devrt = home.join("lib/libcudadevrt.a");
    let place = tempfile::tempdir().unwrap();
    let nvvm = format!("-nvvmpath={}", nvvm(home, place.path()).display());
    let mut compared = 0;
    for (inputs, lto) in LINKS {
        for order in orders(inputs) {
            let ours = place.path().join("ours.cubin");
            let out = env::cudalink()
                .current_dir(env::root().join("fixtures"))
                .args(["link", "-q", "--no-cache", "--arch=sm_90", "-o"])
                .arg(&ours)
                .args(&order)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{order:?}: {said}");
            let theirs = place.path().join("theirs.cubin");
            // Without the switch it drops kernels that no host code launches.
            let out = Command::new(&nvlink)
                .current_dir(env::root().join("fixtures"))
                .args(["-arch=sm_90", "-ignore-host-info"])
                .args(lto.then_some(["-dlto", &nvvm]).into_iter().flatten())
                .args(&order)
                .arg(&devrt)
                .arg("-o")
                .arg(&theirs)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "nvlink: {order:?}: {said}");
            assert_eq!(kernels(&ours), kernels(&theirs), "{order:?}");
            compared += 1;
        }
    }
    assert!(compared > LINKS.len());
}

/// A folder in which nvlink finds libnvvm under the name that it looks for; Python's packages lack it.
fn nvvm(home: &Path, place: &Path) -> std::path::PathBuf {
    let folder = place.join("nvvm");
    std::fs::create_dir_all(folder.join("lib64")).unwrap();
    let library = home.join("lib/libnvvm.so.4");
    std::os::unix::fs::symlink(library, folder.join("lib64/libnvvm.so")).unwrap();
    folder
}

fn kernels(path: &Path) -> Vec<(String, u32)> {
    let bytes = std::fs::read(path).unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let kernels = Functions::from_cubin(&cubin).unwrap().kernels;
    let mut all: Vec<_> = kernels
        .into_iter()
        .map(|kernel| (kernel.name, kernel.param_bytes))
        .collect();
    all.sort();
    all
}

/// Every order of a few things.
fn orders<'a>(things: &[&'a str]) -> Vec<Vec<&'a str>> {
    let [first, rest @ ..] = things else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first);
            all.push(order);
        }
    }
    all
}
