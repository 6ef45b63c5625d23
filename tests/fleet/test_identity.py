"""Which run and node a store is of, by what the recorder found out."""

import pathlib
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.identity import job_of, local_ranks_of, node_of, run_of, safe_name
from stepscope_fleet.store_meta import numbers_in

FACTS = {"host": "train-5", "program": "train.py", "wall_start_unix_ns": "17"}


def store_of(meta, ranks=1):
    numbers = numbers_in(FACTS | meta)
    return types.SimpleNamespace(
        meta=FACTS | meta,
        numbers=numbers,
        wall_start_unix_ns=numbers["wall_start_unix_ns"],
        whole_path=pathlib.Path("run.db"),
        loops=[types.SimpleNamespace(rank=8 + rank) for rank in range(ranks)],
    )


@pytest.mark.parametrize(
    ("meta", "job", "run", "node"),
    [
        ({"job_id": "77", "job_name": "nightly", "node_rank": "3"}, "nightly", "77", "0003"),
        ({"job_id": "77", "node_rank": "3", "requeue_count": "2"}, "train.py", "77.2", "0003"),
        ({"job_id": "77", "node_rank": "3", "requeue_count": "0"}, "train.py", "77", "0003"),
        ({"job_id": "77"}, "train.py", "77", "train-5-0008"),
        # srun around `stepscope run`: a store of each rank.
        ({"job_id": "77", "node_rank": "3", "rank": "9"}, "train.py", "77", "0003-rank-0009"),
        ({"job_id": "77", "node_rank": "3", "rank": ""}, "train.py", "77", "0003"),
        ({"job_id": "77", "node_rank": "x" * 9000}, "train.py", "77", "train-5-0008"),
        ({}, "train.py", "train.py-17", "train-5-0008"),
        # `run --job` without a scheduler: on one machine each run is one of its own.
        ({"job_id": "nightly", "job_name": "nightly"}, "nightly", "nightly-17", "train-5-0008"),
        (
            {"job_id": "nightly", "job_name": "nightly", "world_size": "16"},
            "nightly",
            "nightly",
            "train-5-0008",
        ),
    ],
)
def test_run_and_node(meta, job, run, node):
    store = store_of(meta)
    assert (job_of(store), run_of(store), node_of(store)) == (job, run, node)


def test_numbers():
    store = store_of({"world_size": "64", "local_ranks": "8:0 9:1"})
    assert store.numbers["world_size"] == 64
    assert local_ranks_of(store) == {8: 0, 9: 1}
    assert "world_size" not in store_of({"world_size": "-4"}).numbers
    assert local_ranks_of(store_of({"local_ranks": "8:0 nonsense 9:"})) == {8: 0}


@pytest.mark.parametrize(
    "meta",
    [
        {"world_size": "999999999"},
        {"world_size": "9" * 5000},
        {"node_rank": "1048576"},
        {"wall_start_unix_ns": "abc"},
        {"wall_start_unix_ns": "-1"},
        {"wall_start_unix_ns": "9223372036854775807"},
    ],
)
def test_numbers_that_cannot_be_true(meta):
    with pytest.raises(ValueError, match=f"its {next(iter(meta))} is .*, not an integer from 0 to"):
        numbers_in(FACTS | meta)


def test_each_name_has_a_folder_of_its_own():
    names = ["job7", "job/1", "job 1", "job_1", "a=b", "a_b", "é", "ü", "_", "", "训练一", "训练二"]
    names += ["x" * 128, "x" * 129, "x" * 130]
    folders = {safe_name(name) for name in names}
    assert len(folders) == len(names)
    assert all(0 < len(folder) <= 128 and folder.isascii() for folder in folders)
    assert not any("/" in folder or "=" in folder for folder in folders)
    assert safe_name("train.py-17_a") == "train.py-17_a"
