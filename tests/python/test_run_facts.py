"""What a recording says of a Python program: its name and the versions of what it has loaded."""

import json
import platform
import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import numpy
import torch
from torch.utils.data import DataLoader
if "--no-such-option" in sys.argv:
    sys.exit("usage: train.py")
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
import time
for batch in DataLoader(torch.rand(100, 4), batch_size=2):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    time.sleep(0.02)
"""


@pytest.fixture
def program(tmp_path):
    pytest.importorskip("numpy")
    path = tmp_path / "job" / "train.py"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def record(stepscope, python_ops, tmp_path):
    def run(*command, code=0):
        store = tmp_path / "run.db"
        done = subprocess.run(
            [str(word) for word in (stepscope, "run", "--quiet", "-o", store, "--", *command)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        analyzed = subprocess.run(
            [stepscope, "analyze", "--json", store], capture_output=True, text=True
        )
        return json.loads(analyzed.stdout)["run"]

    return run


def test_the_script_and_the_versions(record, program):
    import numpy

    run = record(sys.executable, "-u", program, "--lr", "0.1")
    assert run["name"] == "train.py"
    assert run["arguments"] == [sys.executable, "-u", str(program), "--lr", "0.1"]
    assert platform.python_version().startswith(run["python_version"])
    assert run["numpy_version"] == numpy.__version__


def test_a_program_that_stops_before_its_first_step_keeps_the_one_before(record, program, tmp_path):
    """Wrong arguments are noticed after torch was imported, when the store is there already."""
    record(sys.executable, program)
    for _ in range(3):
        record(sys.executable, program, "--no-such-option", code=1)
    (tmp_path / "run.db").unlink()
    (tmp_path / "run.db.old").rename(tmp_path / "kept.db")
    with sqlite3.connect(tmp_path / "kept.db") as store:
        (steps,) = store.execute("SELECT value FROM meta WHERE key = 'step_count'").fetchone()
    assert int(steps) >= 49
