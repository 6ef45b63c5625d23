"""A lake: a folder of Parquet, one file per table, run and node.

LAKE/step/run=ID/node-0003.parquet      and rank, line, verdict, run beside step
"""

import contextlib
import os
import pathlib
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

from .identity import job_of, node_of, safe_name, world_size_of
from .problem import Problem
from .stores import Store
from .tables import SCHEMA_VERSION, TABLES, arrow_schema

ROW_GROUP = 256 * 1024  # an engine's threads share a table by row groups


def _columns(table: str, rows: list[tuple]) -> pa.Table:
    schema = arrow_schema(table)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def write_table(path: pathlib.Path, table: pa.Table) -> None:
    """Whole or not at all: readers see the earlier file until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Readers look for *.parquet, so what a killed writer leaves is never read.
    handle, name = tempfile.mkstemp(prefix=".new-", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        pq.write_table(table, name, **_layout(table.schema))
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        pathlib.Path(name).chmod(0o666 & ~_umask())
        pathlib.Path(name).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            pathlib.Path(name).unlink()


def _layout(schema: pa.Schema) -> dict:
    # Times differ in their lower bytes only: split by bytes they take 10 bytes a row, not 17.
    numbers = [field.name for field in schema if field.type == pa.int64()]
    return {
        "compression": "zstd",
        "row_group_size": ROW_GROUP,
        "use_dictionary": [field.name for field in schema if field.type == pa.string()],
        "column_encoding": dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
    }


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
    ranks = [(run, host, loop.rank, node, loop.pid, loop.steps) for loop in store.loops]
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
        )
    ]
    rows = {"step": steps, "rank": ranks, "line": lines, "verdict": verdicts, "run": about}
    return {name: _columns(name, rows[name]) for name in TABLES}


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
    """Adds a store, or replaces what the lake has of it. Returns a line that says so."""
    store = Store(path)
    try:
        job = job or job_of(store) or store.meta.get("program") or path.stem
        run = run or job_of(store) or f"{job}-{store.meta.get('wall_start_unix_ns', '0')}"
        node = safe_name(node_of(store))
        folder = f"run={safe_name(run)}"
        _refuse_other_ranks(lake, folder, node, store)
        tables = tables_of(store, run, job, node)
        try:
            # `run` last: a run is in the lake when that file is.
            for name, table in tables.items():
                write_table(lake / name / folder / f"node-{node}.parquet", table)
        except (OSError, pa.ArrowException) as error:
            raise Problem(f"{lake}: cannot be written ({first_line(error)})") from error
        unfinished = "" if store.meta.get("state") == "complete" else "; it is still being written"
        ranks = ", ".join(str(loop.rank) for loop in store.loops)
        return f"{path}: run {run}, node {node}, ranks {ranks}, {len(tables['step'])} steps{unfinished}"
    finally:
        store.close()


def usable_files(lake: pathlib.Path) -> tuple[dict[str, list[str]], list[str]]:
    """The files of each table, and a line for each that is left out."""
    if not lake.is_dir():
        raise Problem(f"{lake}: no such folder; `stepscope lake add run.db --lake {lake}` makes it")
    left_out: list[str] = []
    files: dict[str, list[str]] = {name: [] for name in TABLES}
    for about in sorted((lake / "run").glob("run=*/node-*.parquet")):
        paths = {name: lake / name / about.parent.name / about.name for name in TABLES}
        reason = next(filter(None, (_unusable(path) for path in paths.values())), None)
        if reason:
            left_out.append(reason)
            continue
        for name, path in paths.items():
            files[name].append(str(path))
    if not files["step"]:
        raise Problem(
            "; ".join(left_out) or f"{lake}: holds no runs; add some with `stepscope lake add`"
        )
    return files, left_out


def _unusable(path: pathlib.Path) -> str | None:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        return f"{path}: left out, cannot be read as Parquet ({first_line(error)})"
    version = int(metadata.get(b"schema_version", b"0"))
    if 1 <= version <= SCHEMA_VERSION:
        return None
    return f"{path}: left out, has lake schema version {version}, and this Stepscope knows {SCHEMA_VERSION}"
