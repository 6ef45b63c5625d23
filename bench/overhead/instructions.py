#!/usr/bin/env python3
"""What profilers add to a training loop in instructions, which valgrind counts alike on any machine, however busy.

usage: bench/overhead/instructions.py [--build build/release] [-o FILE.json]

Times of a step of 0.7 ms differ by more from one minute to the next than a light profiler costs; instructions do not.
They are no times: system calls, caches and what other processes do (the recorder of `stepscope run`) are not in them.
bench/overhead/run.py has those. A step's are those of a long run of the loop less those of a short one, over the steps
between. Build with -DSTEPSCOPE_BENCH=ON.
"""

import argparse
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEW, MANY = 20, 120
# The loop alone: what is done before it and after it is left out.
CALLGRIND = ["valgrind", "--tool=callgrind", "--toggle-collect=*::train(*"]


def profilers(build):
    """Words before the program and options after it, by name."""

    def wrapped(ops):
        words = [
            build / "bin/stepscope",
            "run",
            "-o",
            "{folder}/run.db",
            "--quiet",
            "--no-analysis",
            "--ops",
            ops,
            "--",
        ]
        return [str(word) for word in words]

    yield "none", [], []
    yield "stepscope phases", wrapped("never"), []
    yield "stepscope ops", wrapped("all"), []
    yield "torch.profiler", [], ["--profiler", "torch", "--output", "{folder}/trace"]


def instructions(program, before, after, steps):
    with tempfile.TemporaryDirectory() as folder:
        words = [
            *before,
            *CALLGRIND,
            f"--callgrind-out-file={folder}/callgrind.out",
            str(program),
            "--model",
            "mlp",
            "--steps",
            str(steps),
            "--report",
            f"{folder}/report.json",
            *after,
        ]
        done = subprocess.run(
            [word.replace("{folder}", folder) for word in words], capture_output=True, text=True
        )
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None or counted[1] == "0":
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return int(counted[1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.build.resolve() / "bench/overhead/overhead_loop"
    rows = []
    for name, before, after in profilers(arguments.build.resolve()):
        few, many = (instructions(program, before, after, steps) for steps in (FEW, MANY))
        step = (many - few) / (MANY - FEW)
        rows.append(
            {
                "profiler": name,
                "instructions_a_step": round(step),
                "added": step / rows[0]["instructions_a_step"] - 1 if rows else 0.0,
            }
        )
        print(f"{name:20} {step:12,.0f} a step  {rows[-1]['added']:+.1%}", flush=True)
    result = {
        "benchmark": "overhead in instructions",
        "machine": {"cpu": platform.processor() or platform.machine()},
        "loop": "C++, mlp",
        "profilers": rows,
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
