#!/usr/bin/env bash
# Makes the wheel: see usage().
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/setup.sh
. packaging/portable.sh

usage() {
  cat <<'USAGE'
Usage: packaging/wheel.sh [--torch FOLDER]... [--no-install] [--help]

Builds Stepscope for other machines and packs it into one wheel, dist/stepscope-VERSION-….whl: the program,
its libraries, the Python package, the sources for `stepscope doctor --build-hooks`, and the op hooks for each
release of torch in packaging/torch_versions.txt, which pip downloads.

  --torch FOLDER  op hooks for the libtorch in FOLDER instead; may be repeated
  --no-install    install nothing; say what is missing and how to install it
  --help          this text

The same sources give the same bytes. Intermediate files are in build/portable and build/libtorch.
USAGE
}

torches=()
while [ $# -gt 0 ]; do
  case $1 in
    --torch) torches+=("${2:?--torch needs a folder}") && shift ;;
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

readonly BUILD=build/portable
readonly TREE=$BUILD/tree
readonly PREFIX=$TREE/usr
readonly TORCH_VERSIONS=packaging/torch_versions.txt
# Prints the folder of a libtorch from PyPI, which has only what compiling and linking need.
libtorch() {
  local version=$1 folder=$PWD/build/libtorch/$1
  if [ ! -e "$folder/torch/version.py" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip download --quiet --no-deps --dest "$folder" "torch==$version" >&2 ||
      die "pip found no torch $version; remove it from $TORCH_VERSIONS"
    python3 packaging/unpack_torch.py "$folder"/torch-*.whl "$folder"
    rm "$folder"/torch-*.whl
  fi
  echo "$folder/torch"
}

step "1/4 Dependencies"
ensure_packages "${BUILD_PACKAGES[@]}" binutils git
require_nothing_missing
if [ ${#torches[@]} = 0 ]; then
  while read -r version _; do
    torches+=("$(libtorch "$version")")
    say "libtorch $version"
  done < <(grep -v '^#' "$TORCH_VERSIONS")
fi

step "2/4 Build"
# The hooks for the first libtorch are built together with everything else.
build_portable "$BUILD" "${torches[0]}"
rm -rf "$TREE"
quietly "$BUILD/install.log" cmake --install "$BUILD" --prefix "$PREFIX" --strip

step "3/4 Op hooks for the other releases of torch"
readonly HOOKS=$PWD/$BUILD/hooks
readonly RUNTIME=$PWD/$BUILD/old_cxx_runtime.o
rm -rf "$HOOKS"
g++ -O2 -fPIC -fvisibility=hidden -c packaging/old_cxx_runtime.cc -o "$RUNTIME"
for torch in "${torches[@]:1}"; do
  XDG_CACHE_HOME=$HOOKS LDFLAGS=$RUNTIME CMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true) \
    "$PREFIX/bin/stepscope" doctor --build-hooks --torch "$torch"
done
for library in "$HOOKS"/stepscope/*/torch-*/libstepscope_torch.so; do
  [ -e "$library" ] || continue
  folder=$PREFIX/lib/stepscope/$(basename "$(dirname "$library")")
  install -D -m 644 "$library" "$folder/libstepscope_torch.so"
  strip --strip-unneeded "$folder/libstepscope_torch.so"
done

step "4/4 Pack"
mkdir -p dist
rm -f dist/stepscope-*.whl
python3 packaging/make_wheel.py "$PREFIX" . dist
