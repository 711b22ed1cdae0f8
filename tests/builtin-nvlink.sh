#!/usr/bin/env bash
# Compares the built-in linker with nvlink, byte for byte, over random programs and over cubins of one's own.
#
#   tests/builtin-nvlink.sh [FIRST LAST [ARCH...]]
#   LINKS=FOLDER tests/builtin-nvlink.sh 1 0
#
# Seeds FIRST to LAST (1 100) are compiled and linked for each ARCH (sm_80 sm_90). LINKS names a folder of more links,
# ARCH/NAME/*.cubin, in which nvlink's results are left. Needs CUDA 13.5 on the path or in $CUDA_HOME, and python3.
#
# Known differences, all harmless, in about one program of a hundred: the order of two records in `.nv.info.KERNEL` of
# a kernel that calls through a pointer.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
first=${1:-1} last=${2:-100}
[ $# -gt 2 ] && archs=("${@:3}") || archs=(sm_80 sm_90)
PATH=${CUDA_HOME:+$CUDA_HOME/bin:}$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# nvlink refuses some programs; then there is no result, and the built-in linker must refuse them too.
nvlink_all() {
    local folder arch
    for folder in "$1"/*/*/; do
        arch=$(basename "$(dirname "$folder")")
        [ -e "$folder/nvlink.cubin" ] && continue
        (cd "$folder" && nvlink -arch="$arch" ./*.cubin -o nvlink.cubin 2>nvlink.log) || true
        rm -f "$folder/nvlink.log"
    done
}

compare() { (cd "$here" && CUDALINK_BUILTIN_LINKS=$1 cargo test --quiet --test builtin other_links); }

if [ "$first" -le "$last" ]; then
    python3 "$here/tests/builtin-programs.py" "$work/programs" "$first" "$last"
    compile() {
        local program=$1 arch=$2 unit out=$work/links/$2/$(basename "$1")
        mkdir -p "$out"
        for unit in "$program"/*.cu; do
            nvcc -w -rdc=true -cubin -arch="$arch" "$unit" -o "$out/$(basename "$unit" .cu).cubin"
        done
    }
    export -f compile
    export work
    for arch in "${archs[@]}"; do
        printf '%s\n' "$work"/programs/* | xargs -P "$(nproc)" -I {} bash -euc 'compile "$1" "$2"' - {} "$arch"
    done
    nvlink_all "$work/links"
    compare "$work/links"
fi
if [ -n "${LINKS:-}" ]; then
    LINKS=$(cd "$LINKS" && pwd)
    nvlink_all "$LINKS"
    compare "$LINKS"
fi
