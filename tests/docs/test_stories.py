"""The stories can be followed: each of their commands runs, in order, and makes what the next ones and the pictures
need.

Their figures differ from machine to machine and are not compared.
"""

import os
import pathlib
import subprocess
import sys

import pytest

STORIES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "stories"
SAMPLES = ("mnist", "encoder", "serve", "mistakes")
FORMATS = ("onnx", "onnxscript", "onnxruntime")  # of story 3


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
