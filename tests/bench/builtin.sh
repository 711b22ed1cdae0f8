#!/usr/bin/env bash
# Times `cudalink link --backend builtin` against nvlink and a bare C program on nvJitLink, all in one run.
#
#   cargo build --release --bin cudalink
#   tests/bench/builtin.sh ARCH INPUT.cubin...
#
# Peers: nvlink (from $CUDA_HOME or the path); and, where $BARE names the compiled tests/bench/link.c and $NVJITLINK the
# library, the bare calls. Each runs ROUNDS times in turn; the fastest run counts.
set -euo pipefail

ROUNDS=${ROUNDS:-10}
[ $# -gt 1 ] || { echo "usage: $0 ARCH INPUT..." >&2; exit 2; }
arch=$1
shift
here=$(cd "$(dirname "$0")/../.." && pwd)
cudalink=${CARGO_TARGET_DIR:-$here/target}/release/cudalink
nvlink=${CUDA_HOME:+$CUDA_HOME/bin/}nvlink
[ -x "$cudalink" ] || { echo "$cudalink is not built" >&2; exit 2; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

declare -A best
# A run that fails is no run: its time would flatter it.
run() {
    local name=$1 start end
    shift
    start=$EPOCHREALTIME
    "$@" >/dev/null 2>"$out/log" || { echo "$name failed:" >&2; cat "$out/log" >&2; exit 1; }
    end=$EPOCHREALTIME
    local spent=$((${end/./} - ${start/./}))
    [ "$spent" -lt "${best[$name]:-999999999}" ] && best[$name]=$spent
    return 0
}

for _ in $(seq "$ROUNDS"); do
    run builtin "$cudalink" link --backend builtin --arch "$arch" "$@" -o "$out/builtin.cubin"
    run nvlink "$nvlink" -arch="$arch" "$@" -o "$out/nvlink.cubin"
    [ -z "${BARE:-}" ] || run bare "$BARE" "$NVJITLINK" "$arch" "$out/bare.cubin" "${@/#/cubin=}"
done
for name in builtin nvlink bare; do
    [ -n "${best[$name]:-}" ] || continue
    awk -v name="$name" -v time="${best[$name]}" -v own="${best[builtin]}" \
        'BEGIN { printf "%-8s %10.3f ms   builtin / %s %.3f\n", name, time / 1000, name, own / time }'
done
