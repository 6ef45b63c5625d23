"""`stepscope lake add`: what is written, and what is refused with one line."""

import importlib.util
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from stores import START, make_store

# Its times are random to the nanosecond, which compresses as badly as times can.
_bench = pathlib.Path(__file__).resolve().parents[2] / "bench/fleet/run.py"
_spec = importlib.util.spec_from_file_location("fleet_benchmark", _bench)
benchmark = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(benchmark)


def files(lake):
    return {path: path.read_bytes() for path in sorted(lake.glob("**/*.parquet"))}


def test_a_file_for_each_table_and_node(verb, lake, tmp_path):
    verb("lake", "add", make_store(tmp_path / "a.db", [0, 1], node=3), "--lake", lake)
    names = sorted(str(path.relative_to(lake)) for path in files(lake))
    assert names == [
        f"{table}/run=77/node-0003.parquet" for table in ("line", "rank", "run", "step", "verdict")
    ]
    step = pq.read_table(lake / "step/run=77/node-0003.parquet", partitioning=None)
    assert step.schema.metadata[b"schema_version"] == b"1"
    keys = list(zip(step["rank"].to_pylist(), step["step"].to_pylist(), strict=True))
    assert keys == [(rank, number) for rank in (0, 1) for number in range(1, 61)]
    row = step.to_pylist()[0]
    assert row["host"] == "node-a" and row["start_unix_ns"] == START + 200_000_000
    assert row["input_ns"] == 2_000_000 and row["in_backward_ns"] == row["dur_ns"] == 95_000_000


def test_a_step_of_a_rank_takes_at_most_ten_bytes(tmp_path):
    ranks, steps = 64, 4_000
    benchmark.make(tmp_path, ranks, steps, healthy=False)
    size = sum(path.stat().st_size for path in tmp_path.glob("step/**/*.parquet"))
    assert size / (ranks * steps) <= 10


def test_adding_twice_changes_nothing_and_leaves_the_store_alone(verb, lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0])
    before = store.read_bytes()
    verb("lake", "add", store, "--lake", lake)
    first = files(lake)
    verb("lake", "add", store, "--lake", lake)
    assert files(lake) == first
    assert store.read_bytes() == before
    assert not list(lake.glob("**/*.part"))


def test_what_a_killed_writer_left_goes_once_nobody_can_be_writing_it(verb, lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0])
    verb("lake", "add", store, "--lake", lake)
    folder = lake / "step/run=77"
    abandoned, growing = folder / ".new-abandoned.part", folder / ".new-growing.part"
    abandoned.touch()
    growing.touch()
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(abandoned, (two_days_ago, two_days_ago))
    verb("lake", "add", store, "--lake", lake)
    assert list(lake.glob("**/*.part")) == [growing]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(b""), "empty, not a Stepscope store"),
        (lambda path: path.write_bytes(b"no store" * 1000), "cannot be read as a store"),
        (lambda path: path.write_bytes(path.read_bytes()[:9000]), "cannot be read as a store"),
        (
            lambda path: execute(path, f"PRAGMA application_id = {0x53545357}"),
            "a sweep, not a recording; `stepscope sweep show`",
        ),
        (lambda path: execute(path, "PRAGMA application_id = 7"), "but not a Stepscope store"),
        (lambda path: execute(path, "PRAGMA user_version = 99"), "install a newer Stepscope"),
        (lambda path: execute(path, "PRAGMA user_version = 4"), "brings it up to date"),
        (lambda path: execute(path, "DELETE FROM step"), "run `stepscope analyze"),
        (
            lambda path: execute(path, "UPDATE process SET rank = 0"),
            "say at the same time that they are rank 0",
        ),
        (lambda path: execute(path, "UPDATE process SET rank = NULL"), "not all have a rank"),
    ],
)
def test_a_bad_store_is_named_and_the_others_are_added(verb, lake, tmp_path, spoil, says):
    bad, good = make_store(tmp_path / "bad.db", [0, 1]), make_store(tmp_path / "good.db", [2, 3])
    spoil(bad)
    done = verb("lake", "add", bad, good, "--lake", lake, expect=3)
    assert says in done.stderr and "bad.db" in done.stderr and done.stderr.count("\n") == 1
    assert "ranks 2, 3" in done.stdout


