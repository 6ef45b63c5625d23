#!/usr/bin/env python3
"""Measures how long each verb takes on valid stores of extreme shapes, and how that grows with
size.

    bench/limits/run.py --binary build/release/bin/stepscope [-n 100000] [--shape nested_ops …]

Prints a line for each shape and verb: seconds and memory with n and with 2 n events, and the ratio
of the times: about 2 is linear, 4 is quadratic. Times are CPU times of the process. --json also
writes the figures to a file.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import shapes

VERBS = {
    "analyze": lambda store, out: ["analyze", "--json", store],
    "export": lambda store, out: ["export", store, "-o", f"{out}/trace.json"],
    "report": lambda store, out: ["report", store, "-o", f"{out}/report.html"],
}


def measure(command, limit_s):
    """Returns CPU seconds, peak bytes and exit code; None instead of seconds beyond the limit."""

    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))

    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=bound
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    over = child.returncode < 0 and seconds >= limit_s - 1
    return None if over else seconds, usage.ru_maxrss * 1024, child.returncode


def store_of(shape, n, folder):
    path = Path(folder) / f"{shape.__name__}-{n}.db"
    path.unlink(missing_ok=True)
    store = shapes.Store(path)
    shape(store, n)
    store.close()
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="build/release/bin/stepscope")
    parser.add_argument("-n", type=int, default=100_000)
    parser.add_argument("--shape", nargs="*", help="only these")
    parser.add_argument("--verb", nargs="*", default=list(VERBS))
    parser.add_argument("--limit", type=int, default=60, help="CPU seconds for one command")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    figures = []
    for shape in shapes.ALL:
        if arguments.shape and shape.__name__ not in arguments.shape:
            continue
        with tempfile.TemporaryDirectory() as folder:
            sizes = (arguments.n, 2 * arguments.n)
            stores = [store_of(shape, n, folder) for n in sizes]
            for verb in arguments.verb:
                runs = []
                for store in stores:
                    runs.append(
                        measure([arguments.binary, *VERBS[verb](store, folder)], arguments.limit)
                    )
                    if runs[-1][0] is None:
                        break
                row = {
                    "shape": shape.__name__,
                    "verb": verb,
                    "n": arguments.n,
                    "seconds": [run[0] for run in runs],
                    "bytes": [run[1] for run in runs],
                    "exit_codes": [run[2] for run in runs],
                }
                figures.append(row)
                print(line(row), flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def line(row):
    times = ["  over " if s is None else f"{s:7.2f}" for s in row["seconds"]]
    known = [s for s in row["seconds"] if s]
    ratio = f"{known[1] / max(known[0], 0.01):5.1f}" if len(known) == 2 else "    –"
    memory = max(row["bytes"]) / 1e6
    codes = "" if set(row["exit_codes"]) <= {0} else f"  exit {row['exit_codes']}"
    return f"{row['shape']:20} {row['verb']:8} {' '.join(times)} s  ratio {ratio}  {memory:6.0f} MB{codes}"


if __name__ == "__main__":
    sys.exit(main())
