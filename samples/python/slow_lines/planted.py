"""Shared by the programs in this folder: the switch that speeds up the slow line, and the mean step
time, in wall time and in the CPU time of the process, which other programs disturb less."""

import argparse
import json
import time

WARM_UP = 10  # steps: workers start, memory is allocated


def arguments(description, **options):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fixed", action="store_true", help="the slow line does half of its usual work"
    )
    for name, default in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


class StepTimer:
    """The mean time between two steps, after the first WARM_UP."""

    def __init__(self):
        self.ends, self.cpu = [], []

    def step(self):
        self.ends.append(time.perf_counter())
        self.cpu.append(time.process_time())

    def report(self):
        if len(self.ends) < WARM_UP + 2:
            raise SystemExit(f"too few steps: {len(self.ends)}, at least {WARM_UP + 2} are needed")

        def mean_ms(times):
            counted = times[WARM_UP:]
            return (counted[-1] - counted[0]) / (len(counted) - 1) * 1e3

        print(json.dumps({"step_ms": mean_ms(self.ends), "cpu_ms": mean_ms(self.cpu)}))
