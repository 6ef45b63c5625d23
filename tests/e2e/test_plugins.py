"""A library that a program loads, and unloads again, while it is recorded."""

import sqlite3
import subprocess
import sys

import pytest

# The plugin needs the libtorch of this Python.
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("python_ops")]

LOADS = 3
STEPS = 20
PROGRAM = f"""
import ctypes, _ctypes, pathlib, sys
import torch
path = sys.argv[1]
for _ in range({LOADS}):
    plugin = ctypes.CDLL(path)
    plugin.train({STEPS})
    _ctypes.dlclose(plugin._handle)
    print("loaded" if path in pathlib.Path("/proc/self/maps").read_text() else "unloaded")
"""


def test_it_is_unloaded_as_it_is_without_a_recorder(stepscope, build_dir, tmp_path):
    plugin = build_dir / "tests/cpp_programs/libplugin.so"
    assert plugin.exists(), f"{plugin} is not there: build it first"
    program = tmp_path / "loads.py"
    program.write_text(PROGRAM)
    bare = [sys.executable, str(program), str(plugin)]
    wrapped = [str(stepscope), "run", "--quiet", "-o", "run.db", "--ops", "all", "--", *bare]
    for command in (bare, wrapped):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["unloaded"] * LOADS, command
    with sqlite3.connect(tmp_path / "run.db") as store:
        (backward_passes,) = store.execute(
            "SELECT count(*) FROM phase JOIN phase_kind ON phase.kind = phase_kind.id WHERE phase_kind.name = 'backward'"
        ).fetchone()
    assert backward_passes == LOADS * STEPS
