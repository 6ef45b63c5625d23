"""What computes outside PyTorch's ops: time in a native library is compute and has the library's name; time in the
interpreter is the program's own.
"""

import json
import pathlib
import subprocess
import sys

import pytest

from test_lines import environment

pytestmark = [pytest.mark.torch, pytest.mark.shares]
pytest.importorskip("torch", reason="pip install torch")
pytest.importorskip("numpy", reason="pip install numpy")

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/native.py"
# Of 1,000 notes, 1.6 points is a standard deviation; up to 4 points are the interpreter's and the kernel's, around
# NumPy's calls.
POINTS = 0.08


def record(stepscope, folder, *options):
    """What the program measured itself, and what `analyze --json` says of its loop."""
    store = folder / "run.db"
    done = subprocess.run(
        [stepscope, "run", "-o", store, "--quiet", "--", sys.executable, PROGRAM, *options],
        cwd=folder,
        env={**environment(), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    (loop,) = json.loads(told.stdout)["loops"]
    if any("unknown" in doubt for doubt in loop["verdict"]["doubts"]):
        pytest.skip("this machine forbids perf_event_open")
    if loop["verdict"]["kind"] == "cpu-starved":
        pytest.skip("other programs had the cores")
    return json.loads(done.stdout.splitlines()[-1]), loop


def test_a_native_library_computes(stepscope, tmp_path):
    own, loop = record(stepscope, tmp_path, "--seconds", "20")
    assert own["outside"] > 0.3, "the program does too little of what is tested"
    numpy_share = sum(row["share"] for row in loop["native"] if row["library"].startswith("numpy"))
    assert numpy_share == pytest.approx(own["outside"], abs=POINTS)
    assert loop["verdict"]["kind"] == "compute-bound"
    # Without NumPy's time, which is more than 0.3. The rest is Python with cold caches.
    assert loop["shares"]["host"] < 0.25
    assert "numpy (" in loop["verdict"]["why"]


def test_the_interpreter_is_the_program_itself(stepscope, tmp_path):
    own, loop = record(stepscope, tmp_path, "--python")
    assert own["outside"] > 0.3, "the program does too little of what is tested"
    assert loop["native"] == []
    # Calling PyTorch takes host time too.
    assert loop["shares"]["host"] > own["outside"] - POINTS
    assert loop["verdict"]["kind"] == "host-bound"
