"""The formats sample: each format computes the same, and Stepscope sees the calls of each."""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "samples/python/formats/formats.py"
SMALL = ["--calls", "20", "--width", "32", "--layers", "2", "--batch", "2", "--length", "9"]
FORMATS = [
    "eager",
    "torchscript",
    pytest.param(
        "onnx",
        marks=pytest.mark.skipif(
            any(
                importlib.util.find_spec(name) is None
                for name in ("onnx", "onnxscript", "onnxruntime")
            ),
            reason="onnx, onnxscript and onnxruntime are not installed",
        ),
    ),
]


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outputs(text):
    found = re.search(r"outputs sum to (-?[0-9.]+)\)", text)
    assert found, text
    return float(found.group(1))


@pytest.fixture(scope="module", autouse=True)
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def eager():
    return outputs(run(sys.executable, PROGRAM, *SMALL))


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_computes_the_same_and_its_calls_are_seen(name, eager, stepscope, tmp_path):
    store = tmp_path / "run.db"
    text = run(
        stepscope,
        "run",
        "--quiet",
        "-o",
        store,
        "--",
        sys.executable,
        PROGRAM,
        *SMALL,
        "--format",
        name,
    )
    assert outputs(text) == pytest.approx(eager, rel=1e-3)
    report = json.loads(run(stepscope, "analyze", "--json", store))
    assert report["steps"]["marker"] == "user"
    assert report["steps"]["count"] == 20
    assert report["phases"]["backward"] == report["phases"]["optimizer"] == 0
    sessions = [scope for scope in report["scopes"] if scope["name"] == "onnxruntime::run"]
    assert len(sessions) == (name == "onnx")
    if sessions:
        assert sessions[0]["calls"] == report["steps"]["analysed"], "one session run a call"
        assert report["shares"]["other"] == 0, "it computes"
        assert report["shares"]["compute"] * report["steps"]["wall_ns"]["mean"] >= (
            0.9 * sessions[0]["total_ns"] / report["steps"]["analysed"]
        )


@pytest.mark.parametrize(
    "options", [["--batch", "0"], ["--width", "30"], ["--format", "savedmodel"]]
)
def test_wrong_options_are_refused(options):
    done = subprocess.run(
        [sys.executable, PROGRAM, *options], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "formats.py: error: " in done.stderr
