#!/usr/bin/env python3
"""Computes the range of real step times around the predicted ones.

usage: bench/predict/ranges.py [RESULT.json …]     default: bench/results/*-predict*.json

A round of bench/predict/run.py predicts a step and then measures it. A range goes from the 5th to
the 95th percentile of measured ÷ predicted, over all rounds of all pairs of a group, and is widened
to include 1. One group is the advice to let workers make the batches, the other is all other
advice. The last column is the share of a pair's rounds that lie in the range computed without that
pair: what to expect for a program that was not measured.

analyzer/advise/likely_range.h has the ranges as constants; tests/project/test_likely_ranges.py compares them.
"""

import glob
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench/predict"))
import run as predict  # noqa: E402

WORKERS, OTHERS = "workers", "other rules"
OUTSIDE = 0.05  # share of the rounds, on each side


def group_of(prediction):
    """The group of a pair, by the rule that predicts it, or by equivalent what-if options."""
    if isinstance(prediction, str):
        return OTHERS
    if prediction[0] == "--input":
        return OTHERS if prediction[1] == "cached" else WORKERS
    return None  # a removed op: there is no such advice


def ratios(paths):
    """Maps group → pair → measured ÷ predicted of each round."""
    groups = {pair[0]: group_of(pair[4]) for pair in predict.PAIRS}
    groups["V100, ResNet-50: workers 0 to 4"] = WORKERS  # two recorded traces
    result = {WORKERS: {}, OTHERS: {}}
    for path in paths:
        for pair in json.loads(pathlib.Path(path).read_text())["pairs"]:
            if group := groups.get(pair["pair"]):
                rounds = result[group].setdefault(pair["pair"], [])
                rounds.extend(1 / (1 + error) for error in pair["errors"])
    return result


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def range_of(pairs):
    values = [ratio for rounds in pairs.values() for ratio in rounds]
    return min(quantile(values, OUTSIDE), 1), max(quantile(values, 1 - OUTSIDE), 1)


def held(pairs):
    """The share of all rounds that lie in the range of the other pairs."""
    inside = []
    for left_out, rounds in pairs.items():
        low, high = range_of({name: r for name, r in pairs.items() if name != left_out})
        inside += [low <= ratio <= high for ratio in rounds]
    return sum(inside) / len(inside)


def default_results():
    return sorted(glob.glob(str(ROOT / "bench/results/*-predict*.json")))


def main():
    print(f"{'group':14}{'pairs':>6}{'rounds':>8}   {'range':13}  held of other pairs")
    for group, pairs in ratios(sys.argv[1:] or default_results()).items():
        low, high = range_of(pairs)
        rounds = sum(len(r) for r in pairs.values())
        print(f"{group:14}{len(pairs):6}{rounds:8}   {low:.2f} – {high:.2f}    {held(pairs):.0%}")


if __name__ == "__main__":
    main()
