"""`stepscope fleet`: who is slow, since when, in what, and what it costs."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import MS, START, make_store

HOUR_NS = 3_600_000_000_000


def add_run(verb, lake, folder, *, nodes=4, job="77", start=START, shift=0, **more):
    stores = [
        make_store(
            folder / f"{job}-{node}.db",
            [2 * node, 2 * node + 1],
            host=f"node-{node}",
            node=node,
            job=job,
            start=start + node * shift,
            **more,
        )
        for node in range(nodes)
    ]
    verb("lake", "add", *stores, "--lake", lake)


def test_a_slow_loader_is_found_and_its_victims_are_not(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, slow={5: ("input", 30 * MS)})
    (run,) = answers()["runs"]
    (slow,) = run["slow_ranks"]
    assert (slow["rank"], slow["host"], slow["category"]) == (5, "node-2", "input")
    assert slow["excess_ns"] == pytest.approx(30 * MS, rel=0.01)
    assert slow["line"]["file"] == "data.py" and slow["since_step"] is None
    assert slow["costs_others_hours"] == pytest.approx(30 * MS * 60 * 7 / HOUR_NS, rel=0.01)
    assert run["slowdown"] == pytest.approx(125 / 95, rel=0.01)
    text = verb("fleet", lake).stdout
    assert "rank 5 on node-2: input +30.0" in text and "data.py:41 load" in text


@pytest.mark.parametrize(
    ("share", "named"),
    [(0.6, "set.py:7 get  60% of its input time, in a worker"), (0.2, "data.py:41")],
)
def test_the_line_of_a_worker_comes_before_the_loop_that_waits(
    verb, lake, tmp_path, answers, share, named
):
    add_run(verb, lake, tmp_path, slow={5: ("input", 30 * MS)}, worker_line=("get", share))
    assert named in verb("fleet", lake).stdout
    (run,) = answers()["runs"]
    assert run["slow_ranks"][0]["line"]["place"] == ("worker" if share == 0.6 else "loop")


def test_the_step_since_when(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, steps=200, slow={0: ("host", 30 * MS)}, slow_from=80)
    (slow,) = answers()["runs"][0]["slow_ranks"]
    assert (slow["rank"], slow["category"]) == (0, "host")
    assert slow["since_step"] == pytest.approx(81, abs=2)


def test_a_slow_gpu_is_compute(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, slow={3: ("compute", 8 * MS)})
    (slow,) = answers()["runs"][0]["slow_ranks"]
    assert (slow["rank"], slow["category"]) == (3, "compute")


def test_two_ranks(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, nodes=1, slow={1: ("input", 20 * MS)})
    (slow,) = answers()["runs"][0]["slow_ranks"]
    assert (slow["rank"], slow["category"]) == (1, "input")


def test_the_slowdown_by_kind_and_by_rank(verb, lake, tmp_path, answers):
    """One of eight ranks is 30 ms late, another 8 ms slow: 28 and 7 ms more than the mean of all ranks."""
    slow = {5: ("input", 32 * MS), 2: ("compute", 8 * MS)}
    add_run(verb, lake, tmp_path, slow=slow)
    (run,) = answers()["runs"]
    usual_ms = 95
    kinds = run["slowdown_by_kind"]
    assert list(kinds)[:2] == ["input", "compute"]
    assert kinds["input"] == pytest.approx(1 + 28 / usual_ms, abs=0.002)
    assert kinds["compute"] == pytest.approx(1 + 7 / usual_ms, abs=0.002)
    assert kinds["launch"] == kinds["copy"] == 1
    ranks = {rank["rank"]: rank["slowdown"] for rank in run["slow_ranks"]}
    assert ranks[5] == pytest.approx(run["slowdown"]) == pytest.approx(1 + 32 / usual_ms, abs=0.002)
    assert ranks[2] == pytest.approx(1 + 8 / usual_ms, abs=0.002)
    text = verb("fleet", lake).stdout
    assert "slowdown by kind: input 1.29" in text and "compute 1.07" in text


def test_a_healthy_run_has_no_slow_rank(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path)
    (run,) = answers()["runs"]
    assert run["slow_ranks"] == [] and run["slowdown"] == 1.0
    text = verb("fleet", lake).stdout
    assert "no rank holds the others up" in text and "slowdown by kind" not in text


def test_clocks_hours_apart_change_nothing(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, slow={5: ("input", 30 * MS)}, shift=3 * HOUR_NS)
    assert [one["rank"] for one in answers()["runs"][0]["slow_ranks"]] == [5]


def test_a_missing_rank_is_named(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, world=9)
    assert answers()["runs"][0]["missing_ranks"] == [8]
    assert "missing in the lake: rank 8" in verb("fleet", lake).stdout


def test_runs_by_what_they_waste_and_hosts_slow_in_several(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, job="good")
    add_run(verb, lake, tmp_path, job="bad", slow={4: ("input", 60 * MS)})
    add_run(verb, lake, tmp_path, job="poor", slow={5: ("host", 20 * MS)})
    found = answers()
    assert [run["run"] for run in found["runs"]] == ["bad", "poor", "good"]
    (host,) = found["slow_hosts"]
    assert (host["host"], host["runs"]) == ("node-2", ["bad", "poor"])
    costs = [run["slow_ranks"][0]["costs_others_hours"] for run in found["runs"][:2]]
    assert host["costs_others_hours"] == pytest.approx(sum(costs))
    assert [run["run"] for run in answers("--run", "poor")["runs"]] == ["poor"]


def test_runs_since(verb, lake, tmp_path):
    add_run(verb, lake, tmp_path)
    assert "no run matches" in verb("fleet", lake, "--since", "1h", expect=3).stderr
    assert "not a time such as" in verb("fleet", lake, "--since", "x", expect=2).stderr


def test_files_that_cannot_be_used_are_left_out_and_named(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path, slow={5: ("input", 30 * MS)})
    (lake / "step/run=77/node-0000.parquet").write_bytes(b"PAR1 and no more")
    newer = lake / "rank/run=77/node-0001.parquet"
    table = pq.read_table(newer, partitioning=None)
    pq.write_table(table.replace_schema_metadata({"schema_version": "9"}), newer)
    found = answers()
    assert len(found["left_out"]) == 2
    assert found["runs"][0]["missing_ranks"] == [0, 1, 2, 3]
    assert [one["rank"] for one in found["runs"][0]["slow_ranks"]] == [5]
    assert verb("fleet", lake).stderr.count("left out") == 2


def test_a_column_that_an_older_file_lacks(verb, lake, tmp_path, answers):
    add_run(verb, lake, tmp_path)
    path = lake / "run/run=77/node-0000.parquet"
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns(["boot_id"]).append_column("more", pa.array([1])), path)
    assert len(answers()["runs"]) == 1


def test_no_lake(verb, tmp_path):
    assert "no such folder" in verb("fleet", tmp_path / "none", expect=3).stderr
    assert "has no runs" in verb("fleet", tmp_path, expect=3).stderr


def test_an_engine_that_is_not_installed_is_one_line(stepscope, verb, lake, tmp_path):
    add_run(verb, lake, tmp_path)
    missing = tmp_path / "modules/pyspark"
    missing.mkdir(parents=True)
    (missing / "__init__.py").write_text("raise ImportError('not here', name='pyspark')\n")
    done = subprocess.run(
        [stepscope, "fleet", lake, "--engine", "spark", "--master", "local[1]"],
        capture_output=True,
        text=True,
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable, "PYTHONPATH": str(missing.parent)},
        check=False,
    )
    assert done.returncode == 3 and "pip install pyspark" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "--engine spark" in verb("fleet", lake, "--master", "local[1]", expect=2).stderr
