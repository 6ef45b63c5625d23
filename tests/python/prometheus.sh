#!/usr/bin/env bash
# Gets Prometheus without its service: see usage().
set -euo pipefail
cd "$(dirname "$0")/../.."
. cmake/setup.sh

usage() {
  cat <<'USAGE'
Usage: tests/python/prometheus.sh [--no-install] [--help]

Unpacks Debian's prometheus into build/prometheus. It is not installed, so no service starts.

  --no-install   unpack nothing; say what is missing
  --help         this text

The tests of live metrics use it if it is in PATH:
  export PATH=$PWD/build/prometheus/usr/bin:$PATH
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

readonly ROOT=$PWD/build/prometheus
readonly PROGRAM=$ROOT/usr/bin/prometheus

if ! "$PROGRAM" --version >/dev/null 2>&1; then
  [ "$STEPSCOPE_INSTALL" = yes ] || die "$PROGRAM is not there, and --no-install was given"
  rm -rf "$ROOT"
  mkdir -p "$ROOT"
  (cd "$ROOT" && quietly "$ROOT/download.log" apt-get download prometheus)
  dpkg-deb -x "$ROOT"/prometheus_*.deb "$ROOT"
  rm "$ROOT"/prometheus_*.deb
fi
"$PROGRAM" --version 2>&1 | head -n 1
