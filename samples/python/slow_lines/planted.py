"""Shared by the programs in this folder: the switch that speeds up the slow line, and the mean time
of a step, also in CPU time of the process, which other programs lengthen less."""

import argparse
import json
import time

WARM_UP = 10  # steps: workers start, memory is allocated


def arguments(description, **options):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mended", action="store_true", help="the slow line does half of its usual work"
    )
    for name, default in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


class Clock:
    """The mean time between two steps, after the first WARM_UP."""

    def __init__(self):
        self.ends, self.cpu = [], []

    def step(self):
        self.ends.append(time.perf_counter())
        self.cpu.append(time.process_time())

    def report(self):
        def mean_ms(times):
            counted = times[WARM_UP:]
            return (counted[-1] - counted[0]) / (len(counted) - 1) * 1e3

        print(json.dumps({"step_ms": mean_ms(self.ends), "cpu_ms": mean_ms(self.cpu)}))
