"""The ranges of predictions in the analyzer are those that the benchmark's results give."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench/predict"))
import ranges  # noqa: E402

HEADER = ROOT / "analyzer/advise/likely_range.h"
CONSTANTS = {ranges.WORKERS: "kOfWorkers", ranges.OTHERS: "kOfOtherRules"}


def constant(name):
    low, high = re.search(name + r"\{([\d.]+), ([\d.]+)\}", HEADER.read_text()).groups()
    return float(low), float(high)


def test_ranges_are_those_of_the_measured_pairs():
    for group, pairs in ranges.ratios(ranges.default_results()).items():
        low, high = ranges.range_of(pairs)
        assert constant(CONSTANTS[group]) == (round(low, 2), round(high, 2)), group


def test_ranges_hold_for_programs_that_they_were_not_made_from():
    for group, pairs in ranges.ratios(ranges.default_results()).items():
        assert ranges.held(pairs) >= 0.8, group


def test_a_range_holds_the_prediction_itself_and_all_but_a_tenth_of_its_rounds():
    rounds = [1.1 + i / 100 for i in range(100)]
    low, high = ranges.range_of({"pair": rounds})
    assert low == 1
    assert sum(ratio > high for ratio in rounds) == 5
