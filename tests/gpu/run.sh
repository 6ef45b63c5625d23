#!/usr/bin/env bash
# Proves the device layer on a machine with a GPU, from a bare checkout: see usage().
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'USAGE'
Usage: tests/gpu/run.sh [--carried FOLDER] [--build-only] [--out FOLDER]

Builds Stepscope, runs the tests that need a GPU and compares its cost with the PyTorch profiler's.

Needs CMake, Ninja, a C++20 compiler, and a python3 with PyTorch for CUDA, pytest, torchvision,
transformers, accelerate and lightning; no network and no root. The other libraries come from
FOLDER, which tests/gpu/carry.sh fills on a machine that has a network (default: build/gpu-carry).

  --carried FOLDER   where carry.sh has put them
  --build-only       no tests: proves the build where there is no GPU
  --out FOLDER       for results: gpu-tests.xml, gpu-slowdown.json, gpu-run.db (default: $OUT, build/gpu-out)
USAGE
}

carried=build/gpu-carry build_only=no out=${OUT:-build/gpu-out}
while [ $# -gt 0 ]; do
  case $1 in
    --carried) carried=$2 && shift ;;
    --out) out=$2 && shift ;;
    --build-only) build_only=yes ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

die() { printf 'tests/gpu/run.sh: %s\n' "$*" >&2 && exit 1; }

[ -f "$carried/usr/include/sqlite3.h" ] || die "$carried is not what tests/gpu/carry.sh makes; run that first"
carried=$(realpath "$carried")
torch_dir=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))') || die "python3 has no torch"
mkdir -p "$out"
out=$(realpath "$out")

# The carried headers before the system's, its libraries by their full paths and found again at run time.
cmake -G Ninja -B build/gpu -DCMAKE_BUILD_TYPE=Release -DSTEPSCOPE_TESTS=OFF \
  -DSTEPSCOPE_TORCH=ON "-DSTEPSCOPE_TORCH_DIR=$torch_dir" \
  "-DCMAKE_PREFIX_PATH=$carried/usr" "-DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu" \
  "-DCMAKE_CXX_FLAGS=-isystem $carried/usr/include -isystem $carried/usr/include/x86_64-linux-gnu" \
  "-DCMAKE_BUILD_RPATH=$carried/usr/lib/x86_64-linux-gnu"
cmake --build build/gpu -j "$(nproc)"
[ $build_only = no ] || exit 0

export STEPSCOPE_BUILD_DIR=$PWD/build/gpu
{
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  python3 -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda)'
  build/gpu/bin/stepscope doctor || true
} | tee "$out/machine.txt"

failed=0
python3 -m pytest -q -ra -p no:cacheprovider --junitxml="$out/gpu-tests.xml" tests/gpu || failed=1
python3 bench/gpu/slowdown.py --stepscope build/gpu/bin/stepscope --out "$out/gpu-slowdown.json" \
  --keep "$out/gpu-run.db" || failed=1
exit $failed
