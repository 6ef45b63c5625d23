"""What the programs in this folder share: the switch that mends the slow line, and the mean time of a step."""

import argparse
import json
import time

WARM_UP = 10  # steps: workers start, memory is allocated


def arguments(description, **options):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mended", action="store_true", help="the slow line does half as much as otherwise"
    )
    for name, default in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


class Clock:
    """The mean time between two steps, after the first WARM_UP."""

    def __init__(self):
        self.ends = []

    def step(self):
        self.ends.append(time.perf_counter())

    def report(self):
        ends = self.ends[WARM_UP:]
        print(json.dumps({"step_ms": (ends[-1] - ends[0]) / (len(ends) - 1) * 1e3}))
