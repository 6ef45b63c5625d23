#!/usr/bin/env python3
"""Measures `stepscope export` from end to end: ops per second and peak memory, for runs of 10
thousand to 10 million ops. Rates are per second of CPU time, so they are those of one core. The
fastest repetition counts. Start-up time is included."""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (10_000, 1_000_000, 10_000_000)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="OPS")
    return parser.parse_args()


def run(command):
    """Runs a command and returns its resource usage."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: failed")
    return usage


def measure(stepscope, store, output, ops, repeat):
    usages = [run([stepscope, "export", store, "-o", output]) for _ in range(repeat)]
    cpu = min(usage.ru_utime + usage.ru_stime for usage in usages)
    size = output.stat().st_size if output.is_file() else 0
    output.is_file() and output.unlink()
    return {
        "ops": ops,
        "output": output.name if size else "discarded",
        "cpu_s": round(cpu, 4),
        "ops_per_s": round(ops / cpu),
        "peak_rss_mb": round(max(usage.ru_maxrss for usage in usages) / 1024, 1),
        "output_mb": round(size / 1e6, 2),
    }


def main():
    arguments = parse_arguments()
    stepscope = arguments.build_dir / "bin/stepscope"
    make_store = arguments.build_dir / "tests/viewer-export/make_trace_store"
    results = []
    print(f"{'ops':>10}  {'output':<14} {'CPU s':>8} {'M ops/s':>8} {'peak RSS':>9} {'size':>10}")
    for ops in arguments.sizes:
        # One folder per size, so that at most one large store is on the disk.
        with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as folder:
            store = pathlib.Path(folder) / "run.db"
            run([make_store, "large", store, ops])
            run(
                [stepscope, "analyze", store]
            )  # an export draws an analysis; it does not wait for one
            for output in ("/dev/null", f"{folder}/trace.json", f"{folder}/trace.json.gz"):
                row = measure(stepscope, store, pathlib.Path(output), ops, arguments.repeat)
                results.append(row)
                print(
                    f"{row['ops']:>10}  {row['output']:<14} {row['cpu_s']:>8.3f}"
                    f" {row['ops_per_s'] / 1e6:>8.2f} {row['peak_rss_mb']:>6.1f} MB"
                    f" {row['output_mb']:>7.1f} MB",
                    flush=True,
                )
    if arguments.json:
        machine = {
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "system": platform.release(),
        }
        arguments.json.write_text(json.dumps({**machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
