//! NVRTC and libNVVM through `ffi`, on the real libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use cudalink::ffi::nvrtc::{Nvrtc, Output};
use cudalink::ffi::nvvm::{Module, Nvvm};

fn library(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("CUDA_HOME")?)
        .join("lib")
        .join(name);
    path.exists().then_some(path)
}

#[test]
fn cuda_cpp_to_each_output() {
    let Some(path) = library("libnvrtc.so.13") else {
        return;
    };
    let nvrtc = Nvrtc::load(&path).unwrap();
    println!("{:?} {:?}", nvrtc.version, nvrtc.architectures);
    let source = b"template<class T> __global__ void k(T* p) { *p += 1; }";
    let names = ["k<float>".to_owned()];
    let options = |arch: &str| vec![format!("--gpu-architecture={arch}")];
    let ptx = nvrtc
        .compile(source, "k.cu", &options("compute_80"), &names, Output::Ptx)
        .unwrap();
    println!("{ptx:?}");
    assert!(ptx.code.unwrap().ends_with(b"}\n\n"), "no NUL at the end");
    assert_eq!(ptx.lowered, ["_Z1kIfEvPT_"]);
    let cubin = nvrtc
        .compile(source, "k.cu", &options("sm_80"), &names, Output::Cubin)
        .unwrap();
    assert!(cubin.code.unwrap().starts_with(b"\x7fELF"));
    let mut lto = options("compute_80");
    lto.push("-dlto".into());
    let lto = nvrtc
        .compile(source, "k.cu", &lto, &names, Output::LtoIr)
        .unwrap();
    assert!(lto.code.unwrap().starts_with(b"\xed\x43\x4e\x7f"));
    let bad = nvrtc
        .compile(
            b"__global__ void k() { y = 1; }\n__device__ void g(){int unused;}",
            "err.cu",
            &options("sm_80"),
            &[],
            Output::Cubin,
        )
        .unwrap();
    println!("{bad:?}");
    let bad = nvrtc
        .compile(
            b"__global__ void k() { }",
            "err.cu",
            &options("sm_12"),
            &[],
            Output::Cubin,
        )
        .unwrap();
    println!("{bad:?}");
}

#[test]
fn nvvm() {
    let Some(path) = library("libnvvm.so.4") else {
        return;
    };
    let nvvm = Nvvm::load(&path).unwrap();
    println!(
        "{:?} {:?} {:?}",
        nvvm.ir_version,
        nvvm.llvm_version("compute_90"),
        nvvm.llvm_version("compute_100")
    );
    let bad = nvvm
        .compile(
            &[Module {
                name: "x.ll",
                bytes: b"define void @k( {",
                lazy: false,
            }],
            &["-arch=compute_90".into()],
        )
        .unwrap();
    println!("{bad:?}");
}
