"""Exceptions and ends of threads pass through the functions of libtorch that Stepscope interposes, as they would
without it: by landing pads of Stepscope's own they would end the process.
"""

import os
import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

CPP = [
    "backward-twice",
    "hook",
    "sgd",
    "adam",
    "lbfgs",
    "nested",
    "eval",
    "thread-ends",
    "cancelled",
]
# Op hooks and stack samples use the unwinder that Stepscope brings, which changes its state.
RECORDINGS = [["--ops", "all"], ["--no-lines"], ["--tier", "phases", "--no-lines"]]

PYTHON = {
    "backward-twice": "loss = (leaf() * leaf()).sum(); loss.backward(); loss.backward()",
    "hook": "w = leaf(); w.register_hook(lambda grad: 1 / 0); w.sum().backward()",
    "function": "Fails.apply(leaf()).sum().backward()",
    "anomaly": """
with torch.autograd.detect_anomaly(check_nan=True):
    (torch.sqrt(leaf() - 1) * 0).sum().backward()
""",
    "in-place": "w = leaf(); y = w.exp(); y.add_(1); y.sum().backward()",
    "closure": """
def closure():
    raise ValueError("the program's own")
torch.optim.LBFGS([leaf()]).step(closure)
""",
}
PROGRAM = """
import torch, warnings
warnings.simplefilter("ignore")
def leaf():
    return torch.ones(3, requires_grad=True)
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2
    @staticmethod
    def backward(context, grad):
        raise KeyError("the program's own")
for attempt in range(2):
    try:
        exec(CASE)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0][:60])
leaf().sum().backward()
print("end")
"""


def run(command, **environment):
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


def phases(store, kind):
    with sqlite3.connect(store) as connection:
        query = "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = ?"
        return connection.execute(query, [kind]).fetchone()[0]


@pytest.fixture
def compare(stepscope, tmp_path):
    """Runs a program bare and wrapped; returns the store."""

    def compare(command, *options, around=()):
        bare = run(command)
        store = tmp_path / "run.db"
        wrapped = run([stepscope, "run", "-o", store, "--quiet", *options, "--", *around, *command])
        assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (
            bare.returncode,
            bare.stdout,
            bare.stderr,
        )
        assert bare.stdout.endswith("end\n")
        return store

    return compare


@pytest.mark.parametrize("steps", [0, 40])
@pytest.mark.parametrize("options", RECORDINGS, ids=" ".join)
@pytest.mark.parametrize("case", CPP)
def test_cpp_programs(compare, build_dir, case, options, steps):
    store = compare([build_dir / "tests/cpp_programs/unwinds", case, steps], *options)
    # The case is tried twice: its own steps and passes are recorded too, each ended.
    optimizers = 2 if case in ("sgd", "adam", "lbfgs", "nested", "thread-ends") else 0
    passes = {"backward-twice": 4, "hook": 2, "nested": 2, "cancelled": 2}.get(case, 0)
    assert phases(store, "optimizer") == 2 * steps + optimizers
    assert phases(store, "backward") == 2 * steps + passes


@pytest.mark.parametrize("case", PYTHON)
@pytest.mark.parametrize("options", [["--ops", "all"], ["--tier", "phases"]], ids=" ".join)
@pytest.mark.usefixtures("python_ops")  # without hooks, a line says so
def test_python_programs(compare, case, options):
    program = f"CASE = {PYTHON[case]!r}\n{PROGRAM}"
    store = compare([sys.executable, "-c", program], *options)
    assert phases(store, "backward") == 1 + {"backward-twice": 4, "closure": 0}.get(case, 2)


@pytest.mark.parametrize("how", ["excluded", "isolated"])
@pytest.mark.usefixtures("python_ops")  # without hooks, a line says so
def test_python_programs_that_are_not_recorded(compare, how):
    program = f"CASE = {PYTHON['hook']!r}\n{PROGRAM}"
    if how == "excluded":
        compare([sys.executable, "-c", program], around=["env", "STEPSCOPE_SOCKET="])
    else:
        compare([sys.executable, "-I", "-c", program])
