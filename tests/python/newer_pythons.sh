#!/usr/bin/env bash
# Gets Pythons that this Debian does not have: see usage().
set -euo pipefail
cd "$(dirname "$0")/../.."
. cmake/setup.sh

usage() {
  cat <<'USAGE'
Usage: tests/python/newer_pythons.sh [--no-install] [--help]

Unpacks CPython 3.13, 3.14 and 3.15 and the libraries that they need from Debian's testing suite into
build/pythons. Nothing of that suite is installed on this machine.

  --no-install   install and unpack nothing; say what is missing
  --help         this text

The tests of lines use these Pythons too if the environment names their folder:
  export STEPSCOPE_TEST_PYTHONS=$PWD/build/pythons/bin
USAGE
}

while [ $# -gt 0 ]; do
  case $1 in
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

readonly VERSIONS=(3.13 3.14 3.15)
readonly SUITE=forky
readonly BUILD=$PWD/build/pythons
readonly ROOT=$BUILD/root
readonly LIBRARIES=$ROOT/usr/lib/x86_64-linux-gnu

# A copy of the suite may be older than its signature is valid for; the signature is checked.
unpack_root() {
  rm -rf "$ROOT" "$ROOT.new"
  mkdir -p "$BUILD"
  local packages=("${VERSIONS[@]/#/python}")
  quietly "$BUILD/root.log" mmdebstrap --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' \
    "--include=$(IFS=, && echo "${packages[*]}")" "$SUITE" "$ROOT.new"
  mv "$ROOT.new" "$ROOT"
}

# Their C library is newer than this machine's, so each starts with its own linker.
make_runnable() {  # version
  local python=$ROOT/usr/bin/python$1
  patchelf --set-interpreter "$LIBRARIES/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$LIBRARIES" "$python"
  "$python" -c 'import ctypes, hashlib, sqlite3, threading'
  ln -sf "$python" "$BUILD/bin/python$1"
}

all_run() {
  local version
  for version in "${VERSIONS[@]}"; do "$BUILD/bin/python$version" -c '' 2>/dev/null || return 1; done
}

[ "$(uname -m)" = x86_64 ] || die "works on x86-64 only"
ensure_packages mmdebstrap patchelf
require_nothing_missing
if ! all_run; then
  [ "$STEPSCOPE_INSTALL" = yes ] || die "they are not there, and --no-install was given"
  unpack_root
  rm -rf "$BUILD/bin" && mkdir "$BUILD/bin"
  for version in "${VERSIONS[@]}"; do make_runnable "$version"; done
fi
say "$(for python in "$BUILD"/bin/python3.*; do "$python" --version; done | paste -sd ,) are in build/pythons/bin"
