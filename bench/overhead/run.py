#!/usr/bin/env python3
"""Measures the cost of profilers for a whole training program.

usage: bench/overhead/run.py [--build build/release] [--rounds 15] [-o FILE.json]

Build with -DSTEPSCOPE_BENCH=ON; run with a Python that has torch, and traceml-ai and py-spy to
compare them too. Each round runs every profiler once, in an order of its own: a program that follows
one that has written a large file is slower, and none must always be that program. The slowdown is
the median over rounds of the ratio of the median step time to that of the same round without a
profiler. Figures are meaningful only on an idle machine, so the load average is recorded. Other load
on the machine only ever adds time, so the fast steps are compared too. The row "none, again" is a
second run without a profiler: smaller differences than its own are noise.

  slowdown   of the median step, in percent; the median over rounds
  all        the same for all steps together, which is how recording within a budget is judged
  fast       the same for the step time at the 10th percentile, which has the least disturbance
  a step     the slowdown in microseconds
  disk       the size of the profiler's files
  peak RSS   of the training process, minus that without a profiler
  result     seconds from the end of the loop until everything is written and all processes are
             gone, minus those without a profiler
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402

STEPS = {"mlp": 1000, "cnn": 100}
SCRAPED_PORT = 29478
SCRAPE_PERIOD = 5  # seconds; metrics are updated as often


@dataclasses.dataclass
class Profiler:
    name: str
    languages: tuple
    before: list = dataclasses.field(
        default_factory=list
    )  # words before the program; {output} is replaced
    options: list = dataclasses.field(default_factory=list)  # … and after it
    instead_of_python: bool = False  # `before` runs the script itself
    options_after: str = ""  # words that its launcher needs before the script's options
    scraped: bool = False  # its metrics are read every SCRAPE_PERIOD seconds


def profilers(build):
    stepscope = str(build / "bin/stepscope")
    both, python = ("cpp", "python"), ("python",)

    def wrapped(*options):
        return [stepscope, "run", "-o", "{output}.db", "--quiet", *options, "--"]

    yield Profiler("none", both)
    yield Profiler("none, again", both)  # differences here are noise; smaller ones mean nothing
    # Started by it, but not recorded: what the preloaded library and its environment cost.
    yield Profiler("stepscope, unrecorded", both, [*wrapped(), "env", "STEPSCOPE_SOCKET="])
    yield Profiler("stepscope phases", both, wrapped("--tier", "phases"))
    yield Profiler("stepscope", both, wrapped())
    metrics = f"127.0.0.1:{SCRAPED_PORT}"
    yield Profiler("stepscope, metrics", both, wrapped("--metrics", metrics), scraped=True)
    yield Profiler("stepscope, all ops", both, wrapped("--ops", "all"))
    yield Profiler("torch.profiler", both, options=["--profiler", "torch", "--output", "{output}"])
    yield Profiler(
        "torch.profiler, schedule",
        python,
        options=["--profiler", "torch_schedule", "--output", "{output}"],
    )
    if found := command_of("traceml", "traceml_ai"):
        yield Profiler(
            "traceml-ai",
            python,
            [found, "run"],
            ["--profiler", "traceml"],
            instead_of_python=True,
            options_after="--args",
        )
    if found := command_of("py-spy", "py_spy"):
        yield Profiler("py-spy", python, [found, "record", "-f", "raw", "-o", "{output}.txt", "--"])


def command_of(name, module):
    """The command beside the interpreter, or on PATH."""
    beside = pathlib.Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        print(
            f"left out: {name} is not installed (pip install {module.replace('_', '-')})",
            file=sys.stderr,
        )
    return found


def command(profiler, language, build, model, steps, report, output):
    options = ["--model", model, "--steps", str(steps), "--report", str(report), *profiler.options]
    if language == "cpp":
        program = [str(build / "bench/overhead/overhead_loop")]
    elif profiler.instead_of_python:
        program = [str(HERE / "loop.py"), profiler.options_after]
    else:
        program = [sys.executable, str(HERE / "loop.py")]
    return [
        word.replace("{output}", str(output)) for word in [*profiler.before, *program, *options]
    ]


@contextlib.contextmanager
def scraping():
    """Reads the metrics as Prometheus does. They are there once the program runs."""
    done = threading.Event()

    def scrape():
        while not done.wait(SCRAPE_PERIOD):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{SCRAPED_PORT}/metrics").read()

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def measure(profiler, language, build, model, steps):
    """One run of one profiler. Raises RuntimeError with the end of its output if it fails."""
    with tempfile.TemporaryDirectory(prefix="stepscope-overhead-") as folder:
        folder = pathlib.Path(folder)
        report = folder / "report.json"
        (folder / "out").mkdir()
        words = command(profiler, language, build, model, steps, report, folder / "out/result")
        # A new folder, because some profilers write their results to the current one.
        with scraping() if profiler.scraped else contextlib.nullcontext():
            done = subprocess.run(
                words,
                cwd=folder / "out",
                env=os.environ | STEADY_MALLOC,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if done.returncode != 0 or not report.exists():
            raise RuntimeError(
                f"{' '.join(words)} exited with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        own = json.loads(report.read_text())
        return {
            "step_ns": statistics.median(own["step_ns"]),
            "fast_step_ns": statistics.quantiles(own["step_ns"], n=10)[0],
            "all_steps_ns": sum(own["step_ns"]),
            "peak_rss_bytes": own["peak_rss_bytes"],
            "result_s": (ended - own["ended_ns"]) / 1e9,
            "disk_bytes": sum(
                file.stat().st_size for file in (folder / "out").rglob("*") if file.is_file()
            ),
        }


def run_rounds(language, model, build, rounds, steps, only):
    """Returns the measurements of each profiler, one per round. Leaves out profilers that fail, and
    says why. `only`: names of profilers; None: all."""
    running = [
        profiler
        for profiler in profilers(build)
        if language in profiler.languages and (only is None or profiler.name in {"none", *only})
    ]
    taken = {profiler.name: [] for profiler in running}
    shuffle = random.Random(1).sample
    for _ in range(rounds):
        for profiler in shuffle(running, len(running)):
            try:
                taken[profiler.name].append(measure(profiler, language, build, model, steps))
            except RuntimeError as error:
                print(f"left out: {profiler.name}: {error}", file=sys.stderr)
                if profiler.name == "none":
                    sys.exit(1)
                taken[profiler.name] = None
        failed = [name for name, values in taken.items() if values is None]
        running = [profiler for profiler in running if profiler.name not in failed]
        for name in failed:
            del taken[name]
    return taken


def summary(taken):
    """The figures of one loop, each compared with the run without a profiler of the same round."""
    none = taken["none"]

    def above(values, key):
        return statistics.median(value[key] - bare[key] for value, bare in zip(values, none))

    result = {}
    for name, values in taken.items():
        ratios = [value["step_ns"] / bare["step_ns"] for value, bare in zip(values, none)]
        quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        result[name] = {
            "step_ns": statistics.median(value["step_ns"] for value in values),
            "slowdown": statistics.median(ratios) - 1,
            "slowdown_quartiles": [quartiles[0] - 1, quartiles[2] - 1],
            "slowdown_of_fast": statistics.median(
                value["fast_step_ns"] / bare["fast_step_ns"] for value, bare in zip(values, none)
            )
            - 1,
            "slowdown_of_all": statistics.median(
                value["all_steps_ns"] / bare["all_steps_ns"] for value, bare in zip(values, none)
            )
            - 1,
            "fast_step_ns": statistics.median(value["fast_step_ns"] for value in values),
            "cost_ns_per_step": above(values, "step_ns"),
            "disk_bytes": statistics.median(value["disk_bytes"] for value in values),
            "peak_rss_bytes_above": above(values, "peak_rss_bytes"),
            "result_s_above": above(values, "result_s"),
            "result_s": statistics.median(value["result_s"] for value in values),
        }
    return result


def print_table(title, result):
    print(f"\n{title}")
    print(
        f"  {'':<24}{'step':>10}{'slowdown':>10}{'fast':>9}{'all':>9}{'a step':>11}{'disk':>11}{'RSS':>10}{'result':>9}"
    )
    for name, row in result.items():
        print(
            f"  {name:<24}{row['step_ns'] / 1e6:>7.2f} ms{row['slowdown']:>+10.1%}{row['slowdown_of_fast']:>+9.1%}"
            f"{row['slowdown_of_all']:>+9.1%}"
            f"{row['cost_ns_per_step'] / 1e3:>+8.1f} µs{row['disk_bytes'] / 1e6:>8.1f} MB"
            f"{row['peak_rss_bytes_above'] / 1e6:>+7.0f} MB{row['result_s_above']:>+7.2f} s"
        )


def machine():
    with open("/proc/cpuinfo") as file:
        cpu = next(
            (line.split(": ", 1)[1].strip() for line in file if line.startswith("model name")),
            "unknown",
        )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, help="steps of each run (mlp 1000, cnn 100)")
    parser.add_argument(
        "--languages", nargs="+", choices=["cpp", "python"], default=["cpp", "python"]
    )
    parser.add_argument("--profilers", nargs="+", metavar="NAME", help="only these, and none")
    parser.add_argument("--models", nargs="+", choices=["mlp", "cnn"], default=["mlp", "cnn"])
    parser.add_argument(
        "-o", "--output", type=pathlib.Path, help="also write the results to this file"
    )
    given = parser.parse_args()
    build = given.build.resolve()

    result = {"benchmark": "overhead", "machine": machine(), "rounds": given.rounds, "loops": []}
    for language in given.languages:
        if language == "python" and importlib.util.find_spec("torch") is None:
            sys.exit(f"{sys.executable} has no torch: run this with a Python that has")
        for model in given.models:
            steps = given.steps or STEPS[model]
            taken = run_rounds(language, model, build, given.rounds, steps, given.profilers)
            loop = {
                "language": language,
                "model": model,
                "steps": steps,
                "profilers": summary(taken),
            }
            result["loops"].append(loop)
            print_table(
                f"{model}, {language}, {steps} steps, {given.rounds} rounds", loop["profilers"]
            )
            if given.output:  # after each loop, so that an interrupted run keeps the earlier ones
                given.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
