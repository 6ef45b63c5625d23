"""Small runs are read together; what is said of each is the same as if it were alone."""

import dataclasses
import pathlib
import sys

import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fleet"))

from stepscope_fleet import batches
from stepscope_fleet.answers import analyze
from stepscope_fleet.engine import Engine
from stepscope_fleet.lake import add


@pytest.fixture
def small_runs(lake, tmp_path):
    for number in range(5):
        slow = {"slow": {1: ("input", 30 * MS)}, "slow_from": 40} if number % 2 else {}
        store = make_store(
            tmp_path / f"{number}.db",
            [0, 1, 2, 3],
            job=f"job{number}",
            steps=60 + 20 * number,
            start=START + number * 3600 * 10**9,
            collectives=(lambda step: 5 * MS) if number == 2 else None,
            **slow,
        )
        add(store, lake, None, None)
    return lake


class CountedEngines:
    def __init__(self):
        self.nodes = []

    def __call__(self, nodes):
        self.nodes.append(len(nodes))
        return Engine(nodes)


def alike(one, other):
    """Whether two answers say the same. DuckDB adds floats in any order, so their last digits may differ."""
    if isinstance(one, float):
        return one == pytest.approx(other)
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and alike(vars(one), vars(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


@pytest.mark.parametrize(("together", "nodes"), [(600, [2, 1, 1, 1]), (1, [1] * 5)])
def test_runs_are_answered_for_alike(small_runs, monkeypatch, together, nodes):
    engines = CountedEngines()
    whole = analyze(small_runs, [], engines=engines)
    assert engines.nodes == [5]
    assert [len(run["slow_ranks"]) for run in whole.document["runs"]].count(1) == 2
    monkeypatch.setattr(batches, "ROWS_TOGETHER", together)
    engines = CountedEngines()
    parts = analyze(small_runs, [], engines=engines)
    assert engines.nodes == nodes  # 240, 320, 400, 480 and 560 rows
    assert alike(parts.document, whole.document)
    assert alike(parts.facts, whole.facts)
    assert parts.heat.keys() == whole.heat.keys()


def test_progress_is_told(small_runs, monkeypatch):
    monkeypatch.setattr(batches, "ROWS_TOGETHER", 600)
    told = []
    analyze(small_runs, [], progress=lambda done, every: told.append((done, every)))
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]


def test_a_file_that_disappears_meanwhile_is_read_again(small_runs, monkeypatch):
    """The count of its rows comes after the check of its rows."""
    steps_of, gone = batches._steps_of, []

    def first_time(nodes):
        if gone:
            return steps_of(nodes)
        path = pathlib.Path(nodes[0].files["step"])
        content = path.read_bytes()
        path.unlink()
        gone.append(path)
        try:
            return steps_of(nodes)
        finally:
            path.write_bytes(content)

    monkeypatch.setattr(batches, "_steps_of", first_time)
    assert len(analyze(small_runs, []).document["runs"]) == 5
    assert len(gone) == 1
