#!/usr/bin/env bash
# Links the same small jobs with cudalink, with a bare C program that makes the same calls of the same nvJitLink, and
# with Python's cuda.core, in turn. Prints the medians of the wall times and their ratios.
#
#   tests/bench/link.sh [RUNS]       PYTHON: an interpreter with cuda-core and cuda-bindings, else one is set up
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-21}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --release --quiet
cudalink=$PWD/target/release/cudalink
cc -O2 tests/bench/link.c -o "$work/bare" -ldl
"$cudalink" toolkit install 13.5 --component nvjitlink
library=$("$cudalink" doctor --format json 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(next(part["path"] for part in report["components"] if part["component"] == "nvjitlink"))' || true)
[ -n "$library" ] || { echo "no nvJitLink was found"; exit 3; }
export CUDALINK_NVJITLINK=$library CUDALINK_CACHE_DIR=$work/cache
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check cuda-core cuda-bindings nvidia-nvjitlink==13.5.37
    PYTHON=$work/venv/bin/python
fi
cat > "$work/core.py" <<'PY'
import sys
from cuda.core import Linker, LinkerOptions, ObjectCode
out, *inputs = sys.argv[1:]
make = {"cubin": ObjectCode.from_cubin, "ptx": ObjectCode.from_ptx, "ltoir": ObjectCode.from_ltoir}
codes = [make[kind](open(path, "rb").read()) for kind, path in (item.split("=") for item in inputs)]
lto = any(item.startswith("ltoir") for item in inputs)
code = Linker(*codes, options=LinkerOptions(arch="sm_90", link_time_optimization=lto or None)).link("cubin")
open(out, "wb").write(code.code)
PY
cd fixtures
python3 - "$runs" "$work" "$cudalink" "$library" "$PYTHON" <<'PY'
import statistics, subprocess, sys, time
runs, work, cudalink, library, python = int(sys.argv[1]), *sys.argv[2:]
def wall(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start
jobs = {
    "two cubins": ["cubin=axpy.cubin", "cubin=scale.cubin"],
    "PTX and cubin": ["ptx=axpy.ptx", "cubin=scale.cubin"],
    "two LTO-IR": ["ltoir=axpy.ltoir", "ltoir=scale.ltoir"],
}
print(f"{'job':14} {'bare C':>9} {'cudalink':>9} {'known':>9} {'cuda.core':>9}   cudalink/C  known/C  core/cudalink")
for name, inputs in jobs.items():
    files = [item.split("=")[1] for item in inputs]
    commands = {
        "bare": [f"{work}/bare", library, "sm_90", f"{work}/c.cubin", *inputs],
        "cudalink": [cudalink, "link", "-q", "--no-cache", "-o", f"{work}/o.cubin", *files],
        "known": [cudalink, "link", "-q", "-o", f"{work}/k.cubin", *files],
        "core": [python, f"{work}/core.py", f"{work}/p.cubin", *inputs],
    }
    times = {key: [] for key in commands}
    for key, command in commands.items():
        wall(command)
    for number in range(runs):
        for key, command in commands.items():
            if key != "core" or number < 5:
                times[key].append(wall(command))
    m = {key: statistics.median(value) for key, value in times.items()}
    print(f"{name:14} {m['bare']*1e3:7.1f}ms {m['cudalink']*1e3:7.1f}ms {m['known']*1e3:7.1f}ms {m['core']*1e3:7.1f}ms"
          f"   {m['cudalink']/m['bare']:10.2f} {m['known']/m['bare']:8.2f} {m['core']/m['cudalink']:14.1f}")
PY
