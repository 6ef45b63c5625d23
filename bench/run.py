#!/usr/bin/env python3
"""Runs the benchmarks, prints the table that the docs quote and writes it as JSON.

usage: bench/run.py [--build build/release] [--other-torch build/release-debian-torch] [-o bench/results/NAME.json]

Build first: cmake --preset release && cmake --build build/release. Rates are per second of wall
time on an otherwise idle machine. The load average is recorded, because rates mean nothing on a
busy one. Every figure has a baseline from the same run.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def machine():
    cpu = next(
        (
            line.split(": ", 1)[1].strip()
            for line in open("/proc/cpuinfo")
            if line.startswith("model name")
        ),
        "unknown",
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "load_average_before": os.getloadavg()[0],
    }


def run_json(command, option):
    """Runs `command` with `option`=FILE and returns the JSON that it writes there."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        subprocess.run(
            [*map(str, command), f"{option}={result}"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return json.loads(result.read_text())


def hooks(build):
    return run_json([build / "bench/hooks/bench_hooks"], "--json")


def google_benchmark(binary):
    runs = run_json([binary], "--benchmark_out")["benchmarks"]
    ignored = (
        "name",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "time_unit",
        "family_index",
        "per_family_instance_index",
        "iterations",
    )
    return {
        run["name"]: {key: value for key, value in run.items() if key not in ignored}
        for run in runs
    }


def export(build):
    script = ROOT / "bench/export/export_rate.py"
    return run_json([sys.executable, script, "--build-dir", build], "--json")


def print_hooks(result):
    print(
        f"\nhook, libtorch {result['libtorch']}   ({result['events_lost']} of "
        f"{result['events_recorded'] + result['events_lost']} events lost)"
    )
    print(f"  {'mode':<20}{'ns an op':>10}{'cost, ns':>12}{'x empty callback':>20}")
    for name, mode in result["modes"].items():
        print(
            f"  {name:<20}{mode['ns_per_op']:>10.1f}{mode['cost_ns']:>12.1f}"
            f"{mode['cost_vs_empty_callback']:>20.2f}"
        )


def print_benchmarks(title, result):
    print(f"\n{title}")
    for name, run in result.items():
        counters = [
            f"{value:,.1f} {key}"
            for key, value in run.items()
            if key not in ("real_time", "cpu_time")
        ]
        print(f"  {name:<40} {' · '.join(counters)}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument(
        "--other-torch", type=pathlib.Path, help="a second build, against another libtorch"
    )
    parser.add_argument(
        "-o", "--output", type=pathlib.Path, help="also write the results to this file"
    )
    arguments = parser.parse_args()

    result = {"machine": machine(), "hooks": []}
    for build in filter(None, [arguments.build, arguments.other_torch]):
        result["hooks"].append(hooks(build))
        print_hooks(result["hooks"][-1])
    result["store"] = google_benchmark(arguments.build / "bench/store/bench_store")
    print_benchmarks("store", result["store"])
    result["export_writer"] = google_benchmark(arguments.build / "bench/export/bench_export")
    print_benchmarks("export, writer alone", result["export_writer"])
    result["export"] = export(arguments.build)
    print("\nexport, end to end")
    print(json.dumps(result["export"], indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")
        print(f"\n{arguments.output}")


if __name__ == "__main__":
    main()
