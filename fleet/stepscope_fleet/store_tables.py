"""The tables of a lake that a store gives."""

import pyarrow as pa

from .collectives import Collectives
from .groups import KINDS, Layout, recorded_groups
from .identity import local_ranks_of, number_of, world_size_of
from .stores import Store
from .tables import TABLES, arrow_schema


def tables_of(
    store: Store, run: str, job: str, node: str, layout: Layout | None = None
) -> dict[str, pa.Table]:
    host = store.meta.get("host", "")
    start = int(store.meta.get("wall_start_unix_ns", 0))
    collectives = Collectives(store)
    steps = []
    for loop, (number, begin, length, steady, *times) in store.steps():
        last = collectives.last_in(loop, begin, begin + length)
        meeting = (start + last[0], start + last[1]) if last else (None, None)
        key = (run, host, loop.rank, number)
        steps.append((*key, start + begin, length, bool(steady), *times, *meeting))
    local = local_ranks_of(store)
    recorded = recorded_groups(store.meta.get("groups", ""))
    groups = {
        loop.rank: layout.places(loop.rank) if layout else recorded.get(loop.rank, {})
        for loop in store.loops
    }
    ranks = [
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
            store.state,
            str(store.whole_path.resolve()),
            meta.get("job_id", ""),
            number_of(store, "node_rank"),
            number_of(store, "restart_count"),
            number_of(store, "requeue_count"),
        )
    ]
    rows = {"step": steps, "rank": ranks, "line": lines, "verdict": verdicts, "run": about}
    return {name: _columns(name, rows[name]) for name in TABLES}


def _columns(table: str, rows: list[tuple]) -> pa.Table:
    schema = arrow_schema(table)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
