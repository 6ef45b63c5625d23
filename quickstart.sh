#!/usr/bin/env bash
# From a fresh clone to two verdicts and a timeline: see usage().
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

usage() {
  cat <<'USAGE'
Usage: ./quickstart.sh [--samples] [--no-install] [--help]

Installs what is missing, builds Stepscope, records a small libtorch training program before and
after its input pipeline was fixed, prints the analysis of both, and writes their timelines.

  --samples      also build every sample and install in .venv what the Python samples need; the
                 stories (docs/stories) begin with this
  --no-install   install nothing; say what is missing and how to install it
  --help         this text

Everything it makes is in build/ and .venv/. Running it again is quick. To use another libtorch than
the one it finds: STEPSCOPE_TORCH_DIR=/path/to/libtorch ./quickstart.sh
USAGE
}

samples=no
while [ $# -gt 0 ]; do
  case $1 in
    --samples) samples=yes ;;
    --no-install) STEPSCOPE_INSTALL=no ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

readonly BUILD=build/release
readonly OUT=build/quickstart
readonly STEPSCOPE=$BUILD/bin/stepscope
readonly MNIST=$BUILD/samples/mnist

step "1/4 Dependencies"
ensure_packages "${BUILD_PACKAGES[@]}"
if [ $samples = yes ]; then
  ensure_in_venv "torch==$TORCH_PIN" "${SAMPLE_PACKAGES[@]}" || die "pip could not install what the samples need"
  use_named_torch || use_venv_torch || true
else
  find_torch
fi
require_nothing_missing
[ -n "${torch_dir:-}" ] || die "the torch in .venv has no libtorch for C++; remove .venv and try again"
say "Nothing is missing; libtorch $torch_version from $torch_from"

step "2/4 Build (a few minutes the first time)"
quietly "$OUT/configure.log" cmake --preset release "-DSTEPSCOPE_TORCH=ON" "-DSTEPSCOPE_TORCH_DIR=$torch_dir"
quietly "$OUT/build.log" cmake --build "$BUILD" --target stepscope_cli sample_mnist $([ $samples = no ] || echo samples)
say "$STEPSCOPE and the sample program $MNIST"

step "3/4 Record the sample before and after its fix"
record() {  # name, options of the sample
  local run=$OUT/$1.db
  shift
  say "\$ $MNIST --record $run${*:+ $*}"
  "$MNIST" --record "$run" "$@"
  say
}
record before
record after --cache --prefetch 1

step "4/4 Analyze both recordings"
for run in before after; do
  say "\$ $STEPSCOPE analyze $OUT/$run.db"
  "$STEPSCOPE" analyze "$OUT/$run.db"
  say
done
for run in before after; do
  "$STEPSCOPE" export "$OUT/$run.db" -o "$OUT/$run.json.gz" >/dev/null
done

cat <<NEXT
The timelines of both are $OUT/before.json.gz and $OUT/after.json.gz. To look at one:
  $STEPSCOPE view $OUT/before.db      opens it in your browser
  or drag the file onto https://ui.perfetto.dev (it stays on your machine)

Next:
  $MNIST --help      the sample and its options
  $STEPSCOPE --help     what else the tool does
  sqlite3 $OUT/before.db "select * from step_breakdown"
  ./test.sh --quick                       run the tests
NEXT
