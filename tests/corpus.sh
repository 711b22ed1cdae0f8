#!/bin/sh
# Fetches public packages (1.6 GB) and holds what is found in them against tests/corpus.tsv, and against cuobjdump where
# that is here. The links that some of them are the result of must pass the check. Not a part of `cargo test`, because of the size.
#
#   tests/corpus.sh [FOLDER]     FOLDER keeps the packages, default target/corpus
set -eu
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-target/corpus}" && cd "${1:-target/corpus}" && pwd)

fetch() {
    start=$1
    shift
    ls "$folder/$start"*.whl >/dev/null 2>&1 || pip download --quiet --no-deps --dest "$folder" "$@"
}
linux="--only-binary=:all: --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_24_x86_64
    --platform manylinux2014_x86_64 --platform manylinux1_x86_64"
# Each word of $linux is an argument.
# shellcheck disable=SC2086
{
    fetch bitsandbytes-0.50.2 bitsandbytes==0.50.2 $linux
    fetch nvidia_cublas-13.10.0.20 nvidia-cublas==13.10.0.20 $linux
    fetch nvidia_cufft-12.5.0.14 nvidia-cufft==12.5.0.14 $linux
    fetch nvidia_libmathdx_cu13-0.4.2.37 nvidia-libmathdx-cu13==0.4.2.37 $linux
    fetch nvidia_nccl_cu12-2.18.1 nvidia-nccl-cu12==2.18.1 $linux
    fetch nvidia_npp-13.2.0.93 nvidia-npp==13.2.0.93 $linux
    fetch nvidia_nvjpeg-13.3.2.43 nvidia-nvjpeg==13.3.2.43 $linux
    fetch nvidia_nvshmem_cu13-3.8.0 nvidia-nvshmem-cu13==3.8.0 $linux
    fetch triton-3.9.0 triton==3.9.0 --python-version 3.11 $linux
    fetch nvidia_curand_cu12-10.3.10.19 nvidia-curand-cu12==10.3.10.19 --platform win_amd64
    fetch tensorflow_gpu-1.1.0 tensorflow-gpu==1.1.0 --python-version 3.5 --platform macosx_10_11_x86_64
}

CUDALINK_CORPUS="$folder" CUDALINK_TEST_STRICT=1 cargo test --test corpus
CUDALINK_CORPUS="$folder" CUDALINK_TEST_STRICT=1 cargo test --test check libraries

# The tool reads no packages and neither PE nor Mach-O; of the large libraries it takes minutes.
python3 - "$folder" <<'PYTHON'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
wanted = ("bitsandbytes", "nvidia_npp", "nvidia_nvjpeg", "nvidia_nvshmem", "nvidia_libmathdx", "triton", "nvidia_cufft")
for wheel in folder.glob("*.whl"):
    if wheel.name.startswith(wanted):
        with zipfile.ZipFile(wheel) as package:
            for name in package.namelist():
                file = pathlib.PurePath(name).name
                if ".so" in file or file.endswith(".a"):
                    out = folder / "files" / wheel.name.split("-")[0] / name.replace("/", "_")
                    out.parent.mkdir(parents=True, exist_ok=True)
                    out.write_bytes(package.read(name))
PYTHON
CUDALINK_ORACLE_FILES="$folder/files" cargo test --test oracle_expand -- --nocapture
