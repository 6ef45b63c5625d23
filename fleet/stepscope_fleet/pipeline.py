"""A recorded job of data and pipeline parallel workers, and how long its steps would take if its operations took other
times.

The model is that of "Understanding Stragglers in Large Model Training Using What-if Analysis" (Lin et al., OSDI 2025):
each worker runs its operations in the recorded order and without pauses, an operation that needs several workers begins
when the last of them has reached it, and a step ends with its last operation.
"""

import collections
import dataclasses
import pathlib
import statistics

import pyarrow as pa
import pyarrow.parquet as pq

from .columns import FARTHEST_NS, Column, any_integer, place, step_number, text
from .parquet_files import first_line
from .problem import Problem

_LONGEST_S = FARTHEST_NS / 1e9
_COLUMNS = [
    place("dp_rank"),
    place("stage"),
    place("rank"),
    step_number("step"),
    text("optype"),
    Column("start_ts", pa.float64(), -_LONGEST_S, _LONGEST_S),
    Column("duration", pa.float64(), 0, _LONGEST_S),
    any_integer("seq_id", nullable=True),
]
COLUMNS = tuple(column.name for column in _COLUMNS)
COMPUTE = {"forward-compute", "backward-compute", "optimizer", "gc"}
# The workers that take part besides the worker itself: those of the neighbouring stage, of its own stage, of the first
# and the last stage, or all.
_BETWEEN_STAGES = {
    "forward-send": ("forward", 0),
    "forward-recv": ("forward", -1),
    "backward-send": ("backward", 0),
    "backward-recv": ("backward", 1),
}
_OF_A_STAGE = {"params-all-gather", "grads-reduce-scatter"}
_OF_A_PIPELINE = {"embedding-grads-all-reduce"}
_OF_ALL = {"optimizer-clip-main-grad"}
# Operations of a worker count as overlapping only beyond the resolution of the times (float seconds).
_RESOLUTION_S = 1e-4


@dataclasses.dataclass(frozen=True)
class Operation:
    """What one worker does, or several workers do together, once."""

    kind: str
    workers: frozenset  # (dp_rank, stage)
    seconds: float  # since the last of them had reached it


class Pipeline:
    """The operations of each step and worker. Times are seconds."""

    def __init__(self, operations: list[Operation], steps: dict[int, dict[int, list[list[int]]]]):
        self.operations = operations
        self._steps = steps  # step → rank → slots of operations that run together, in order
        self.seconds = [operation.seconds for operation in operations]
        self.workers = sorted(set().union(*(one.workers for one in operations)))
        self.last_stage = max(stage for _, stage in self.workers)

    def ideal_seconds(self) -> list[float]:
        """The times if all operations of a kind took equally long: the mean of compute, the median of communication."""
        of_kind: dict[str, list[float]] = collections.defaultdict(list)
        for one in self.operations:
            of_kind[one.kind].append(one.seconds)
        usual = {
            kind: statistics.fmean(times) if kind in COMPUTE else statistics.median(times)
            for kind, times in of_kind.items()
        }
        return [usual[one.kind] for one in self.operations]

    def mean_step(self, seconds: list[float]) -> float:
        """The mean step if operation i took seconds[i]."""
        return statistics.fmean(self._step(ranks, seconds) for ranks in self._steps.values())

    def _step(self, ranks: dict[int, list[list[int]]], seconds: list[float]) -> float:
        at = dict.fromkeys(ranks, 0.0)
        done = dict.fromkeys(ranks, 0)
        came: dict[int, dict[int, float]] = collections.defaultdict(dict)
        operations = self.operations
        waiting = collections.deque(ranks)
        idle = 0  # workers in a row that could not continue
        while waiting:
            rank = waiting.popleft()
            slots, before = ranks[rank], done[rank]
            while done[rank] < len(slots):
                slot = slots[done[rank]]
                for one in slot:
                    came[one][rank] = at[rank]
                if any(len(came[one]) < len(operations[one].workers) for one in slot):
                    break
                at[rank] = max(max(came[one].values()) + seconds[one] for one in slot)
                done[rank] += 1
            idle = 0 if done[rank] > before else idle + 1
            if done[rank] < len(slots):
                waiting.append(rank)
                if idle > len(waiting):
                    raise Problem("operations wait for each other; is the trace cut off?")
        return max(at.values())


