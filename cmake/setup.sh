# Shared by quickstart.sh and test.sh: finds what the project needs and installs what is missing.
# Sourced by bash with `set -euo pipefail`; the working directory is the project's root.
#
#   STEPSCOPE_INSTALL   yes: install what is missing; no: only say what is missing (--no-install)
#   torch_from, torch_dir, torch_version   what find_torch found

STEPSCOPE_INSTALL=${STEPSCOPE_INSTALL:-yes}
readonly TORCH_PIN=2.13.0  # the version that the project is tested with from PyPI
readonly VENV=$PWD/.venv

readonly BUILD_PACKAGES=(g++ cmake ninja-build ccache libsqlite3-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libgtest-dev libgmock-dev libbenchmark-dev libisal-dev zlib1g-dev libsimdjson-dev libdw-dev libjs-chart.js sqlite3
  libcurl4-openssl-dev)  # its header; the library is loaded at run time
readonly VENV_PACKAGES=(python3 python3-venv)
# Debian's libtorch uses the installed BLAS; the default one is ten times slower.
readonly DEBIAN_TORCH_PACKAGES=(libtorch-dev libopenblas0-pthread)
# From PyPI, for the Python samples that serve other formats.
readonly SAMPLE_PACKAGES=(numpy onnx onnxscript onnxruntime)
readonly TEST_PACKAGES=(git strace chromium clang libclang-rt-dev "${DEBIAN_TORCH_PACKAGES[@]}")

say() { printf '%s\n' "$*"; }
step() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Runs a command and writes its output to a log, which is shown only if the command fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    die "failed: $* (full output: $log)"
  fi
}

# --- Debian packages ---------------------------------------------------------------------------

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root, and there is no sudo; as root, run: $*"
  fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@"; }

# Installs the missing ones of the given packages. Without apt, it only says what is needed; the
# build then uses what it finds.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian. Please install these packages, under the names they have here: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$STEPSCOPE_INSTALL" = no ]; then
    report_missing "sudo apt-get install ${missing[*]}"
    return
  fi
  say "Installing with apt: ${missing[*]}"
  # Package lists may be absent or stale, so update them, but only if something is missing.
  apt_get update >/dev/null || say "apt-get update failed; trying with the existing package lists."
  apt_get install --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get could not install: ${missing[*]}"
}

# --- what --no-install found missing -----------------------------------------------------------

missing_commands=()
report_missing() { missing_commands+=("$1"); }

# Ends the script if something is missing and must not be installed.
require_nothing_missing() {
  [ ${#missing_commands[@]} -gt 0 ] || return 0
  say "Something is missing. These commands install it:"
  printf '  %s\n' "${missing_commands[@]}"
  exit 1
}

# --- the project's own Python environment ------------------------------------------------------

# Prints those of the given pip packages ("name" or "name==version") that .venv does not have.
missing_in_venv() {
  [ -x "$VENV/bin/python" ] || { printf '%s\n' "$@"; return; }
  "$VENV/bin/python" - "$@" <<'PYTHON'
import importlib.metadata, sys
for requirement in sys.argv[1:]:
    name, _, version = requirement.partition("==")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found = ""
    # "2.13.0+cpu" is a build of 2.13.0.
    if not found or (version and found.split("+")[0] != version):
        print(requirement)
PYTHON
}

# Installs those of the given pip packages that .venv does not have. Fails if pip fails.
ensure_in_venv() {
  local missing
  mapfile -t missing < <(missing_in_venv "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$STEPSCOPE_INSTALL" = no ]; then
    report_missing "python3 -m venv .venv && .venv/bin/python -m pip install ${missing[*]}"
    return
  fi
  ensure_packages "${VENV_PACKAGES[@]}"
  if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    say "Creating a Python environment in .venv"
    make_venv || return
  fi
  say "Installing with pip into .venv: ${missing[*]}"
  "$VENV/bin/python" -m pip install -q --disable-pip-version-check "${missing[@]}"
}

# The first python3 may lack venv (a self-built one, for example); Debian's has it by now.
make_venv() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m venv --clear "$VENV" >/dev/null 2>&1; then return; fi
  done
  say "python3 -m venv .venv failed; does python3 have the modules venv and ensurepip?"
  return 1
}

# --- libtorch ----------------------------------------------------------------------------------

# Sets torch_* if the folder is the root of a libtorch that C++ programs can be built with.
use_torch_at() {
  local folder=$1 from=$2
  [ -e "$folder/include/ATen" ] || return 1
  [ -n "$(find "$folder"/lib "$folder"/lib/*-linux-gnu -maxdepth 1 -name libtorch_cpu.so 2>/dev/null)" ] || return 1
  torch_dir=$folder
  torch_from=$from
  torch_version=$(cat "$folder"/include/torch/{headeronly,csrc/api/include/torch}/version.h 2>/dev/null |
    awk '/^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) / { print $3 }' | head -n 3 | paste -sd.) || true
}

# Does not import torch, which would take seconds.
use_torch_of_python() {
  local python=$1 from=$2 folder
  folder=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
    2>/dev/null) || return 1
  use_torch_at "$folder" "$from"
}

use_venv_torch() { use_torch_of_python "$VENV/bin/python" .venv; }
use_debian_torch() { use_torch_at /usr "Debian's libtorch-dev"; }

# Uses the libtorch that the user named. A prefix path for PyTorch's own CMake files ends in
# share/cmake.
use_named_torch() {
  local folder folders
  if [ -n "${STEPSCOPE_TORCH_DIR:-}" ]; then
    use_torch_at "$STEPSCOPE_TORCH_DIR" STEPSCOPE_TORCH_DIR && return
    die "STEPSCOPE_TORCH_DIR=$STEPSCOPE_TORCH_DIR has no lib/libtorch_cpu.so; name a libtorch's root"
  fi
  IFS=':;' read -r -a folders <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${folders[@]}"; do
    use_torch_at "${folder%/share/cmake}" CMAKE_PREFIX_PATH && return
  done
  return 1
}

# Finds libtorch: the user's, else torch from PyPI in .venv, else Debian's.
find_torch() {
  use_named_torch && return
  use_torch_of_python python3 "the torch of python3" && return
  use_venv_torch && return
  use_debian_torch && return
  if ensure_in_venv "torch==$TORCH_PIN" && use_venv_torch; then return; fi
  [ "$STEPSCOPE_INSTALL" = yes ] || return 0  # reported as missing
  say "pip could not install torch==$TORCH_PIN; taking Debian's libtorch-dev instead."
  ensure_packages "${DEBIAN_TORCH_PACKAGES[@]}"
  use_debian_torch || die "no libtorch found; set STEPSCOPE_TORCH_DIR to the folder of one"
}
