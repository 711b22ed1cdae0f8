#!/bin/sh
# Takes every cubin and PTX text out of real files and holds what is read from them against cuobjdump and
# ptxas. Not a part of `cargo test`: it takes three runs of the tool for each image.
#
#   tests/oracle.sh FILE...     libraries, archives, wheels; $CUDA_HOME or the path has the tools
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: $0 FILE..." >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo build --quiet
for file; do
    target/debug/cudalink extract --kind cubin,ptx "$file" -o "$folder/$(basename "$file")"
done
CUDALINK_ORACLE_FILES="$folder" CUDALINK_TEST_STRICT=1 \
    cargo test --test oracle_cubin --test oracle_ptx -- --nocapture
