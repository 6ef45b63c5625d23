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
LONG_ENOUGH = "import torch, time; time.sleep(5)"


def record(stepscope, store, *command):
    wrapper = [stepscope, "run", "--no-analysis", "-o", store, "--"]
    return subprocess.run([*wrapper, *command], capture_output=True, text=True, timeout=120)


def lost(store):
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT kind, count FROM loss").fetchall()


@pytest.fixture
def store(tmp_path):
    return tmp_path / "run.db"


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_inference_of_an_isolated_python(stepscope, store, option):
    done = record(stepscope, store, sys.executable, option, "-c", INFERENCE)
    assert (done.returncode, done.stdout) == (0, "torch.Size([4, 8])\n")
    (line,) = done.stderr.splitlines()
    assert "is not recorded: it used libtorch only in ways that Stepscope does not see" in line
    assert lost(store) == [("process", 1)]


def test_an_isolated_python_that_only_imports_torch_loses_nothing(stepscope, store):
    """torch.compile starts such processes to see which instruction sets the machine has."""
    train = f"import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', 'import torch'])\n{INFERENCE}"
    done = record(stepscope, store, sys.executable, "-c", train)
    assert done.returncode == 0
    assert "is not recorded" not in done.stderr
    assert lost(store) == []


@pytest.mark.usefixtures("python_ops")  # without hooks, a line says so
def test_a_process_that_is_recorded_is_not_counted(stepscope, store):
    done = record(stepscope, store, sys.executable, "-c", INFERENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert lost(store) == []


def test_an_environment_that_was_cleared(stepscope, store):
    done = record(stepscope, store, "env", "-i", sys.executable, "-c", LONG_ENOUGH)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "it uses libtorch, but was started without Stepscope's environment" in line
    assert lost(store) == [("process", 1)]


def test_an_earlier_recording_stays(stepscope, store):
    record(stepscope, store, sys.executable, "-c", INFERENCE)
    before = store.read_bytes()
    done = record(stepscope, store, sys.executable, "-I", "-c", INFERENCE)
    assert store.read_bytes() == before
    assert done.stderr.splitlines()[-1] == (
        f"stepscope: nothing was recorded; {store} is still the earlier recording"
    )
