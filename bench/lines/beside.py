#!/usr/bin/env python3
"""Compares Stepscope and py-spy: how exact the lines are, and how much sampling slows the program.

usage: bench/lines/beside.py [--rounds 3] [--py-spy PATH] [-o FILE.json]

Truth: tests/python/programs/lines.py times each kind of its lines itself. All sample 250 times a
second; py-spy also samples waiting threads (--idle), because the truth is in wall-clock time. The
slowdown is the program's own total time divided by that without a sampler, as medians of
interleaved rounds. The last column is the time of `import torch`, in seconds; one that takes more
than a minute counts as hung. py-spy: pip install py-spy.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import run as lines

LONGEST_IMPORT = 60  # seconds
RATE = 250


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--binary", type=pathlib.Path, default=lines.ROOT / "build/release/bin/stepscope"
    )
    parser.add_argument("--py-spy", default=shutil.which("py-spy"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def wrappers(arguments):
    """The words before the command, by name."""
    spy = [arguments.py_spy, "record", "-r", str(RATE), "-f", "raw", "-o", "stacks", "--idle"]
    recorder = [str(arguments.binary), "run", "--quiet", "--no-analysis", "-o", "run.db"]
    return {
        "nothing": [],
        "stepscope": [*recorder, "--lines-rate", str(RATE), "--"],
        "stepscope, no lines": [*recorder, "--no-lines", "--"],
        "py-spy --nonblocking": [*spy, "--nonblocking", "--"],
        "py-spy": [*spy, "--"],
    }


def environment():
    return {**os.environ, "PYTHONPATH": str(lines.ROOT / "profiler/python")}


def shares_of_py_spy(folder):
    """{function: its share of the main thread's samples}, by the innermost frame of the program
    itself."""
    counts = collections.Counter()
    for row in (folder / "stacks").read_text().splitlines():
        stack, _, count = row.rpartition(" ")
        if "main (" not in stack:
            continue
        own = [frame for frame in stack.split(";") if "lines.py:" in frame]
        counts[own[-1].partition(" (")[0]] += int(count)
    total = sum(counts.values())
    return {function: count / total for function, count in counts.items()}


def shares_of_stepscope(arguments, folder):
    told = subprocess.run(
        [arguments.binary, "analyze", "--json", folder / "run.db"], capture_output=True, check=True
    )
    shares = collections.Counter()
    for line in json.loads(told.stdout)["lines"]:
        if line["category"] == "input":
            shares[line["function"]] += line["share"]
    return shares


def errors_of(shares, times):
    """The share of each kind minus its true share."""
    errors = []
    for kind, ns in times.items():
        pattern = re.compile(rf"(^|\.){lines.FUNCTIONS.get(kind, kind)}(\.|$)")
        share = sum(share for function, share in shares.items() if pattern.search(function))
        errors.append(share - ns / sum(times.values()))
    return errors


def run_program(arguments, name, wrapper):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        words = [*wrapper, sys.executable, lines.PROGRAM, "--own", "own.json"]
        subprocess.run(
            [*map(str, words), "--batches", str(arguments.batches)],
            cwd=folder,
            env=environment(),
            check=True,
            capture_output=True,
        )
        times = json.loads((folder / "own.json").read_text())["times"]
        errors = []
        if name == "stepscope":
            errors = errors_of(shares_of_stepscope(arguments, folder), times)
        elif name.startswith("py-spy"):
            errors = errors_of(shares_of_py_spy(folder), times)
        return sum(times.values()), errors


def import_torch(wrapper):
    """Returns seconds; None if it did not end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*wrapper, sys.executable, "-c", "import torch"],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(LONGEST_IMPORT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return None
        return time.perf_counter() - began


def main():
    arguments = parse_arguments()
    if arguments.py_spy is None:
        sys.exit("py-spy is missing: pip install py-spy, or use --py-spy PATH")
    named = wrappers(arguments)
    totals, errors, imports = ({name: [] for name in named} for _ in range(3))
    for _ in range(arguments.rounds):
        for name, wrapper in named.items():
            total, wrong = run_program(arguments, name, wrapper)
            totals[name].append(total)
            errors[name] += [100 * abs(error) for error in wrong]
            imports[name].append(import_torch(wrapper))
    bare = statistics.median(totals["nothing"])
    rows = []
    for name in named:
        ended = [seconds for seconds in imports[name] if seconds is not None]
        rows.append(
            {
                "beside": name,
                "slowdown": statistics.median(totals[name]) / bare - 1,
                "mean_error_points": statistics.mean(errors[name]) if errors[name] else None,
                "worst_error_points": max(errors[name], default=None),
                "import_torch_s": statistics.median(ended) if ended else None,
                "imports_that_hung": len(imports[name]) - len(ended),
                "rounds": arguments.rounds,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    version = subprocess.run([arguments.py_spy, "--version"], capture_output=True, text=True)
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "py_spy": version.stdout.strip(),
        "rows": rows,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
