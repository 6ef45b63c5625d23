"""Runs the `stepscope` program for `python -m stepscope` and for the command that pip installs."""

from __future__ import annotations

import os
import sys

from ._library import program_of_package


def main() -> None:
    """Replaces this process with the program. Reports errors as one line, through SystemExit."""
    program = program_of_package()
    if program is None:
        sys.exit(
            "stepscope: this package has only the marks for Python; install the wheel that "
            "packaging/wheel.sh makes, which also has the program"
        )
    if sys.argv[1:2] in (
        ["lake"],
        ["fleet"],
    ):  # their Python part needs the packages of `stepscope[fleet]`
        os.environ.setdefault("STEPSCOPE_PYTHON", sys.executable)
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"stepscope: {program}: {error.strerror}; it runs on Linux on x86-64 with glibc 2.28 or newer"
        )


if __name__ == "__main__":
    main()
