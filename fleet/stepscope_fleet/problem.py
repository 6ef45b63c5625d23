"""Errors that are reported as one line: the file, what is wrong, what to do."""


class Problem(Exception):
    """Ends the verb with exit code 3."""
