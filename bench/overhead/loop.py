#!/usr/bin/env python3
"""The loops that bench/overhead/run.py measures, in Python. loop.cc is the same in C++.

usage: loop.py --model mlp|cnn --steps N --report FILE [--profiler torch|torch_schedule|traceml --output FILE]

Writes JSON: ns of each step, when the loop ended (CLOCK_MONOTONIC ns), and the peak RSS in bytes.
"""

import argparse
import contextlib
import json
import resource
import time

import torch
from torch import nn


# One thread: idle cores must not hide the cost of a profiler.
def mlp():
    """Many small ops: about 1,000 per step, including autograd nodes."""
    layers = [layer for _ in range(16) for layer in (nn.Linear(32, 32), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(32, 10)), torch.randn(64, 32)


def cnn():
    """Few large ops."""

    def block(inputs, outputs):
        return [
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]

    return (
        nn.Sequential(
            *block(3, 32), *block(32, 64), *block(64, 64), nn.Flatten(), nn.Linear(64 * 16, 10)
        ),
        torch.randn(24, 3, 32, 32),
    )


def train(network, batch, steps, around_step, after_step):
    # foreach=False: one op per parameter, as torch::optim does in C++.
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, foreach=False)
    labels = torch.randint(0, 10, (len(batch),))
    took = []
    for _ in range(steps):
        begin = time.perf_counter_ns()
        with around_step():
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(batch), labels).backward()
            optimizer.step()
        after_step()
        took.append(time.perf_counter_ns() - begin)
    return took


def torch_profiler(scheduled, output):
    """Used as in its documentation: around the whole loop, or for ten steps in a hundred, with a
    trace at their end."""
    profiler = torch.profiler
    if not scheduled:
        return profiler.profile(activities=[profiler.ProfilerActivity.CPU])
    return profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=85, warmup=5, active=10),
        on_trace_ready=lambda ready: ready.export_chrome_trace(f"{output}.{ready.step_num}.json"),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=["mlp", "cnn"], required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--report", required=True)
    parser.add_argument(
        "--profiler", choices=["none", "torch", "torch_schedule", "traceml"], default="none"
    )
    parser.add_argument("--output", help="the file for the profiler's result")
    given = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, batch = {"mlp": mlp, "cnn": cnn}[given.model]()
    around_step, after_step, profile = (
        contextlib.nullcontext,
        lambda: None,
        contextlib.nullcontext(),
    )
    if given.profiler == "traceml":
        import traceml_ai as traceml

        traceml.init(mode="auto")
        around_step = lambda: traceml.trace_step(network)
    elif given.profiler != "none":
        profile = torch_profiler(given.profiler == "torch_schedule", given.output)
        after_step = profile.step if given.profiler == "torch_schedule" else after_step

    train(network, batch, 10, contextlib.nullcontext, lambda: None)  # first touches of memory
    with profile:
        took = train(network, batch, given.steps, around_step, after_step)
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if given.profiler == "torch":
        profile.export_chrome_trace(given.output + ".json")
    # Linux counts it in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with open(given.report, "w") as file:
        json.dump({"step_ns": took, "ended_ns": ended, "peak_rss_bytes": peak}, file)


if __name__ == "__main__":
    main()
