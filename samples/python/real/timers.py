"""The programs' own timers: each program measures itself, so that a profile of it can be checked.

    --timers FILE   {"pid", "batches_per_step", "waits": [[begin, end], …], "untrained": […], "exhausted": […],
                    "updates": […], "phases": {"forward": […], "backward": […], "zero_grad": […]},
                     "segments": {"evaluation": […], "checkpoint": […]}}

Times are time.perf_counter_ns(). `untrained` are waits for batches of an evaluation; `exhausted`
are waits of the training that found the loader exhausted.
"""

import argparse
import functools
import json
import os
import time


def arguments(description, **options):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--timers", help="where to write the program's own timers, as JSON")
    for name, default in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


class Timers:
    def __init__(self, path):
        self._path = path
        self._seen = {"waits": [], "untrained": [], "exhausted": [], "updates": [], "phases": {}}
        self._seen["segments"] = {}

    def time(self, into, call):
        begin = time.perf_counter_ns()
        result = call()
        into.append([begin, time.perf_counter_ns()])
        return result

    def wait(self, fetch, trains=True):
        begin = time.perf_counter_ns()
        into = self._seen["waits" if trains else "untrained"]
        try:
            return fetch()
        except StopIteration:
            into = self._seen["exhausted" if trains else "untrained"]
            raise
        finally:
            into.append([begin, time.perf_counter_ns()])

    def update(self, step):
        return self.time(self._seen["updates"], step)

    def phase(self, name, call):
        return self.time(self._seen["phases"].setdefault(name, []), call)

    def segment(self, name, call):
        """Times something other than training: evaluation, checkpoint."""
        return self.time(self._seen["segments"].setdefault(name, []), call)

    def segments(self, name, call):
        """Wraps a function so that each call is a segment."""
        return functools.wraps(call)(
            lambda *arguments, **named: self.segment(name, lambda: call(*arguments, **named))
        )

    def end_segment(self, name, begin):
        """Ends a segment that began at this time and is not a call."""
        self._seen["segments"].setdefault(name, []).append([begin, time.perf_counter_ns()])

    def watch(self, optimizer, trains=lambda: True):
        """For loops of a framework: times its waits, its backward passes, and its use of the
        optimizer. `trains`: whether it is training at the moment."""
        import torch
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        def timed(call, timer):
            return functools.wraps(call)(
                lambda *arguments, **named: timer(lambda: call(*arguments, **named))
            )

        optimizer.step = timed(optimizer.step, self.update)
        optimizer.zero_grad = timed(optimizer.zero_grad, functools.partial(self.phase, "zero_grad"))
        torch.autograd.backward = timed(
            torch.autograd.backward, functools.partial(self.phase, "backward")
        )
        fetch = _BaseDataLoaderIter.__next__
        _BaseDataLoaderIter.__next__ = lambda iterator: self.wait(lambda: fetch(iterator), trains())

    def save(self, batches_per_step):
        if self._path:
            self._seen |= {"pid": os.getpid(), "batches_per_step": batches_per_step}
            with open(self._path, "w") as file:
                json.dump(self._seen, file)
