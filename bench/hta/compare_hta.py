#!/usr/bin/env python3
"""Measures Stepscope against HolisticTraceAnalysis (HTA) on the same traces.

    pip install HolisticTraceAnalysis
    bench/hta/compare_hta.py TRACE… [--build build/release] [--rounds 3] [-o bench/results/NAME.json]

Both load a trace and break its time down: Stepscope with `stepscope import`, then `stepscope
analyze`, HTA with its loader and `get_temporal_breakdown`. Each runs in separate processes from
start to exit, in turns. bench/import/scale_trace.py makes long traces. The times are the best of
the rounds; memory is the largest resident set of any round.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from run import machine  # noqa: E402


def measure(*command):
    """Returns seconds of wall and CPU time, and the peak resident set in MB, of one process."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(
            f"{' '.join(map(str, command))}: exit code {process.returncode}\n{errors.decode()[-2000:]}"
        )
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_rss_mb": usage.ru_maxrss / 1024,
    }


def stepscope(binary, trace, folder):
    store = pathlib.Path(folder) / "run.db"
    parts = [measure(binary, "import", trace, "-o", store), measure(binary, "analyze", store)]
    return {
        "seconds": sum(part["seconds"] for part in parts),
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
        "peak_rss_mb": max(part["peak_rss_mb"] for part in parts),
        "import_seconds": parts[0]["seconds"],
        "analyze_seconds": parts[1]["seconds"],
        "import_cpu_seconds": parts[0]["cpu_seconds"],
    }


def best(rounds):
    return {
        key: (max if key == "peak_rss_mb" else min)(one[key] for one in rounds) for key in rounds[0]
    }


def compare(binary, trace, rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(stepscope(binary, trace, folder))
            theirs.append(
                measure(
                    sys.executable,
                    ROOT / "bench/hta/load_and_break_down.py",
                    pathlib.Path(trace).resolve(),
                )
            )
    ours, theirs = best(ours), best(theirs)
    size = pathlib.Path(trace).stat().st_size
    return {
        "trace": pathlib.Path(trace).name,
        "bytes": size,
        "rounds": rounds,
        "stepscope": ours,
        "hta": theirs,
        "import_mb_per_cpu_second": size / 1e6 / ours["import_cpu_seconds"],
        "times_faster": theirs["seconds"] / ours["seconds"],
        "times_less_cpu": theirs["cpu_seconds"] / ours["cpu_seconds"],
        "memory_ratio": ours["peak_rss_mb"] / theirs["peak_rss_mb"],
    }


def print_row(row):
    ours, theirs = row["stepscope"], row["hta"]
    print(
        f"{row['trace']:<40} {ours['seconds']:8.2f} s {ours['peak_rss_mb']:7.0f} MB   "
        f"{theirs['seconds']:8.2f} s {theirs['peak_rss_mb']:7.0f} MB   "
        f"{row['times_faster']:6.1f} x  {row['memory_ratio']:.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    if importlib.util.find_spec("hta") is None:
        sys.exit("HTA is not installed for this Python: pip install HolisticTraceAnalysis")
    result = {
        "machine": machine(),
        "hta_version": importlib.metadata.version("HolisticTraceAnalysis"),
        "python": sys.version.split()[0],
        "traces": [],
    }
    print(f"{'trace':<40} {'stepscope':>21}   {'HTA':>21}   {'faster':>8}  memory")
    for trace in arguments.traces:
        result["traces"].append(compare(arguments.build / "bin/stepscope", trace, arguments.rounds))
        print_row(result["traces"][-1])
    result["machine"]["load_average_after"] = os.getloadavg()[0]
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
