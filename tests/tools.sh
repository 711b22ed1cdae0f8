#!/usr/bin/env bash
# Puts NVIDIA's command-line tools of CUDA 13.5, ptxas of 12.9, and ninja into a Python environment of their own and
# prints the lines that put them on the path. Tests compare with them; cudalink itself never uses them.
#
#   eval "$(tests/tools.sh)"
set -euo pipefail

version=13.5.37
old=12.9.86
ninja=1.13.0
folder=${CUDALINK_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cudalink-tests/cuda-$version-$old-ninja-$ninja}
if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
        "nvidia-cuda-nvcc==$version" "nvidia-nvvm==$version" "nvidia-cuda-crt==$version" \
        "nvidia-cuda-runtime==$version" "nvidia-cuda-nvrtc==$version" "nvidia-nvjitlink==$version" \
        "nvidia-nvfatbin==$version" "nvidia-cuda-cuobjdump==$version" "nvidia-cuda-nvdisasm==$version" \
        "nvidia-cuda-nvcc-cu12==$old" "ninja==$ninja" >&2
    # The environment's own `bin` stays off the path: its Python would be the one that cudalink asks for libraries.
    mkdir "$folder/ninja"
    ln -s ../bin/ninja "$folder/ninja/ninja"
    touch "$folder/complete"
fi
home=$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13)
echo "export CUDA_HOME='$home'"
echo "export CUDALINK_TEST_PTXAS_12='${home%/cu13}/cuda_nvcc/bin/ptxas'"
echo "export PATH='$home/bin':'$folder/ninja':\"\$PATH\""
