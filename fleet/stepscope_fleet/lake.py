"""A lake: a folder of Parquet, or one in an object store; one file per table, run and node.

LAKE/step/run=ID/node-0003.parquet      and rank, line, verdict, run beside step
"""

import dataclasses
import pathlib

import pyarrow as pa

from . import pieces, watch
from .claims import claimed, is_same_recording
from .groups import Layout, layout_of_environment
from .identity import job_of, node_of, run_of, safe_name
from .lake_check import read_whole
from .lake_place import Lake, changing, small_files
from .parquet_files import reason_of, write_table
from .problem import Problem, UnusableFile
from .store_tables import tables_of
from .stores import Store
from .tables import TABLES


def _refuse_another_recording(lake: pathlib.Path, folder: str, node: str, store: Store) -> None:
    """Refuses a second recording of a run and node: two programs in one scheduler allocation have the same job id."""
    path = lake / "run" / folder / f"node-{node}.parquet"
    if not path.exists():
        return
    for row in read_whole("run", path).to_pylist():
        if not is_same_recording(row, store):
            raise Problem(
                f"{store.path}: node {node} of this run is in the lake already, from another recording"
                f" ({row['store']}); name another run with --run"
            )


def _refuse_other_ranks(lake: pathlib.Path, folder: str, node: str, store: Store) -> list[str]:
    """Returns a line for each file of another node that cannot be used: `fleet` leaves that node out too."""
    ours = {loop.rank for loop in store.loops}
    left_out = []
    for path in sorted((lake / "rank" / folder).glob("node-*.parquet")):
        if path.name == f"node-{node}.parquet":
            continue
        try:
            theirs = set(read_whole("rank", path)["rank"].to_pylist())
        except UnusableFile as unusable:
            left_out.append(unusable.left_out)
            continue
        twice = sorted(ours & theirs)
        if twice:
            raise Problem(
                f"{store.path}: rank {twice[0]} of this run is in the lake already, from another node"
                f" ({path}); name another run with --run"
            )
    return left_out


@dataclasses.dataclass
class Added:
    text: str  # a line that says what was added
    slow_ranks: list[int]  # those whose ops are to be recorded now
    left_out: list[str]  # a line for each file of the run that cannot be used


def add(
    path: pathlib.Path,
    lake: Lake,
    job: str | None,
    run: str | None,
    watch_s: float | None = None,
    layout: Layout | None = None,
) -> Added:
    """Adds a store, or replaces its steps in the lake; adds a piece of a store to earlier pieces. `watch_s`: a rank is
    slow after this many seconds; None: the lake is not watched. `layout`: that of the ranks; None: that of the
    environment, or else as recorded."""
    layout = layout or layout_of_environment()
    store = Store(path)
    try:
        job = job or job_of(store)
        run = run or run_of(store)
        node = safe_name(node_of(store))
        folder = f"run={safe_name(run)}"
        if layout:
            layout.check(store.numbers.get("world_size"))
        tables = tables_of(store, run, job, node, layout)
        slow = []
        with (
            claimed(small_files(lake), folder, node, store),
            changing(lake, folder, node, TABLES if store.is_piece else ()) as place,
        ):
            _refuse_another_recording(place, folder, node, store)
            left_out = _refuse_other_ranks(place, folder, node, store)
            try:
                _write(place, folder, node, tables, store)
            except (OSError, pa.ArrowException) as error:
                raise Problem(f"{lake}: cannot be written ({reason_of(error)})") from error
            if not store.is_piece:
                watch.forget(place, folder, node)
            elif watch_s and place is lake:  # an object store is not watched
                slow = watch.slow_ranks(place, folder, node, watch_s, tables["step"])
        return Added(_text(store, run, node, len(tables["step"])), slow, left_out)
    finally:
        store.close()


def _write(
    lake: pathlib.Path, folder: str, node: str, tables: dict[str, pa.Table], store: Store
) -> None:
    paths = {name: lake / name / folder / f"node-{node}.parquet" for name in tables}
    if store.is_piece:
        earlier = pieces.earlier_tables(paths, tables, read_whole)
        tables = pieces.merge(earlier, tables) if earlier else tables
    # `run` is written last: a run is in the lake once that file is.
    for name, table in tables.items():
        write_table(paths[name], table)


def _text(store: Store, run: str, node: str, steps: int) -> str:
    unfinished = "" if store.state == "complete" else "; its recording did not end normally"
    if store.is_piece:
        unfinished = "; it is still being written"
    left_out = []
    if store.restarts:
        processes = (
            "1 process that was" if store.restarts == 1 else f"{store.restarts} processes that were"
        )
        left_out.append(f"{processes} restarted")
    if store.other_loops:
        loops = "1 loop" if store.other_loops == 1 else f"{store.other_loops} loops"
        left_out.append(f"{loops} beside another of the same process")
    without = f"; left out: {' and '.join(left_out)}" if left_out else ""
    ranks = ", ".join(str(loop.rank) for loop in store.loops)
    return (
        f"{store.path}: run {run}, node {node}, ranks {ranks}, {steps} steps{unfinished}{without}"
    )
