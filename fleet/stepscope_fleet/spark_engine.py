"""Runs the queries on Apache Spark, for lakes that one machine cannot read."""

import contextlib
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from .engine import QUERIES, ChangedFiles
from .lake_files import Node
from .parquet_files import first_line
from .problem import Problem
from .tables import TABLES

_TYPES = {"string": "STRING", "int32": "INT", "int64": "BIGINT", "double": "DOUBLE"}
# Of the errors that Spark raises for a file that has disappeared or changed.
_CHANGED = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFound", "CANNOT_READ_FILE", "not a Parquet")
_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""


class SparkEngines:
    """A session of Spark. Call it with the nodes of a run: it gives an engine as engine.Engine is one."""

    def __init__(self, master: str):
        self._folder = tempfile.TemporaryDirectory(prefix="stepscope-spark-")
        log = pathlib.Path(self._folder.name) / "log4j2.properties"
        log.write_text(_QUIET, encoding="utf-8")
        # Executors that Spark starts itself run this Python too.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = (
            SparkSession.builder.master(master)
            .appName("stepscope fleet")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{log}")
            .config("spark.sql.warehouse.dir", self._folder.name)
        )
        try:
            self._session = builder.getOrCreate()
        except (PySparkRuntimeError, FileNotFoundError) as error:
            raise Problem(
                f"Spark did not start with --master {master} ({first_line(error)}); check the address, and"
                " that there is a Java 17 or newer (apt install default-jre-headless)"
            ) from error
        except (
            Exception
        ) as error:  # of py4j: an address that is wrong, a master that does not answer
            raise Problem(
                f"Spark did not start with --master {master} ({first_line(error)})"
            ) from error

    def __enter__(self) -> "SparkEngines":
        return self

    def __exit__(self, *unused: object) -> None:
        self._session.stop()
        self._folder.cleanup()

    def __call__(self, nodes: list[Node]) -> "SparkEngine":
        return SparkEngine(self._session, nodes)


class SparkEngine:
    """The tables of some nodes as views, for one query after another."""

    def __init__(self, session: SparkSession, nodes: list[Node]):
        self._session = session
        with _changes():
            for table, columns in TABLES.items():
                # With a schema, columns that an older Stepscope did not write are NULL.
                schema = ", ".join(f"{column.name} {_type(column.type)}" for column in columns)
                paths = [node.files[table] for node in nodes]
                session.read.schema(schema).parquet(*paths).createOrReplaceTempView(table)

    def __enter__(self) -> "SparkEngine":
        return self

    def __exit__(self, *unused: object) -> None:
        for table in TABLES:
            self._session.catalog.dropTempView(table)

    def ask(self, query: str) -> Iterator[dict]:
        """The rows of queries/QUERY.sql."""
        text = (QUERIES / f"{query}.sql").read_text(encoding="utf-8")
        with _changes(query):
            for row in self._session.sql(text).collect():
                yield row.asDict()

    def in_parts(self, query: str) -> Iterator[list[dict]]:
        """All steps at once: Spark divides the work itself."""
        yield list(self.ask(query))


def _type(kind: pa.DataType) -> str:
    return _TYPES.get(str(kind), "BOOLEAN")


@contextlib.contextmanager
def _changes(query: str = "") -> Iterator[None]:
    try:
        yield
    except Problem:
        raise
    except Exception as error:  # PySpark raises its own errors and those of py4j
        text = str(error)
        if any(sign in text for sign in _CHANGED):
            raise ChangedFiles(first_line(error)) from error
        what = f"{query}.sql" if query else "the lake"
        kind = "" if isinstance(error, PySparkException) else f"{type(error).__name__}: "
        raise Problem(f"{what}: {kind}{first_line(error)}") from error
