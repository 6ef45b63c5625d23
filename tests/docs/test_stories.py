"""The stories can be followed: each of their commands runs, in order, and makes what the next ones and the pictures
need.

Their figures differ from machine to machine and are not compared.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

STORIES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "stories"
SAMPLES = ("mnist", "encoder", "serve", "mistakes")
FORMATS = ("onnx", "onnxscript", "onnxruntime")  # of story 3


def script():
    spec = importlib.util.spec_from_file_location("stories_run", STORIES / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def session_of(run, quick=False):
    session = run.Session(folder=None, env=None, quick=quick)
    session.outputs["$ train --epochs 2"] = "epoch 1\n1,355 steps/s by its own clock\n"
    return session


@pytest.mark.parametrize(
    "claim, wrong",
    [
        ('printed("train", r"([\\d,]+) steps") == 1355', None),
        ('"epoch 1" in printed("--epochs 2")', None),
        ('printed("train", r"([\\d,]+) steps") > 2000', "does not hold"),
        ('printed("train", r"(\\d+) samples") > 0', "printed nothing like"),
        ("shares.input > 0", "NameError"),
    ],
)
def test_a_claim_that_does_not_hold_is_told(claim, wrong):
    run = script()
    text = f"<!-- claim: {claim} -->\nIt is fast."
    if wrong is None:
        run.check_claims(pathlib.Path("story.md"), text, session_of(run))
        return
    with pytest.raises(run.StoryError, match=f"story.md: .*{wrong}"):
        run.check_claims(pathlib.Path("story.md"), text, session_of(run))


def test_a_quick_run_only_reads_the_claims():
    run = script()
    quick = session_of(run, quick=True)
    run.check_claims(pathlib.Path("a.md"), '<!-- claim: "epoch 9" in printed("train") -->', quick)
    with pytest.raises(run.StoryError):
        run.check_claims(pathlib.Path("a.md"), "<!-- claim: no_such_name -->", quick)


def test_what_is_shown_of_an_output_is_named_by_its_paragraphs():
    run = script()
    output = "head\n\n  GOOD 90 %\n  because\n\n  rest\n  of it\n\n  call time 1\n    compute 1\n"
    assert run.shorten(output, "1-1 block:call_time") == (
        "head\n…\n\n  call time 1\n    compute 1\n"
    )
    assert run.shorten(output, None) == output


def test_there_are_stories():
    assert len(list(STORIES.glob("[0-9]*.md"))) >= 5


@pytest.mark.parametrize("story", sorted(STORIES.glob("[0-9]*.md")), ids=lambda story: story.stem)
def test_a_story_can_be_followed(story, stepscope, python_ops, build_dir, tmp_path):
    for sample in SAMPLES:
        if not (build_dir / "samples" / sample).exists():
            pytest.skip(f"this build has no {sample}: it was made without libtorch")
    if "formats.py" in story.read_text():
        for package in FORMATS:
            pytest.importorskip(package, reason=f"pip install {package}")
    command = [
        sys.executable,
        STORIES / "run.py",
        "--build",
        build_dir,
        "--check",
        "--quick",
        story,
    ]
    # Threads that spin for one another beside other tests would take many times as long.
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    asked, ran = story.read_text().count("\n$ "), done.stderr.count("\n  $ ")
    assert asked == ran > 0
