# Shared by wheel.sh and packages.sh: builds for other machines. Sourced after cmake/setup.sh.

# The time of the sources, not of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# Builds the installed targets in $1, with hooks for the libtorch in $2. Keeps the preset's compiler
# flags, so that ccache can reuse what the tests have compiled.
build_portable() {
  local build=$1 torch=$2
  quietly "$build/configure.log" cmake --preset release -B "$build" -DSTEPSCOPE_PORTABLE=ON -DSTEPSCOPE_TESTS=OFF \
    -DSTEPSCOPE_BENCH=OFF -DSTEPSCOPE_TORCH=ON "-DSTEPSCOPE_TORCH_DIR=$torch" \
    "-DSQLite3_LIBRARY=$(g++ -print-file-name=libsqlite3.a)" -DZLIB_USE_STATIC_LIBS=ON
  quietly "$build/build.log" cmake --build "$build" --parallel "$(nproc)" --target \
    stepscope_cli stepscope_profiler stepscope_recorder_library stepscope_torch
}
