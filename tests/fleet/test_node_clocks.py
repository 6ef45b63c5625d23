"""Clocks of nodes that are apart: found from collectives, and taken out of arrival times."""

import pathlib
import sqlite3
import sys

import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.collectives import Collectives
from stepscope_fleet.lake import add
from stepscope_fleet.stores import Store
from stepscope_fleet.text import fleet_text

SLOW = {3: ("input", 10 * MS)}


def in_step(number):
    return 0


def two_nodes(tmp_path, lake, *, ahead_ns, second=in_step, **given):
    """The clock of the second node is ahead."""
    for node, ranks in enumerate(([0, 1], [2, 3])):
        store = make_store(
            tmp_path / f"{node}.db",
            ranks,
            node=node,
            host=f"node-{node}",
            start=START + node * ahead_ns,
            **{"slow": SLOW, "collectives": second if node else in_step, "steps": 100} | given,
        )
        add(store, lake, None, None)
    document = analyze(lake, []).document
    return document["runs"][0], fleet_text(document)


@pytest.mark.parametrize("ahead_ns", [0, 3_420_000_000, -7 * 3600 * 10**9])
def test_a_clock_that_is_ahead(lake, tmp_path, ahead_ns):
    run, text = two_nodes(tmp_path, lake, ahead_ns=ahead_ns)
    first, second = run["node_clocks"]
    assert (first["node"], first["offset_ns"], first["error_ns"]) == ("0000", 0, 0)
    assert (second["node"], second["host"], second["collectives"]) == ("0001", "node-1", 100)
    # The ends differ by up to 40 us.
    assert abs(second["offset_ns"] - ahead_ns) <= 2 * second["error_ns"] <= 80_000
    assert abs(second["drift_ns"]) <= 40_000
    (slow,) = run["slow_ranks"]
    assert slow["rank"] == 3 and slow["arrives_last_share"] == 1.0
    assert slow["arrives_late_ns"] == pytest.approx(10 * MS, abs=100_000)
    assert ("the clock of node 0001 is" in text) == (ahead_ns != 0)
    if ahead_ns > 0:
        assert "3,420.0" in text and "ms ahead (± 0.0" in text and "from 100 collectives" in text
    assert "after the first rank at the last collective of a step" in text


def test_a_clock_that_drifts(lake, tmp_path):
    """By 20 us a step."""
    run, _ = two_nodes(tmp_path, lake, ahead_ns=5 * MS, second=lambda number: number * 20_000)
    clock = run["node_clocks"][1]
    assert clock["drift_ns"] == pytest.approx(95 * 20_000, abs=60_000)
    assert clock["offset_ns"] == pytest.approx(5 * MS + 50 * 20_000, abs=60_000)
    (slow,) = run["slow_ranks"]
    assert slow["arrives_late_ns"] == pytest.approx(10 * MS, abs=100_000)
    assert slow["arrives_last_share"] == 1.0


def test_without_collectives_nothing_is_said(lake, tmp_path):
    run, text = two_nodes(tmp_path, lake, ahead_ns=3_420_000_000, collectives=None)
    assert run["node_clocks"] == [] and run["slow_ranks"][0]["arrives_late_ns"] is None
    assert "the clock of node" not in text and "last collective" not in text


def test_groups_that_do_not_meet_are_not_compared(lake, tmp_path):
    """Each node is a stage of its own."""
    meta = {"groups": "0:pp=0/2 1:pp=0/2 2:pp=1/2 3:pp=1/2"}
    run, _ = two_nodes(tmp_path, lake, ahead_ns=3_420_000_000, meta=meta)
    assert [clock["node"] for clock in run["node_clocks"]] == ["0000"]


def test_kernels_of_nccl(tmp_path):
    """A kernel belongs to the step that launched it, and other kernels are none."""
    path = make_store(tmp_path / "a.db", [0], steps=3)
    database = sqlite3.connect(path)
    database.executemany(
        "INSERT INTO string VALUES (?, ?)",
        [(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"), (2, "ncclDevKernel_SendRecv(x)")],
    )
    database.execute("INSERT INTO device (id, process_id, number, name) VALUES (1, 1, 0, 'GPU')")
    database.execute("INSERT INTO stream (id, device_id, context, number) VALUES (1, 1, 1, 7)")
    kernels = [
        (1, 1, 390 * MS, 5 * MS, 11),
        (2, 1, 405 * MS, 20 * MS, 12),
        (3, 2, 280 * MS, MS, 13),
    ]
    for id, name, start, length, correlation in kernels:
        database.execute(
            "INSERT INTO kernel VALUES (?, 1, ?, ?, ?, ?, 1,1,1, 1,1,1, 0,0,0, NULL,NULL)",
            (id, name, start, length, correlation),
        )
    for correlation, start in ((11, 210 * MS), (12, 250 * MS), (13, 270 * MS)):
        database.execute(
            "INSERT INTO api_call (thread_id, start_ns, dur_ns, correlation) VALUES (1, ?, 9, ?)",
            (start, correlation),
        )
    database.commit()
    database.close()
    store = Store(path)
    collectives = Collectives(store)
    (loop,) = store.loops
    assert collectives.last_in(loop, 200 * MS, 295 * MS) == (405 * MS, 425 * MS)
    assert collectives.last_in(loop, 400 * MS, 495 * MS) is None
    store.close()


def test_ranks_of_several_hosts_in_one_store_say_nothing_about_clocks(lake, tmp_path):
    """A store that was imported: each rank's times are those of its host's clock."""
    hosts = {"rank_hosts": "0:h0\n1:h1\n2:h2\n3:h3"}
    store = make_store(
        tmp_path / "a.db", [0, 1, 2, 3], slow=SLOW, collectives=in_step, steps=100, meta=hosts
    )
    add(store, lake, None, None)
    (run,) = analyze(lake, []).document["runs"]
    (slow,) = run["slow_ranks"]
    assert (slow["rank"], slow["host"], run["hosts"]) == (3, "h3", 4)
    assert slow["arrives_late_ns"] is None
    assert [clock["collectives"] for clock in run["node_clocks"]] == []
