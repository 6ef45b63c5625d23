"""Runs the queries on the files of a lake, one run at a time, within a limit of memory."""

import contextlib
import itertools
import pathlib
import tempfile
from collections.abc import Iterable, Iterator

import duckdb

from .columns import MOST_STEPS
from .identity import safe_name
from .lake_files import LakeFiles, Node
from .parquet_files import first_line
from .problem import Problem
from .tables import TABLES

QUERIES = pathlib.Path(__file__).resolve().parent.parent / "queries"
MEMORY_LIMIT = "2GB"  # beyond it DuckDB uses a temporary folder
# A median keeps all its values in memory, even beyond the limit. Each part reads the files again, so few parts.
ROWS_AT_ONCE = 12_000_000
_SQL_TYPES = {"string": "VARCHAR", "int32": "INTEGER", "int64": "BIGINT", "double": "DOUBLE"}


class ChangedFiles(Exception):
    """A file has disappeared or changed: somebody is writing to the lake."""


class Engine:
    """The tables of some nodes as views, for one query after another."""

    def __init__(self, nodes: list[Node]):
        self._temporary = tempfile.TemporaryDirectory(prefix="stepscope-fleet-")
        self._database = duckdb.connect()
        self._database.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        self._database.execute("SET temp_directory = ?", [self._temporary.name])
        self._database.execute("SET preserve_insertion_order = false")
        with _changes():
            for table in TABLES:
                self._make_view(table, [node.files[table] for node in nodes])

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *unused: object) -> None:
        self._database.close()
        self._temporary.cleanup()

    def _make_view(self, table: str, paths: list[str]) -> None:
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
        source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
        described = self._database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        there = {row[0] for row in described}
        # Files of an older Stepscope lack columns, and those of other programs may have more.
        columns = ", ".join(
            column.name
            if column.name in there
            else f"CAST(NULL AS {_SQL_TYPES.get(str(column.type), 'BOOLEAN')}) AS {column.name}"
            for column in TABLES[table]
        )
        within = " WHERE step BETWEEN getvariable('first_step') AND getvariable('last_step')"
        self._database.execute(
            f"CREATE VIEW {table} AS SELECT {columns} FROM {source}"
            f"{within if table == 'step' else ''}"
        )
        if table == "step":
            self._choose(0, MOST_STEPS)

    def _choose(self, first: int, last: int) -> None:
        """Chooses the steps that queries see, first and last included."""
        self._database.execute(f"SET VARIABLE first_step = {first}")
        self._database.execute(f"SET VARIABLE last_step = {last}")

    def ask(self, query: str) -> Iterator[dict]:
        """The rows of queries/QUERY.sql."""
        with _changes(query):
            answer = self._database.execute((QUERIES / f"{query}.sql").read_text(encoding="utf-8"))
            names = [column[0] for column in answer.description]
            while rows := answer.fetchmany(10_000):
                for row in rows:
                    yield dict(zip(names, row, strict=True))

    def _extent(self) -> tuple[int, int, int]:
        with _changes():
            return self._database.execute(
                "SELECT count(*), min(step), max(step) FROM step"
            ).fetchone()

    def in_parts(self, query: str) -> Iterator[list[dict]]:
        """The same for parts of the steps, so that no part has more than about ROWS_AT_ONCE rows."""
        rows, first, last = self._extent()
        if not rows:
            return
        parts = min(-(-rows // ROWS_AT_ONCE), last - first + 1)
        edges = [first + (last - first + 1) * part // parts for part in range(parts + 1)]
        for begin, end in itertools.pairwise(edges):
            self._choose(begin, end - 1)
            yield list(self.ask(query))
        self._choose(first, last)


@contextlib.contextmanager
def _changes(query: str = "") -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        raise ChangedFiles(first_line(error)) from error
    except duckdb.Error as error:
        raise Problem(f"{query}.sql: {first_line(error)}") from error


def chosen(files: LakeFiles, runs: list[str], since_unix_ns: int) -> dict[str, list[Node]]:
    """The nodes of each chosen run."""
    every = files.runs()
    wanted = {run_named(run, every) for run in runs} or set(every)
    kept = {
        run: nodes
        for run, nodes in every.items()
        if run in wanted and max(n.start_unix_ns for n in nodes) >= since_unix_ns
    }
    if not kept:
        raise no_such_run("the chosen time", every)
    return kept


def run_named(name: str, runs: Iterable[str]) -> str:
    """The run with this name. The name may also be that of its folder, which lacks some characters."""
    every = list(runs)
    found = [run for run in every if run == name] or [
        run for run in every if safe_name(run) == name
    ]
    if not found:
        raise no_such_run(name, every)
    return found[0]


def no_such_run(what: str, runs: Iterable[str]) -> Problem:
    return Problem(f"no run matches {what}; the lake has {', '.join(sorted(runs)[:20])}")
