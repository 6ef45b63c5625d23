#!/usr/bin/env python3
"""Measures what a recording costs a Python loop of small ops, within one process.

usage: bench/overhead/within.py [--build build/release] [--seconds 60] [--json FILE]

Two runs of one program differ by some percent, because their memory lies elsewhere. So here one process
runs the loop of loop.py, and records every other period of 0.7 s (stepscope.record()). The cost is the
mean step of a recorded period, minus the mean step of the two periods around it. Three kinds of period
are measured in turns: not recorded (the error of the method), phases only, and ops within the budget.
Each period leaves out its first steps, in which the recording starts, and the slowest tenth of its steps.
Meaningful only on an idle machine.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402

PERIOD = 0.7  # seconds
KINDS = ("nothing", "phases", "ops within the budget")
INSIDE = "STEPSCOPE_BENCH_INSIDE"  # set in the process that runs the loop


def run_loop(seconds, folder):
    """Returns [(kind, or None between two kinds; the mean step in µs)] of the periods, in their order."""
    import contextlib
    import time

    import stepscope

    import loop

    loop.torch.set_num_threads(1)
    loop.torch.manual_seed(0)
    network, batch = loop.mlp()

    def period(kind):
        end = time.monotonic() + PERIOD
        recording = contextlib.nullcontext()
        if kind not in (None, "nothing"):
            recording = stepscope.record(folder / "run.db", ops=kind != "phases")
        took = []
        with recording:
            while time.monotonic() < end:
                took += loop.train(network, batch, 50, contextlib.nullcontext, lambda: None)
        took = sorted(took[min(50, len(took) // 5) :])
        return kind, statistics.mean(took[: len(took) * 9 // 10]) / 1e3

    period(None)
    periods = [period(None)]
    random.seed(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind in random.sample(KINDS, len(KINDS)):
            periods += [period(kind), period(None)]
    return periods


def costs(periods):
    """By kind: what each of its periods costs, in µs a step."""
    found = {kind: [] for kind in KINDS}
    for (_, before), (kind, mean), (_, after) in zip(
        periods[0::2], periods[1::2], periods[2::2], strict=False
    ):
        found[kind].append(mean - (before + after) / 2)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    if os.environ.get(INSIDE):
        with tempfile.TemporaryDirectory(prefix="stepscope-within-") as folder:
            json.dump(run_loop(arguments.seconds, pathlib.Path(folder)), sys.stdout)
        return

    library = (arguments.build / "lib/libstepscope.so").resolve()
    package = (arguments.build / "lib/stepscope/python").resolve()
    environment = os.environ | STEADY_MALLOC
    environment |= {INSIDE: "1", "LD_PRELOAD": str(library), "PYTHONPATH": str(package)}
    command = [sys.executable, __file__, "--seconds", str(arguments.seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "no op hooks" in done.stderr:
        sys.exit(done.stderr.splitlines()[-1] if done.stderr else "the loop failed")
    periods = json.loads(done.stdout)
    step = statistics.median(mean for kind, mean in periods if kind is None)
    print(f"step {step:.0f} µs")
    result = {"step_us": round(step, 1), "costs": {}}
    for kind, values in costs(periods).items():
        if len(values) < 3:
            sys.exit("too few periods: use more --seconds")
        mean, error = statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5
        print(
            f"{kind:22} {mean:+6.1f} ± {error:.1f} µs ({mean / step:+.1%}), {len(values)} periods"
        )
        result["costs"][kind] = {"us": round(mean, 2), "error_us": round(error, 2)}
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
