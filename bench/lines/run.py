#!/usr/bin/env python3
"""Measures how exact the lines of code are, and how much sampling them costs.

usage: bench/lines/run.py [--python PATH ...] [--rounds 5] [-o FILE.json]

Truth: tests/python/programs/lines.py times each kind of its lines itself. The differences of shares
are in points, over all kinds and rounds. Cost: bench/lines/work.py, a loop of fixed work in one
thread, is recorded with and without lines in turn. The result is the ratio of the medians of its
own times, on free cores and with one busy process per core. The A/A row compares recordings without
lines with each other; it shows the noise.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from busy_cores import busy_processes  # noqa: E402

PROGRAM = ROOT / "tests/python/programs/lines.py"
WORK = ROOT / "bench/lines/work.py"
# The functions of kinds that have another name.
FUNCTIONS = {
    "generator": "(generator|numbers)",
    "read": "wait_for_byte",
    "comprehension": "(comprehension|<listcomp>)",
}


def program(text):
    """An absolute path, because programs run in a folder of their own."""
    found = shutil.which(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text}: no such program")
    return os.path.abspath(found)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/stepscope")
    parser.add_argument("--python", nargs="+", type=program, default=[sys.executable])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def record(arguments, folder, command, options=()):
    store = folder / "run.db"
    run = [arguments.binary, "run", "--quiet", "-o", store, *options, "--", *command]
    done = subprocess.run(list(map(str, run)), capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return store, done.stdout


def meta(store):
    with sqlite3.connect(store) as database:
        return dict(database.execute("SELECT key, value FROM meta WHERE key LIKE 'lines%'"))


def truth_of(arguments, python, folder):
    """One run: {kind: its share minus the true share}, and the facts of the sampling."""
    own = folder / "own.json"
    command = [python, PROGRAM, "--own", own, "--batches", arguments.batches]
    store, _ = record(arguments, folder, command)
    told = subprocess.run(
        [arguments.binary, "analyze", "--json", store], capture_output=True, check=True
    )
    report = json.loads(told.stdout)
    times = json.loads(own.read_text())["times"]
    errors = {}
    for kind, ns in times.items():
        pattern = re.compile(rf"(^|\.){FUNCTIONS.get(kind, kind)}(\.|$)")
        share = sum(
            line["share"]
            for line in report["lines"]
            if line["category"] == "input" and pattern.search(line["function"])
        )
        errors[kind] = share - ns / sum(times.values())
    facts = meta(store)
    samples = report["line_use"]["loop_samples"]
    return {
        "errors": errors,
        "samples": samples,
        "torn_share": int(facts["lines_torn"]) / max(samples, 1),
        "late_p99_us": int(facts["lines_late_p99_ns"]) / 1000,
        "top_is_right": report["lines"][0]["function"] == max(times, key=times.get),
    }


def measure_truth(arguments):
    rows = []
    for python in arguments.python:
        version = subprocess.run([python, "--version"], capture_output=True, text=True).stdout
        runs = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(truth_of(arguments, python, pathlib.Path(folder)))
        errors = [abs(error) for run in runs for error in run["errors"].values()]
        row = {
            "python": version.split()[-1],
            "mean_error_points": 100 * statistics.mean(errors),
            "worst_error_points": 100 * max(errors),
            "samples": statistics.mean(run["samples"] for run in runs),
            "torn_share": statistics.mean(run["torn_share"] for run in runs),
            "late_p99_us": max(run["late_p99_us"] for run in runs),
            "top_right": sum(run["top_is_right"] for run in runs),
            "rounds": len(runs),
        }
        rows.append(row)
        print(
            f"{row['python']:8} error mean {row['mean_error_points']:.2f} worst {row['worst_error_points']:.2f} points, "
            f"{row['samples']:.0f} samples, torn {100 * row['torn_share']:.2f} %, p99 {row['late_p99_us']:.0f} us late, "
            f"top line right {row['top_right']} of {row['rounds']}"
        )
    return rows


def measure_cost(arguments, busy):
    """Ratios of the program's own times: with lines, and without (A/A)."""
    settings = {"with": [], "without": ["--no-lines"], "again": ["--no-lines"]}
    times = {name: [] for name in settings}
    cores = []
    with busy_processes(busy):
        for turn in range(arguments.rounds):
            names = list(settings)
            for name in names[turn % 3 :] + names[: turn % 3]:
                with tempfile.TemporaryDirectory() as folder:
                    command = [arguments.python[0], WORK, arguments.steps]
                    options = ["--no-analysis", *settings[name]]
                    store, output = record(arguments, pathlib.Path(folder), command, options)
                    times[name].append(float(output))
                    if name == "with":
                        cores.append(int(meta(store)["lines_cpu_ns"]) / 1e9 / float(output))
    median = {name: statistics.median(values) for name, values in times.items()}
    row = {
        "busy_processes": busy,
        "slowdown": median["with"] / median["without"] - 1,
        "noise": median["again"] / median["without"] - 1,
        "recorder_share_of_core": statistics.median(cores),
        "seconds": median["without"],
    }
    print(
        f"{busy} busy processes: with lines {100 * row['slowdown']:+.2f} %, A/A {100 * row['noise']:+.2f} %, "
        f"sampling took {100 * row['recorder_share_of_core']:.2f} % of a core"
    )
    return row


def main():
    arguments = parse_arguments()
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "truth": measure_truth(arguments),
        "cost": [measure_cost(arguments, busy) for busy in (0, os.cpu_count())],
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
