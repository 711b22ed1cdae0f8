#!/usr/bin/env bash
# Times `cudalink inspect` against its peers on large libraries, all in one run, and prints ratios.
#
#   cargo build --release --bin cudalink --example bare-decompression
#   tests/bench/inspect.sh libcublasLt.so.13 libcufft.so.12
#
# Peers: cuobjdump (from $CUDA_HOME or the path), cubloaty (from pip, if it is on the path), and
# tests/bench/bare.rs, which only unpacks. Each runs ROUNDS times in turn; the fastest run counts.
# RssAnon is the largest amount of memory that is not the mapped file.
set -euo pipefail

ROUNDS=${ROUNDS:-3}
here=$(cd "$(dirname "$0")/../.." && pwd)
built=${CARGO_TARGET_DIR:-$here/target}/release
cudalink=$built/cudalink
bare=$built/examples/bare-decompression
cuobjdump=${CUDA_HOME:+$CUDA_HOME/bin/}cuobjdump

for tool in "$cudalink" "$bare"; do
    [ -x "$tool" ] || { echo "$tool is not built" >&2; exit 2; }
done
[ $# -gt 0 ] || { echo "usage: $0 LIBRARY..." >&2; exit 2; }

declare -A best memory
# Runs a command, keeps its fastest wall time in milliseconds and its largest RssAnon in KiB.
run() {
    local name=$1 start pid rss end
    shift
    command -v "$1" >/dev/null || return 0
    start=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 &
    pid=$!
    while rss=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$rss" ]; do
        [ "$rss" -gt "${memory[$name]:-0}" ] && memory[$name]=$rss
        sleep 0.02
    done
    wait "$pid" || true
    end=$EPOCHREALTIME
    local spent=$(((${end/./} - ${start/./}) / 1000))
    [ "$spent" -lt "${best[$name]:-999999999}" ] && best[$name]=$spent
    return 0
}

ratio() {
    [ -n "${best[$1]:-}" ] && [ -n "${best[$2]:-}" ] || return 0
    awk -v a="${best[$1]}" -v b="${best[$2]}" -v text="$1 / $2" 'BEGIN {
        printf "  %-42s %.3f\n", text, a / (b > 0 ? b : 1)
    }'
}

for library in "$@"; do
    best=() memory=()
    for _ in $(seq "$ROUNDS"); do
        run "summary" "$cudalink" inspect "$library"
        run "cuobjdump -lelf" "$cuobjdump" -lelf "$library"
        run "bare decompression" "$bare" "$library"
        run "resources" "$cudalink" inspect --resources --format json "$library"
        run "kernels" "$cudalink" inspect --kernels --format json "$library"
        run "cuobjdump -res-usage" "$cuobjdump" -res-usage "$library"
        run "cubloaty" cubloaty --format json "$library"
    done
    echo "$library"
    for name in "summary" "cuobjdump -lelf" "bare decompression" "resources" "kernels" \
        "cuobjdump -res-usage" "cubloaty"; do
        [ -n "${best[$name]:-}" ] || continue
        printf '  %-24s %8d ms %8d KiB RssAnon\n' "$name" "${best[$name]}" "${memory[$name]:-0}"
    done
    ratio "summary" "cuobjdump -lelf"
    ratio "resources" "bare decompression"
    ratio "resources" "cuobjdump -res-usage"
    ratio "resources" "cubloaty"
done
