"""Keeps our own frames out of the tracebacks that a program sees."""

from __future__ import annotations

import sys


def hide_frame() -> None:
    """Removes the caller's frame from the traceback of the exception that it handles and raises
    again, so that the program sees the traceback that it has without the wrapper. Has no effect
    before Python 3.11, where `raise` restores the traceback."""
    _, error, traceback = sys.exc_info()
    if error is not None and traceback is not None:
        # Not by attribute: the program's class may have its own.
        BaseException.with_traceback(error, traceback.tb_next)
