"""The programs in samples/python/slow_lines: the top line is the one that was planted, and a step that is predicted with
that line twice as fast is what the program takes once it is.
"""

import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="pip install torch")

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples/python/slow_lines"
WITHIN = 0.15  # of the step that the fixed program takes
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]

# Each with who has the line, and what it needs besides torch.
PROGRAMS = {
    "image_folder": ("worker", ["PIL", "numpy"]),
    "memmap": ("loop", ["numpy"]),
    "ddp": ("loop", []),
    "notebook": ("loop", ["nbclient", "ipykernel"]),
    "trainer": ("loop", ["transformers", "accelerate"]),
    "lightning_audio": ("worker", ["lightning", "numpy"]),
}


def check_needs(program):
    for module in PROGRAMS[program][1]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"pip install {module}")


def planted_line(program):
    """The number of the marked line; of a notebook, in its cell."""
    text = (SAMPLES / f"{program}.py").read_text()
    if program == "notebook":
        text = next(cell for cell in re.split(r'"""\n', text) if "# the slow line" in cell)
    lines = text.splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if "# the slow line" in line]
    return number


def command(program, *options):
    launcher = TORCHRUN if program == "ddp" else []
    return [sys.executable, *launcher, SAMPLES / f"{program}.py", *options]


def run(folder, words, code=0):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STEPSCOPE_", "PYTHON", "LD_PRELOAD"))
    }
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def record(stepscope, folder, program):
    """What `analyze --json` says of it."""
    run(folder, [stepscope, "run", "-o", "run.db", "--quiet", "--", *command(program)])
    return json.loads(run(folder, [stepscope, "analyze", "--json", "run.db"]))


def top_line(report, program):
    """(file, line) that most of the input goes to, of who makes it."""
    samples = {}
    for line in report["lines"]:
        if (line["where"], line["category"]) == (PROGRAMS[program][0], "input"):
            place = line["file"], line["line"]
            samples[place] = samples.get(place, 0) + line["share"]
    assert samples, report["line_use"]
    return max(samples, key=samples.get)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_top_line_is_the_planted_one(stepscope, tmp_path, program):
    check_needs(program)
    file, line = top_line(record(stepscope, tmp_path, program), program)
    assert line == planted_line(program)
    # Jupyter names a cell's file itself.
    expected = r"/ipykernel_\d+/\d+\.py$" if program == "notebook" else rf"/{program}\.py$"
    assert re.search(expected, file), file


# Runs a program as it is and with --fixed in turn, in one process.
IN_TURN = """
import runpy, sys
program, rounds, *options = sys.argv[1:]
sys.path.insert(0, program.rpartition("/")[0])
for _ in range(int(rounds)):
    for fixed in [], ["--fixed"]:
        sys.argv = [program, *options, *fixed]
        runpy.run_path(program, run_name="__main__")
"""


def step_left_by_fix(folder, program, *options, rounds):
    """The step of the fixed program as a share of the unfixed one's: the median of the rounds. Each
    compares two runs of some seconds, one after the other, because a virtual machine's speed can
    change by a fifth within a minute.
    """
    words = [sys.executable, "-c", IN_TURN, SAMPLES / f"{program}.py", rounds, *options]
    steps = [json.loads(line)["step_ms"] for line in run(folder, words).splitlines()]
    return statistics.median(
        fixed / unfixed for unfixed, fixed in zip(steps[::2], steps[1::2], strict=True)
    )


# The others take too long for each change of the project; bench/lines/samples.py tries them all.
@pytest.mark.shares
@pytest.mark.parametrize(
    "program, options", [("image_folder", ["--times", 6]), ("memmap", ["--updates", 40])]
)
def test_what_is_predicted_is_what_the_mended_program_takes(stepscope, tmp_path, program, options):
    check_needs(program)
    file, line = top_line(record(stepscope, tmp_path, program), program)
    question = f"{pathlib.Path(file).name}:{line}=2x"
    told = json.loads(run(tmp_path, [stepscope, "what-if", "run.db", "--json", "--line", question]))
    predicted = told["predicted_step_ns"] / told["measured_step_ns"]
    assert predicted < 0.9
    assert predicted == pytest.approx(
        step_left_by_fix(tmp_path, program, *options, rounds=5), rel=WITHIN
    )
