#!/usr/bin/env python3
"""Measures what the recorder's process costs a running loop.

usage: bench/overhead/recorder.py [--build build/release] [--seconds 60] [-- OPTION...]

Records the loop of small ops in loop.py with `stepscope run OPTION...`, and stops the recorder every
other 0.7 s (SIGSTOP). The cost is the mean step while it runs, minus the mean step of the two periods
around it, in which it is stopped. One process gives both figures, so its layout in memory, which makes
two runs of a program differ by some percent, is the same. The recorder reads what was recorded while
it was stopped as well, so the cost of reading events counts twice. Meaningful only on an idle machine.
"""

import argparse
import bisect
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402

PERIOD = 0.7  # seconds
SETTLED_NS = 30_000_000  # left out at the start of each period
LEAST_STEPS = 50  # of a period that counts

PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import loop
network, batch = loop.mlp()
loop.torch.set_num_threads(1)
starts, took = [], []
end = time.monotonic() + float(sys.argv[2])
def after_step():
    starts.append(time.monotonic_ns())
while time.monotonic() < end:
    took += loop.train(network, batch, 100, loop.contextlib.nullcontext, after_step)
json.dump([starts, took], open(sys.argv[3], "w"))
"""


def record(arguments, folder):
    """Returns the end of each step, its duration, and [(begin, end, whether the recorder ran)], in ns."""
    report = folder / "steps.json"
    recorder = subprocess.Popen(
        [arguments.build / "bin/stepscope", "run", "-o", folder / "run.db", "--quiet"]
        + [*arguments.options, "--", sys.executable, "-c", PROGRAM, HERE]
        + [str(arguments.seconds), report],
        env=os.environ | STEADY_MALLOC,
    )
    periods = []
    running = True
    while recorder.poll() is None:
        begin = time.monotonic_ns()
        time.sleep(PERIOD)
        periods.append((begin + SETTLED_NS, time.monotonic_ns(), running))
        running = not running
        # Once the program has ended, a stopped recorder would not.
        recorder.send_signal(signal.SIGCONT if running or report.exists() else signal.SIGSTOP)
    if recorder.returncode != 0:
        sys.exit(f"the recording failed: exit code {recorder.returncode}")
    ends, took = json.loads(report.read_text())
    return ends, took, periods


def costs_of(ends, took, periods):
    """The mean step of each period in which the recorder was stopped, and what each other period costs, in µs."""
    means = []
    for begin, end, running in periods:
        steps = took[bisect.bisect_left(ends, begin) : bisect.bisect_left(ends, end)]
        mean = statistics.mean(steps) / 1e3 if len(steps) >= LEAST_STEPS else None
        means.append((mean, running))
    stopped = [mean for mean, running in means if mean is not None and not running]
    costs = [
        mean - (before + after) / 2
        for (before, _), (mean, running), (after, _) in zip(means, means[1:], means[2:])
        if running and None not in (before, mean, after)
    ]
    return stopped, costs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("options", nargs="*", help="of stepscope run, after --")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepscope-recorder-") as folder:
        stopped, costs = costs_of(*record(arguments, pathlib.Path(folder)))
    if len(costs) < 3:
        sys.exit("too few periods: use more --seconds")
    error = statistics.stdev(costs) / len(costs) ** 0.5
    step = statistics.median(stopped)
    print(
        f"step {step:.0f} µs; the recorder costs {statistics.mean(costs):+.1f} ± {error:.1f} µs"
        f" ({statistics.mean(costs) / step:+.1%}), {len(costs)} periods"
    )


if __name__ == "__main__":
    main()
