#!/usr/bin/env bash
# Runs a command without a network and without this machine's own copies of what carry.sh carries, so that a build
# finds the carried ones or nothing. For proving `run.sh --build-only` where everything is installed.
#
#   tests/gpu/alone.sh tests/gpu/run.sh --build-only
#
# In namespaces of its own (user, mount, network): what is hidden is hidden for the command only.
set -euo pipefail
exec unshare --user --map-root-user --mount --net bash -c '
  hide() { for path in "$@"; do [ ! -e "$path" ] || mount --bind /dev/null "$path"; done; }
  hide_folder() { for path in "$@"; do [ ! -d "$path" ] || mount -t tmpfs -o ro none "$path"; done; }
  hide /usr/include/sqlite3.h /usr/include/simdjson.h /usr/include/zlib.h /usr/include/isa-l.h
  hide /usr/lib/*/libsqlite3.a /usr/lib/*/libz.a
  hide_folder /usr/include/CLI /usr/include/fmt /usr/include/nlohmann /usr/include/isa-l /usr/include/gtest /usr/include/gmock \
    /usr/share/cmake/CLI11 /usr/share/cmake/nlohmann_json /usr/lib/*/cmake/simdjson /usr/lib/*/cmake/fmt
  exec "$@"' alone "$@"
