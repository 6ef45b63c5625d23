"""The program behind `stepscope lake` and `stepscope fleet`."""

import pathlib
import signal
import sys

_WANTS_CTRL_C = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
if _WANTS_CTRL_C:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is something to clean up
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from stepscope_fleet.console import die_of_interrupt, open_missing_streams, write_error


def _missing_package() -> str | None:
    try:
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        return error.name
    return None


def _main(words: list[str]) -> int:
    signal.signal(
        signal.SIGPIPE, signal.SIG_DFL
    )  # as other programs whose reader, such as head, has ended
    open_missing_streams()
    missing = _missing_package()
    if missing:
        verb = words[0] if words else ""
        write_error(
            verb,
            f"{sys.executable} has no {missing}; run `pip install duckdb pyarrow` for it, or name another Python in"
            " STEPSCOPE_PYTHON",
        )
        return 3
    from stepscope_fleet.verbs import main

    if _WANTS_CTRL_C:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main(words)


if __name__ == "__main__":
    try:
        code = _main(sys.argv[1:])
    except KeyboardInterrupt:
        code = None  # what was being written is gone by now
    if code is None:
        die_of_interrupt()
    sys.exit(code)
