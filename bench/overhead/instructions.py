#!/usr/bin/env python3
"""Measures the instructions that profilers add to a training loop. valgrind counts the same on any
machine, however busy.

usage: bench/overhead/instructions.py [--build build/release] [--languages cpp,python] [-o FILE.json]

The time of a 0.7 ms step varies from minute to minute by more than a light profiler costs; the
number of instructions does not. But it is not a time: it includes no system calls, no effects of
caches, and no work of other processes (the recorder of `stepscope run`). bench/overhead/run.py
measures times. The instructions of a step are those of a long run of the loop minus those of a
short one, divided by the difference in steps. Build with -DSTEPSCOPE_BENCH=ON; run with a Python
that has torch.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
FEW, MANY = 20, 120
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file={folder}/callgrind.out"]


def profilers(build):
    """Words before the program and options after it, by name."""

    def wrapped(ops):
        words = [
            build / "bin/stepscope",
            "run",
            "-o",
            "{folder}/run.db",
            "--quiet",
            "--no-analysis",
            "--no-lines",  # stacks are taken by the clock, more per step the slower the machine is
            "--ops",
            ops,
            "--",
        ]
        return [str(word) for word in words]

    yield "none", [], []
    yield "stepscope phases", wrapped("never"), []
    yield "stepscope ops", wrapped("all"), []
    yield "torch.profiler", [], ["--profiler", "torch", "--output", "{folder}/trace"]


def program(language, build):
    """The loop under callgrind. Of the C++ program only the loop is counted. Of a Python program
    everything is: what comes before the loop is the same in a short run and in a long one."""
    if language == "cpp":
        return [
            *CALLGRIND,
            "--toggle-collect=*::train(*",
            str(build / "bench/overhead/overhead_loop"),
        ]
    return [*CALLGRIND, sys.executable, str(HERE / "loop.py")]


def instructions(command, before, after, steps):
    with tempfile.TemporaryDirectory() as folder:
        options = ["--model", "mlp", "--steps", str(steps), "--report", f"{folder}/report.json"]
        words = [word.replace("{folder}", folder) for word in [*before, *command, *options, *after]]
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None or counted[1] == "0":
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return int(counted[1])


def measure(language, build):
    rows = []
    for name, before, after in profilers(build):
        # The trace of torch.profiler is written after the loop, and grows with it.
        if language == "python" and name == "torch.profiler":
            continue
        command = program(language, build)
        few, many = (instructions(command, before, after, steps) for steps in (FEW, MANY))
        step = (many - few) / (MANY - FEW)
        rows.append(
            {
                "profiler": name,
                "instructions_a_step": round(step),
                "added": step / rows[0]["instructions_a_step"] - 1 if rows else 0.0,
            }
        )
        print(f"{language:6} {name:20} {step:12,.0f} a step  {rows[-1]['added']:+.1%}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--languages", default="cpp,python")
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    arguments = parser.parse_args()
    result = {
        "benchmark": "overhead in instructions",
        "machine": {"cpu": platform.processor() or platform.machine()},
        "loops": [
            {
                "language": language,
                "model": "mlp",
                "profilers": measure(language, arguments.build.resolve()),
            }
            for language in arguments.languages.split(",")
        ],
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
