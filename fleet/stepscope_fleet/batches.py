"""Puts small runs together, so that each query answers for many runs at once: a query takes some 10 ms, however few
rows it reads."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from .engine import ChangedFiles, Engine
from .lake_files import LakeFiles, Node
from .parquet_files import first_line

ROWS_TOGETHER = 100_000  # steps of ranks; a run that has more is alone


def batches_of(files: LakeFiles, runs: dict[str, list[Node]]) -> Iterator[dict[str, list[Node]]]:
    """The nodes of some runs that can be used. Their steps are there until the next batch is asked for."""
    batch: dict[str, list[Node]] = {}
    rows = 0
    with contextlib.ExitStack() as there:
        for run, nodes in runs.items():
            with contextlib.ExitStack() as entered:
                sound = entered.enter_context(files.sound(nodes))
                more = _steps_of(sound)
                if batch and rows + more > ROWS_TOGETHER:
                    yield batch
                    there.close()
                    batch, rows = {}, 0
                there.push(entered.pop_all())
            if sound:
                batch[run] = sound
                rows += more
        if batch:
            yield batch


def _steps_of(nodes: list[Node]) -> int:
    try:
        return sum(pq.read_metadata(node.files["step"]).num_rows for node in nodes)
    except (OSError, pa.ArrowException) as error:
        raise ChangedFiles(first_line(error)) from error


class Batch:
    """Asks each query once for all runs of a batch."""

    def __init__(self, engine: Engine, runs: Iterable[str]):
        self._engine = engine
        self._alone = len(list(runs)) == 1
        self._rows: dict[str, dict[str, list[dict]]] = {}
        self._parts: dict[str, list[dict[str, list[dict]]]] = {}

    def ask(self, query: str, run: str) -> Iterable[dict]:
        """The run's rows of queries/QUERY.sql; once for each run."""
        if self._alone:  # it may have so many rows that they should not all be kept
            return self._engine.ask(query)
        if query not in self._rows:
            self._rows[query] = _by_run(self._engine.ask(query))
        return self._rows[query].pop(run, [])

    def in_parts(self, query: str, run: str) -> Iterator[list[dict]]:
        """As Engine.in_parts(); once for each run."""
        if self._alone:
            yield from self._engine.in_parts(query)
            return
        if query not in self._parts:
            self._parts[query] = [_by_run(part) for part in self._engine.in_parts(query)]
        for part in self._parts[query]:
            yield part.pop(run, [])


def _by_run(rows: Iterable[dict]) -> dict[str, list[dict]]:
    by_run: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        by_run[row["run"]].append(row)
    return by_run


class RunOfBatch:
    """One run's answers, as an engine of that run gives them."""

    def __init__(self, batch: Batch, run: str):
        self._batch = batch
        self._run = run

    def ask(self, query: str) -> Iterable[dict]:
        return self._batch.ask(query, self._run)

    def in_parts(self, query: str) -> Iterator[list[dict]]:
        return self._batch.in_parts(query, self._run)
