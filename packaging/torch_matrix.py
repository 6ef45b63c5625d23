#!/usr/bin/env python3
"""Records a training with each release of torch, and prints what each gets as a table of docs/install.md.

usage: torch_matrix.py WHEEL VERSION...

Makes an environment for each version in build/torch-matrix, installs torch and the wheel there with pip (gigabytes
for builds with CUDA), and records a training in Python and one in C++. An environment that is there is used again.
A version that cannot be installed or run has a row that says so.
"""

import pathlib
import sqlite3
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = PROJECT / "build/torch-matrix"
OPS = "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::addmm'"
PHASES = """SELECT group_concat(DISTINCT k.name) FROM phase JOIN phase_kind AS k ON k.id = kind
  WHERE k.name IN ('input', 'backward', 'optimizer', 'forward')"""


def run(*command: object) -> str:
    """Its output. Raises RuntimeError with the last line of its errors."""
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
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet"]
    run(*pip, f"torch=={version}", "numpy")
    run(*pip, "--force-reinstall", "--no-deps", "--no-index", wheel)
    return folder


def recorded(folder: pathlib.Path, *program: object) -> tuple[int, str]:
    """How many of fifty (in C++ forty) layers were seen as ops, and which phases."""
    store = folder / "run.db"
    run(folder / "bin/stepscope", "run", "--ops", "all", "--quiet", "-o", store, "--", *program)
    with sqlite3.connect(store) as connection:
        ops, phases = (connection.execute(query).fetchone()[0] for query in (OPS, PHASES))
    return ops, phases or "none"


# By hand: PyTorch's own CMake files want the CUDA toolkit.
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


def cell(what) -> str:
    try:
        return what()
    except RuntimeError as error:
        return f"not run ({error})"


def row(version: str, wheel: pathlib.Path) -> str:
    folder = environment(version, wheel)
    hooks = list(
        folder.glob(f"lib/python*/site-packages/stepscope/_prefix/lib/stepscope/torch-{version}")
    )

    def in_python() -> str:
        script = PROJECT / "tests/packaging/train.py"
        ops, phases = recorded(folder, folder / "bin/python", script)
        return f"{ops} of 50 ops; {phases}"

    def in_cpp() -> str:
        ops, phases = recorded(folder, cpp_program(folder), folder / "own.db")
        return f"{ops} of 40 ops; {phases}"

    where = "in the wheel" if hooks else "to build"
    return f"| {version} | {where} | {cell(in_python)} | {cell(in_cpp)} |"


def main(arguments: list[str]) -> None:
    if len(arguments) < 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(arguments[0]).resolve()
    print("| torch | op hooks | a training in Python | in C++ |\n|---|---|---|---|", flush=True)
    for version in arguments[1:]:
        try:
            print(row(version, wheel), flush=True)
        except RuntimeError as error:
            print(f"| {version} | | not installed ({error}) | |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
