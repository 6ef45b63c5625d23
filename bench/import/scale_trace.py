#!/usr/bin/env python3
"""Makes a long PyTorch profiler trace from a short one by repeating it.

    scale_trace.py TRACE -o LONG.json --events 1000000

Each repetition follows the one before: times are shifted, and everything that identifies events
(correlations, external ids, flow ids, sequence numbers, step numbers) gets new values, so that the
long trace is as consistent as the short one. Memory does not grow with the number of events. If the
output name ends in .gz, it is compressed.
"""

import argparse
import gzip
import json
import re

STEP = re.compile(r"^ProfilerStep#(\d+)$")
# Arguments that number events. Those of a group share their numbers and are shifted together.
GROUPS = (("correlation",), ("External id", "external id"), ("Sequence number",), ("Ev Idx",))


def open_any(path, mode):
    return (
        gzip.open(path, mode + "t", compresslevel=1)
        if str(path).endswith(".gz")
        else open(path, mode)
    )


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def step_number(event):
    found = STEP.match(str(event.get("name", "")))
    return int(found.group(1)) if found else None


class Strides:
    """How far each repetition is shifted, so that it repeats no number of the one before."""

    def __init__(self, events):
        timed = [e for e in events if e.get("ph") == "X" and e.get("ts")]
        steps = [
            e for e in timed if step_number(e) is not None and e.get("cat") != "gpu_user_annotation"
        ]
        spans = steps or timed
        self.time = max(e["ts"] + e["dur"] for e in spans) - min(e["ts"] for e in spans)
        numbers = [step_number(e) for e in steps]
        self.step = max(numbers) - min(numbers) + 1 if numbers else 0
        self.flow = 1 + max((e["id"] for e in events if is_number(e.get("id"))), default=0)
        self.argument = {}
        for group in GROUPS:
            values = [
                e["args"][k] for e in events for k in group if is_number(e.get("args", {}).get(k))
            ]
            for key in group:
                self.argument[key] = 1 + max(values, default=0)

    def moved(self, event, times):
        """The event in repetition number `times`."""
        event = dict(event)
        event["ts"] = event["ts"] + times * self.time
        if is_number(event.get("id")):
            event["id"] += times * self.flow
        number = step_number(event)
        if number is not None:
            event["name"] = f"ProfilerStep#{number + times * self.step}"
        if "args" in event:
            event["args"] = {
                k: v + times * self.argument[k]
                if k in self.argument and is_number(v) and v > 0
                else v
                for k, v in event["args"].items()
            }
        return event


def belongs_to_repetition(event):
    return "ts" in event and event.get("ph") != "M" and event.get("cat") != "Trace"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--events", type=int, required=True, help="approximate number of events")
    arguments = parser.parse_args()

    with open_any(arguments.trace, "r") as file:
        document = json.load(file)
    events = document.pop("traceEvents")
    repeated = [e for e in events if belongs_to_repetition(e)]
    once = [e for e in events if not belongs_to_repetition(e)]
    strides = Strides(repeated)
    with open_any(arguments.output, "w") as file:
        file.write(json.dumps(document)[:-1] + (", " if document else "") + '"traceEvents": [\n')
        file.write(",\n".join(json.dumps(e) for e in once))
        for times in range(max(1, round(arguments.events / len(repeated)))):
            for event in repeated:
                file.write(",\n" + json.dumps(strides.moved(event, times)))
        file.write("\n]}\n")


if __name__ == "__main__":
    main()
