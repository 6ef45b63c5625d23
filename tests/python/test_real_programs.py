"""The programs in samples/python/real: what the report says of them is what their own timers say."""

import pathlib

import pytest

import own_steps
import recorded
from test_optimizer_steps import input_error, needs, phase_errors, run  # noqa: F401

pytestmark = [pytest.mark.torch, pytest.mark.shares, pytest.mark.usefixtures("python_ops")]
pytest.importorskip("torch", reason="pip install torch")

SAMPLES = pathlib.Path(recorded.__file__).resolve().parents[2] / "samples/python/real"

PROGRAMS = [
    pytest.param("nano_gpt.py", own_steps.accumulated_steps, 80, "all", [], marks=needs("numpy")),
    pytest.param(
        "trainer_bert.py",
        own_steps.accumulated_steps,
        80,
        "none",
        [],
        marks=needs("transformers", "accelerate"),
    ),
    *[
        pytest.param(
            "image_folder.py",
            own_steps.loader_steps,
            120,
            "none",
            ["--workers", workers],
            marks=needs("PIL"),
            id=f"image_folder-{workers}-workers",
        )
        for workers in ("0", "2")
    ],
    pytest.param(
        "lightning_conv.py", own_steps.loader_steps, 100, "none", [], marks=needs("lightning")
    ),
]


def segment_errors(done, exact):
    """Of evaluations and checkpoints, where what is said differs from the program's own timers by a hundredth of the
    run. `exact`: else only their sum is compared; the Trainer does a good part of a checkpoint's work before it saves."""
    told = {segment["kind"]: segment for segment in done.report["segments"]}
    own = {
        kind: sum(end - begin for begin, end in times)
        for kind, times in own_steps.segments(done.own()).items()
    }
    errors = {kind: told[kind]["total_ns"] - own[kind] for kind in ("evaluation", "checkpoint")}
    if not exact:
        errors = {"both": sum(errors.values())}
    run_ns = done.report["goodput"]["run_ns"]
    wrong = {kind: error for kind, error in errors.items() if abs(error) > recorded.POINT * run_ns}
    count = len(done.own()["segments"]["checkpoint"])
    if told["checkpoint"]["count"] != count:
        wrong["checkpoints"] = told["checkpoint"]["count"]
    return wrong


@pytest.mark.parametrize("program, steps_of, count, ops, options", PROGRAMS)
def test_what_is_said_is_what_they_measured(run, program, steps_of, count, ops, options):  # noqa: F811
    def what(done):
        steps = steps_of(done.own())
        told = done.report["steps"]
        assert told["count"] == len(steps) == count
        assert told["batches_per_step"] == done.own()["batches_per_step"]
        if program == "trainer_bert.py":  # advice names its arguments
            assert done.report["input"]["loader"].startswith("Trainer: DataLoader(batch_size=")
        # Of models this small a trainer's own calls between the phases are a good part of a step.
        phases = phase_errors(done, steps) if program == "nano_gpt.py" else {}
        return {
            "input": input_error(done, steps),
            "segments": segment_errors(done, exact=program != "trainer_bert.py"),
            **phases,
        }

    run(SAMPLES / program, *options, ops=ops, what=what, timers="--timers")