def read(path: pathlib.Path) -> Pipeline:
    """A Parquet file with a row for each operation of each worker: COLUMNS, times in seconds within the step."""
    table = _read_table(path)
    rows = [
        dict(zip(COLUMNS, row, strict=True))
        for row in zip(*table.to_pydict().values(), strict=True)
    ]
    if not rows:
        raise Problem(f"{path}: has no operations")
    return _assemble(rows)


def _read_table(path: pathlib.Path) -> pa.Table:
    schema = pa.schema([(column.name, column.type) for column in _COLUMNS])
    try:
        # Names and numbers may be stored in other types that can hold them.
        table = pq.read_table(path, columns=list(COLUMNS)).select(COLUMNS).cast(schema)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise Problem(
            f"{path}: is not a table of operations ({first_line(error)}); it needs the columns"
            f" {', '.join(COLUMNS)}"
        ) from error
    for column in _COLUMNS:
        wrong = column.wrong(table[column.name])
        if wrong:
            raise Problem(f"{path}: its column {column.name} {wrong}")
    return table


def _assemble(rows: list[dict]) -> Pipeline:
    together: dict[tuple, list[int]] = collections.defaultdict(list)
    of_rank: dict[int, dict[int, list[int]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for number, row in enumerate(rows):
        row["end"] = row["start_ts"] + row["duration"]
        together[_meeting(number, row)].append(number)
        of_rank[row["step"]][row["rank"]].append(number)
    operations, operation_of = [], [0] * len(rows)
    for members in together.values():
        for number in members:
            operation_of[number] = len(operations)
        operations.append(_operation([rows[number] for number in members]))
    steps = {
        step: {
            rank: [[operation_of[n] for n in slot] for slot in _slots(numbers, rows)]
            for rank, numbers in ranks.items()
        }
        for step, ranks in of_rank.items()
    }
    return Pipeline(operations, steps)


def _meeting(number: int, row: dict) -> tuple:
    """The key that the rows of one operation share."""
    kind, dp_rank, stage = row["optype"], row["dp_rank"], row["stage"]
    if kind in _BETWEEN_STAGES:
        way, offset = _BETWEEN_STAGES[kind]
        return (row["step"], way, dp_rank, stage + offset, row["seq_id"])
    if kind in _OF_A_STAGE:
        return (row["step"], kind, "stage", stage, row["seq_id"])
    if kind in _OF_A_PIPELINE:
        return (row["step"], kind, "pipeline", dp_rank, row["seq_id"])
    if kind in _OF_ALL:
        return (row["step"], kind, "all", row["seq_id"])
    return (number,)


def _operation(members: list[dict]) -> Operation:
    kind = members[0]["optype"].replace("-recv", "-send")
    workers = frozenset((row["dp_rank"], row["stage"]) for row in members)
    if len(members) == 1:
        return Operation(kind, workers, members[0]["duration"])
    # The time before the last of them came was waiting. Sends that are posted with a receive end when both have ended.
    seconds = min(row["end"] for row in members) - max(row["start_ts"] for row in members)
    return Operation(kind, workers, max(seconds, 0.0))


def _slots(numbers: list[int], rows: list[dict]) -> list[list[int]]:
    """The operations of one worker. Those that ran at the same time share a slot."""
    slots: list[list[int]] = []
    ends = 0.0
    for number in sorted(numbers, key=lambda n: (rows[n]["start_ts"], rows[n]["end"])):
        row = rows[number]
        joins = (
            slots
            and row["start_ts"] < ends - _RESOLUTION_S
            and not any(rows[n]["optype"].endswith("compute") for n in [*slots[-1], number])
        )
        if joins:
            slots[-1].append(number)
            ends = max(ends, row["end"])
        else:
            slots.append([number])
            ends = row["end"]
    return slots
