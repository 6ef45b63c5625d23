"""Which files of a lake can be used: others write to it, and may have stopped halfway."""

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterator

from . import claims
from .lake_check import check_head, check_rows, read_whole
from .problem import Problem, UnusableFile
from .tables import TABLES

# The rows of these are checked only for the runs that a question is about.
_OF_STEPS = ("line", "verdict", "step")


@dataclasses.dataclass(frozen=True)
class Node:
    """The files of a node of a run, one for each table."""

    run: str
    start_unix_ns: int
    ranks: frozenset[int]
    files: dict[str, str]


def _there(_nodes: list[Node]) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


@dataclasses.dataclass(frozen=True)
class LakeFiles:
    nodes: list[Node]
    left_out: list[str]  # a line for each file that cannot be used
    # The steps of some nodes are there while its result is entered.
    fetch: Callable[[list[Node]], contextlib.AbstractContextManager[None]] = _there
    shown: Callable[[str], str] = str  # names the files as the user knows them

    @contextlib.contextmanager
    def sound(self, nodes: list[Node]) -> Iterator[list[Node]]:
        """Those of the nodes whose rows can be used, which are there meanwhile. Adds the others to left_out."""
        with self.fetch(nodes):
            found = []
            for node in nodes:
                try:
                    for table in _OF_STEPS:
                        check_rows(table, pathlib.Path(node.files[table]), node.run, node.ranks)
                    found.append(node)
                except UnusableFile as unusable:
                    self.left_out.append(self.shown(unusable.left_out))
            yield found

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
        except UnusableFile as unusable:
            left_out.append(unusable.left_out)
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


def refuse_no_folder(lake: pathlib.Path) -> None:
    if lake.exists() and not lake.is_dir():
        raise Problem(f"{lake}: is not a folder; name the folder of a lake")


def _refuse_unreadable(lake: pathlib.Path) -> None:
    try:
        refuse_no_folder(lake)
        if not lake.exists():
            raise Problem(
                f"{lake}: no such folder; `stepscope lake add run.db --lake {lake}` creates it"
            )
        for folder in (lake, lake / "run"):  # glob() skips what it may not read
            if folder.exists():
                os.scandir(folder).close()
    except PermissionError as error:
        raise Problem(f"{lake}: may not be read; ask its owner to permit that") from error


def _unfinished(lake: pathlib.Path) -> list[str]:
    """Nodes without a row in `run`, which is written last: a file of each, the steps if they are there."""
    begun = sorted((lake / "run").glob(f"run=*/node-*{claims.SUFFIX}"))
    found = {}
    for path in [*begun, *_files(lake, "step")]:
        about = lake / "run" / path.parent.name / f"{path.stem}.parquet"
        if not about.exists():
            found[about] = path
    return [
        f"{path}: left out, adding it did not finish; add its store again"
        for path in found.values()
    ]


def _read_node(paths: dict[str, pathlib.Path]) -> Node:
    about, ranks = (read_whole(table, paths[table]) for table in ("run", "rank"))
    for table in _OF_STEPS:
        check_head(table, paths[table])
    if len(about) != 1:
        raise UnusableFile(paths["run"], f"has {len(about)} rows instead of one")
    (run,) = about.to_pylist()
    numbers = frozenset(ranks["rank"].to_pylist())
    if len(numbers) != len(ranks):
        raise UnusableFile(paths["rank"], "has a rank twice")
    check_rows("rank", paths["rank"], run["run"], numbers)
    return Node(
        run["run"],
        run["wall_start_unix_ns"],
        numbers,
        {name: str(path) for name, path in paths.items()},
    )
