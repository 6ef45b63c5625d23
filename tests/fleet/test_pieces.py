"""Pieces of runs that are being recorded: what `stepscope run --lake` adds every minute."""

import pathlib
import sqlite3
import sys

import pyarrow.parquet as pq
import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.lake import add
from stepscope_fleet.problem import Problem


@pytest.fixture
def add_piece(lake, tmp_path):
    def make(ranks, first, steps, *, store="run.db", **more):
        meta = more.pop("meta", {}) | {"piece_of": str(tmp_path / store)}
        path = tmp_path / f"piece-{len(list(tmp_path.iterdir()))}.db"
        return add(
            make_store(path, ranks, first=first, steps=steps, meta=meta, **more), lake, None, None
        )

    return make


def rows(lake, table="step", node="0000"):
    return pq.read_table(
        lake / f"{table}/run=77/node-{node}.parquet", partitioning=None
    ).to_pylist()


def keys(lake):
    return [(row["rank"], row["step"]) for row in rows(lake)]


def test_pieces_become_one_run(lake, add_piece):
    added = add_piece([0, 1], 1, 40)
    assert "still being written" in added.text
    add_piece([0, 1], 41, 25)
    assert keys(lake) == [(rank, step) for rank in (0, 1) for step in range(1, 66)]
    assert [row["steps"] for row in rows(lake, "rank")] == [65, 65]
    (run,) = analyze(lake, []).document["runs"]
    assert run["unfinished_nodes"] == ["0000"] and run["ranks"] == 2
    assert not list(lake.glob("**/*.part"))


def test_a_step_that_comes_twice_counts_once(lake, add_piece):
    add_piece([0, 1], 1, 40)
    add_piece([0, 1], 40, 10, longer=5 * MS)
    assert keys(lake) == [(rank, step) for rank in (0, 1) for step in range(1, 50)]
    again = next(row for row in rows(lake) if row["step"] == 40)
    assert again["dur_ns"] == 100 * MS


def test_a_rank_that_is_not_in_a_piece_keeps_its_rows(lake, add_piece):
    add_piece([0, 1], 1, 40)
    add_piece([0], 41, 10)
    assert [row["steps"] for row in rows(lake, "rank")] == [50, 40]
    assert {row["rank"] for row in rows(lake, "line")} == {0, 1}


def test_a_rank_that_was_restarted_begins_anew(lake, add_piece):
    add_piece([0, 1], 1, 40)
    add_piece([0, 1], 1, 10, pid=900)
    assert [row["steps"] for row in rows(lake, "rank")] == [10, 10]
    assert len(rows(lake)) == 20


def test_the_whole_store_replaces_its_pieces(lake, tmp_path, add_piece):
    add_piece([0, 1], 1, 40)
    whole = make_store(tmp_path / "run.db", [0, 1], steps=90)
    assert "still being written" not in add(whole, lake, None, None).text
    assert len(rows(lake)) == 180
    assert analyze(lake, []).document["runs"][0]["unfinished_nodes"] == []


def test_another_recording_of_the_node_is_not_continued(lake, add_piece):
    add_piece([0, 1], 1, 40)
    with pytest.raises(Problem, match="from another recording"):
        add_piece([0, 1], 41, 10, store="other.db", start=START + 5)
    # The same command again: its store replaces the earlier one.
    add_piece([0, 1], 1, 10, start=START + 5)
    assert len(rows(lake)) == 20


@pytest.mark.parametrize("spoil", [b"", b"PAR1 and no more"])
def test_a_broken_file_is_replaced_by_the_next_piece(lake, add_piece, spoil):
    add_piece([0, 1], 1, 40)
    (lake / "step/run=77/node-0000.parquet").write_bytes(spoil)
    add_piece([0, 1], 41, 10)
    assert len(rows(lake)) == 20


def test_a_run_without_a_job_has_the_same_name_in_each_piece(lake, tmp_path, add_piece):
    add_piece([0, 1], 1, 40, job=None)
    add_piece([0, 1], 41, 10, job=None)
    add(make_store(tmp_path / "run.db", [0, 1], job=None), lake, None, None)
    assert len(list((lake / "step").iterdir())) == 1


def test_the_ops_of_a_slow_rank_are_linked(verb, lake, tmp_path, answers):
    """Ops were recorded from 5 to 9 s of the session: in the steps that began then, one every 200 ms."""
    store = make_store(
        tmp_path / "run.db",
        [0, 1, 2, 3],
        slow={2: ("input", 30 * MS)},
        meta={"ops_blocks": "1:1000-2000 2:100-200 2:5000000000-9000000000 3:7000000000-"},
    )
    database = sqlite3.connect(store)
    database.execute("UPDATE step SET ops_recorded = number BETWEEN 27 AND 40")
    database.commit()
    database.close()
    verb("lake", "add", store, "--lake", lake)
    (run,) = answers()["runs"]
    (slow,) = run["slow_ranks"]
    assert slow["ops"] == {"store": str(store), "first_step": 27, "last_step": 40}
    assert f"stepscope analyze {store} --rank 2 --steps 27-40" in verb("fleet", lake).stdout


def test_a_rank_whose_ops_were_not_recorded_has_no_link(lake, tmp_path):
    store = make_store(tmp_path / "run.db", [0, 1, 2, 3], slow={2: ("input", 30 * MS)})
    add(store, lake, None, None)
    (slow,) = analyze(lake, []).document["runs"][0]["slow_ranks"]
    assert slow["ops"] is None
