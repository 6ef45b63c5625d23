"""A lake: a folder of Parquet, one file per table, run and node.

LAKE/step/run=ID/node-0003.parquet      and rank, line, verdict, run beside step
"""

import contextlib
import inspect
import os
import pathlib
import tempfile
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from .identity import (
    job_of,
    local_ranks_of,
    node_of,
    number_of,
    run_of,
    safe_name,
    world_size_of,
)
from .problem import Problem
from .stores import Store
from .tables import TABLES, arrow_schema

ROW_GROUP = 256 * 1024  # an engine's threads divide a table by row groups
# Newer releases of pyarrow end a page after 20,000 rows by default; older ones have no such limit.
_PAGES_HAVE_A_LIMIT_OF_ROWS = "max_rows_per_page" in inspect.signature(pq.write_table).parameters


def _columns(table: str, rows: list[tuple]) -> pa.Table:
    schema = arrow_schema(table)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def write_table(path: pathlib.Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as name:
        pq.write_table(table, name, **_layout(table.schema))


@contextlib.contextmanager
def whole_file(path: pathlib.Path) -> Iterator[str]:
    """Yields the name of a file to write, which replaces `path` at the end, if it is complete. Until then, readers see
    the earlier file."""
    # Readers look for *.parquet, so they never read what a killed writer leaves.
    handle, name = tempfile.mkstemp(prefix=".new-", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        yield name
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        pathlib.Path(name).chmod(0o666 & ~_umask())
        pathlib.Path(name).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            pathlib.Path(name).unlink()


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
    if _PAGES_HAVE_A_LIMIT_OF_ROWS:
        layout["max_rows_per_page"] = ROW_GROUP
    return layout


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def tables_of(store: Store, run: str, job: str, node: str) -> dict[str, pa.Table]:
    host = store.meta.get("host", "")
    start = int(store.meta.get("wall_start_unix_ns", 0))
    steps = [
        (run, host, rank, row[0], start + row[1], row[2], bool(row[3]), *row[4:])
        for rank, row in store.steps()
    ]
    local = local_ranks_of(store)
    ranks = [
        (run, host, loop.rank, node, loop.pid, loop.steps, local.get(loop.rank))
        for loop in store.loops
    ]
    lines = [
        (run, host, rank, *row)
        for rank, row in store.of_loops(
            "place, category, file, line, function, share, step_ns", "line_share"
        )
    ]
    verdicts = [
        (run, host, rank, *row)
        for rank, row in store.of_loops("kind, degree, share, confidence", "verdict")
    ]
    meta = store.meta
    about = [
        (
            run,
            job,
            node,
            host,
            meta.get("boot_id", ""),
            meta.get("program", ""),
            world_size_of(store),
            start,
            meta.get("state", ""),
            str(store.path.resolve()),
            meta.get("job_id", ""),
            number_of(store, "node_rank"),
            number_of(store, "restart_count"),
            number_of(store, "requeue_count"),
        )
    ]
    rows = {"step": steps, "rank": ranks, "line": lines, "verdict": verdicts, "run": about}
    return {name: _columns(name, rows[name]) for name in TABLES}


def _refuse_another_recording(lake: pathlib.Path, folder: str, node: str, store: Store) -> None:
    """Refuses a second recording of a run and node: two programs in one scheduler allocation have the same job id."""
    path = lake / "run" / folder / f"node-{node}.parquet"
    if not path.exists():
        return
    before = read_file(path, ["wall_start_unix_ns", "store"]).to_pylist()
    ours = (int(store.meta.get("wall_start_unix_ns", 0)), str(store.path.resolve()))
    for row in before:
        if row["wall_start_unix_ns"] != ours[0] and row["store"] != ours[1]:
            raise Problem(
                f"{store.path}: node {node} of this run is in the lake already, from another recording"
                f" ({row['store']}); name another run with --run"
            )


def _refuse_other_ranks(lake: pathlib.Path, folder: str, node: str, store: Store) -> None:
    ours = {loop.rank for loop in store.loops}
    for path in sorted((lake / "rank" / folder).glob("node-*.parquet")):
        if path.name == f"node-{node}.parquet":
            continue
        twice = sorted(ours & set(read_file(path, ["rank"]).column("rank").to_pylist()))
        if twice:
            raise Problem(
                f"{store.path}: rank {twice[0]} of this run is in the lake already, from another node"
                f" ({path}); name another run with --run"
            )


def read_file(path: pathlib.Path, columns: list[str] | None = None) -> pa.Table:
    try:
        return pq.ParquetFile(path).read(columns)
    except (pa.ArrowException, OSError) as error:
        raise Problem(f"{path}: cannot be read as Parquet ({first_line(error)})") from error


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def add(path: pathlib.Path, lake: pathlib.Path, job: str | None, run: str | None) -> str:
    """Adds a store, or replaces its steps in the lake. Returns a line that says what was added."""
    store = Store(path)
    try:
        job = job or job_of(store)
        run = run or run_of(store)
        node = safe_name(node_of(store))
        folder = f"run={safe_name(run)}"
        _refuse_another_recording(lake, folder, node, store)
        _refuse_other_ranks(lake, folder, node, store)
        tables = tables_of(store, run, job, node)
        try:
            # `run` is written last: a run is in the lake once that file is.
            for name, table in tables.items():
                write_table(lake / name / folder / f"node-{node}.parquet", table)
        except (OSError, pa.ArrowException) as error:
            raise Problem(f"{lake}: cannot be written ({first_line(error)})") from error
        unfinished = "" if store.meta.get("state") == "complete" else "; it is still being written"
        processes = (
            "1 process that was" if store.restarts == 1 else f"{store.restarts} processes that were"
        )
        restarted = f"; left out: {processes} restarted" if store.restarts else ""
        ranks = ", ".join(str(loop.rank) for loop in store.loops)
        return (
            f"{path}: run {run}, node {node}, ranks {ranks}, {len(tables['step'])} steps{unfinished}"
            f"{restarted}"
        )
    finally:
        store.close()
