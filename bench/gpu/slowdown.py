#!/usr/bin/env python3
"""Measures the slowdown of training loops on a GPU: bare, under `stepscope run` (with its budget, and
with the ops of all steps), and under torch.profiler, in turns. A second bare run shows the noise.

    bench/gpu/slowdown.py --stepscope build/gpu/bin/stepscope --out slowdown.json [--keep run.db] [--rounds 5]
        [--only LOOP …]

The loops are those of tests/gpu/programs/training.py, which time their own steps. A slowdown is the
median over the rounds of the extra time of a step, relative to the bare step of the same round.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tests/gpu/programs/training.py"
LOOPS = {
    "mlp": ["--steps", "600"],
    "resnet50": ["--model", "resnet50", "--steps", "90", "--pinned"],
    "small mlp": ["--steps", "900", "--batch", "1"],
    "cuda graph": ["--graph", "--steps", "600"],
}


def seconds(command, folder):
    written = folder / "seconds"
    done = subprocess.run(
        [*map(str, command), "--seconds", written], capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return float(written.read_text())


def one_round(stepscope, options, folder, keep):
    program = [sys.executable, PROGRAM, *options]
    store = folder / "run.db"
    wrap = [stepscope, "run", "--quiet", "--no-analysis", "-o", store]
    times = {
        "bare": seconds(program, folder),
        "A/A": seconds(program, folder),
        "stepscope": seconds([*wrap, "--", *program], folder),
    }
    if keep and not keep.exists():
        shutil.copy(store, keep)
    recording = recording_of(stepscope, store)
    times["--ops all"] = seconds([*wrap, "--ops", "all", "--", *program], folder)
    times["torch.profiler"] = seconds([*program, "--profiler"], folder)
    return times | {"recording": recording, "ops all": recording_of(stepscope, store)}


def recording_of(stepscope, store):
    """What the recording says of its own cost, and what it lost."""
    done = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    report = json.loads(done.stdout)
    return {name: report[name] for name in ("recording", "cost", "losses")}


def machine():
    import torch

    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stepscope", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path, help="keep a store of a short run here")
    parser.add_argument("--only", nargs="+", choices=LOOPS, default=list(LOOPS), metavar="LOOP")
    given = parser.parse_args()
    result = {"machine": machine(), "rounds": given.rounds, "loops": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if given.keep:
            given.keep.unlink(missing_ok=True)
            one_round(given.stepscope, ["--steps", "12"], folder, given.keep)
        for loop in given.only:
            options = LOOPS[loop]
            rounds = [
                one_round(given.stepscope, options, folder, None) for _ in range(given.rounds)
            ]
            slower = {
                tool: statistics.median(r[tool] / r["bare"] - 1 for r in rounds)
                for tool in ("A/A", "stepscope", "--ops all", "torch.profiler")
            }
            bare = statistics.median(r["bare"] for r in rounds)
            result["loops"][loop] = {"bare_step_us": bare * 1e6, "slower": slower, "rounds": rounds}
            print(
                f"{loop:12} {bare * 1e6:9.1f} µs a step",
                *(f"  {tool} {share:+.1%}" for tool, share in slower.items()),
                flush=True,
            )
    given.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
