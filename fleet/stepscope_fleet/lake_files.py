"""Which files of a lake can be used: others write to it, and may have stopped halfway."""

import dataclasses
import os
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

from .parquet_files import first_line, read_file
from .problem import Problem
from .tables import SCHEMA_VERSION, TABLES, arrow_schema


@dataclasses.dataclass(frozen=True)
class Node:
    """The files of a node of a run, one for each table."""

    run: str
    start_unix_ns: int
    ranks: frozenset[int]
    files: dict[str, str]


@dataclasses.dataclass(frozen=True)
class LakeFiles:
    nodes: list[Node]
    left_out: list[str]  # a line for each file that cannot be used

    def runs(self) -> dict[str, list[Node]]:
        by_run: dict[str, list[Node]] = {}
        for node in self.nodes:
            by_run.setdefault(node.run, []).append(node)
        return by_run


def find_files(lake: pathlib.Path) -> LakeFiles:
    _refuse_unreadable(lake)
    left_out = _unfinished(lake)
    nodes: list[Node] = []
    ranks: dict[str, dict[int, str]] = {}  # of each run, the file that a rank is from
    for about in _files(lake, "run"):
        paths = {name: lake / name / about.parent.name / about.name for name in TABLES}
        try:
            node = _read_node(paths)
        except Problem as problem:
            left_out.append(f"{problem}")
            continue
        taken = ranks.setdefault(node.run, {})
        twice = sorted(node.ranks & taken.keys())
        if twice:
            left_out.append(
                f"{about}: left out, rank {twice[0]} of run {node.run} is in {taken[twice[0]]} too"
            )
            continue
        taken |= dict.fromkeys(node.ranks, str(about))
        nodes.append(node)
    if not nodes:
        raise Problem(
            "; ".join(left_out) or f"{lake}: has no runs; add some with `stepscope lake add`"
        )
    return LakeFiles(nodes, left_out)


def _files(lake: pathlib.Path, table: str) -> list[pathlib.Path]:
    return sorted((lake / table).glob("run=*/node-*.parquet"))


def _refuse_unreadable(lake: pathlib.Path) -> None:
    try:
        if not lake.is_dir():
            raise Problem(
                f"{lake}: no such folder; `stepscope lake add run.db --lake {lake}` creates it"
            )
        for folder in (lake, lake / "run"):  # glob() skips what it may not read
            if folder.exists():
                os.scandir(folder).close()
    except PermissionError as error:
        raise Problem(f"{lake}: may not be read; ask its owner to permit that") from error


def _unfinished(lake: pathlib.Path) -> list[str]:
    """Steps without a row in `run`, which is written last."""
    return [
        f"{path}: left out, adding it did not finish; add its store again"
        for path in _files(lake, "step")
        if not (lake / "run" / path.parent.name / path.name).exists()
    ]


def _read_node(paths: dict[str, pathlib.Path]) -> Node:
    for name, path in paths.items():
        _check(name, path)
    try:
        about = read_file(paths["run"], ["run", "wall_start_unix_ns"]).to_pylist()
        ranks = read_file(paths["rank"], ["rank"]).column("rank").to_pylist()
    except Problem as problem:
        raise Problem(f"{problem}; left out") from problem
    if len(about) != 1 or about[0]["run"] is None:
        raise Problem(f"{paths['run']}: left out, has {len(about)} rows instead of one with a run")
    return Node(
        about[0]["run"],
        about[0]["wall_start_unix_ns"] or 0,
        frozenset(ranks),
        {name: str(path) for name, path in paths.items()},
    )


def _check(table: str, path: pathlib.Path) -> None:
    try:
        schema = pq.read_schema(path)
    except PermissionError as error:
        raise Problem(f"{path}: left out, may not be read") from error
    except (pa.ArrowException, OSError) as error:
        raise Problem(
            f"{path}: left out, cannot be read as Parquet ({first_line(error)})"
        ) from error
    text = (schema.metadata or {}).get(b"schema_version", b"0")
    version = int(text) if text.isdigit() else 0
    if not 1 <= version <= SCHEMA_VERSION:
        raise Problem(
            f"{path}: left out, has lake schema version {version}, but this Stepscope knows {SCHEMA_VERSION}"
        )
    for field in arrow_schema(table):
        at = schema.get_field_index(field.name)
        if at >= 0 and schema.field(at).type != field.type:
            raise Problem(
                f"{path}: left out, its column {field.name} has the type {schema.field(at).type}, not"
                f" {field.type}; another program wrote it"
            )
