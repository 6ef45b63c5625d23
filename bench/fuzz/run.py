#!/usr/bin/env python3
"""Fuzzes each target for a long time, on one core. Seconds are those of its CPU time.

    cmake --preset fuzz && cmake --build --preset fuzz --target stepscope_fuzzers
    bench/fuzz/run.py --seconds 7200 [--target store export …] [--json figures.json]

--json adds to the figures that the file holds, so that campaigns add up. It is written whenever a
process of libFuzzer ends, every ten minutes, so that a campaign that is killed counts too.

Prints a line for each target: runs, runs per second, edges covered, and the number of failing
inputs, which stay in BUILD/tests/fuzz/broken-TARGET. New inputs go to
BUILD/tests/fuzz/found-TARGET, from which the next campaign continues. --minimise then replaces the
corpus in the sources by the smallest set of inputs with the same coverage.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
TARGETS = sorted(folder.name for folder in CORPUS.iterdir())
LONGEST_INPUT = 65536
MOST_KEPT_BYTES = 16384  # size of an input in the sources

# "#7595  NEW    cov: 77981 ft: 81730 corp: 1471/2Mb lim: 65536 exec/s: 18 rss: 310Mb L: 812/65536 MS: 1 CrossOver-"
EDGES = re.compile(r"^#\d+\s.* cov: (\d+) ", re.MULTILINE)
RUNS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
# What libFuzzer calls the file of an input that ended it, and what the figures call it. It also
# keeps inputs that took over ten seconds, as slow-unit-*, and goes on.
FAILURES = {
    "crash": "crashes",
    "leak": "crashes",
    "oom": "memory",
    "timeout": "slow",
    "slow": "slow",
}
# Of one process. Then a new one starts, in case the target collects memory.
LONGEST_PROCESS_S = 600


def fuzz(folder, target, seconds):
    """Yields the figures of each process that fuzzes the target. An input that fails ends the process, and another
    goes on. libFuzzer's own way of going on (-fork) runs an eighth as many inputs of a target that takes 50 ms."""
    found, broken = folder / f"found-{target}", folder / f"broken-{target}"
    found.mkdir(exist_ok=True)
    broken.mkdir(exist_ok=True)
    begin = cpu_seconds()
    while (left := seconds - (cpu_seconds() - begin)) >= 1:
        began = cpu_seconds()
        known = {path.name for path in broken.iterdir()}
        # Entropic scheduling would take longer than the targets.
        command = [
            folder / f"{target}_fuzzer",
            "-entropic=0",
            "-print_final_stats=1",
            f"-max_len={LONGEST_INPUT}",
            f"-max_total_time={min(int(left), LONGEST_PROCESS_S)}",
            f"-artifact_prefix={broken}/",
            found,
            CORPUS / target,
        ]
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            errors="replace",
            # Else the search for leaks crashes beside libdw: tests/CMakeLists.txt.
            env=os.environ | {"ASAN_OPTIONS": "intercept_tls_get_addr=0"},
        )
        executed = RUNS.findall(done.stderr)
        if not executed:
            sys.exit(f"{target}: the fuzzer did not start\n{done.stderr[-2000:]}")
        figures = {
            "target": target,
            "seconds": cpu_seconds() - began,
            "runs": int(executed[-1]),
            "edges": max(map(int, EDGES.findall(done.stderr)), default=0),
            "memory": 0,
            "slow": 0,
            "crashes": 0,
        }
        for path in broken.iterdir():
            if path.name not in known:
                figures[FAILURES[path.name.split("-")[0]]] += 1
        yield figures


def cpu_seconds():
    """Of the fuzzers that have ended. Other programs may have the cores for a part of the time."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def minimise(folder, target):
    """Keeps in the sources the smallest set of small inputs with the coverage of all inputs."""
    smallest = folder / f"smallest-{target}"
    shutil.rmtree(smallest, ignore_errors=True)
    smallest.mkdir()
    subprocess.run(
        [
            folder / f"{target}_fuzzer",
            "-set_cover_merge=1",
            f"-max_len={MOST_KEPT_BYTES}",
            smallest,
            CORPUS / target,
            folder / f"found-{target}",
        ],
        check=True,
        capture_output=True,
    )
    named = {path.name for path in (CORPUS / target).iterdir() if not is_hash(path.name)}
    for path in (CORPUS / target).iterdir():
        if path.name not in named:
            path.unlink()
    there = {path.read_bytes() for path in (CORPUS / target).iterdir()}
    for path in smallest.iterdir():
        if path.read_bytes() not in there:
            shutil.copy(path, CORPUS / target / path.name)


def is_hash(name):
    return re.fullmatch(r"[0-9a-f]{40}", name) is not None


def added_up(rows):
    """One row for each target, in the order of their names."""
    sums = {}
    for row in rows:
        known = sums.setdefault(row["target"], dict.fromkeys(row, 0) | {"target": row["target"]})
        for key, value in row.items():
            if key == "edges":
                known[key] = max(known[key], value)
            elif key != "target":
                known[key] += value
    return sorted(sums.values(), key=lambda row: row["target"])


def rounded(rows):
    return [row | {"seconds": round(row["seconds"])} for row in rows]


def line(row):
    return (
        f"{row['target']:17} {row['seconds']:6.0f} s {row['runs']:10,} runs {row['runs'] / row['seconds']:8.1f} /s "
        f"{row['edges']:7,} edges   broken {row['crashes']}, too slow {row['slow']}, "
        f"too much memory {row['memory']}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/fuzz")
    parser.add_argument("--seconds", type=int, default=7200, help="for each target (default: 7200)")
    parser.add_argument("--target", nargs="*", choices=TARGETS, default=TARGETS, help="only these")
    parser.add_argument("--minimise", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    folder = arguments.build / "tests/fuzz"
    rows = []
    if arguments.json and arguments.json.exists():
        rows = json.loads(arguments.json.read_text())
    failed = False
    for target in arguments.target:
        own = []
        for figures in fuzz(folder, target, arguments.seconds):
            own.append(figures)
            rows.append(figures)
            if arguments.json:
                arguments.json.write_text(json.dumps(rounded(added_up(rows)), indent=1) + "\n")
        for row in added_up(own):
            print(line(row), flush=True)
            failed = failed or row["crashes"] + row["slow"] + row["memory"] > 0
        if arguments.minimise:
            minimise(folder, target)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
