"""A fake libstepscope, fake torches, and Pythons to run in."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "profiler/python"
INJECT = PACKAGE / "inject"
FAKE_TORCHES = {version: HERE / f"fakes/torch-{version}" for version in ("1.13", "2")}
VERSIONS = pytest.mark.parametrize("version", FAKE_TORCHES)


def compile_fake(folder, *options):
    compiler = shutil.which("cc") or pytest.fail("there is no C compiler (cc)")
    library = folder / "libfake.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", *options, "-o", library, HERE / "fakes/stepscope.c"],
        check=True,
    )
    return library


def compile_python_functions(folder):
    """The part of libstepscope that makes CPython's functions of its marks, to be linked to a fake one."""
    compiler = shutil.which("c++") or pytest.fail("there is no C++ compiler (c++)")
    built = folder / "python_functions.o"
    subprocess.run(
        [
            compiler,
            "-std=c++20",
            "-fPIC",
            "-c",
            "-I",
            ROOT,
            "-I",
            ROOT / "profiler/include",
            "-o",
            built,
            ROOT / "profiler/preload/python_functions.cc",
        ],
        check=True,
    )
    return built


class Python:
    """Runs code in a fresh Python: with nothing of ours, unless one of the methods is asked for it."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "calls.log"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("STEPSCOPE_", "PYTHON", "LD_PRELOAD"))
        }
        self.environment |= {"STEPSCOPE_FAKE_LOG": str(self.log), "PYTHONDONTWRITEBYTECODE": "1"}
        self.path = []
        self.options = ["-s"]

    def wrapped(self, library):
        """As under `stepscope run`."""
        self.environment |= {
            "STEPSCOPE_SOCKET": "/nowhere",
            "STEPSCOPE_LIBRARY": str(library),
            "LD_PRELOAD": str(library),
        }
        self.path.insert(0, INJECT)
        return self

    def with_package(self, library=None):
        """As after `pip install`."""
        if library is not None:
            self.environment["STEPSCOPE_LIBRARY"] = str(library)
        self.path.append(PACKAGE)
        return self

    def with_fake_torch(self, version):
        self.path.append(FAKE_TORCHES[version])
        return self

    def run(self, code, *arguments, check=True):
        program = self.folder / "program.py"
        program.write_text(textwrap.dedent(code))
        return self.run_arguments(program, *arguments, check=check)

    def run_arguments(self, *arguments, check=True, wrapper=(), stdin=None, timeout=120):
        """`wrapper`: the words that go before the interpreter."""
        environment = dict(self.environment)
        if self.path:
            environment["PYTHONPATH"] = os.pathsep.join(map(str, self.path))
        command = [*wrapper, sys.executable, *self.options, *arguments]
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check:
            assert done.returncode == 0, done.stderr
            assert done.stderr == ""
        return done

    def calls(self):
        """What the fake library was called with, without the process ids."""
        return [call for _, call in self.calls_of_processes()]

    def calls_of_processes(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [tuple(line.split(" ", 1)) for line in lines]
