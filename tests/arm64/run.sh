#!/usr/bin/env bash
# Builds for arm64 and runs the tests under emulation: see usage().
set -euo pipefail
cd "$(dirname "$0")/../.."
. cmake/setup.sh

usage() {
  cat <<'USAGE'
Usage: tests/arm64/run.sh [--no-install] [--help] [CTEST-OPTION]...

Cross-compiles Stepscope for arm64 with Debian's g++-aarch64-linux-gnu, and runs the tests of the store,
the rings, the recorder, the analyzer and the exporters under qemu-user. Needs Debian's packages for arm64,
which it unpacks into build/arm64/root: nothing of arm64 is installed on this machine.

  --no-install   install nothing; say what is missing and how to install it
  --help         this text

Options of ctest choose the tests: `tests/arm64/run.sh -R ClockMap`.
USAGE
}

options=()
for option in "$@"; do
  case $option in
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) options+=("$option") ;;
  esac
done

readonly BUILD=build/arm64
readonly ROOT=$PWD/$BUILD/root
readonly FOLDERS=(store profiler analyzer viewer-export)
readonly TARGETS=(stepscope_cli tests/{store,profiler,analyzer,viewer-export}/all)
readonly CROSS_PACKAGES=(g++-aarch64-linux-gnu qemu-user mmdebstrap)
# What qemu-user does not do: /proc shows the emulator's memory, counters and limits, not the program's;
# a program for arm64 cannot start another one; this machine's Pythons are not for arm64.
readonly NOT_EMULATED=(AProgramsMemoryCanBeRead OfAnyNumberOfDescriptors TheProgramsOwnCounters AFullDiskStops
  StackSamplerTest PythonVersions CommandTest.ErrorsAreKept DeviceRunTest)
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# The build's headers and libraries, for arm64.
unpack_root() {
  [ ! -d "$ROOT" ] || return 0
  local package suite packages=(libc6-dev libstdc++-12-dev)
  for package in "${BUILD_PACKAGES[@]}"; do
    case $package in lib* | *-dev) packages+=("$package") ;; esac
  done
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$ROOT.new"
  mkdir -p "$BUILD"
  quietly "$BUILD/root.log" mmdebstrap --arch=arm64 --variant=extract \
    "--include=$(IFS=, && echo "${packages[*]}")" "$suite" "$ROOT.new"
  mv "$ROOT.new" "$ROOT"
}

step "1/3 Dependencies"
ensure_packages "${BUILD_PACKAGES[@]}" "${CROSS_PACKAGES[@]}"
require_nothing_missing
unpack_root
say "arm64's libraries are in $BUILD/root"

step "2/3 Build"
quietly "$BUILD/configure.log" cmake --preset release -B "$BUILD" --toolchain cmake/arm64.toolchain.cmake \
  "-DSTEPSCOPE_ARM64_ROOT=$ROOT" -DSTEPSCOPE_TORCH=OFF -DSTEPSCOPE_BENCH=OFF
quietly "$BUILD/build.log" cmake --build "$BUILD" --parallel "$(nproc)" --target "${TARGETS[@]}"
say "$(qemu-aarch64 -L "$ROOT" "$BUILD/bin/stepscope" --version), for arm64"

step "3/3 Tests, under $(qemu-aarch64 --version | head -n 1)"
failed=no
for folder in "${FOLDERS[@]}"; do
  ctest --test-dir "$BUILD/tests/$folder" -j "$(nproc)" --output-on-failure --no-tests=ignore \
    -E "$(IFS='|' && echo "${NOT_EMULATED[*]}")" "${options[@]}" || failed=yes
done
[ $failed = no ] || die "some tests failed"
