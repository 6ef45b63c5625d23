"""What the tests of the fleet share."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


@pytest.fixture
def verb(stepscope):
    """Runs `stepscope WORDS…` with this Python. `expect`: its exit code; None: any."""

    def run(*words, expect=0):
        done = subprocess.run(
            [stepscope, *map(str, words)],
            capture_output=True,
            text=True,
            env=os.environ | {"STEPSCOPE_PYTHON": sys.executable},
            check=False,
        )
        assert expect in (None, done.returncode), done.stderr
        return done

    run.python = sys.executable
    return run


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


@pytest.fixture
def answers(verb, lake):
    """What `fleet --json` says of the lake."""
    return lambda *words: json.loads(verb("fleet", lake, "--json", *words).stdout)
