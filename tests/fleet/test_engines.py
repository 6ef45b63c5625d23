"""The queries mean the same to DuckDB and to Spark, row by row."""

import pathlib
import shutil
import sys

import pyarrow.parquet as pq
import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.engine import QUERIES, ChangedFiles, Engine
from stepscope_fleet.lake import add
from stepscope_fleet.lake_files import find_files

pytest.importorskip("pyspark", reason="pip install pyspark")
DAY_NS = 86_400_000_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three runs of two jobs, one with fewer than four ranks; with slow ranks and a rank that ends early."""
    folder = tmp_path_factory.mktemp("engines")
    runs = [
        ("71", {}),
        ("72", {"longer": 10 * MS, "slow": {5: ("input", 30 * MS)}, "slow_from": 40}),
        ("73", {"nodes": 1, "slow": {1: ("compute", 9 * MS)}, "name": "other"}),
    ]
    for at, (job, given) in enumerate(runs):
        given = {"nodes": 4, "steps": 80, "name": "nightly"} | given
        for node in range(given.pop("nodes")):
            steps = 75 if job == "72" and node == 3 else given["steps"]
            store = make_store(
                folder / f"{job}-{node}.db",
                [2 * node, 2 * node + 1],
                host=f"node-{node}",
                node=node,
                job=job,
                start=START + at * DAY_NS + node * 1000,
                meta={
                    "ops_blocks": f"{2 * node}:0-9000000000",
                    "groups": " ".join(
                        f"{rank}:pp={node % 2}/2" for rank in (2 * node, 2 * node + 1)
                    ),
                },
                ops_recorded=1,
                collectives=lambda number: 0,
                **given | {"steps": steps},
            )
            add(store, folder / "lake", None, None)
    return find_files(folder / "lake")


@pytest.fixture(scope="module")
def spark():
    """Two executors, each a process of its own."""
    if shutil.which("java") is None:
        pytest.skip("no Java: install it (apt install default-jre-headless)")
    from stepscope_fleet.spark_engine import SparkEngines

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        with SparkEngines("local-cluster[2,1,1024]") as engines:
            yield engines


def rows_of(rows):
    return [{name: row[name] for name in sorted(row)} for row in rows]


@pytest.mark.parametrize("query", sorted(path.stem for path in QUERIES.glob("*.sql")))
def test_a_query_means_the_same_to_both(files, spark, query):
    with Engine(files.nodes) as engine:
        ours = rows_of(engine.ask(query))
    with spark(files.nodes) as engine:
        theirs = rows_of(engine.ask(query))
    assert len(ours) == len(theirs) and len(ours) > 0
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine, other)


def assert_same(mine, other):
    """The same, but for the last digits of floats."""
    if isinstance(mine, dict):
        assert mine.keys() == other.keys()
        for name in mine:
            assert_same(mine[name], other[name])
    elif isinstance(mine, list):
        assert len(mine) == len(other)
        for one, another in zip(mine, other, strict=True):
            assert_same(one, another)
    elif isinstance(mine, float):
        assert other == pytest.approx(mine, rel=1e-9, abs=1e-9)
    else:
        assert other == mine


def test_the_answers_are_the_same(files, spark):
    lake = pathlib.Path(files.nodes[0].files["run"]).parents[2]
    ours = analyze(lake, []).document
    assert len(ours["runs"]) == 3 and ours["regressions"] and ours["runs"][0]["slow_ranks"]
    assert_same(ours, analyze(lake, [], engines=spark).document)


def test_spark_knows_a_column_that_an_older_file_lacks(lake, spark, tmp_path):
    add(make_store(tmp_path / "a.db", [0, 1]), lake, None, None)
    path = lake / "run/run=77/node-0000.parquet"
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns(["boot_id", "restarts"]), path)
    with spark(find_files(lake).nodes) as engine:
        (about,) = engine.ask("run_about")
    assert about["restarts"] is None and about["host"] == "node-a"


def test_spark_notices_a_file_that_vanishes(lake, spark, tmp_path):
    add(make_store(tmp_path / "a.db", [0, 1]), lake, None, None)
    with spark(find_files(lake).nodes) as engine:
        (lake / "step/run=77/node-0000.parquet").unlink()
        with pytest.raises(ChangedFiles):
            list(engine.ask("run_waste"))


def test_a_run_without_steps_on_spark(lake, spark, tmp_path):
    add(make_store(tmp_path / "a.db", [0, 1]), lake, None, None)
    path = lake / "step/run=77/node-0000.parquet"
    pq.write_table(pq.read_schema(path).empty_table(), path)
    (run,) = analyze(lake, [], engines=spark).document["runs"]
    assert run["ranks"] == 0 and run["slow_ranks"] == []
