"""The `stepscope` program, as `python -m stepscope` and as the command that pip makes of it."""

from __future__ import annotations

import os
import sys

from ._library import program_of_package


def main() -> None:
    """Becomes the program; returns an error's line through SystemExit only."""
    program = program_of_package()
    if program is None:
        sys.exit(
            "stepscope: this package holds the marks for Python alone; install the wheel that "
            "packaging/wheel.sh makes, which has the program too"
        )
    if sys.argv[1:2] in (
        ["lake"],
        ["fleet"],
    ):  # whose Python part needs what `stepscope[fleet]` brings
        os.environ.setdefault("STEPSCOPE_PYTHON", sys.executable)
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"stepscope: {program}: {error.strerror}; it runs on Linux on x86-64 with glibc 2.28 or newer"
        )


if __name__ == "__main__":
    main()
