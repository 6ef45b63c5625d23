#!/usr/bin/env python3
"""Measures how many ops a recording loses on a machine whose cores are all busy.

usage: bench/loss/run.py [--builds build/release ...] [--rounds 10] [--seconds 4] [-o FILE.json]

Build with -DSTEPSCOPE_BENCH=ON and the op hooks. Each round records the emitter (emitter.cc) once
in each setting with each build, in an order that rotates from round to round. A setting is a number
of threads that each keep a core busy and emit ops, the ops per second that they emit together while
they run, and the number of other busy processes. A thread emits nothing while it has no core, so
the rate reached is given too. The store has the number of lost ops.
"""

import argparse
import json
import os
import pathlib
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from busy_cores import busy_processes  # noqa: E402

# Emitting threads, ops per second, other busy processes.
SETTINGS = (
    (1, 1_000_000, 0),
    (1, 1_000_000, 1),
    (2, 1_000_000, 0),
    (2, 1_000_000, 2),
    (2, 2_000_000, 0),
)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--builds", type=pathlib.Path, nargs="+", default=[ROOT / "build/release"])
    parser.add_argument("--names", nargs="+", help="names of the builds in the result")
    parser.add_argument(
        "--emitter", type=pathlib.Path, default=ROOT / "build/release/bench/loss/loss_emitter"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def record(arguments, build, setting, folder):
    threads, rate, busy = setting
    store = folder / "run.db"
    recorder = [build / "bin/stepscope", "run", "--quiet", "--no-analysis", "-o", store, "--"]
    emitter = [arguments.emitter, "--seconds", arguments.seconds, "--rate", rate]
    command = [str(word) for word in [*recorder, *emitter, "--threads", threads]]
    with busy_processes(busy):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    emitted = int(done.stdout)
    with sqlite3.connect(store) as database:
        stored = database.execute("select count(*) from op").fetchone()[0]
        lost = database.execute("select coalesce(sum(count), 0) from loss").fetchone()[0]
    if stored + lost != emitted:
        sys.exit(f"{emitted} ops emitted, {stored} stored, {lost} lost: {done.stderr}")
    return {"emitted": emitted, "lost": lost}


def name_of(setting):
    threads, rate, busy = setting
    return f"{threads} threads, {rate / 1e6:g} M ops/s, {busy} others"


def main():
    arguments = parse_arguments()
    names = arguments.names or [str(build) for build in arguments.builds]
    builds = list(zip(names, arguments.builds, strict=True))
    runs = {name_of(setting): {name: [] for name in names} for setting in SETTINGS}
    load = os.getloadavg()[0]
    for number in range(arguments.rounds):
        turned = builds[number % len(builds) :] + builds[: number % len(builds)]
        for setting in SETTINGS:
            for name, build in turned:
                with tempfile.TemporaryDirectory() as folder:
                    runs[name_of(setting)][name].append(
                        record(arguments, build.resolve(), setting, pathlib.Path(folder))
                    )
    result = {
        "benchmark": "loss",
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_average_before": load,
        "load_average_after": os.getloadavg()[0],
        "seconds": arguments.seconds,
        "settings": runs,
    }
    print(f"{'':36}{'':12}{'reached':>12}{'lost':>10}{'most':>10}{'runs with loss':>16}")
    for setting, by_build in runs.items():
        for name, taken in by_build.items():
            reached = statistics.median(run["emitted"] for run in taken) / arguments.seconds
            lost = [run["lost"] for run in taken]
            share = sum(lost) / sum(run["emitted"] for run in taken)
            print(
                f"{setting:36}{name:12}{reached / 1e6:>10.2f} M{share:>10.3%}{max(lost):>10}"
                f"{sum(one > 0 for one in lost):>10} of {len(lost)}"
            )
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