def execute(path, statement):
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


def test_a_rank_of_another_node_is_refused(verb, lake, tmp_path):
    verb("lake", "add", make_store(tmp_path / "a.db", [0, 1], node=0), "--lake", lake)
    before = files(lake)
    twice = make_store(tmp_path / "b.db", [1, 2], node=1)
    done = verb("lake", "add", twice, "--lake", lake, expect=3)
    assert "rank 1 of this run is in the lake already" in done.stderr
    assert files(lake) == before
    verb("lake", "add", twice, "--lake", lake, "--run", "another")


@pytest.mark.usefixtures("python_ops")
def test_a_store_that_is_being_recorded_is_refused(verb, stepscope, lake, tmp_path):
    store = tmp_path / "run.db"
    program = "import torch, time\nfor _ in range(5): torch.ones(2) + 1\nprint('ready', flush=True)\ntime.sleep(60)"
    running = subprocess.Popen(
        [stepscope, "run", "--quiet", "-o", store, "--", sys.executable, "-c", program],
        stdout=subprocess.PIPE,
    )
    try:
        assert running.stdout.readline() == b"ready\n"
        done = verb("lake", "add", store, "--lake", lake, expect=3)
    finally:
        running.terminate()
        running.communicate()
    assert f"{store}: still being recorded; add it when the program has ended" in done.stderr
    assert "analyze" not in done.stderr and done.stderr.count("\n") == 1


def test_a_store_whose_recorder_was_killed_is_added_and_named(verb, lake, tmp_path, answers):
    done = verb(
        "lake", "add", make_store(tmp_path / "a.db", [0], state="recording"), "--lake", lake
    )
    assert "its recording did not end normally" in done.stdout
    assert answers()["runs"][0]["unfinished_nodes"] == ["0000"]


def test_a_full_disk_keeps_what_was_there(verb, stepscope, lake, tmp_path):
    """The limit on the size of a file stands for the disk."""
    verb("lake", "add", make_store(tmp_path / "a.db", [0], steps=20), "--lake", lake)
    before = files(lake)
    larger = make_store(tmp_path / "b.db", [0], steps=900)
    done = subprocess.run(
        [stepscope, "lake", "add", larger, "--lake", lake],
        capture_output=True,
        text=True,
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)),
        check=False,
    )
    assert done.returncode == 3, done.stderr
    said = f"{larger}: not added; {lake}: cannot be written (File too large)\n"
    assert done.stderr == f"stepscope lake: {said}"
    assert files(lake) == before
    assert not list(lake.glob("**/*.part"))


def test_a_lake_that_is_no_folder_is_one_line(verb, tmp_path):
    store = make_store(tmp_path / "a.db", [0])
    os.mkfifo(tmp_path / "pipe")
    for name in (store, tmp_path / "pipe", "/dev/null"):
        done = verb("lake", "add", store, store, "--lake", name, expect=3)
        assert (
            done.stderr == f"stepscope lake: {name}: is not a folder; name the folder of a lake\n"
        )
    for name in (tmp_path / "pipe", "/dev/null"):
        done = verb("fleet", name, expect=3)
        assert (
            done.stderr == f"stepscope fleet: {name}: is not a folder; name the folder of a lake\n"
        )


def test_a_python_without_the_packages_is_one_line(stepscope, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    for named, says in (
        (python, "pip install duckdb pyarrow"),
        (tmp_path / "none", "STEPSCOPE_PYTHON"),
    ):
        done = subprocess.run(
            [stepscope, "fleet", tmp_path],
            capture_output=True,
            text=True,
            env=os.environ | {"STEPSCOPE_PYTHON": str(named)},
            check=False,
        )
        assert done.returncode == 3 and says in done.stderr and done.stderr.count("\n") == 1
