"""Whether a file of a lake can be used: a regular file of this version, whose columns have the types and values that
tables.py describes. Raises UnusableFile if it cannot."""

import inspect
import pathlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .columns import MOST_RANKS
from .parquet_files import ROW_GROUP, first_line
from .problem import UnusableFile
from .tables import PAIRS, SCHEMA_VERSION, TABLES, arrow_schema

# The tables that are read as a whole, and the most rows that they may have.
_MOST_ROWS = {"run": 1, "rank": MOST_RANKS}
_UNREADABLE = (pa.ArrowException, OSError, ValueError)  # ValueError: names that are not UTF-8
_known = inspect.signature(pq.ParquetFile.__init__).parameters
_CHECKSUMS = {"page_checksum_verification": True} if "page_checksum_verification" in _known else {}


def check_head(table: str, path: pathlib.Path) -> None:
    """Checks all but the rows."""
    _open(table, path).close()


def read_whole(table: str, path: pathlib.Path) -> pa.Table:
    """All rows; a column that the file lacks is NULL."""
    with _open(table, path) as file:
        rows, most = file.metadata.num_rows, _MOST_ROWS.get(table)
        if most is not None and rows > most:
            raise UnusableFile(path, f"has {rows} rows, but can only have {most}")
        return pa.Table.from_batches(_batches(table, path, file), schema=arrow_schema(table))


def check_rows(table: str, path: pathlib.Path, run: str, ranks: frozenset[int]) -> None:
    """Checks each row: it must be of the run, and of one of the ranks."""
    with _open(table, path) as file:
        for batch in _batches(table, path, file):
            if not pc.all(pc.equal(batch["run"], run)).as_py():
                raise UnusableFile(path, f"has rows of another run than {run}")
            others = sorted(set(pc.unique(batch["rank"]).to_pylist()) - ranks)
            if others:
                raise UnusableFile(
                    path, f"has rows of rank {others[0]}, which its node does not have"
                )


def wrong_values(table: str, rows: pa.RecordBatch | pa.Table) -> str | None:
    """What is wrong with the first wrong column; None: nothing."""
    for column in TABLES[table]:
        what = column.wrong(rows.column(column.name))
        if what:
            return f"its column {column.name} {what}"
    for one, other in PAIRS.get(table, ()):
        if not pc.is_null(rows.column(one)).equals(pc.is_null(rows.column(other))):
            return f"a row has only one of {one} and {other}"
    if table == "step" and pc.any(pc.and_(rows["steady"], pc.equal(rows["dur_ns"], 0))).as_py():
        return "a steady step takes no time"  # shares of it would be nonsense
    return None


def _open(table: str, path: pathlib.Path) -> pq.ParquetFile:
    try:
        # A pipe would never end, and a folder gives a message that differs between systems.
        if path.exists() and not path.is_file():
            raise UnusableFile(path, "is not a regular file")
        file = pq.ParquetFile(path, **_CHECKSUMS)
        _check_schema(table, path, file.schema_arrow)
    except PermissionError as error:
        raise UnusableFile(path, "may not be read") from error
    except _UNREADABLE as error:
        raise UnusableFile(path, f"cannot be read as Parquet ({first_line(error)})") from error
    return file


def _check_schema(table: str, path: pathlib.Path, schema: pa.Schema) -> None:
    version_text = (schema.metadata or {}).get(b"schema_version", b"0")
    version = int(version_text) if version_text.isdigit() and len(version_text) < 10 else 0
    if not 1 <= version <= SCHEMA_VERSION:
        raise UnusableFile(
            path, f"has lake schema version {version}, but this Stepscope knows {SCHEMA_VERSION}"
        )
    for column in TABLES[table]:
        found = schema.get_all_field_indices(column.name)
        if len(found) > 1 or not found and not column.nullable:
            raise UnusableFile(path, f"has {len(found)} columns {column.name} instead of one")
        if found and schema.field(found[0]).type != column.type:
            raise UnusableFile(
                path,
                f"its column {column.name} has the type {schema.field(found[0]).type}, not"
                f" {column.type}; another program wrote it",
            )


def _batches(table: str, path: pathlib.Path, file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """The rows, checked. Never more than a row group at once, because a small file can have very many rows."""
    columns = TABLES[table]
    there = set(file.schema_arrow.names)
    try:
        for batch in file.iter_batches(
            ROW_GROUP, columns=[column.name for column in columns if column.name in there]
        ):
            rows = pa.RecordBatch.from_arrays(
                [
                    batch.column(column.name)
                    if column.name in there
                    else pa.nulls(len(batch), column.type)
                    for column in columns
                ],
                schema=arrow_schema(table),
            )
            what = wrong_values(table, rows)
            if what:
                raise UnusableFile(path, what)
            yield rows
    except _UNREADABLE as error:
        raise UnusableFile(path, f"cannot be read as Parquet ({first_line(error)})") from error
