"""The program behind `stepscope lake` and `stepscope fleet`."""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    signal.signal(
        signal.SIGPIPE, signal.SIG_DFL
    )  # as other programs whose reader, such as head, has ended
    try:
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        print(
            f"stepscope: {sys.executable} has no {error.name}; run `pip install duckdb pyarrow` for it,"
            " or name another Python in STEPSCOPE_PYTHON",
            file=sys.stderr,
        )
        sys.exit(3)
    from stepscope_fleet.verbs import main

    sys.exit(main(sys.argv[1:]))
