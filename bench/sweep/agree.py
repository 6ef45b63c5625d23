#!/usr/bin/env python3
"""Measures how well the step time of a sweep agrees with timing the same program by hand.

usage: bench/sweep/agree.py [--build build/release] [--rounds 10] [--steps 1500] [-o FILE.json]

By hand, hyperfine times the whole program, once with few steps and once with many. The difference
divided by the difference in steps is the step time, without start-up and exit. A sweep runs the
same program with many steps and uses the steady steps. The two alternate, so that other load on the
machine affects both. The result is the median of the rounds' ratios, because a round on a busy host
says nothing; its confidence interval is from order statistics, which assume nothing about the
distribution.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402

FEW = 100  # steps of the short run by hand


def programs(build, steps_placeholder):
    """Commands by name, with `steps_placeholder` for the number of steps and {batch} for the
    batch."""
    found = {
        "marks alone": [
            build / "tests/sweep/settings",
            "--batch",
            "{batch}",
            "--fixed-us",
            "500",
            "--each-us",
            "50",
            "--steps",
            steps_placeholder,
        ]
    }
    if (build / "samples/serve").exists():
        found["serve, eager"] = [
            build / "samples/serve",
            "--batch",
            "{batch}",
            "--length",
            "32",
            "--format",
            "eager",
            "--calls",
            steps_placeholder,
        ]
    return {name: [str(word) for word in words] for name, words in found.items()}


def by_hand(words, batch, steps, folder):
    """Seconds of the whole program, measured by hyperfine."""
    command = [word.replace("{batch}", str(batch)).replace("{steps}", str(steps)) for word in words]
    out = folder / "hyperfine.json"
    subprocess.run(
        [
            "hyperfine",
            "--shell=none",
            "--runs",
            "1",
            "--warmup",
            "0",
            "--style",
            "none",
            "--export-json",
            out,
            " ".join(command),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return json.loads(out.read_text())["results"][0]["mean"]


def by_sweep(stepscope, words, batch, steps, folder):
    """Seconds of a steady step."""
    command = [word.replace("{steps}", str(steps)) for word in words]
    done = subprocess.run(
        [
            stepscope,
            "sweep",
            "-o",
            folder / "sweep.db",
            "--restart",
            "--repeats",
            "1",
            "--json",
            "-p",
            f"batch={batch}",
            "--",
            *command,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)["cells"][0]["figures"]["step_ns"]["mean"]["value"] / 1e9


def measure(stepscope, words, batch, arguments, folder):
    hand, sweep = [], []
    for number in range(arguments.rounds):
        turns = [
            lambda: hand.append(
                (
                    by_hand(words, batch, arguments.steps, folder)
                    - by_hand(words, batch, FEW, folder)
                )
                / (arguments.steps - FEW)
            ),
            lambda: sweep.append(by_sweep(stepscope, words, batch, arguments.steps, folder)),
        ]
        for turn in turns if number % 2 else reversed(turns):
            turn()
    ratios = [s / h for s, h in zip(sweep, hand)]
    low, high = median_interval(ratios)
    return {
        "batch": batch,
        "by_hand_us": 1e6 * statistics.median(hand),
        "by_sweep_us": 1e6 * statistics.median(sweep),
        "difference": statistics.median(ratios) - 1,
        "ci95": [low - 1, high - 1],
        "ratios": ratios,
    }


def median_interval(values):
    """The confidence interval of the median, of at least 95 %: from the k-th smallest to the k-th
    largest value, by the binomial distribution. With fewer than six values, the interval spans all
    of them."""
    ordered, below, k = sorted(values), 0.0, 0
    while k < len(ordered) // 2:
        below += math.comb(len(ordered), k) / 2 ** len(ordered)
        if 2 * below > 0.05:
            break
        k += 1
    return ordered[max(k - 1, 0)], ordered[-max(k, 1)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument(
        "--programs", type=pathlib.Path, help="the build folder of the programs (default: --build)"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ.update(STEADY_MALLOC)
    if shutil.which("hyperfine") is None:
        sys.exit("hyperfine is missing; apt install hyperfine")
    if arguments.rounds < 2 or arguments.steps <= FEW:
        sys.exit(f"--rounds must be 2 or more, --steps more than {FEW}")
    build = (arguments.programs or arguments.build).resolve()
    result = {
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
        },
        "rounds": arguments.rounds,
        "steps": arguments.steps,
        "programs": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, words in programs(build, "{steps}").items():
            rows = [
                measure(
                    arguments.build.resolve() / "bin/stepscope",
                    words,
                    batch,
                    arguments,
                    pathlib.Path(folder),
                )
                for batch in arguments.batch
            ]
            result["programs"][name] = rows
            for row in rows:
                low, high = row["ci95"]
                print(
                    f"{name}, batch {row['batch']}: by hand {row['by_hand_us']:.1f} µs, by the sweep {row['by_sweep_us']:.1f} µs a "
                    f"step, {100 * row['difference']:+.2f} % (95 % CI {100 * low:+.2f} … {100 * high:+.2f})"
                )
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
