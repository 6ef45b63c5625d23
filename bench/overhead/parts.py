#!/usr/bin/env python3
"""Measures what each part of Stepscope costs a running loop of small ops, within one process.

usage: bench/overhead/parts.py [--build build/release] [--language python|cpp] [--seconds 60] [--fill]
                               [--json FILE] [-- OPTION...]

Records the loop of loop.py or loop.cc with `stepscope run OPTION...`. The loop switches each part off
and on, at random: the recorder before every tenth block of 30 steps, the others before each block.

    recorder  its process (SIGSTOP). It later reads what was recorded meanwhile, so reading counts twice;
              the first blocks after each change do not count
    phases    the marks of backward passes and optimizers; in Python with the hooks around them
    memory    counting the memory of tensors

The costs are those of a linear model of the block's mean step, with a level for each 100 blocks, by
least squares. One process gives all figures, so its layout in memory, which makes two runs of a program
differ by some percent, is the same, and so is whatever else the machine does. Each part's calls still
pass through a library of the benchmark (bypass.cc), in both kinds of block. Needs numpy.

--fill keeps all other cores busy, with processes of the same priority. To see what sampling lines costs,
compare with --no-lines, or raise the rate (--lines-rate 1000): what the samples cost grows with it.
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "bench"))
from busy_cores import busy_processes  # noqa: E402
from steady_malloc import STEADY_MALLOC  # noqa: E402

PARTS = ("recorder", "phases", "memory")  # the bits of a block, from the lowest
STEPS = 30  # of a block
SETTLE = 3  # steps before them that do not count
SLOWEST = 4  # steps of a block that do not count
RECORDER_BLOCKS = 10  # between two chances of the recorder to change
RECORDER_SETTLES = 2  # blocks
LEVEL_BLOCKS = 100
INSIDE = "STEPSCOPE_BENCH_INSIDE"  # set in the process that runs the loop


class Hooks:
    """What Stepscope's package puts around Python's optimizers."""

    def __init__(self):
        import torch.optim.optimizer as module

        self.optimizer = module.Optimizer
        self.lists = (module._global_optimizer_pre_hooks, module._global_optimizer_post_hooks)
        self.kept = [dict(hooks) for hooks in self.lists]
        self.zero_grad = self.optimizer.zero_grad
        if not all(self.kept) or not hasattr(self.zero_grad, "__wrapped__"):
            sys.exit("the hooks of Stepscope's package are missing")

    def switch(self, on):
        for hooks, kept in zip(self.lists, self.kept, strict=True):
            hooks.clear()
            hooks.update(kept if on else {})
        self.optimizer.zero_grad = self.zero_grad if on else self.zero_grad.__wrapped__


def run_loop(seconds):
    """Returns [(the bits of the parts that are on, [the ns of each step])]."""
    import loop

    loop.torch.set_num_threads(1)
    network, batch = loop.mlp()
    hooks = Hooks()
    bypass = ctypes.CDLL(None).bypass_parts
    chance = random.Random(0)
    blocks = []
    runs = 1
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(blocks) % RECORDER_BLOCKS == 0:
            runs = chance.randrange(2)
            os.kill(os.getppid(), signal.SIGCONT if runs else signal.SIGSTOP)
        on = chance.randrange(4) << 1 | runs
        hooks.switch(on & 2)
        bypass(~on >> 1 & 3)
        took = loop.train(network, batch, SETTLE + STEPS, contextlib.nullcontext, lambda: None)
        blocks.append((on, took))
    os.kill(os.getppid(), signal.SIGCONT)
    return blocks


def mean_of(took):
    kept = sorted(took[SETTLE:])[:-SLOWEST]
    return statistics.mean(kept) / 1e3


def costs_of(blocks):
    """By part: its cost in µs a step and the standard error. And the median step without any, in µs."""
    kept = [i for i in range(len(blocks)) if i % RECORDER_BLOCKS >= RECORDER_SETTLES]
    on = np.array([blocks[i][0] for i in kept])
    means = np.array([mean_of(blocks[i][1]) for i in kept])
    parts = np.array([on >> bit & 1 for bit in range(len(PARTS))], float).T
    level = np.array(kept) // LEVEL_BLOCKS

    # A few blocks are far off, because something else had the core.
    medians = np.array([np.median(means[level == one]) for one in level])
    distance = np.abs(means - medians)
    near = distance <= np.percentile(distance, 97)
    means, parts, level = means[near], parts[near], level[near]
    plain = np.median(means[parts.sum(axis=1) == 0])
    for one in np.unique(level):
        there = level == one
        means[there] -= means[there].mean()
        parts[there] -= parts[there].mean(axis=0)
    costs = np.linalg.lstsq(parts, means, rcond=None)[0]
    unknowns = len(PARTS) + len(np.unique(level))
    variance = np.sum((means - parts @ costs) ** 2) / (len(means) - unknowns)
    covariance = variance * np.linalg.inv(parts.T @ parts)
    found = {
        part: (float(cost), float(error))
        for part, cost, error in zip(PARTS, costs, np.sqrt(np.diag(covariance)), strict=True)
    }
    found["together"] = (float(costs.sum()), float(covariance.sum() ** 0.5))
    return found, float(plain)


def record(arguments, folder):
    report = folder / "blocks.json"
    program = [arguments.build / "bench/overhead/overhead_loop", "--report", report, "--blocks"]
    if arguments.language == "python":
        program = [sys.executable, __file__, "--seconds"]
    words = [arguments.build / "bin/stepscope", "run", "-o", folder / "run.db", "--quiet"]
    words += [*arguments.options, "--", *program, arguments.seconds]
    environment = os.environ | STEADY_MALLOC
    environment |= {
        INSIDE: str(report),
        "LD_PRELOAD": str(arguments.build.resolve() / "bench/overhead/libbypass.so"),
    }
    others = len(os.sched_getaffinity(0)) - 1 if arguments.fill else 0
    with busy_processes(others):
        done = subprocess.run([str(word) for word in words], env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"the recording failed: exit code {done.returncode}")
    return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--language", choices=("python", "cpp"), default="python")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="add the figures to it")
    parser.add_argument("options", nargs="*", help="of stepscope run, after --")
    arguments = parser.parse_args()
    if os.environ.get(INSIDE):
        pathlib.Path(os.environ[INSIDE]).write_text(json.dumps(run_loop(arguments.seconds)))
        return

    with tempfile.TemporaryDirectory(prefix="stepscope-parts-") as folder:
        blocks = record(arguments, pathlib.Path(folder))
    if len(blocks) < 4 * LEVEL_BLOCKS:
        sys.exit("too few blocks: use more --seconds")
    costs, step = costs_of(blocks)
    print(f"step without them {step:.0f} µs, {len(blocks)} blocks")
    for part, (cost, error) in costs.items():
        print(f"{part:9} {cost:+6.1f} ± {error:.1f} µs  {cost / step:+.2%} ± {error / step:.2%}")
    if arguments.json:
        figures = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
        figures.append(
            {
                "language": arguments.language,
                "options": arguments.options,
                "other_cores_taken": arguments.fill,
                "blocks": len(blocks),
                "step_us": round(step, 1),
                "costs_us": {part: round(cost, 2) for part, (cost, _) in costs.items()},
                "errors_us": {part: round(error, 2) for part, (_, error) in costs.items()},
            }
        )
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
