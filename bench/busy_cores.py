"""Other programs that want the cores."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def busy_processes(count):
    """`count` processes that compute without end, while the block runs."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
