"""Writes the files of a lake. A file is complete or not there at all."""

import contextlib
import inspect
import os
import pathlib
import tempfile
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq


ROW_GROUP = 256 * 1024  # an engine's threads divide a table by row groups
_ABANDONED_S = 24 * 3600  # no file takes that long to write
# Newer releases of pyarrow end a page after 20,000 rows by default; older ones have no such limit.
_OPTIONS = inspect.signature(pq.write_table).parameters


def write_table(path: pathlib.Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    with whole_file(path) as name:
        pq.write_table(table, name, **_layout(table.schema))


@contextlib.contextmanager
def whole_file(path: pathlib.Path) -> Iterator[str]:
    """Yields the name of a file to write, which replaces `path` at the end, if it is complete. Until then, readers see
    the earlier file. The new file has the permissions of the earlier one."""
    # Readers look for *.parquet, so they never read what a killed writer leaves.
    handle, name = tempfile.mkstemp(prefix=".new-", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        yield name
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        pathlib.Path(name).chmod(_permissions(path))
        pathlib.Path(name).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            pathlib.Path(name).unlink()


def _remove_abandoned(folder: pathlib.Path) -> None:
    """Removes what killed writers left. Other machines may write to the folder at the moment, so only a file's age shows
    that nobody will complete it."""
    for part in folder.glob(".new-*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_S:
                part.unlink()


def _layout(schema: pa.Schema) -> dict:
    # Times differ only in their lower bytes, so they are split by bytes. A column of a row group is one page, because
    # zstd sees only within a page what ranks have in common, such as when a step began. 9 bytes per row, not 12.
    numbers = [field.name for field in schema if field.type == pa.int64()]
    layout = {
        "compression": "zstd",
        "row_group_size": ROW_GROUP,
        "data_page_size": 8 * ROW_GROUP,
        "use_dictionary": [field.name for field in schema if field.type == pa.string()],
        "column_encoding": dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
    }
    if "write_page_checksum" in _OPTIONS:  # without it, a reader may not notice damaged bytes
        layout["write_page_checksum"] = True
    if "max_rows_per_page" in _OPTIONS:
        layout["max_rows_per_page"] = ROW_GROUP
    return layout


def _permissions(path: pathlib.Path) -> int:
    """Those of the file that is there, or else those of any new file."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def reason_of(error: Exception) -> str:
    """Why something failed, in the words of the system if it has some."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else first_line(error)
