"""What the verbs print. Standard output that cannot be written is an error like that of any other file."""

import contextlib
import os
import signal
import sys
import time

from .problem import Problem
from .text import plain


def open_missing_streams() -> None:
    """Opens /dev/null for each standard stream that is closed, so that no other file gets its number."""
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def die_of_interrupt() -> None:
    """Ends the program as Ctrl-C ends others, so that a shell script that started it ends too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def write_out(text: str) -> None:
    """Writes the lines to standard output, all of them before it returns."""
    write_out_bytes(f"{text}\n".encode(errors="replace"))


def write_out_bytes(content: bytes) -> None:
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # so that one line says it
        raise Problem("standard output: cannot be written (it is closed)")
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python writes what is left once more when it ends, and complains in its own way.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise Problem(f"standard output: cannot be written ({reason})") from error


class RunProgress:
    """Says on a terminal how many runs have been read, from the second second on. Removes the line at the end."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._shown = False
        self._wanted = (
            sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        )

    def __enter__(self) -> "RunProgress":
        return self

    def __call__(self, done: int, all_runs: int) -> None:
        if self._wanted and time.monotonic() - self._since > 1:
            self._write(f"\r\x1b[K{done:,} of {all_runs:,} runs")
            self._shown = True

    def __exit__(self, *unused: object) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError):
            print(text, end="", file=sys.stderr, flush=True)


def write_error(verb: str, what: object) -> None:
    """Writes one line to standard error."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):  # nobody is left to tell
        print(f"stepscope {verb}: {plain(what)}", file=sys.stderr, flush=True)
