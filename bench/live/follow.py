#!/usr/bin/env python3
"""Measures how much following a recording slows the training: `stepscope top`, `stepscope view
--live`, and no follower.

usage: bench/live/follow.py [--build build/release] [--rounds 7] [--epochs 4] [-o FILE.json]

Each round records the MNIST sample with all its ops, once alone and once with each follower, in an
order that rotates from round to round. A ratio compares step times (from the store) of the same
round; the median over rounds counts. `fast` is the step time at the 10th percentile, because other
load on the machine only ever adds time. A frame lasts a second. `--priority` runs the training and
its recorder at a real-time priority (chrt -f, needs permission): the figures are less noisy on a
shared machine, but then no follower can slow it either.
"""

import argparse
import json
import os
import pathlib
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLLOWERS = ("nobody", "top", "view")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--priority", action="store_true")
    parser.add_argument(
        "--followers", type=pathlib.Path, help="another build's stepscope for the followers"
    )
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


class Follower:
    """Follows `store` once it exists; ends with the training."""

    def __init__(self, name, stepscope, store):
        self.process = None
        self.frames = 0
        self.wanted = name != "nobody"
        self.command = {
            "top": [stepscope, "top", store, "--json"],
            "view": [stepscope, "view", store, "--live", "--no-browser"],
        }.get(name)
        self.is_view = name == "view"
        self.thread = threading.Thread(target=self.follow)
        if self.wanted:
            time.sleep(1)  # until something is in the store
            self.process = subprocess.Popen(
                list(map(str, self.command)),
                stdout=subprocess.PIPE,
                text=True,
                stderr=subprocess.DEVNULL,
            )
            self.thread.start()

    def follow(self):
        if not self.is_view:
            self.frames = sum(1 for _ in self.process.stdout)
            return
        address = self.process.stdout.readline().strip()
        while self.wanted:
            try:
                urllib.request.urlopen(address + "live.json").read()
                self.frames += 1
            except OSError:
                return
            time.sleep(1)

    def end(self):
        """Ends the follower; returns the CPU seconds that it took."""
        if self.process is None:
            return 0.0
        self.wanted = False
        self.process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        self.thread.join()
        return usage.ru_utime + usage.ru_stime


def step_times(stepscope, store):
    subprocess.run([stepscope, "analyze", store], stdout=subprocess.DEVNULL, check=True)
    with sqlite3.connect(store) as database:
        times = sorted(row[0] for row in database.execute("select dur_ns from step where steady"))
        lost = database.execute("select coalesce(sum(count), 0) from loss").fetchone()[0]
    return {
        "steps": len(times),
        "median_ns": statistics.median(times),
        "fast_ns": times[len(times) // 10],
        "mean_ns": statistics.fmean(times),
        "lost": lost,
    }


def train(arguments, name, folder):
    stepscope, store = arguments.build / "bin/stepscope", folder / f"{name}.db"
    priority = ["chrt", "-f", "50"] if arguments.priority else []
    program = [arguments.build / "samples/mnist", "--no-record", "--epochs", arguments.epochs]
    command = [*priority, stepscope, "run", "--quiet", "-o", store, "--", *program]
    begun = time.monotonic()
    training = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    follower = Follower(name, arguments.followers or stepscope, store)
    if training.wait() != 0:
        sys.exit(f"{' '.join(map(str, command))}: failed")
    took = time.monotonic() - begun
    cpu = follower.end()
    return {
        **step_times(stepscope, store),
        "follower_cpu_share": cpu / took,
        "frames": follower.frames,
        "took_s": took,
    }


def main():
    arguments = parse_arguments()
    rounds = []
    load = os.getloadavg()[0]
    for number in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            turned = FOLLOWERS[number % 3 :] + FOLLOWERS[: number % 3]
            rounds.append({name: train(arguments, name, pathlib.Path(folder)) for name in turned})
    result = {"load_average_before": load, "rounds": rounds, "followers": {}}
    print(
        f"{'':10}{'median step':>14}{'fast step':>12}{'CPU':>9}{'frames':>9}{'lost':>9}   (load average before: {load:.1f})"
    )
    for name in FOLLOWERS:
        ratio = {
            key: statistics.median(one[name][key] / one["nobody"][key] for one in rounds) - 1
            for key in ("median_ns", "fast_ns")
        }
        row = {
            **ratio,
            **{
                key: statistics.median(one[name][key] for one in rounds)
                for key in ("follower_cpu_share", "frames", "lost")
            },
        }
        result["followers"][name] = row
        print(
            f"{name:10}{row['median_ns']:>+13.1%} {row['fast_ns']:>+11.1%} {row['follower_cpu_share']:>8.1%}"
            f"{row['frames']:>9.0f}{row['lost']:>9.0f}"
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
