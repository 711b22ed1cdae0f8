#!/usr/bin/env bash
# Links a kernel with a large bitcode library, as cudalink does it, and in the naive way: the whole library compiled to
# LTO-IR by a program that makes nothing but the calls, and linked with a kernel in LTO-IR. Prints the wall times and
# their ratio, and the registers that the kernel gets.
#
#   tests/bench/bitcode.sh       SITE: a folder where pip put nvidia-nvshmem-cu13 and nvidia-nccl-cu13, else they are fetched
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${CUDALINK:-}" ] || cargo build --release --quiet
cudalink=${CUDALINK:-$PWD/target/release/cudalink}
cc -O2 tests/bench/link.c -o "$work/link" -ldl
for component in nvjitlink nvrtc libnvvm; do "$cudalink" toolkit install 13.5 --component $component; done
if [ -z "${SITE:-}" ]; then
    SITE=$work/site
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$SITE" nvidia-nvshmem-cu13==3.8.0 nvidia-nccl-cu13==2.32.6
fi
path() {
    "$cudalink" doctor --format json 2>/dev/null | python3 -c '
import json, sys
parts = json.load(sys.stdin)["components"]
print(next(part["path"] for part in parts if part["component"] == sys.argv[1]))' "$1"
}
nvjitlink=$(path nvjitlink) nvvm=$(path libnvvm)
cat > "$work/ring.cu" <<'CU'
extern "C" __device__ int nvshmem_my_pe();
extern "C" __device__ int nvshmem_n_pes();
extern "C" __device__ void nvshmem_int_p(int *, int, int);
extern "C" __device__ void nvshmem_barrier_all();

extern "C" __global__ void ring(int *next)
{
    int me = nvshmem_my_pe();
    nvshmem_int_p(next, me, (me + 1) % nvshmem_n_pes());
    nvshmem_barrier_all();
}
CU
cat > "$work/ranks.cu" <<'CU'
extern "C" __device__ int ncclIrDevCommRank(const void *);

extern "C" __global__ void ranks(const void *communicator, int *out)
{
    out[threadIdx.x] = ncclIrDevCommRank(communicator);
}
CU
# The size of a group is read through a table of virtual functions, with which most of the library comes in.
cat > "$work/sizes.cu" <<'CU'
extern "C" __device__ void ncclIrCoopInitCta(void *);
extern "C" __device__ int ncclIrCoopSize(const void *);

extern "C" __global__ void sizes(int *out)
{
    __align__(16) char group[256];
    ncclIrCoopInitCta(group);
    out[threadIdx.x] = ncclIrCoopSize(group);
}
CU
cat > "$work/whole.py" <<'PY'
"""whole.py LIBNVVM BITCODE OUT: compiles a whole module to LTO-IR."""
import ctypes, sys
nvvm = ctypes.CDLL(sys.argv[1])
data = open(sys.argv[2], "rb").read()
program, size = ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 3)(b"-arch=compute_90", b"-gen-lto", b"-nvvm-latest")
assert nvvm.nvvmCreateProgram(ctypes.byref(program)) == 0
assert nvvm.nvvmAddModuleToProgram(program, data, ctypes.c_size_t(len(data)), b"library") == 0
assert nvvm.nvvmCompileProgram(program, 3, options) == 0
assert nvvm.nvvmGetCompiledResultSize(program, ctypes.byref(size)) == 0
result = ctypes.create_string_buffer(size.value)
assert nvvm.nvvmGetCompiledResult(program, result) == 0
open(sys.argv[3], "wb").write(result.raw)
PY
cd "$work"
seconds() { local start; start=$(date +%s.%N); "$@" > /dev/null || kill $$; echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }'; }
registers() { "$cudalink" inspect "$1" --format json --kernels | python3 -c '
import json, sys
print(*(kernel["registers"] for kernel in json.load(sys.stdin)["inputs"][0]["images"][0]["kernels"]))'; }
naive() {
    python3 whole.py "$nvvm" "$1" whole.ltoir
    "$cudalink" link -q --no-cache "$2.cu" --arch sm_90 --lto -r --emit ltoir --allow undefined-symbol -o kernel.ltoir
    NVVM_LATEST=1 ./link "$nvjitlink" sm_90 naive.cubin ltoir=kernel.ltoir ltoir=whole.ltoir
}
ours() { "$cudalink" link -q --no-cache "$2.cu" "$1" --arch sm_90 -o "$2.$3.cubin" --lto="$3"; }
bench() {
    local whole auto lto
    whole=$(seconds naive "$1" "$2") auto=$(seconds ours "$1" "$2" auto) lto=$(seconds ours "$1" "$2" on)
    echo "$2 with ${1##*/}, $(wc -c < "$1") bytes: naive $whole s, cudalink $auto s (1/$(echo "$whole $auto" | awk '{ printf "%.1f", $1 / $2 }'))," \
        "with --lto $lto s (1/$(echo "$whole $lto" | awk '{ printf "%.1f", $1 / $2 }'))"
    echo "    registers: naive $(registers naive.cubin || echo none), cudalink $(registers "$2.auto.cubin"), with --lto $(registers "$2.on.cubin")"
}
bench "$SITE/nvidia/nvshmem/lib/libnvshmem_device_sm_90.bc" ring
for kernel in ranks sizes; do bench "$SITE/nvidia/nccl/lib/libnccl_device.bc" $kernel; done
