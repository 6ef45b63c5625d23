"""A store from elsewhere: whatever is in it, `lake add` says in one line what is wrong, and adds the others."""

import pathlib
import re
import sqlite3
import sys

import pytest
from stores import make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet import store_database
from stepscope_fleet.answers import analyze
from stepscope_fleet.lake import add
from stepscope_fleet.problem import Problem

YEAR_NS = 366 * 24 * 3600 * 10**9


def without_rules(path):
    """Makes the columns of the store accept any value."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA writable_schema = ON")
    for name, sql in database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    ).fetchall():
        loose = re.sub(r"\) STRICT(, WITHOUT ROWID)?$", r")\1", sql).replace("), ", ") ")
        if "WITHOUT" not in loose:
            loose = loose.replace(" NOT NULL", "")
        database.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (loose, name))
    database.commit()
    database.close()


@pytest.fixture
def changed(tmp_path):
    """A store after some statements."""

    def change(*statements, values=()):
        path = make_store(tmp_path / "bad.db", [0, 1], collectives=lambda number: 0)
        without_rules(path)
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement, values)
        database.commit()
        database.close()
        return path

    return change


def refused(store, lake):
    with pytest.raises(Problem) as failed:
        add(store, lake, None, None)
    text = str(failed.value)
    assert text.startswith(f"{store}: ") and "\n" not in text
    assert not list(lake.rglob("*.parquet"))
    return text


NUMBERS = [
    ("process", "rank", (1 << 40, "'x'", 0.5, -5, (1 << 31) - 1, 1 << 62)),
    ("process", "pid", ("NULL", "'zz'")),
    ("step", "number", ("NULL", (1 << 63) - 1, 1 << 62, -1)),
    ("step", "start_ns", ("NULL", (1 << 63) - 1, YEAR_NS + 1)),
    ("step", "dur_ns", ("NULL", "'abc'", -1, 1.5, "1e999", (1 << 63) - 1, YEAR_NS + 1)),
    ("step", "steady", ("'x'", 2)),
    ("step_time", "exposed_ns", (-5, "'q'", "NULL", (1 << 63) - 1)),
    ("line_share", "share", ("'nan'", "NULL", "1e999", -1, 2)),
    ("line_share", "line", ("NULL", "'x'")),
    ("line_share", "file", ("NULL", "x'fffe'", "'a' || char(0) || 'b'")),
    ("line_share", "function", ("hex(zeroblob(40000))",)),
    ("verdict", "kind", ("NULL",)),
    ("verdict", "share", ("1e999",)),
    ("op", "start_ns", ("'x'", 1 << 62)),
]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [(table, column, value) for table, column, values in NUMBERS for value in values],
)
def test_a_value_that_cannot_be_true(changed, lake, table, column, value):
    store = changed(f"UPDATE {table} SET {column} = {value} WHERE rowid = 2")
    text = refused(store, lake)
    assert f"damaged (a row of {table} has a {column} that is not " in text


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("wall_start_unix_ns", "abc", "its wall_start_unix_ns is abc, not an integer from 0 to"),
        ("wall_start_unix_ns", "9" * 5000, "its wall_start_unix_ns is 999"),
        ("world_size", "999999999", "world_size is 999999999, not an integer from 0 to 1048576"),
        ("node_rank", "999999999", "its node_rank is 999999999"),
        ("local_ranks", "0:999999999", "its column local_rank has 999999999"),
        ("groups", "0:dp=999999999/2", "its column dp_rank has 999999999"),
        ("host", "a\0b", "a row of meta has a value that is not text"),
        ("host", b"\xff\xfe", "a row of meta has a value that is not text"),
        ("host", "h" * 70_000, "its host is longer than 65536 bytes"),
    ],
)
def test_facts_that_cannot_be_true(changed, lake, key, value, says):
    store = changed("INSERT OR REPLACE INTO meta VALUES (?, ?)", values=(key, value))
    assert says in refused(store, lake)


def test_text_that_is_not_utf8(changed, lake):
    store = changed("UPDATE line_share SET file = CAST(x'fffe' AS TEXT)")
    assert "cannot be read as a store" in refused(store, lake)


def test_steps_that_take_no_time(changed, lake):
    assert "a steady step takes no time" in refused(changed("UPDATE step SET dur_ns = 0"), lake)


ENDLESS = (
    "AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS id, x AS thread_id,"
    " x AS key, 'x' AS value, x AS number, x AS start_ns, 1 AS dur_ns, 1 AS steady FROM r"
)


@pytest.mark.parametrize("table", ["line_share", "meta", "step", "verdict"])
def test_an_endless_view_is_refused(changed, lake, table):
    store = changed(f"ALTER TABLE {table} RENAME TO other", f"CREATE VIEW {table} {ENDLESS}")
    assert f"({table} is not a table but a view)" in refused(store, lake)


def test_a_view_that_says_it_is_a_table_is_refused(changed, lake):
    store = changed(
        "ALTER TABLE verdict RENAME TO other",
        f"CREATE VIEW verdict {ENDLESS}",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET type = 'table' WHERE name = 'verdict'",
    )
    refused(store, lake)


def test_a_column_that_is_worked_out_is_refused(changed, lake):
    store = changed(
        "DROP TABLE verdict",
        "CREATE TABLE verdict (id INTEGER PRIMARY KEY, thread_id, degree, share, confidence,"
        " kind AS (hex(zeroblob(1000))))",
    )
    assert "the table verdict has no column kind" in refused(store, lake)


def test_a_table_that_is_missing_is_named(changed, lake):
    assert "it has no table line_share" in refused(changed("DROP TABLE line_share"), lake)


def test_a_query_that_takes_too_long_is_ended(changed, monkeypatch):
    monkeypatch.setattr(store_database, "_LEAST_STEPS", 100_000)
    monkeypatch.setattr(store_database, "_STEPS_PER_BYTE", 0)
    database = store_database.StoreDatabase(changed())
    with pytest.raises(Problem, match="more steps than a file of its size can need"):
        database.rows(
            "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r"
        )
    database.close()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="its sqlite3 has no limits")
def test_a_text_is_limited(changed):
    database = store_database.StoreDatabase(changed())
    with pytest.raises(Problem, match="cannot be read as a store .*too big"):
        database.rows("SELECT hex(zeroblob(20000000))")
    database.close()


def test_the_other_stores_are_added(verb, changed, lake, tmp_path):
    bad = changed("UPDATE process SET rank = 1099511627776")
    good = make_store(tmp_path / "good.db", [0])
    done = verb("lake", "add", bad, good, "--lake", lake, expect=3)
    assert done.stderr.count("\n") == 1 and "bad.db: damaged (a row of process" in done.stderr
    assert "good.db: run 77" in done.stdout


def test_many_blocks_of_ops_take_no_time(changed, lake):
    """Each block was looked up in the store by a query of its own."""
    blocks = " ".join(f"0:{2**50 + at}-{2**50 + at}" for at in range(200_000))
    store = changed(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        values=("ops_blocks", "0:0-1000000000000 " + blocks),
    )
    assert add(store, lake, None, None).text


def test_a_large_world_lists_few_of_its_missing_ranks(verb, lake, tmp_path):
    add(make_store(tmp_path / "a.db", [2, 5], world=1 << 20), lake, None, None)
    (run,) = analyze(lake, []).document["runs"]
    assert run["missing_rank_count"] == (1 << 20) - 2
    assert run["missing_ranks"][:5] == [0, 1, 3, 4, 6] and len(run["missing_ranks"]) == 1000
    said = verb("fleet", lake).stdout
    assert "missing in the lake: rank 0, 1, 3, 4, 6, 7, 8, 9, … (1048574 in all)" in said
