"""Settings of libtorch that a program turns on, as the recording tells them afterwards."""

import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

# What each kind of loop lets a profiler see: batches of a loader, or nothing but ops.
LOOPS = {
    "with a loader": "for batch in DataLoader(images, batch_size=None): model(batch)",
    "without marks": "for batch in images: model(batch)",
}
PROGRAM = """
import torch
from torch.utils.data import DataLoader
model, images = torch.nn.Conv2d(3, 4, 3), [torch.rand(1, 3, 8, 8) for _ in range(10)]
{set}
{loop}
"""
SETTINGS = {"on": "torch.backends.cudnn.benchmark = True", "off": ""}


@pytest.fixture
def benchmark_mode(stepscope, python_ops, tmp_path):
    """A function that records a program and gives what its recording says of cuDNN's benchmark mode, or None."""

    def record(program):
        store = tmp_path / "run.db"
        command = [
            stepscope,
            "run",
            "--quiet",
            "--no-analysis",
            "-o",
            store,
            "--",
            sys.executable,
            "-c",
            program,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(store) as connection:
            row = connection.execute(
                "SELECT value FROM meta WHERE key = 'cudnn_benchmark'"
            ).fetchone()
        return row and row[0]

    return record


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
@pytest.mark.parametrize("expected", SETTINGS)
def test_cudnns_benchmark_mode(benchmark_mode, loop, expected):
    assert benchmark_mode(PROGRAM.format(set=SETTINGS[expected], loop=loop)) == expected


def test_it_is_the_last_step_that_counts(benchmark_mode):
    loop = """
for step, batch in enumerate(DataLoader(images, batch_size=None)):
    model(batch)
    if step == 4: torch.backends.cudnn.benchmark = True
"""
    assert benchmark_mode(PROGRAM.format(set="", loop=loop)) == "on"


def test_the_process_that_trains_says_it(benchmark_mode):
    """Not the one that starts it, which has a libtorch with ops of its own."""
    trains = PROGRAM.format(set=SETTINGS["on"], loop=LOOPS["with a loader"])
    starts = f"subprocess.run([sys.executable, '-c', {trains!r}], check=True)"
    assert benchmark_mode(f"import subprocess, sys, torch\ntorch.ones(2).sum()\n{starts}") == "on"
