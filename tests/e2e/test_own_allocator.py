"""Programs with an operator new and delete of their own: what libtorch allocates is freed by them, not by the C++ library
that Stepscope brings. Freed by another, it would end the process.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

PYTHON = """
import contextlib, sys, torch
if "record" in sys.argv:
    import stepscope
    recording = stepscope.record("own.db")
else:
    recording = contextlib.nullcontext()
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters())
with recording:
    for batch in torch.utils.data.DataLoader(torch.ones(64, 8), batch_size=4):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
print("end", flush=True)
"""


@pytest.fixture
def run(build_dir, tmp_path):
    library = build_dir / "tests/cpp_programs/libown_new.so"
    assert library.exists(), f"{library} is not there: build it first"

    def run(*command, **environment):
        done = subprocess.run(
            [str(word) for word in command],
            cwd=tmp_path,
            env=os.environ | {"LD_PRELOAD": str(library)} | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def compare(run, stepscope):
    """Runs a program bare and wrapped."""

    def compare(options, *command):
        bare = run(*command)
        assert bare[1].endswith("end\n")
        assert run(stepscope, "run", "--quiet", *options, "--", *command) == bare

    return compare


@pytest.mark.parametrize("options", [["--ops", "all"], ["--tier", "phases"]], ids=" ".join)
def test_a_cpp_program(compare, build_dir, options):
    compare(options, build_dir / "tests/cpp_programs/unwinds", "adam", 20)


@pytest.mark.parametrize("options", [["--ops", "all"], ["--tier", "phases"]], ids=" ".join)
@pytest.mark.usefixtures("python_ops")  # without hooks, a line says so
def test_a_python_program(compare, options):
    compare(options, sys.executable, "-c", PYTHON)


def test_a_python_program_that_records_itself(run, build_dir):
    package = build_dir / "lib/stepscope/python"
    code, out, _ = run(sys.executable, "-c", PYTHON, "record", PYTHONPATH=str(package))
    assert (code, out) == (0, "end\n")
