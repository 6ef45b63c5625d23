#!/usr/bin/env bash
# Makes the deb packages and the tarball: see usage().
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/setup.sh
. packaging/portable.sh

usage() {
  cat <<'USAGE'
Usage: packaging/packages.sh [--torch FOLDER] [--no-install] [--help]

Makes dist/stepscope_VERSION_amd64.deb, dist/stepscope-torch_VERSION_amd64.deb with the op hooks for Debian's
libtorch, and dist/stepscope-VERSION-linux-x86_64.tar.gz with both, which runs from any folder.

  --torch FOLDER  op hooks for the libtorch in FOLDER instead
  --no-install    install nothing; say what is missing and how to install it
  --help          this text
USAGE
}

torch=/usr
while [ $# -gt 0 ]; do
  case $1 in
    --torch) torch=${2:?--torch needs a folder} && shift ;;
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

step "1/3 Dependencies"
ensure_packages "${BUILD_PACKAGES[@]}" binutils dpkg
[ "$torch" != /usr ] || ensure_packages "${DEBIAN_TORCH_PACKAGES[@]}"
require_nothing_missing

step "2/3 Build"
readonly BUILD=build/packages
build_portable "$BUILD" "$torch"

step "3/3 Pack"
mkdir -p dist
quietly "$BUILD/deb.log" cpack -G DEB --config "$BUILD/CPackConfig.cmake" -B dist -D CPACK_PACKAGING_INSTALL_PREFIX=/usr
quietly "$BUILD/tarball.log" cpack -G TGZ --config "$BUILD/CPackConfig.cmake" -B dist
rm -rf dist/_CPack_Packages
ls dist/*.deb dist/*.tar.gz
