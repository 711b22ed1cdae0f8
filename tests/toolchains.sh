#!/usr/bin/env bash
# Compiles fixtures with ptxas of every CUDA release that matters, for every architecture that it knows, and with nvcc in
# every compression mode, and holds what is read from the results against cuobjdump. Not a part of `cargo test`, because
# of the 500 MB of packages.
#
#   tests/toolchains.sh [FOLDER]     FOLDER keeps the tools, default target/toolchains
#
# Needs the tools of tests/tools.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-target/toolchains}" && cd "${1:-target/toolchains}" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
nvcc=${CUDA_HOME:+$CUDA_HOME/bin/}nvcc

# Prints the path of a release's ptxas.
ptxas() {
    local package=nvidia-cuda-nvcc-cu${1%%.*}
    [ -d "$folder/$1" ] || python3 -m pip install --quiet --no-deps --target "$folder/$1" "$package==$1" >&2
    echo "$folder/$1/nvidia/cuda_nvcc/bin/ptxas"
}

archs=$(
    for number in 50 52 53 60 61 62 70 72 75 80 86 87 88 89; do echo "$number"; done
    for number in 90 100 101 103 107 110 120 121; do printf '%s\n' "$number" "${number}a" "${number}f"; done
)

# compile PTXAS RELEASE ISA: every unit for every architecture that this ptxas takes, whole and for a link.
compile() {
    local unit arch count=0
    for unit in axpy coop saxpy scale; do
        for arch in $archs; do
            sed "s/^\.version .*/.version $3/; s/^\.target .*/.target sm_$arch/" \
                "fixtures/$unit.isa_8.0.ptx" >"$made/input.ptx"
            for options in "" "-c" "-c -O1 -lineinfo -maxrregcount=32" "-c -g"; do
                # What is not for this release, or needs a link, is refused.
                # shellcheck disable=SC2086
                if "$1" -arch="sm_$arch" $options "$made/input.ptx" \
                    -o "$made/$unit.$2.sm_$arch${options// /}.cubin" 2>/dev/null; then
                    count=$((count + 1))
                fi
            done
        done
    done
    rm "$made/input.ptx"
    echo "ptxas $2: $count cubins"
    [ "$count" -gt 0 ]
}

compile "$(ptxas 11.8.89)" 11.8 7.8
compile "$(ptxas 12.0.140)" 12.0 8.0
compile "$(ptxas 12.4.131)" 12.4 8.4
compile "$(ptxas 12.9.86)" 12.9 8.8
compile "${nvcc%nvcc}ptxas" 13.5 9.5

for mode in default size speed balance none; do
    for unit in whole scalars templates; do
        for link in false true; do
            "$nvcc" -fatbin -arch=all-major -gencode arch=compute_90a,code=sm_90a \
                -rdc=$link --compress-mode=$mode \
                "fixtures/src/$unit.cu" -o "$made/$unit.$mode.$link.fatbin"
        done
    done
    echo "nvcc --compress-mode=$mode"
done

CUDALINK_ORACLE_FILES="$made" CUDALINK_TEST_STRICT=1 \
    cargo test --test oracle_cubin --test oracle_expand -- --nocapture
