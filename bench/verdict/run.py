#!/usr/bin/env python3
"""Checks that repeated recordings of a program get the same verdict and its true step time.

usage: bench/verdict/run.py [--build build/release] [--rounds 20] [--only NAME …] [-o FILE.json]

Build with -DSTEPSCOPE_BENCH=ON; run with a Python that has torch. Each round runs every program three times: without a
profiler, under `stepscope run` with its default options, and without a profiler again, to show the noise of the
machine beside the reported figures (the A/A column).

  verdicts   how often each was given
  share      the smallest and the largest deciding share of all rounds
  step       the median step that `stepscope analyze` reports, against that of the run without a profiler just before;
             the median over rounds. Only for programs that write their own step times (--report)
  A/A        the same for the second run without a profiler
  slowdown   of all steps of the recorded run together, by the program's own clock, against the run before
  ops in     the share of steps that had ops
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402


def programs(build):
    """Name: (command, whether it takes --report FILE)."""
    loop = str(build / "bench/overhead/overhead_loop")
    python_loop = [sys.executable, str(ROOT / "bench/overhead/loop.py")]
    mnist = [str(build / "samples/mnist"), "--no-record", "--train-images", "25600"]
    mistakes = str(build / "samples/mistakes")
    return {
        "C++, tiny ops": ([loop, "--model", "mlp", "--steps", "2000"], True),
        "C++, large ops": ([loop, "--model", "cnn", "--steps", "100"], True),
        "Python, tiny ops": ([*python_loop, "--model", "mlp", "--steps", "2000"], True),
        "Python, large ops": ([*python_loop, "--model", "cnn", "--steps", "100"], True),
        "mnist": (mnist, False),
        "mnist, cached and prefetched": ([*mnist, "--cache", "--prefetch", "1"], False),
        "mistakes": ([mistakes, "--mistake", "train"], False),
        "mistakes --fixed": ([mistakes, "--mistake", "train", "--fixed"], False),
    }


def run(words, folder, report=None):
    """The program's own step times; none if it does not report them."""
    words = [*words, "--report", str(report)] if report else words
    done = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | STEADY_MALLOC,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words)} exited with {done.returncode}:\n{done.stderr[-2000:]}"
        )
    return json.loads(report.read_text())["step_ns"] if report else []


def one_round(stepscope, command, tells):
    with tempfile.TemporaryDirectory(prefix="stepscope-verdict-") as folder:
        folder = pathlib.Path(folder)
        report, store = folder / "report.json" if tells else None, folder / "run.db"
        wrapper = [stepscope, "run", "-o", str(store), "--quiet", "--"]
        before = run(command, folder, report)
        recorded = run([*wrapper, *command], folder, report)
        again = run(command, folder, report)
        analyzed = subprocess.run(
            [stepscope, "analyze", store, "--json"], check=True, capture_output=True
        )
        document = json.loads(analyzed.stdout)
    verdict = document["verdict"]
    result = {
        "verdict": " ".join(filter(None, (verdict["degree"], verdict["kind"]))),
        "share": verdict["share"],
        "confidence": verdict["confidence"],
        "shares": document["shares"],
        "recording": document["recording"],
        "step_ns": document["steps"]["wall_ns"]["p50"],
    }
    if tells:
        own = statistics.median(before)
        result |= {
            "own_step_ns": own,
            "step": result["step_ns"] / own - 1,
            "again": statistics.median(again) / own - 1,
            "slowdown": sum(recorded) / sum(before) - 1,
        }
    return result


def percent(values):
    return f"{100 * statistics.median(values):+.1f} %" if values else ""


def row(name, rounds):
    verdicts = collections.Counter(r["verdict"] for r in rounds)
    shares = [r["share"] for r in rounds]
    told = [r for r in rounds if "step" in r]
    ops = [r["recording"]["op_step_share"] or 0 for r in rounds]
    said = ", ".join(f"{count} × {verdict}" for verdict, count in verdicts.most_common())
    return (
        f"| {name} | {said} | {100 * min(shares):.1f}–{100 * max(shares):.1f} % "
        f"| {percent([r['step'] for r in told])} | {percent([r['again'] for r in told])} "
        f"| {percent([r['slowdown'] for r in told])} | {100 * statistics.median(ops):.0f} % |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("-o", "--output", type=pathlib.Path)
    given = parser.parse_args()
    build = given.build.resolve()
    chosen = {
        name: program
        for name, program in programs(build).items()
        if not given.only or name in given.only
    }
    if not chosen:
        parser.error(f"--only: no such program; choose from {', '.join(programs(build))}")
    load = os.getloadavg()[0]
    results = {name: [] for name in chosen}
    for number in range(given.rounds):
        for name, (command, tells) in chosen.items():
            results[name].append(one_round(str(build / "bin/stepscope"), command, tells))
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    print("| program | verdicts | share | step | A/A | slowdown | ops in |")
    print("|---|---|---|---|---|---|---|")
    for name, rounds in results.items():
        print(row(name, rounds))
    if given.output:
        machine = {
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "load_average_before": load,
        }
        given.output.write_text(
            json.dumps({"machine": machine, "programs": results}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
