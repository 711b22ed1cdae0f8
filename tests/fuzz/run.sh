#!/usr/bin/env bash
# Runs each fuzz target for some time, from the fixtures of its kind as seeds. Findings are left in tests/fuzz/artifacts.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]     default: 600 seconds each of fatbin cubin archive ptx host
#
# Needs a C++ compiler for libFuzzer. The flags are those of cargo-fuzz without the address sanitizer, which only nightly
# Rust has: `cargo +nightly fuzz run --fuzz-dir tests/fuzz TARGET` works as well, and watches the C code of zstd too.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
shift || true
[ $# -gt 0 ] || set -- fatbin cubin archive ptx host
fixtures=../../fixtures

seeds() {
    case $1 in
        fatbin) ls $fixtures/*.fatbin ;;
        cubin) ls $fixtures/*.cubin ;;
        archive) ls $fixtures/*.a ;;
        ptx) ls $fixtures/*.ptx ;;
        host) ls $fixtures/*.o $fixtures/*.so ;;
    esac
}

host=$(rustc -vV | sed -n 's/^host: //p')
coverage=-Cllvm-args=-sanitizer-coverage
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module $coverage-level=4 $coverage-inline-8bit-counters \
    $coverage-pc-table $coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions"
# Naming the target keeps build scripts and macros out of it.
cargo build --release --target "$host"
built=${CARGO_TARGET_DIR:-target}/$host/release

for target; do
    mkdir -p "corpus/$target"
    for file in $(seeds "$target"); do
        cp -n "$file" "corpus/$target/"
    done
    mkdir -p "artifacts/$target"
    "$built/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" \
        -rss_limit_mb=512 -timeout=10 -max_len=65536 -print_final_stats=1
done
