#!/usr/bin/env bash
# Links two LTO-IR inputs for four architectures at once, and for each in turn, without the cache. Prints the wall times
# and their ratio.
#
#   tests/bench/many.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${CUDALINK:-}" ] || cargo build --release --quiet
cudalink=${CUDALINK:-$PWD/target/release/cudalink}
cd "$work"
cat > kernels.cu <<'CU'
extern __device__ float step(float, int);

template <int N> __global__ void kernel(float *out, const float *in)
{
    float x = in[threadIdx.x];
    #pragma unroll
    for (int i = 0; i < N; i++) x = step(x, i) * in[i] + out[i];
    out[threadIdx.x] = x;
}
CU
for size in $(seq 16 8 128); do echo "template __global__ void kernel<$size>(float *, const float *);"; done >> kernels.cu
echo '__device__ float step(float x, int i) { return i % 3 ? __sinf(x) + i : x * __expf(x); }' > step.cu
for unit in kernels step; do
    "$cudalink" link -q --no-cache $unit.cu --arch sm_75 --emit ltoir --lto -r --allow undefined-symbol -o $unit.ltoir
done
archs="sm_80 sm_86 sm_89 sm_90"
series() { for arch in $archs; do "$cudalink" link -q --no-cache kernels.ltoir step.ltoir --arch "$arch" -o "$arch.cubin"; done; }
at_once() { "$cudalink" link -q --no-cache kernels.ltoir step.ltoir --arch "${archs// /,}" --emit fatbin -o all.fatbin; }
seconds() { local start; start=$(date +%s.%N); "$@" || kill $$; echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }'; }
for _ in $(seq "$runs"); do echo "$(seconds series) $(seconds at_once)"; done |
    awk -v cores="$(nproc)" '{ print "in series " $1 " s, at once " $2 " s, ratio " $2 / $1; sum += $2 / $1 } END { print "mean ratio " sum / NR " on " cores " cores" }'
