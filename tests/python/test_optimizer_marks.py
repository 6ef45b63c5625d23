"""Each optimizer step and zero_grad() of a wrapped program is one phase, with ops and without, whatever range
PyTorch opens around it."""

import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

STEPS = 40
PROGRAM = f"""
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range({STEPS}):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
PHASES = """
SELECT phase_kind.name, string.text, count(*) FROM phase
JOIN phase_kind ON phase_kind.id = phase.kind LEFT JOIN string ON string.id = phase.name_id
WHERE phase_kind.name IN ('optimizer', 'zero_grad') GROUP BY 1, 2 ORDER BY 1
"""


@pytest.mark.parametrize(
    "recording", [["--tier", "phases"], ["--ops", "all"], ["--steps", "10-20"]], ids=" ".join
)
@pytest.mark.parametrize("package", [True, False], ids=["marked", "watched"])
def test_each_step_is_one_phase(stepscope, python_ops, tmp_path, recording, package):
    store = tmp_path / "run.db"
    options = ["--quiet", "--no-analysis", "-o", store, *recording]
    # -I: Python leaves out what the wrapper puts on its path, and the op hooks watch for the ranges.
    python = [sys.executable] + ([] if package else ["-I"])
    done = subprocess.run(
        [stepscope, "run", *options, "--", *python, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(store) as connection:
        phases = connection.execute(PHASES).fetchall()
    # Without the package, Python joins the recording with its first backward pass.
    name, cleared = ("SGD", STEPS) if package else (None, STEPS - 1)
    assert phases == [("optimizer", name, STEPS), ("zero_grad", None, cleared)]
