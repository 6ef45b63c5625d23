"""Errors that are reported as one line: the file, what is wrong, what to do."""

import os
import pathlib


class Problem(Exception):
    """Ends the verb with exit code 3."""


class UnusableFile(Problem):
    """A file of a lake that cannot be used. Other files of the lake still can."""

    def __init__(self, path: pathlib.Path, what: str):
        super().__init__(f"{path}: {what}")
        self.left_out = f"{path}: left out, {what}"


def line_about(error: Problem | OSError) -> str:
    """OSError: of a name that the system refuses, such as one that is too long."""
    if isinstance(error, Problem) or error.errno is None:
        return str(error)
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{os.strerror(error.errno)}"
