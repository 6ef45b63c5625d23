"""The tables of a lake that a store gives."""

from collections.abc import Iterable

import pyarrow as pa

from .collectives import Collectives
from .columns import LINE, VERDICT, Column
from .groups import KINDS, Layout, recorded_groups
from .identity import hosts_of, local_ranks_of
from .lake_check import wrong_values
from .parquet_files import first_line
from .problem import Problem
from .stores import Store
from .tables import TABLES, arrow_schema


def tables_of(
    store: Store, run: str, job: str, node: str, layout: Layout | None = None
) -> dict[str, pa.Table]:
    hosts = _Hosts(store)
    rows = {
        "step": _steps(store, run, hosts),
        "rank": _ranks(store, run, hosts, node, layout),
        "line": _of_loops(store, run, hosts, LINE, "line_share"),
        "verdict": _of_loops(store, run, hosts, VERDICT, "verdict"),
        "run": [_about(store, run, job, node, hosts.of(store.loops[0].rank))],
    }
    return {name: _arrow_table(store, name, rows[name]) for name in TABLES}


class _Hosts:
    def __init__(self, store: Store):
        self._whole = store.meta.get("host", "")
        self._of_rank = hosts_of(store)

    def of(self, rank: int) -> str:
        return self._of_rank.get(rank, self._whole)

    @property
    def share_a_clock(self) -> bool:
        return not self._of_rank


def _of_loops(
    store: Store, run: str, hosts: _Hosts, columns: Iterable[Column], table: str
) -> list[tuple]:
    names = ", ".join(column.name for column in columns)
    return [(run, hosts.of(rank), rank, *row) for rank, row in store.of_loops(names, table)]


def _steps(store: Store, run: str, hosts: _Hosts) -> list[tuple]:
    start = store.wall_start_unix_ns
    # Clocks are compared by node, which is a store.
    collectives = Collectives(store) if hosts.share_a_clock else None
    steps = []
    for loop, (number, begin, length, steady, *times) in store.steps():
        last = collectives.last_in(loop, begin, begin + length) if collectives else None
        meeting = (start + last[0], start + last[1]) if last else (None, None)
        key = (run, hosts.of(loop.rank), loop.rank, number)
        steps.append((*key, start + begin, length, bool(steady), *times, *meeting))
    return steps


def _ranks(store: Store, run: str, hosts: _Hosts, node: str, layout: Layout | None) -> list[tuple]:
    local = local_ranks_of(store)
    recorded = recorded_groups(store.meta.get("groups", ""))
    groups = {
        loop.rank: layout.places(loop.rank) if layout else recorded.get(loop.rank, {})
        for loop in store.loops
    }
    return [
        (
            run,
            hosts.of(loop.rank),
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
