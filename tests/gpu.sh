#!/usr/bin/env bash
# The launch tests, compute-sanitizer and the benchmark on a machine with a GPU, where there need be neither
# Rust nor network. On the machine that builds:
#
#   tests/gpu.sh pack DIR     puts all that has to be carried into DIR, beside the fixtures and tests
#
# and on the one with the GPU, in the repository's root:
#
#   tests/gpu.sh DIR [TEST]   runs everything, or the tests whose name has TEST; takes a few minutes
set -uo pipefail
cd "$(dirname "$0")/.."

pack() {
    set -e
    mkdir -p "$1"
    cargo build --release
    cp "${CARGO_TARGET_DIR:-target}/release/cudalink" "$1/"
    local tests
    tests=$(cargo test --no-run --test gpu --message-format json |
        sed -n 's/.*"name":"gpu".*"executable":"\([^"]*\)".*/\1/p')
    cp "$tests" "$1/gpu"
    # nvJitLink is far too large to carry as it is.
    local library
    library=$("$1/cudalink" doctor --format json |
        python3 -c 'import json, sys; print(next(c["path"] for c in json.load(sys.stdin)["components"] if c["component"] == "nvjitlink"))')
    xz -T0 -6 -c "$(readlink -f "$library")" >"$1/libnvJitLink.so.13.xz"
    ls -l "$1"
}

[ $# -gt 0 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
if [ "$1" = pack ]; then
    pack "$2"
    exit
fi

dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
step() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }

if [ -f "$dir/libnvJitLink.so.13.xz" ]; then
    python3 - "$dir/libnvJitLink.so.13.xz" "$work/libnvJitLink.so.13" <<'END'
import lzma, shutil, sys
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(packed, out)
END
    export CUDALINK_NVJITLINK=$work/libnvJitLink.so.13
fi
export CUDALINK_BIN=$dir/cudalink CUDALINK_OFFLINE=1 CUDALINK_TEST_STRICT=1 RUST_BACKTRACE=0
chmod +x "$dir/cudalink" "$dir/gpu"

step "devices"
"$CUDALINK_BIN" doctor

step "tests"
"$dir/gpu" --test-threads 4 "${@:2}" || failed=1
[ $# -eq 1 ] || exit $failed

step "compute-sanitizer over the tests whose kernels do nothing wrong"
if command -v compute-sanitizer >/dev/null; then
    cat >"$work/sanitized" <<END
#!/bin/sh
# Only launches: the tool reports what doctor asks of the driver in vain, and fails where the driver is not used.
case " \$* " in
" run "*" --dry-run "*) exec "$dir/cudalink" "\$@" ;;
" run "*) ;;
*) exec "$dir/cudalink" "\$@" ;;
esac
exec compute-sanitizer --tool memcheck --target-processes all --error-exitcode 9 \
    --log-file "$work/sanitizer.%p.log" "$dir/cudalink" "\$@"
END
    chmod +x "$work/sanitized"
    # Some kernels are ended by faults on purpose, also on one of several devices. The largest grids are smaller with the tool's own code in the kernels, and it is too slow for the rest.
    CUDALINK_BIN=$work/sanitized "$dir/gpu" --test-threads 4 --skip faults --skip devices --skip hung --skip interrupt \
        --skip without_a_cooperative --skip largest --skip 4_gib --skip timings --skip scalars || failed=1
    cat "$work"/sanitizer.*.log 2>/dev/null | grep -v 'COMPUTE-SANITIZER$' | sort | uniq -c | sort -rn | head -20
else
    echo "compute-sanitizer is not here" && failed=1
fi

step "benchmark"
tests/bench/run.sh || failed=1

step "done, failed=$failed"
exit $failed
