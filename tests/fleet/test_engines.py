"""The queries mean the same to DuckDB and to Spark, row by row."""

import pathlib
import shutil
import sys

import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.engine import QUERIES, Engine
from stepscope_fleet.lake import add
from stepscope_fleet.lake_files import find_files

sql = pytest.importorskip("pyspark.sql", reason="pip install pyspark")
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
                meta={"ops_blocks": f"{2 * node}:0-9000000000"},
                ops_recorded=1,
                **given | {"steps": steps},
            )
            add(store, folder / "lake", None, None)
    return find_files(folder / "lake")


@pytest.fixture(scope="module")
def spark(files):
    if shutil.which("java") is None:
        pytest.skip("no Java: install it (apt install default-jre-headless)")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    for table in ("step", "rank", "line", "verdict", "run"):
        paths = [node.files[table] for node in files.nodes]
        session.read.parquet(*paths).createOrReplaceTempView(table)
    yield session
    session.stop()


def rows_of(rows):
    return [{name: row[name] for name in sorted(row)} for row in rows]


@pytest.mark.parametrize("query", sorted(path.stem for path in QUERIES.glob("*.sql")))
def test_a_query_means_the_same_to_both(files, spark, query):
    with Engine(files.nodes) as engine:
        ours = rows_of(engine.ask(query))
    text = (QUERIES / f"{query}.sql").read_text(encoding="utf-8")
    theirs = rows_of(row.asDict() for row in spark.sql(text).collect())
    assert len(ours) == len(theirs) and len(ours) > 0
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for name, value in mine.items():
            if isinstance(value, float):
                value = pytest.approx(float(value), rel=1e-9, abs=1e-9)
            assert other[name] == value, (name, mine, other)
