"""Programs that use libtorch and are not recorded: one line says so, and the store counts them."""

import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

# Nothing that Stepscope interposes: no backward pass, no optimizer.
INFERENCE = """
import torch
with torch.no_grad():
    print(torch.nn.Linear(8, 8)(torch.ones(4, 8)).shape)
"""
# It lives for longer than the recorder takes to look at it twice.
LONG_ENOUGH = "import torch, time; print('loaded', flush=True); time.sleep(5)"


class Recorded:
    def __init__(self, stepscope, store, command):
        self.store = store
        self._process = subprocess.Popen(
            [stepscope, "run", "--no-analysis", "-o", store, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self):
        self.out, err = self._process.communicate(timeout=120)
        return self._process.returncode, err

    def lost(self):
        with sqlite3.connect(self.store) as connection:
            return connection.execute("SELECT kind, count FROM loss").fetchall()


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_inference_of_an_isolated_python(stepscope, tmp_path, option):
    run = Recorded(stepscope, tmp_path / "run.db", [sys.executable, option, "-c", INFERENCE])
    code, err = run.end()
    assert (code, run.out) == (0, "torch.Size([4, 8])\n")
    (line,) = err.splitlines()
    assert "is not recorded: it used libtorch only in ways that Stepscope does not see" in line
    assert run.lost() == [("process", 1)]


def test_a_process_that_is_recorded_is_not_counted(stepscope, tmp_path):
    run = Recorded(stepscope, tmp_path / "run.db", [sys.executable, "-c", INFERENCE])
    assert run.end() == (0, "")
    assert run.lost() == []


def test_an_environment_that_was_cleared(stepscope, tmp_path):
    cleared = ["env", "-i", sys.executable, "-c", LONG_ENOUGH]
    run = Recorded(stepscope, tmp_path / "run.db", cleared)
    code, err = run.end()
    assert code == 0
    (line,) = err.splitlines()
    assert "it uses libtorch, but was started without Stepscope's environment" in line
    assert run.lost() == [("process", 1)]


def test_an_earlier_recording_stays(stepscope, tmp_path):
    store = tmp_path / "run.db"
    Recorded(stepscope, store, [sys.executable, "-c", INFERENCE]).end()
    before = store.read_bytes()
    _, err = Recorded(stepscope, store, [sys.executable, "-I", "-c", INFERENCE]).end()
    assert store.read_bytes() == before
    assert err.splitlines()[-1] == (
        f"stepscope: nothing was recorded; {store} is still the earlier recording"
    )
