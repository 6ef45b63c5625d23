#!/usr/bin/env python3
"""Formats the sources: C++ and JavaScript by clang-format, Python by ruff, 100 columns each.

usage: format.py [--check] [FILE ...]

Without files, all of the tree. --check changes nothing, names the files that would change, and exits with 1 if there
are any. Needs the packages in PACKAGES from PyPI (test.sh installs them), as each version formats a little differently.
"""

import argparse
import pathlib
import subprocess
import sys

from check_tree import tracked_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ("clang-format==19.1.7", "ruff==0.14.0")


def tool(name: str) -> str:
    """The program of that name beside this Python, in the environment of the tests."""
    program = pathlib.Path(sys.executable).parent / name
    if not program.exists():
        sys.exit(
            f"format.py: {name} is missing; run: {sys.executable} -m pip install {' '.join(PACKAGES)}"
        )
    return str(program)


def run(command: list[str], files: list[str]) -> bool:
    """Whether there was nothing to complain about; complaints go to the terminal."""
    return not files or subprocess.run([*command, *files], cwd=ROOT).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    files = arguments.files or tracked_files(ROOT)
    clang = [name for name in files if name.endswith((".cc", ".h", ".js"))]
    python = [name for name in files if name.endswith(".py")]
    clang_command = [
        tool("clang-format"),
        *(["--dry-run", "-Werror"] if arguments.check else ["-i"]),
    ]
    ruff_command = [tool("ruff"), "format", "--quiet", *(["--diff"] if arguments.check else [])]
    well_formed = [run(clang_command, clang), run(ruff_command, python)]
    return 0 if all(well_formed) else 1


if __name__ == "__main__":
    sys.exit(main())
