"""Loops with known stalls in unchanged Python programs: the reported input share is within one point of what the loop
itself measured, and the verdict the one that share calls for, in every cell and wherever the waits are. The Python
half of tests/e2e/known_stalls_test.cc.
"""

import pathlib

import pytest

import own_steps
import recorded
from pythons import Python

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="pip install torch")
pytest.importorskip("numpy", reason="pip install numpy")

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/stalls.py"

MATRIX = [f"loader-{kind}-{step_ms}-{percent}" for step_ms in (1, 5, 30) for kind in ("sleep", "busy")
          for percent in (0, 12, 35, 60, 80)] + ["loader-busy-5-2", "loader-busy-30-2"]
PLACES = ["outside-sleep-5-35", "outside-busy-5-12", "evaluation-sleep-5-35", "evaluation-busy-5-12",
          "epochs-sleep-5-35", "every20-sleep-5-35", "every20-busy-5-35"]
UNKNOWN = ["generator-sleep-5-35", "generator-busy-5-12", "generator-sleep-30-60", "numpy-busy-5-35",
           "numpy-busy-30-12"]


@pytest.fixture
def run(tmp_path, stepscope):
    """What is said of each cell, as (report of its loop, its own share). Cells whose share misses are run again, as
    other programs may have had the processor between two clocks."""

    def run(cells, steps_of):
        told, left = {}, list(cells)
        for attempt in range(recorded.ATTEMPTS):
            folder = tmp_path / str(attempt)
            folder.mkdir()
            python = Python(folder)
            python.options = []
            python.run_arguments(PROGRAM, "--cells", ",".join(left), "--own", "own.json",
                                 wrapper=[stepscope, "run", "-o", "run.db", "--quiet", "--"], timeout=300)
            done = recorded.analyze(stepscope, folder)
            for cell in left:
                own = done.own(f".{cell}")
                steps = steps_of(own)
                loop = done.loop_of(own["pid"], own["tid"])
                assert loop["steps"]["count"] == len(steps), cell
                numbers = done.steady_steps(own["pid"], own["tid"])
                assert len(numbers) >= len(steps) // 2, cell
                told[cell] = loop, own_steps.input_share(own, steps, numbers)
            left = [cell for cell in left if abs(error_of(*told[cell])) > recorded.POINT]
            if not left:
                return told
        missed = {cell: (round(told[cell][1], 4), round(error_of(*told[cell]), 4)) for cell in left}
        pytest.fail(f"own share and error of it, {recorded.ATTEMPTS} times: {missed}")

    return run


def error_of(loop, own_share):
    return loop["shares"]["input"] - own_share


def expected_verdict(own_share):
    for threshold in 0.05, 0.20:
        assert abs(own_share - threshold) > recorded.POINT, "too near to a threshold: choose another stall"
    return ("input-bound", "highly") if own_share > 0.20 else ("input-bound", "moderately")


def check_verdict(cell, loop, own_share):
    said = loop["verdict"]["kind"], loop["verdict"]["degree"]
    if own_share < 0.05 - recorded.POINT:
        assert said[0] != "input-bound", cell
    else:
        assert said == expected_verdict(own_share), (cell, own_share)


def test_every_cell_of_the_matrix(run):
    for cell, (loop, own_share) in run(MATRIX, own_steps.loader_steps).items():
        check_verdict(cell, loop, own_share)
        assert not loop["input"]["inferred"], cell


def test_wherever_the_waits_are(run):
    told = run(PLACES, own_steps.loader_steps)
    for cell, (loop, own_share) in told.items():
        check_verdict(cell, loop, own_share)
    for kind in "sleep", "busy":
        usual, stalling = told[f"every20-{kind}-5-35"][0]["populations"]
        assert usual["verdict"]["kind"] != "input-bound"
        assert (stalling["steps"], stalling["period"], stalling["first"]) == (6, 20, 20)
        assert stalling["cause"]["category"] == "input"
        assert stalling["verdict"]["kind"] == "input-bound"


def test_batches_that_no_loader_brings(run):
    for cell, (loop, own_share) in run(UNKNOWN, own_steps.update_steps).items():
        check_verdict(cell, loop, own_share)
        assert loop["input"]["inferred"], cell
