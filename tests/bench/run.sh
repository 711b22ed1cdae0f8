#!/usr/bin/env bash
# Times `cudalink run` against a bare C program and against cuda.core on the GPU of this machine, all in
# one run, and prints ratios.
#
#   cargo build --release
#   tests/bench/run.sh
#
# CUDALINK_BIN names another cudalink and PEER a compiled tests/bench/run_peer.c; PYTHON has cuda.core. Each
# program runs ROUNDS times in turn; the fastest run counts, and the median stands beside it.
set -euo pipefail

ROUNDS=${ROUNDS:-5}
# One GiB of float in each of two buffers.
ELEMENTS=${ELEMENTS:-268435456}
cd "$(dirname "$0")/../.."
cudalink=${CUDALINK_BIN:-${CARGO_TARGET_DIR:-target}/release/cudalink}
cubin=fixtures/run/kernels.sm_90.cubin
python=${PYTHON:-python3}
[ -x "$cudalink" ] || { echo "$cudalink is not built" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
peer=${PEER:-$work/run_peer}
if [ -z "${PEER:-}" ]; then
    # Linked with the stand-in; at run time the loader takes the driver.
    cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/libcuda.so.1" tests/standin/libcuda.c
    cc -O3 -o "$peer" tests/bench/run_peer.c "$work/libcuda.so.1"
fi

# Runs a command and adds its wall time in microseconds to the times of that name.
timed() {
    local name=$1 start end
    shift
    start=$EPOCHREALTIME
    "$@" >>"$work/$name.out" 2>>"$work/$name.err" || { cat "$work/$name.err" >&2; return 1; }
    end=$EPOCHREALTIME
    echo $((${end/./} - ${start/./})) >>"$work/$name.times"
}

best() { sort -n "$work/$1.times" | head -1; }
median() { sort -n "$work/$1.times" | sed -n "$(((ROUNDS + 1) / 2))p"; }

show() {
    printf '  %-34s %9.1f ms best %9.1f ms median\n' "$1" \
        "$(awk "BEGIN { print $(best "$1") / 1000 }")" "$(awk "BEGIN { print $(median "$1") / 1000 }")"
}

ratio() {
    awk -v a="$(best "$1")" -v b="$(best "$2")" -v text="$1 / $2" -v bound="$3" \
        'BEGIN { printf "  %-52s %.3f (wanted: at most %s)\n", text, a / b, bound }'
}

# The median of the launches that a program timed itself.
launch_us() { sed -n 's/.*median_us"*:* *\([0-9.]*\).*/\1/p' "$work/$1.out" | sort -n | head -1; }

axpy() {
    timed "$1" "$cudalink" run axpy "$cubin" -q --no-progress --grid 4096 --block 256 --arg f32:2 \
        --arg "in:f32[$ELEMENTS]=iota" --arg "inout:f32[$ELEMENTS]=iota" --arg "i64:$ELEMENTS" \
        --save 2=/dev/null --format json "${@:2}"
}

has_core=1
"$python" tests/bench/run_peer.py "$cubin" 2>"$work/core.err" || has_core=
[ -n "$has_core" ] || { echo "without cuda.core:"; tail -1 "$work/core.err"; }

for _ in $(seq "$ROUNDS"); do
    timed small-cudalink "$cudalink" run empty "$cubin" -q
    timed small-c "$peer" small "$cubin"
    [ -z "$has_core" ] || timed small-cuda.core "$python" tests/bench/run_peer.py "$cubin"
    axpy axpy-cudalink
    timed axpy-c-pageable "$peer" axpy "$cubin" "$ELEMENTS" pageable 0
    timed axpy-c-pinned "$peer" axpy "$cubin" "$ELEMENTS" pinned 0
    axpy axpy-1000-cudalink --repeat 1000 --warmup 0
    timed axpy-1000-c "$peer" axpy "$cubin" "$ELEMENTS" pinned 1000
done

for name in small-cudalink small-c small-cuda.core axpy-cudalink axpy-c-pageable axpy-c-pinned \
    axpy-1000-cudalink axpy-1000-c; do
    [ ! -s "$work/$name.times" ] || show "$name"
done
ratio small-cudalink small-c 1.15
[ -z "$has_core" ] || ratio small-cudalink small-cuda.core 0.4
ratio axpy-cudalink axpy-c-pageable 1.1
ratio axpy-cudalink axpy-c-pinned 1.1
ratio axpy-1000-cudalink axpy-1000-c 1.1
echo "  one launch of axpy: $(launch_us axpy-1000-cudalink) µs in cudalink, $(launch_us axpy-1000-c) µs in C"
