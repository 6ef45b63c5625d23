#!/usr/bin/env bash
# Gathers what a build needs beside CMake, Ninja, a C++20 compiler and PyTorch, for a machine that can install
# nothing: the Debian packages below, unpacked. Needs apt-get (no root) and the network.
#
#   tests/gpu/carry.sh [FOLDER]     default: build/gpu-carry, some 8 MB
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly FOLDER=$(realpath -m "${1:-build/gpu-carry}")
readonly PACKAGES=(libsqlite3-dev libsqlite3-0 libsimdjson-dev libsimdjson14 libcurl4-openssl-dev libisal-dev libisal2
  zlib1g-dev zlib1g nlohmann-json3-dev libcli11-dev libfmt-dev libfmt9)

mkdir -p "$FOLDER/debs"
(cd "$FOLDER/debs" && apt-get download -q "${PACKAGES[@]}")
for package in "$FOLDER"/debs/*.deb; do dpkg-deb -x "$package" "$FOLDER"; done

# Where /lib is a link to /usr/lib, as CMake and the linker expect it.
if [ -d "$FOLDER/lib" ]; then
  cp -a "$FOLDER/lib/." "$FOLDER/usr/lib/"
  rm -r "$FOLDER/lib"
fi
rm -r "$FOLDER/debs" "$FOLDER/usr/share/doc" "$FOLDER/usr/share/man" 2>/dev/null || true
# Links that lead out of the folder.
find "$FOLDER/usr/lib" -type l | while read -r link; do
  target=$(readlink "$link")
  [ "${target#/}" = "$target" ] || ln -sf "$(basename "$target")" "$link"
done
du -sh "$FOLDER" | sed 's/\t/  /'
