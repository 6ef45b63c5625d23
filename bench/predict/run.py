#!/usr/bin/env python3
"""Predicted against measured: real before/after pairs, in interleaved rounds.

    bench/predict/run.py --stepscope build/release/bin/stepscope --mnist build/release/samples/mnist \
        --serve build/release/samples/serve --mistakes-cpp build/release/samples/mistakes \
        --rounds 5 --out bench/results/predict.json

Each pair is a program with a problem, the change that fixes it, and the fixed program. Each round
records both, one right after the other, and predicts the step of the second from the recording of
the first. The error of a pair is the median over the rounds, so that other programs on the machine
have little effect. --traces DIR adds the pair of V100 traces in that folder.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "bench"))
from steady_malloc import STEADY_MALLOC  # noqa: E402

BINARIES = ("mnist", "serve", "mistakes-cpp")  # each has an option
SCRIPTS = {"loop": HERE / "loop.py", "mistakes": ROOT / "samples/python/mistakes/mistakes.py"}

KEEP = [f"{name}={value}" for name, value in STEADY_MALLOC.items()]

SINGLE = "one sentence a call to 16 (a sentence)"
MISTAKES = [
    ("no gradients in inference", "grad", "gradients-in-inference"),
    ("training mode off", "train", "evaluation-mode"),
    (SINGLE, "single", "single-samples"),
    ("eager to TorchScript, frozen", "eager", "torchscript"),
    ("sentences sorted by length", "lengths", "sort-by-length"),
    ("labels read at once", "item", "read-at-once"),
]

# name, program, options before, options after, what-if options (or the advice rule that predicts).
# Options NAME=value are set in the program's environment.
PAIRS = [
    ("MNIST: decoded images cached", "mnist", [], ["--cache"], ["--input", "cached"]),
    ("MNIST: 1 prefetch thread", "mnist", [], ["--prefetch", "1"], ["--input", "prefetched"]),
    ("MNIST: 2 prefetch threads", "mnist", [], ["--prefetch", "2"], ["--input", "workers=2"]),
    (
        "loader waits: workers 0 to 2",
        "loop",
        ["--sample-ms", "0.5"],
        ["--sample-ms", "0.5", "--workers", "2"],
        ["--input", "workers=2"],
    ),
    (
        "loader works: workers 0 to 2",
        "loop",
        ["--sample-ms", "0.3", "--decode", "busy"],
        ["--sample-ms", "0.3", "--decode", "busy", "--workers", "2"],
        ["--input", "workers=2"],
    ),
    (
        "loader waits: workers 1 to 2",
        "loop",
        ["--sample-ms", "1.2", "--layers", "24", "--workers", "1"],
        ["--sample-ms", "1.2", "--layers", "24", "--workers", "2"],
        "more-workers",
    ),
    (
        "workers kept between epochs",
        "loop",
        ["--epochs", "10", "--steps", "20", "--workers", "1"],
        ["--epochs", "10", "--steps", "20", "--workers", "1", "--persistent"],
        "persistent-workers",
    ),
    ("periodic stall removed", "loop", ["--stall-every", "20"], [], "periodic-stall"),
    (
        "stalling scope removed",
        "loop",
        ["--stall-every", "20"],
        [],
        ["--op", "checkpoint=0"],
    ),
    (
        "Adam fused",
        "loop",
        ["--layers", "8"],
        ["--layers", "8", "--optimizer", "fused"],
        "fused-optimizer",
    ),
    (
        "freed memory kept: batch norm",
        "mistakes",
        ["--mistake", "train"],
        KEEP + ["--mistake", "train"],
        "keep-freed-memory",
    ),
    *(
        (
            f"freed memory kept: batch of {batch}",
            "serve",
            options,
            KEEP + options,
            "keep-freed-memory",
        )
        for batch in ("8", "16", "32")
        for options in [["--length", "32", "--calls", "400", "--batch", batch]]
    ),
    ("300 small ops gone", "loop", ["--adds", "300"], [], ["--op", "aten::add=0"]),
    *(
        (
            name + (", C++" if program == "mistakes-cpp" else ""),
            program,
            ["--mistake", mistake],
            ["--mistake", mistake, "--fixed"],
            rule,
        )
        for program in ("mistakes", "mistakes-cpp")
        for name, mistake, rule in MISTAKES
        if program == "mistakes" or mistake != "eager"  # in C++, almost no time passes between ops
    ),
]
# How many samples a call after the change has, per sample of a call before it.
SAMPLES = {SINGLE: 16, SINGLE + ", C++": 16}


def run(command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(args, program, options, store):
    if program == "mnist":
        # The second epoch, when the cache is full.
        window = ["--steps", "520-800", "--record", store]
        run([args.binaries["mnist"], *window, *options], cwd=store.parent)
    else:
        settings = [option for option in options if "=" in option and not option.startswith("-")]
        environment, words = (
            dict(setting.split("=") for setting in settings),
            options[len(settings) :],
        )
        script = (
            [args.binaries[program]] if program in BINARIES else [args.python, SCRIPTS[program]]
        )
        marks = {"PYTHONPATH": str(ROOT / "profiler/python")}
        record_run = [
            args.stepscope,
            "run",
            "--quiet",
            "--no-analysis",
            "-o",
            store,
            "--",
            *script,
            *words,
        ]
        run(record_run, env=os.environ | marks | environment)


def analysis(args, store):
    return json.loads(run([args.analyzer, "analyze", store, "--json", "--no-write"]))


def predicted_ns(args, store, change):
    """The predicted step, or None without a prediction."""
    if isinstance(change, str):
        for advice in analysis(args, store)["advice"]:
            if advice["rule"] == change:
                return advice["predicted_step_ns"]
        return None
    answer = json.loads(run([args.analyzer, "what-if", store, *change, "--json"]))
    return answer["predicted_step_ns"]


def one_round(args, pair, folder):
    name, program, before, after, change = pair
    for which, options in (("before", before), ("after", after)):
        record(args, program, options, folder / f"{which}.db")
    return {
        "before_ns": analysis(args, folder / "before.db")["steps"]["wall_ns"]["mean"],
        "after_ns": analysis(args, folder / "after.db")["steps"]["wall_ns"]["mean"]
        / SAMPLES.get(name, 1),
        "predicted_ns": predicted_ns(args, folder / "before.db", change),
    }


def measure_pairs(args):
    pairs = [pair for pair in PAIRS if args.only in (None, pair[1])]
    rounds = {pair[0]: [] for pair in pairs}
    for number in range(args.rounds):
        for pair in pairs:
            with tempfile.TemporaryDirectory() as folder:
                rounds[pair[0]].append(one_round(args, pair, Path(folder)))
            print(f"round {number + 1}: {pair[0]}: {rounds[pair[0]][-1]}", file=sys.stderr)
    return rounds


def v100_pair(args):
    with tempfile.TemporaryDirectory() as folder:
        stores = []
        for workers in (0, 4):
            store = Path(folder) / f"{workers}.db"
            trace = Path(args.traces) / f"resnet50_v100_workers{workers}.pt.trace.json.gz"
            run([args.analyzer, "import", trace, "-o", store])
            stores.append(store)
        return {
            "before_ns": analysis(args, stores[0])["steps"]["wall_ns"]["mean"],
            "after_ns": analysis(args, stores[1])["steps"]["wall_ns"]["mean"],
            "predicted_ns": predicted_ns(args, stores[0], ["--input", "workers=4"]),
        }


def summary(name, rounds):
    told = [r for r in rounds if r["predicted_ns"]]
    median = lambda key: statistics.median(r[key] for r in rounds)
    row = {
        "pair": name,
        "rounds": len(rounds),
        "before_ns": median("before_ns"),
        "after_ns": median("after_ns"),
    }
    if not told:
        return {**row, "predicted_ns": None, "error": None}
    errors = [r["predicted_ns"] / r["after_ns"] - 1 for r in told]
    row["predicted_ns"] = statistics.median(r["predicted_ns"] for r in told)
    row["error"] = statistics.median(errors)
    row["errors"] = errors
    return row


def table(rows):
    lines = ["| pair | before | after | predicted | error (rounds) |", "|---|---|---|---|---|"]
    for row in rows:
        if row["predicted_ns"] is None:
            predicted, error = "none", ""
        else:
            predicted = f"{row['predicted_ns'] / 1e6:.2f} ms"
            worst = f"{min(row['errors']):+.0%} … {max(row['errors']):+.0%}"
            error = f"{row['error']:+.1%} ({worst})"
        lines.append(
            f"| {row['pair']} | {row['before_ns'] / 1e6:.2f} ms | {row['after_ns'] / 1e6:.2f} ms"
            f" | {predicted} | {error} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stepscope", type=Path, required=True, help="the stepscope that records")
    parser.add_argument("--analyzer", type=Path, help="the stepscope that predicts, if another")
    for binary in BINARIES:
        parser.add_argument(f"--{binary}", type=Path, help="the sample program, for its pairs")
    parser.add_argument(
        "--only", choices=[*BINARIES, *SCRIPTS], help="only the pairs of this program"
    )
    parser.add_argument("--python", default=sys.executable, help="a Python with torch")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    args.binaries = {name: getattr(args, name.replace("-", "_")) for name in BINARIES}
    for name, path in args.binaries.items():
        if path is None and args.only in (None, name):
            parser.error(f"--{name} is needed for its pairs")
        args.binaries[name] = path and path.resolve()
    args.stepscope = args.stepscope.resolve()
    args.analyzer = args.analyzer.resolve() if args.analyzer else args.stepscope

    rows = [summary(name, rounds) for name, rounds in measure_pairs(args).items()]
    if args.traces:
        rows.append(summary("V100, ResNet-50: workers 0 to 4", [v100_pair(args)]))
    result = {
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load_at_the_end": os.getloadavg()[0],
        "pairs": rows,
    }
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
