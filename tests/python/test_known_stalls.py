"""Loops with known stalls in unchanged Python programs: the reported input share is within one point of what the loop
itself measured, and the verdict the one that share calls for, in every cell and wherever the waits are. The Python half
of tests/e2e/known_stalls_test.cc.
"""

import pathlib

import pytest

import own_steps
import recorded
from pythons import Python

pytestmark = [pytest.mark.torch, pytest.mark.shares]
pytest.importorskip("torch", reason="pip install torch")
pytest.importorskip("numpy", reason="pip install numpy")

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/stalls.py"

MATRIX = [
    f"loader-{kind}-{step_ms}-{percent}"
    for step_ms in (1, 5, 30)
    for kind in ("sleep", "busy")
    for percent in (0, 12, 35, 60, 80)
] + ["loader-busy-5-2", "loader-busy-30-2"]
PLACES = [
    "outside-sleep-5-35",
    "outside-busy-5-12",
    "evaluation-sleep-5-35",
    "evaluation-busy-5-12",
    "epochs-sleep-5-35",
    "every20-sleep-5-35",
    "every20-busy-5-35",
]
# Between the update and the forward pass lies some Python too, which counts as inferred input: 60 µs, and 600 µs where
# the caches are cold after the stall. Of a step of 100 ms that is less than a point.
UNKNOWN = [
    "generator-sleep-100-35",
    "generator-busy-100-12",
    "generator-sleep-100-60",
    "numpy-busy-100-35",
    "numpy-busy-100-12",
]

STALLS = ["launch", "sync", "copy", "communication", "allocation"]


@pytest.fixture
def run(tmp_path, stepscope):
    """What is said of the loop of each cell, which is what it measured itself. Cells that miss are run again: other
    programs may have had the processor."""

    def run(cells, steps_of, ops="auto"):
        told, missed = {}, {cell: "" for cell in cells}
        for attempt in range(recorded.ATTEMPTS):
            folder = tmp_path / str(attempt)
            folder.mkdir()
            python = Python(folder)
            python.options = []
            python.run_arguments(
                PROGRAM,
                "--cells",
                ",".join(missed),
                "--own",
                "own.json",
                wrapper=[stepscope, "run", "-o", "run.db", "--quiet", "--ops", ops, "--"],
                timeout=300,
            )
            done = recorded.analyze(stepscope, folder)
            for cell in list(missed):
                own = done.own(f".{cell}")
                told[cell] = done.loop_of(own["pid"], own["tid"])
                steps = steps_of(own)
                assert told[cell]["steps"]["count"] == len(steps), cell
                numbers = done.steady_steps(own["pid"], own["tid"])
                assert len(numbers) >= len(steps) // 2, cell
                missed[cell] = what_is_wrong(told[cell], own_steps.input_share(own, steps, numbers))
                if not missed[cell]:
                    del missed[cell]
            if not missed:
                return told
        pytest.fail(f"{recorded.ATTEMPTS} times: {missed}")

    return run


def what_is_wrong(loop, own_share):
    """Of what is said of a loop that measured this share itself; empty when nothing is."""
    shares, verdict = loop["shares"], loop["verdict"]
    if abs(shares["input"] - own_share) > recorded.POINT:
        return f"share {shares['input']:.4f}, own {own_share:.4f}"
    if verdict["kind"] == "cpu-starved":  # other programs had the cores for a fifth of the time
        return ""
    # Steps of 1 ms are a good part Python, and a loop that did not get the processor is host-bound too.
    other = max(shares["host"] + shares["other"], *(shares[stall] for stall in STALLS))
    # Two are right where the loop's own share is as near to a threshold as the reported one may be to that. Time
    # without a core, which these programs do not measure, counts for no stall.
    starved = own_share * (loop["input"]["starved_share"] or 0)
    elsewhere = (loop["starvation"] or {}).get("loop_share", 0)
    right = {
        degree_of(share, stall)
        for share in (own_share - starved - recorded.POINT, own_share, own_share + recorded.POINT)
        for stall in (other - elsewhere, other)
    }
    if loop["input"]["inferred"]:  # a small pause that may be anything is not called input
        right = {None if degree == "moderately" else degree for degree in right}
    said = verdict["degree"] if verdict["kind"] == "input-bound" else None
    return "" if said in right else f"{verdict['why']} Own share {own_share:.4f}"


def degree_of(share, other):
    """Of being input-bound, None for no degree, by the shares of input and of the largest other stall."""
    if share >= 0.20:
        return "highly"
    return None if share < 0.05 or other >= 0.20 else "moderately"


def test_every_cell_of_the_matrix(run):
    for cell, loop in run(MATRIX, own_steps.loader_steps).items():
        assert not loop["input"]["inferred"], cell


def test_wherever_the_waits_are(run):
    # With ops in all steps all steps count, also every twentieth.
    told = run(PLACES, own_steps.loader_steps, ops="all")
    for kind in "sleep", "busy":
        usual, *others = told[f"every20-{kind}-5-35"]["populations"]
        assert usual["verdict"]["kind"] != "input-bound"
        (stalling,) = [other for other in others if other["period"] == 20]
        assert (stalling["steps"], stalling["first"]) == (6, 20)
        assert stalling["cause"]["category"] == "input"
        assert stalling["verdict"]["kind"] == "input-bound"


def test_batches_that_no_loader_brings(run):
    for cell, loop in run(UNKNOWN, own_steps.update_steps).items():
        assert loop["input"]["inferred"], cell
