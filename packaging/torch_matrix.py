#!/usr/bin/env python3
"""Records training programs with each release of torch, and prints the table of docs/install.md.

usage: torch_matrix.py [--keep] WHEEL VERSION...

Makes an environment for each version in build/torch-matrix, installs torch and the wheel there with pip (3 to 8 GB
for builds with CUDA), and records three programs: one in Python that does not use Stepscope, and
one each in Python and C++ that mark their input. Removes the environment afterwards, unless --keep
is given; an existing one is reused.

The row of a version that cannot be installed or run says so. The exit code is 1 if any row lacks
anything.
"""

import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = PROJECT / "build/torch-matrix"
STEPS_IN_PYTHON, STEPS_IN_CPP = 50, 40
OPS = "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::addmm'"
MODULES = "SELECT count(*) FROM module_call"
PHASES = "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = ?"
HEAD = """| torch | op hooks | ops in Python | modules | phases in Python | ops in C++ | phases in C++ |
|---|---|---|---|---|---|---|"""


def run(*command: object) -> str:
    """Returns the output. If the command fails, raises RuntimeError with its last error line."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or [str(done.returncode)]
        raise RuntimeError(f"{pathlib.Path(words[0]).name}: {lines[-1]}")
    return done.stdout


def environment(version: str, wheel: pathlib.Path) -> pathlib.Path:
    folder = FOLDER / version
    if not (folder / "bin/python").exists():
        run(sys.executable, "-m", "venv", folder)
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    run(*pip, f"torch=={version}", "numpy")
    run(*pip, "--force-reinstall", "--no-deps", "--no-index", wheel)
    return folder


class Recording:
    """A recording of a program that runs `steps` steps of one layer."""

    def __init__(self, folder: pathlib.Path, steps: int, *program: object) -> None:
        self._store, self._steps = folder / "run.db", steps
        run(
            *[folder / "bin/stepscope", "run", "--ops", "all", "--modules", "--quiet"],
            *["-o", self._store, "--", *program],
        )

    def _count(self, query: str, *values: str) -> int:
        with sqlite3.connect(self._store) as connection:
            return connection.execute(query, values).fetchone()[0]

    def ops(self) -> str:
        return f"{self._count(OPS)} of {self._steps}"

    def modules(self) -> str:
        return f"{self._count(MODULES)} of {self._steps}"

    def phases(self) -> str:
        """The kinds of phases, each with its count if that is not one per step."""
        seen = {kind: self._count(PHASES, kind) for kind in ("input", "backward", "optimizer")}
        return ", ".join(
            kind if times == self._steps else f"{kind} {times} of {self._steps}"
            for kind, times in seen.items()
        )


# Compiles by hand, because PyTorch's own CMake files require the CUDA toolkit.
def cpp_program(folder: pathlib.Path) -> pathlib.Path:
    (torch,) = folder.glob("lib/python*/site-packages/torch")
    prefix = next(folder.glob("lib/python*/site-packages/stepscope/_prefix"))
    config = (torch / "share/cmake/Torch/TorchConfig.cmake").read_text()
    abi = 0 if "_GLIBCXX_USE_CXX11_ABI=0" in config else 1
    libraries = [f"-Wl,-rpath,{torch}/lib", f"-L{torch}/lib", "-ltorch_cpu", "-lc10"]
    run(
        *["g++", "-std=c++20", "-O1", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{prefix}/include"],
        *["-isystem", torch / "include", "-isystem", torch / "include/torch/csrc/api/include"],
        *["-Wl,--no-as-needed", f"-Wl,-rpath,{prefix}/lib", prefix / "lib/libstepscope.so.0"],
        *["-o", folder / "train", PROJECT / "tests/project/consumer/train.cc", *libraries],
    )
    return folder / "train"


def hooks(folder: pathlib.Path) -> str:
    """Where the op hooks for this environment's torch come from, according to doctor, which tries
    them."""
    done = subprocess.run(
        [folder / "bin/stepscope", "doctor", "--json", "--python", folder / "bin/python"],
        capture_output=True,
        text=True,
    )
    (found,) = [each for each in json.loads(done.stdout)["findings"] if each["id"] == "op-hooks"]
    if found["state"] != "ok" or "not tried" in found["detail"]:
        return f"not in use ({found['detail']})"
    return "in the wheel" if str(folder) in found["detail"] else "built here"


def in_python(folder: pathlib.Path) -> list[str]:
    python, programs = folder / "bin/python", PROJECT / "tests/packaging"
    seen = []
    for program in ("train.py", "plain.py"):
        recording = Recording(folder, STEPS_IN_PYTHON, python, programs / program)
        seen.append([recording.ops(), recording.modules(), recording.phases()])
    # One text if both programs got the same.
    return [" / ".join(dict.fromkeys(texts)) for texts in zip(*seen)]


def in_cpp(folder: pathlib.Path) -> list[str]:
    seen = Recording(folder, STEPS_IN_CPP, cpp_program(folder), folder / "own.db")
    return [seen.ops(), seen.phases()]


def cells(what, folder: pathlib.Path, width: int) -> list[str]:
    try:
        return what(folder)
    except (RuntimeError, sqlite3.Error) as error:
        return [f"not run ({error})"] + [""] * (width - 1)


def row(version: str, wheel: pathlib.Path) -> list[str]:
    try:
        folder = environment(version, wheel)
    except RuntimeError as error:
        return [version, f"not installed ({error})", "", "", "", "", ""]
    return [version, hooks(folder), *cells(in_python, folder, 3), *cells(in_cpp, folder, 2)]


def lacks_anything(row: list[str]) -> bool:
    python, cpp = f"{STEPS_IN_PYTHON} of {STEPS_IN_PYTHON}", f"{STEPS_IN_CPP} of {STEPS_IN_CPP}"
    phases = "input, backward, optimizer"
    return row[2:] != [python, python, phases, cpp, phases] or row[1].startswith("not")


def main(arguments: list[str]) -> None:
    keep = "--keep" in arguments
    arguments = [word for word in arguments if word != "--keep"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(arguments[0]).resolve()
    print(HEAD, flush=True)
    lacking = False
    for version in arguments[1:]:
        seen = row(version, wheel)
        print(f"| {' | '.join(seen)} |", flush=True)
        lacking = lacking or lacks_anything(seen)
        if not keep:
            shutil.rmtree(FOLDER / version, ignore_errors=True)
    sys.exit(1 if lacking else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
