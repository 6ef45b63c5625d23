"""Runs of a job that are slower than the run before."""

import pathlib
import sys

import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.lake import add

DAY_NS = 86_400_000_000_000


@pytest.fixture
def add_run(lake, tmp_path):
    def make(job, day, *, ranks=4, name="nightly", **more):
        store = make_store(
            tmp_path / f"{job}.db",
            list(range(ranks)),
            job=job,
            start=START + day * DAY_NS,
            name=name,
            **more,
        )
        add(store, lake, None, None)

    return make


def test_a_slower_run_is_named_with_category_and_line(add_run, lake, verb):
    add_run("71", 0)
    add_run("73", 2, longer=10 * MS, line_function="decode")
    add_run("72", 1)
    add_run("74", 3, longer=10 * MS)
    (found,) = analyze(lake, []).document["regressions"]
    assert (found["before_run"], found["run"], found["job"]) == ("72", "73", "nightly")
    assert (found["before_step_ns"], found["step_ns"]) == (95 * MS, 105 * MS)
    assert (found["category"], found["category_change_ns"]) == ("input", 10 * MS)
    assert found["rank"] is None and found["line"]["function"] == "decode"
    text = verb("fleet", lake).stdout
    assert (
        "73 is slower than 72, the run of nightly before it: 105.00 ms a step after 95.00" in text
    )
    assert "most of it is input (+10.00 ms), data.py:41 decode" in text


def test_a_slow_rank_is_the_cause_not_the_waiting_of_the_others(add_run, lake):
    add_run("71", 0)
    add_run("72", 1, slow={3: ("host", 20 * MS)})
    (found,) = analyze(lake, []).document["regressions"]
    assert (found["rank"], found["category"]) == (3, "host")
    assert found["category_change_ns"] == pytest.approx(20 * MS, rel=0.01)


def test_what_is_no_regression(add_run, lake):
    add_run("71", 0, longer=10 * MS)
    add_run("72", 1)  # faster
    add_run("73", 2, longer=2 * MS)  # 2 %
    add_run("74", 3, ranks=2, longer=60 * MS)  # fewer ranks
    add_run("75", 4, name="weekly", longer=60 * MS)  # another job
    add_run("76", 5, steps=4, longer=60 * MS)  # too few steps to know
    assert analyze(lake, []).document["regressions"] == []


def test_a_change_within_what_steps_differ_anyhow_is_none(add_run, lake):
    add_run("71", 0, slow=dict.fromkeys(range(4), ("host", 400 * MS)), slow_from=45)
    add_run("72", 1, slow=dict.fromkeys(range(4), ("host", 400 * MS)), slow_from=42)
    assert analyze(lake, []).document["regressions"] == []
