"""Which ranks of a running job have become slow, by the small files of its nodes in the lake."""

import pathlib
import sys

import pyarrow as pa
import pytest
from stores import MS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet import watch
from stepscope_fleet.tables import arrow_schema
from stepscope_fleet.watch import Watch, add_steps, forget, judge

STEP = 100 * MS


def steps(ranks, first, count, *, slow=None, step_ns=STEP, steady=True):
    """`slow`: {rank: ns more of input}. All ranks wait for the slowest: every step is as long as its step."""
    slow = slow or {}
    longest = step_ns + max(slow.values(), default=0)
    rows = [
        {
            "rank": rank,
            "step": step,
            "dur_ns": longest,
            "steady": steady,
            "input_ns": 2 * MS + slow.get(rank, 0) + (step * 7 + rank) % 5 * 10_000,
            "compute_ns": 60 * MS,
            **dict.fromkeys(("copy_ns", "launch_ns", "allocation_ns", "host_ns", "other_ns"), 0),
        }
        for rank in ranks
        for step in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema("step"))


def node(*pieces, seconds=10.0):
    own = {"schema": watch.SCHEMA, "block_steps": 1, "ranks": {}}
    for piece in pieces:
        add_steps(own, piece.select(watch._COLUMNS), seconds)
    return own


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_a_rank_that_is_slow_for_the_whole_time(ranks):
    half = ranks // 2
    slow = {ranks - 1: 30 * MS}
    first = node(steps(range(half), 1, 200, slow={half - 1: 0} | slow))
    second = node(steps(range(half, ranks), 1, 200, slow=slow))
    assert judge([first, second], 10.0) == [ranks - 1]


def test_equal_ranks_are_not_slow():
    assert judge([node(steps(range(8), 1, 200))], 10.0) == []


def test_a_short_stall_is_not_enough():
    pieces = [
        steps(range(4), 1, 100),
        steps(range(4), 101, 10, slow={2: 900 * MS}),
        steps(range(4), 111, 100),
    ]
    assert judge([node(*pieces)], 10.0) == []


def test_a_rank_that_was_slow_earlier_is_not_slow():
    pieces = [steps(range(4), 1, 200, slow={2: 30 * MS}), steps(range(4), 201, 200)]
    assert judge([node(*pieces)], 10.0) == []


def test_less_than_the_time_says_nothing():
    assert judge([node(steps(range(4), 1, 60, slow={2: 30 * MS}))], 10.0) == []


def test_nodes_that_are_not_equally_far():
    slow = {3: 30 * MS}
    first = node(steps([0, 1], 1, 237, slow={0: 0} | slow))
    second = node(steps([2, 3], 1, 201, slow=slow))
    assert judge([first, second], 10.0) == [3]


def test_nodes_that_chose_other_blocks():
    slow = {3: 30 * MS}
    first = node(steps([0, 1], 1, 200, slow=slow), seconds=10.0)
    second = node(steps([2, 3], 1, 200, slow=slow), seconds=5.0)
    assert first["block_steps"] != second["block_steps"]
    assert judge([first, second], 10.0) == [3]


def test_a_node_that_has_stopped_ends_the_comparison():
    slow = {3: 30 * MS}
    assert judge([node(steps([0, 1], 1, 900)), node(steps([2, 3], 1, 50, slow=slow))], 10.0) == []


def test_one_rank_or_none():
    assert judge([], 10.0) == []
    assert judge([node(steps([0], 1, 200, slow={0: 30 * MS}))], 10.0) == []


def test_steps_that_come_again_are_counted_once():
    once = node(steps([0, 1], 1, 60), steps([0, 1], 61, 20))
    twice = node(steps([0, 1], 1, 60), steps([0, 1], 60, 21))
    assert once == twice


def test_warm_up_is_not_compared():
    assert node(steps([0], 1, 50, steady=False))["ranks"]["0"]["blocks"] == {}


def test_a_restarted_process_begins_anew():
    own = node(steps([0], 1, 500), steps([0], 1, 20))
    assert own["ranks"]["0"]["last_step"] == 20
    assert sum(sums[0] for sums in own["ranks"]["0"]["blocks"].values()) == 20


def test_a_node_file_stays_small():
    own = node(*(steps(range(8), 1 + 100 * i, 100, step_ns=5 * MS) for i in range(100)))
    assert all(len(rank["blocks"]) <= 4 * watch.BLOCKS + 2 for rank in own["ranks"].values())


def test_the_node_of_a_slow_rank_is_asked_once(lake):
    slow = {3: 30 * MS}
    first, second = (Watch(lake, "run=77", name, 10.0) for name in ("0000", "0001"))
    assert first.slow_ranks(steps([0, 1], 1, 200, slow={0: 0} | slow)) == []
    (lake / "watch/run=77/slow.json").unlink()  # its verdict is too young to be replaced
    assert second.slow_ranks(steps([2, 3], 1, 200, slow=slow)) == [3]
    assert first.slow_ranks(steps([0, 1], 201, 100, slow={0: 0} | slow)) == []
    assert second.slow_ranks(steps([2, 3], 201, 100, slow=slow)) == []


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"schema": "stepscope.watch/9"}'])
def test_files_of_others_are_not_used(lake, text):
    folder = lake / "watch/run=77"
    folder.mkdir(parents=True)
    (folder / "slow.json").write_text(text)
    (folder / "node-0009.json").write_text(text)
    own = Watch(lake, "run=77", "0000", 10.0)
    assert own.slow_ranks(steps(range(4), 1, 200, slow={3: 30 * MS})) == [3]


@pytest.mark.parametrize(
    "ranks", ["[]", '{"x": {}}', '{"9": {"last_step": 5, "blocks": {"0": []}}}']
)
def test_broken_files_find_nothing(lake, ranks):
    folder = lake / "watch/run=77"
    folder.mkdir(parents=True)
    text = f'{{"schema": "{watch.SCHEMA}", "block_steps": 1, "ranks": {ranks}}}'
    (folder / "node-0009.json").write_text(text)
    there = steps(range(4), 1, 200, slow={3: 30 * MS})
    assert watch.slow_ranks(lake, "run=77", "0000", 10.0, there) == []


def test_the_last_node_removes_the_folder(lake):
    for name in ("0000", "0001"):
        Watch(lake, "run=77", name, 10.0).slow_ranks(steps([0], 1, 10))
    forget(lake, "run=77", "0000")
    assert (lake / "watch/run=77/node-0001.json").exists()
    forget(lake, "run=77", "0001")
    assert not (lake / "watch/run=77").exists()
    forget(lake, "run=77", "0001")
