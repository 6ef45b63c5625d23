"""A program's own stopwatch: when it waited for a batch and when its optimizer stepped.

What Stepscope says of a program is compared with what the program itself saw, so this knows nothing of
Stepscope. Times are time.perf_counter_ns().
"""

import argparse
import contextlib
import functools
import json
import os
import time


def arguments(description, **options):
    """The program's arguments: --own FILE, and one option for each keyword, with its default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--own", help="where to write what the program saw, as JSON")
    for name, default in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


class Stopwatch:
    """Writes {"pid", "rank", "waits": [[begin, end], …], "updates": […], "exhausted": […], "untrained": […], "phases":
    {name: […]}, "segments": {name: […]}} to a file."""

    def __init__(self, path):
        self._path = path
        self._seen = {
            "waits": [],
            "updates": [],
            "exhausted": [],
            "untrained": [],
            "phases": {},
            "segments": {},
        }

    def fetch(self, get, trains=True):
        """What get() returns, timed. A StopIteration goes on to the caller: nothing came. `trains`: whether the batch
        is trained on."""
        begin = time.perf_counter_ns()
        try:
            result = get()
        except StopIteration:
            ended = self._seen["exhausted" if trains else "untrained"]
            ended.append([begin, time.perf_counter_ns()])
            raise
        self._seen["waits" if trains else "untrained"].append([begin, time.perf_counter_ns()])
        return result

    def batches(self, iterable, trains=True):
        """The same elements; each wait for one is timed."""
        iterator = iter(iterable)
        while True:
            try:
                batch = self.fetch(iterator.__next__, trains)
            except StopIteration:
                return
            yield batch

    def update(self, step, *with_arguments, **named):
        """What step() returns, timed as an update of the parameters."""
        begin = time.perf_counter_ns()
        result = step(*with_arguments, **named)
        self._seen["updates"].append([begin, time.perf_counter_ns()])
        return result

    def phase(self, name, call):
        """What call() returns, timed as a phase: forward, zero_grad, backward."""
        begin = time.perf_counter_ns()
        result = call()
        self._seen["phases"].setdefault(name, []).append([begin, time.perf_counter_ns()])
        return result

    @contextlib.contextmanager
    def segment(self, name):
        """What runs inside, timed as something that is no training: evaluation, checkpoint."""
        begin = time.perf_counter_ns()
        try:
            yield
        finally:
            segments = self._seen["segments"].setdefault(name, [])
            segments.append([begin, time.perf_counter_ns()])

    def watch_phases(self, *optimizers, network=None):
        """Times zero_grad() of the optimizers, the forward pass of a network and every backward pass: for loops that
        are not the program's."""
        import torch

        def timed(name, call):
            return functools.wraps(call)(
                lambda *arguments, **named: self.phase(name, lambda: call(*arguments, **named))
            )

        for optimizer in optimizers:
            optimizer.zero_grad = timed("zero_grad", optimizer.zero_grad)
        if network is not None:
            network.forward = timed("forward", network.forward)
        torch.autograd.backward = timed("backward", torch.autograd.backward)

    def watch_loaders(self):
        """Times the waits of every DataLoader of the process: for loops that are not the program's."""
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        fetch = _BaseDataLoaderIter.__next__
        _BaseDataLoaderIter.__next__ = lambda iterator: self.fetch(lambda: fetch(iterator))

    def watch(self, optimizer):
        """Times the updates of an optimizer whose step() others call."""
        step = optimizer.step
        optimizer.step = lambda *with_arguments, **named: self.update(
            step, *with_arguments, **named
        )

    def save(self, **more):
        """`more`: what else is to be known, such as the tid of the loop's thread."""
        if self._path:
            self._seen |= {"pid": os.getpid(), "rank": int(os.environ.get("RANK", -1))} | more
            with open(self._path, "w") as file:
                json.dump(self._seen, file)
