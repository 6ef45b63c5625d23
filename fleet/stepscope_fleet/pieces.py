"""Adds the latest steps of a run that is still being recorded to those of earlier pieces.

A piece is a store of its own, with the steps since the last piece. The node's files are written anew with each piece,
so readers need not know of pieces. A run that dies keeps its steps up to the last piece.
"""

import pathlib

import pyarrow as pa
import pyarrow.compute as pc

from .problem import Problem

_SORTED = [("rank", "ascending"), ("step", "ascending")]
_KEPT_BY_RANK = ("line", "verdict")  # of ranks that the piece lacks


def merge(earlier: dict[str, pa.Table], piece: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of a node with those of the next piece. `earlier`: what the lake has of the same recording."""
    pids = _pids(piece)
    # A launcher that restarts its workers gives them the ranks of the earlier ones, and counts from step 1.
    restarted = [rank for rank, pid in _pids(earlier).items() if pids.get(rank, pid) != pid]
    merged = dict(piece)
    merged["step"] = _steps(earlier["step"], piece["step"], restarted)
    merged["rank"] = _ranks(earlier["rank"], piece["rank"], merged["step"])
    for name in _KEPT_BY_RANK:
        merged[name] = pa.concat_tables([_without(earlier[name], list(pids)), piece[name]])
    return merged


def earlier_tables(
    paths: dict[str, pathlib.Path], piece: dict[str, pa.Table], read
) -> dict[str, pa.Table] | None:
    """What the lake has of the recording that the piece is of; None: nothing that can be continued. `read`: reads the
    file of a table, or raises Problem."""
    if not all(path.exists() for path in paths.values()):
        return None
    try:
        tables = {name: read(name, path) for name, path in paths.items()}
    except Problem:  # the piece replaces it
        return None
    key = ["wall_start_unix_ns", "store"]
    same = tables["run"].select(key).to_pylist() == piece["run"].select(key).to_pylist()
    return tables if same else None


def _pids(tables: dict[str, pa.Table]) -> dict[int, int]:
    ranks = tables["rank"]
    return dict(zip(ranks["rank"].to_pylist(), ranks["pid"].to_pylist(), strict=True))


def _without(table: pa.Table, ranks: list[int]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["rank"], pa.array(ranks, pa.int32()))))


def _steps(earlier: pa.Table, piece: pa.Table, restarted: list[int]) -> pa.Table:
    kept = _without(earlier, restarted)
    # A step may come twice. The later one counts.
    first = piece.group_by("rank").aggregate([("step", "min")])
    for rank, step in zip(first["rank"].to_pylist(), first["step_min"].to_pylist(), strict=True):
        again = pc.and_(pc.equal(kept["rank"], rank), pc.greater_equal(kept["step"], step))
        kept = kept.filter(pc.invert(again))
    return pa.concat_tables([kept, piece]).sort_by(_SORTED)


def _ranks(earlier: pa.Table, piece: pa.Table, steps: pa.Table) -> pa.Table:
    all_ranks = pa.concat_tables([_without(earlier, piece["rank"].to_pylist()), piece])
    counted = steps.group_by("rank").aggregate([("step", "count")])
    counts = dict(zip(counted["rank"].to_pylist(), counted["step_count"].to_pylist(), strict=True))
    rows = [row | {"steps": counts.get(row["rank"], 0)} for row in all_ranks.to_pylist()]
    rows.sort(key=lambda row: row["rank"])
    return pa.Table.from_pylist(rows, schema=piece.schema)
