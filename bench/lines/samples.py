#!/usr/bin/env python3
"""Compares the predicted step time with a faster line and the measured one.

usage: bench/lines/samples.py [--rounds 3] [-o FILE.json]

Each round records a program of samples/python/slow_lines, predicts the step with its slow line
twice as fast (`what-if`), and runs the program again with --fixed. It compares the two, and also
gives the step time that the program measured itself while it was recorded. The Python that runs
this needs the packages of the programs.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import test_slow_lines as programs  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/stepscope")
    parser.add_argument("--programs", nargs="+", default=list(programs.PROGRAMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def measure(arguments, program):
    """One round: the prediction and the truth. Steps in milliseconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file, line = programs.top_line(programs.record(arguments.binary, folder, program), program)
        question = f"{pathlib.Path(file).name}:{line}=2x"
        asked = [arguments.binary, "what-if", "run.db", "--json", "--line", question]
        done = subprocess.run(list(map(str, asked)), cwd=folder, capture_output=True, text=True)
        told = json.loads(done.stdout) if done.returncode == 0 else None
        fixed = json.loads(
            programs.run(folder, programs.command(program, "--fixed")).splitlines()[-1]
        )
    return {
        "right_line": line == programs.planted_line(program),
        "withheld": None if told else done.stderr.strip(),
        "measured_ms": told and told["measured_step_ns"] / 1e6,
        "predicted_ms": told and told["predicted_step_ns"] / 1e6,
        "mended_ms": fixed["step_ms"],
        "error": told and told["predicted_step_ns"] / 1e6 / fixed["step_ms"] - 1,
    }


def main():
    arguments = parse_arguments()
    rows = []
    for program in arguments.programs:
        rounds = [measure(arguments, program) for _ in range(arguments.rounds)]
        errors = [round["error"] for round in rounds if round["error"] is not None]
        row = {
            "program": program,
            "right_line": sum(round["right_line"] for round in rounds),
            "median_error": statistics.median(errors) if errors else None,
            "rounds": rounds,
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    result = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "samples": rows}
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
