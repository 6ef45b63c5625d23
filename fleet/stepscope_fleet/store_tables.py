"""The tables of a lake that a store gives."""

from collections.abc import Iterable

import pyarrow as pa

from .collectives import Collectives
from .columns import LINE, VERDICT, Column
from .groups import KINDS, Layout, recorded_groups
from .identity import local_ranks_of
from .lake_check import wrong_values
from .parquet_files import first_line
from .problem import Problem
from .stores import Store
from .tables import TABLES, arrow_schema


def tables_of(
    store: Store, run: str, job: str, node: str, layout: Layout | None = None
) -> dict[str, pa.Table]:
    host = store.meta.get("host", "")
    rows = {
        "step": _steps(store, run, host),
        "rank": _ranks(store, run, host, node, layout),
        "line": _of_loops(store, run, host, LINE, "line_share"),
        "verdict": _of_loops(store, run, host, VERDICT, "verdict"),
        "run": [_about(store, run, job, node, host)],
    }
    return {name: _arrow_table(store, name, rows[name]) for name in TABLES}


def _of_loops(
    store: Store, run: str, host: str, columns: Iterable[Column], table: str
) -> list[tuple]:
    names = ", ".join(column.name for column in columns)
    return [(run, host, rank, *row) for rank, row in store.of_loops(names, table)]


def _steps(store: Store, run: str, host: str) -> list[tuple]:
    start = store.wall_start_unix_ns
    collectives = Collectives(store)
    steps = []
    for loop, (number, begin, length, steady, *times) in store.steps():
        last = collectives.last_in(loop, begin, begin + length)
        meeting = (start + last[0], start + last[1]) if last else (None, None)
        key = (run, host, loop.rank, number)
        steps.append((*key, start + begin, length, bool(steady), *times, *meeting))
    return steps


def _ranks(store: Store, run: str, host: str, node: str, layout: Layout | None) -> list[tuple]:
    local = local_ranks_of(store)
    recorded = recorded_groups(store.meta.get("groups", ""))
    groups = {
        loop.rank: layout.places(loop.rank) if layout else recorded.get(loop.rank, {})
        for loop in store.loops
    }
    return [
        (
            run,
            host,
            loop.rank,
            node,
            loop.pid,
            loop.steps,
            local.get(loop.rank),
            *(store.ops_block(loop.rank) or (None, None)),
            *(groups[loop.rank].get(kind) for kind in KINDS),
            store.gpu_uuid(loop),
        )
        for loop in store.loops
    ]


def _about(store: Store, run: str, job: str, node: str, host: str) -> tuple:
    meta, numbers = store.meta, store.numbers
    return (
        run,
        job,
        node,
        host,
        meta.get("boot_id", ""),
        meta.get("program", ""),
        numbers.get("world_size"),
        store.wall_start_unix_ns,
        store.state,
        store.whole_name,
        meta.get("job_id", ""),
        numbers.get("node_rank"),
        numbers.get("restart_count"),
        numbers.get("requeue_count"),
    )


def _arrow_table(store: Store, table: str, rows: list[tuple]) -> pa.Table:
    """Refuses what readers of the lake would refuse."""
    schema = arrow_schema(table)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    try:
        made = pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
            schema=schema,
        )
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise Problem(
            f"{store.path}: cannot be added, its {table} does not fit into a lake ({first_line(error)})"
        ) from error
    wrong = wrong_values(table, made)
    if wrong:
        raise Problem(f"{store.path}: cannot be added, {wrong} (table {table} of the lake)")
    return made
