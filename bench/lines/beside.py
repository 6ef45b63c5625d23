#!/usr/bin/env python3
"""Compares Stepscope with other samplers of Python: how exact the lines are, and how much sampling
slows the program.

usage: bench/lines/beside.py [--python PATH] [--rounds 5] [--py-spy PATH] [-o FILE.json]

Others: py-spy (pip install py-spy), and from CPython 3.15 on its own profiling.sampling. What does
not support the Python is left out. All sample 250 times a second.

Truth: tests/python/programs/lines.py times each kind of its lines itself. py-spy also samples waiting
threads (--idle), because the truth is in wall-clock time. Slowdown: bench/lines/work.py, a loop of
fixed work in one thread, prints how long it took. The figure is the median over rounds of the ratio
to the run without a sampler in the same round; each round has an order of its own, and "nothing,
again" shows the noise. The last column is the time of `import torch` in seconds, if that Python has
it; one that takes more than a minute counts as hung.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import run as lines

LONGEST_IMPORT = 60  # seconds
RATE = 250


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--binary", type=pathlib.Path, default=lines.ROOT / "build/release/bin/stepscope"
    )
    parser.add_argument("--python", type=lines.program, default=sys.executable)
    parser.add_argument("--py-spy", type=lines.program, default=shutil.which("py-spy"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def commands(arguments):
    """The words before the script of a program, by name."""
    python = arguments.python
    recorder = [str(arguments.binary), "run", "--quiet", "--no-analysis", "-o", "run.db"]
    named = {
        "nothing": [python],
        "nothing, again": [python],
        "stepscope": [*recorder, "--lines-rate", str(RATE), "--", python],
        "stepscope, no lines": [*recorder, "--no-lines", "--", python],
    }
    if arguments.py_spy is not None:
        spy = [arguments.py_spy, "record", "-r", str(RATE), "-f", "raw", "-o", "stacks", "--idle"]
        named["py-spy --nonblocking"] = [*spy, "--nonblocking", "--", python]
        named["py-spy"] = [*spy, "--", python]
    own = [python, "-m", "profiling.sampling", "run", "-r", str(RATE), "--collapsed"]
    named["profiling.sampling"] = [*own, "-o", "stacks"]
    named["profiling.sampling --blocking"] = [*own, "--blocking", "-o", "stacks"]
    return named


def run_in(folder, command, *words):
    """Returns the output; None if the command failed."""
    done = subprocess.run(
        [*map(str, command), *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(lines.ROOT / "profiler/python")},
        capture_output=True,
        text=True,
    )
    return done.stdout if done.returncode == 0 else None


def supports(command):
    """Whether the sampler samples this Python: a program of a second leaves stacks."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        return run_in(folder, command, lines.WORK, 300) is not None and any(folder.glob("stacks*"))


def shares_in_stacks(folder):
    """{function: its share of the main thread's samples}, by the innermost frame of the program
    itself. Each line of the file is a stack, outermost frame first, and its number of samples."""
    counts = collections.Counter()
    for row in (folder / "stacks").read_text().splitlines():
        stack, _, count = row.rpartition(" ")
        own = [frame for frame in stack.split(";") if "lines.py:" in frame]
        functions = [function_in(frame) for frame in own]
        if "main" in functions:
            counts[functions[-1]] += int(count)
    total = sum(counts.values())
    return {function: count / total for function, count in counts.items()}


def function_in(frame):
    """ "busy" of py-spy's "busy (lines.py:31)" and of CPython's "lines.py:busy:31"."""
    return frame.partition(" (")[0] if " (" in frame else frame.split(":")[-2]


def shares_of_stepscope(arguments, folder):
    told = subprocess.run(
        [arguments.binary, "analyze", "--json", folder / "run.db"], capture_output=True, check=True
    )
    shares = collections.Counter()
    for line in json.loads(told.stdout)["lines"]:
        if line["category"] == "input":
            shares[line["function"]] += line["share"]
    return shares


def errors_of(shares, times):
    """The share of each kind minus its true share."""
    errors = []
    for kind, ns in times.items():
        pattern = re.compile(rf"(^|\.){lines.FUNCTIONS.get(kind, kind)}(\.|$)")
        share = sum(share for function, share in shares.items() if pattern.search(function))
        errors.append(share - ns / sum(times.values()))
    return errors


def measure_errors(arguments, name, command):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        words = [lines.PROGRAM, "--own", "own.json", "--batches", arguments.batches]
        if run_in(folder, command, *words) is None:
            sys.exit(f"{name}: it fails")
        times = json.loads((folder / "own.json").read_text())["times"]
        if name == "stepscope":
            return errors_of(shares_of_stepscope(arguments, folder), times)
        return errors_of(shares_in_stacks(folder), times)


def measure_work(arguments, name, command):
    """The seconds that the program itself says."""
    with tempfile.TemporaryDirectory() as folder:
        output = run_in(folder, command, lines.WORK, arguments.steps)
        found = re.search(r"^\d+\.\d+(?:e-\d+)?$", output or "", re.MULTILINE)
        if found is None:
            sys.exit(f"{name}: the program did not print a time")
        return float(found.group())


def import_torch(command):
    """Returns seconds; None if it did not end."""
    with tempfile.TemporaryDirectory() as made:
        script = pathlib.Path(made) / "imports.py"
        script.write_text("import torch\n")
        began = time.perf_counter()
        process = subprocess.Popen(
            [*command, script],
            cwd=made,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(LONGEST_IMPORT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return None
        return time.perf_counter() - began


def main():
    arguments = parse_arguments()
    named = commands(arguments)
    for name in list(named):
        if name.startswith(("py-spy", "profiling")) and not supports(named[name]):
            print(f"{name}: does not support this Python", file=sys.stderr)
            del named[name]
    measured = [name for name in named if not name.startswith("nothing") and "no lines" not in name]
    has_torch = run_in(".", [arguments.python, "-c", "import torch"]) is not None
    seconds, errors, imports = ({name: [] for name in named} for _ in range(3))
    for _ in range(arguments.rounds):
        for name in random.sample(list(named), len(named)):
            seconds[name].append(measure_work(arguments, name, named[name]))
            if name in measured:
                errors[name] += [
                    100 * abs(error) for error in measure_errors(arguments, name, named[name])
                ]
            if has_torch:
                imports[name].append(import_torch(named[name]))
    rows = []
    for name in named:
        ended = [took for took in imports[name] if took is not None]
        ratios = [took / bare for took, bare in zip(seconds[name], seconds["nothing"])]
        rows.append(
            {
                "beside": name,
                "slowdown": statistics.median(ratios) - 1,
                "mean_error_points": statistics.mean(errors[name]) if errors[name] else None,
                "worst_error_points": max(errors[name], default=None),
                "import_torch_s": statistics.median(ended) if ended else None,
                "imports_that_hung": len(imports[name]) - len(ended),
                "rounds": arguments.rounds,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    version = subprocess.run([arguments.python, "--version"], capture_output=True, text=True)
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": os.getloadavg()[0],
        "python": version.stdout.split()[-1],
        "rows": rows,
    }
    if arguments.py_spy is not None:
        spy = subprocess.run([arguments.py_spy, "--version"], capture_output=True, text=True)
        result["py_spy"] = spy.stdout.strip()
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
