"""The wheel in an environment of its own. test.sh makes the wheel and names it in STEPSCOPE_WHEEL."""

import os
import pathlib
import subprocess
import sys
import types

import pytest


@pytest.fixture(scope="session")
def wheel():
    named = os.environ.get("STEPSCOPE_WHEEL")
    if not named:
        pytest.skip("STEPSCOPE_WHEEL names no wheel; packaging/wheel.sh makes one")
    return pathlib.Path(named).resolve()


class Environment:
    """A virtual environment whose programs see no other: no compiler, no CMake, no source tree, no home."""

    def __init__(self, folder):
        self.folder = folder
        self.python = folder / "bin/python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.variables = {"PATH": str(folder / "bin")}
        self.packages = next(folder.glob("lib/python*/site-packages"))

    def install(self, wheel):
        command = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        subprocess.run([*command, "--no-index", "--no-compile", wheel], check=True)

    def see_torch(self):
        """The torch of the tests' own environment, which is large."""
        import torch

        there = pathlib.Path(torch.__file__).parents[1]
        (self.packages / "torch.pth").write_text(f"{there}\n")

    def run(self, *command, cwd=None, **variables):
        return subprocess.run(
            [str(word) for word in command],
            env=self.variables | variables,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def stepscope(self, *arguments, **options):
        return self.run(self.folder / "bin/stepscope", *arguments, **options)


@pytest.fixture(scope="session")
def make_environment(wheel):
    def make(folder):
        environment = Environment(folder)
        environment.install(wheel)
        return environment

    return make


@pytest.fixture(scope="session")
def environment(make_environment, tmp_path_factory):
    made = make_environment(tmp_path_factory.mktemp("wheel") / "of a user")  # with spaces
    made.see_torch()
    return made


@pytest.fixture
def ran(environment, tmp_path):
    """A training that was recorded: the process, and the store."""
    script = pathlib.Path(__file__).parent / "train.py"
    done = environment.stepscope(
        "run", "--ops", "all", "-o", "run.db", "--", "python", script, cwd=tmp_path
    )
    return types.SimpleNamespace(done=done, store=tmp_path / "run.db")
