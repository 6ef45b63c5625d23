"""Finds the ranks of a running job that have become slow, without a service: through small files in the lake.

Each node keeps the sums of its ranks' latest steps, by blocks of steps, in LAKE/watch/run=ID/node-NNNN.json. From time
to time one of the nodes compares all ranks and writes slow.json, which the others read. The node of a slow rank then
records the ops of this rank.
"""

import json
import math
import os
import pathlib
import time

import pyarrow as pa

from .json_text import json_text
from .parquet_files import whole_file
from .slow_ranks import slow_ones, usual

SCHEMA = "stepscope.watch/1"
BLOCKS = 8  # about this many in the time for which a rank must be slow
AGAIN_AFTER_S = 1800  # the ops of a rank are not recorded more often
_OWN = ("input_ns", "copy_ns", "launch_ns", "allocation_ns", "host_ns", "other_ns")
_COLUMNS = ("rank", "step", "steady", "dur_ns", "compute_ns", *_OWN)


def slow_ranks(
    lake: pathlib.Path, folder: str, node: str, seconds: float, steps: pa.Table
) -> list[int]:
    """As Watch.slow_ranks(). None if the files cannot be used: the steps in the lake do not depend on them."""
    try:
        return Watch(lake, folder, node, seconds).slow_ranks(steps)
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return []


class Watch:
    """The files of a run that is watched. Times are seconds."""

    def __init__(self, lake: pathlib.Path, folder: str, node: str, seconds: float):
        self._folder = lake / "watch" / folder
        self._own = self._folder / f"node-{node}.json"
        self._verdict = self._folder / "slow.json"
        self._seconds = seconds

    def slow_ranks(self, steps: pa.Table) -> list[int]:
        """Adds steps of this node's ranks. Returns those of its ranks whose ops are to be recorded now."""
        self._folder.mkdir(parents=True, exist_ok=True)
        own = _read(self._own) or _no_steps()
        add_steps(own, steps.select(_COLUMNS), self._seconds)
        asked = [rank for rank in self._slow(own) if self._may_ask(own, rank)]
        for rank in asked:
            own["ranks"][str(rank)]["asked_unix_s"] = time.time()
        _write(self._own, own)
        return asked

    def _slow(self, own: dict) -> list[int]:
        _write(self._own, own)
        # Ages are differences of times that the same file server has written.
        age_s = self._own.stat().st_mtime - _modified(self._verdict)
        verdict = _read(self._verdict)
        if verdict is None or age_s >= self._seconds / 4:
            nodes = [_read(path) for path in sorted(self._folder.glob("node-*.json"))]
            verdict = {
                "schema": SCHEMA,
                "slow": judge([node for node in nodes if node], self._seconds),
            }
            _write(self._verdict, verdict)
        return [rank for rank in verdict["slow"] if str(rank) in own["ranks"]]

    @staticmethod
    def _may_ask(own: dict, rank: int) -> bool:
        return time.time() - own["ranks"][str(rank)].get("asked_unix_s", 0) > AGAIN_AFTER_S


def forget(lake: pathlib.Path, folder: str, node: str) -> None:
    """Removes the node's file: its run has ended. The last node removes the folder."""
    own = lake / "watch" / folder
    try:
        (own / f"node-{node}.json").unlink(missing_ok=True)
        if own.is_dir() and not any(own.glob("node-*.json")):
            (own / "slow.json").unlink(missing_ok=True)
            own.rmdir()
    except OSError:  # another node does the same
        pass


def _no_steps() -> dict:
    return {"schema": SCHEMA, "block_steps": 1, "ranks": {}}


def add_steps(own: dict, steps: pa.Table, seconds: float) -> None:
    """Adds the steady steps that are not in `own` yet, and drops those that are twice as old as needed."""
    rows = steps.to_pylist()
    for row in rows:
        rank = own["ranks"].setdefault(str(row["rank"]), {"last_step": 0, "blocks": {}})
        if row["step"] == 1 and rank["last_step"] > 1:  # its process was restarted
            rank |= {"last_step": 0, "blocks": {}}
        if row["step"] <= rank["last_step"]:
            continue
        rank["last_step"] = row["step"]
        if not row["steady"]:
            continue
        sums = rank["blocks"].setdefault(str(row["step"] // own["block_steps"]), [0, 0, 0, 0])
        added = (1, sum(row[name] for name in _OWN), row["compute_ns"], row["dur_ns"])
        for at, value in enumerate(added):
            sums[at] += value
    _coarsen(own, _block_steps(rows, seconds))
    for rank in own["ranks"].values():
        _drop_old(rank, 2 * seconds * 1e9)


def _block_steps(rows: list[dict], seconds: float) -> int:
    """A power of two, so that the blocks of nodes that chose differently can be merged."""
    if not rows:
        return 1
    step_s = sum(row["dur_ns"] for row in rows) / len(rows) / 1e9
    return 2 ** max(0, math.floor(math.log2(max(seconds / BLOCKS / max(step_s, 1e-6), 1))))


def _coarsen(node: dict, block_steps: int) -> None:
    if block_steps <= node["block_steps"]:
        return
    factor = block_steps // node["block_steps"]
    node["block_steps"] = block_steps
    for rank in node["ranks"].values():
        merged: dict[str, list[int]] = {}
        for block, sums in rank["blocks"].items():
            into = merged.setdefault(str(int(block) // factor), [0, 0, 0, 0])
            for at, value in enumerate(sums):
                into[at] += value
        rank["blocks"] = merged


def _drop_old(rank: dict, most_ns: float) -> None:
    total = 0
    for block in sorted(rank["blocks"], key=int, reverse=True):
        if total > most_ns:
            del rank["blocks"][block]
        else:
            total += rank["blocks"][block][3]


def judge(nodes: list[dict], seconds: float) -> list[int]:
    """The ranks that have been slow for the last `seconds`, the slowest first."""
    block_steps = max((node["block_steps"] for node in nodes), default=1)
    ranks: dict[int, dict[int, list[int]]] = {}
    for node in nodes:
        _coarsen(node, block_steps)
        for rank, known in node["ranks"].items():
            whole = known["last_step"] // block_steps  # the block of this step is not complete
            ranks[int(rank)] = {
                int(block): sums for block, sums in known["blocks"].items() if int(block) < whole
            }
    if len(ranks) < 2:
        return []
    common = sorted(set.intersection(*(set(blocks) for blocks in ranks.values())))
    latest = _latest(common, ranks, seconds)
    # Slow in both halves: for the whole time, and not by one long step.
    halves = (latest[: len(latest) // 2], latest[len(latest) // 2 :])
    if not all(halves):
        return []
    slow = [{row["rank"] for row in slow_ones(_costs(half, ranks))} for half in halves]
    return [
        row["rank"] for row in slow_ones(_costs(latest, ranks)) if row["rank"] in slow[0] & slow[1]
    ]


def _latest(blocks: list[int], ranks: dict, seconds: float) -> list[int]:
    """The last of `blocks` that together take `seconds`; none if they take less."""
    taken, total_ns = [], 0.0
    for block in reversed(blocks):
        taken.append(block)
        total_ns += max(ranks[rank][block][3] for rank in ranks)
        if total_ns >= seconds * 1e9:
            return taken[::-1]
    return []


def _costs(blocks: list[int], ranks: dict) -> list[dict]:
    """What each rank costs the others, as rank_cost.sql says, by blocks of steps."""
    excess = dict.fromkeys(ranks, 0.0)
    step_ns = dict.fromkeys(ranks, 0.0)
    for block in blocks:
        means = {
            rank: [value / sums[block][0] for value in sums[block][1:]]
            for rank, sums in ranks.items()
        }
        own = [mean[0] for mean in means.values()]
        compute = usual([mean[1] for mean in means.values()])
        for rank, (own_ns, compute_ns, dur_ns) in means.items():
            waited = max(own) - own_ns if len(means) < 4 else 0.0
            late = max(own_ns - usual(own), 0.0)
            excess[rank] += late + max(compute_ns - compute - waited, 0.0)
            step_ns[rank] += dur_ns
    return [
        {
            "rank": rank,
            "excess_ns": excess[rank] / len(blocks),
            "step_ns": step_ns[rank] / len(blocks),
        }
        for rank in sorted(ranks)
    ]


def _read(path: pathlib.Path) -> dict | None:
    """None if there is no such file, or another program or another version wrote it."""
    try:
        if not path.is_file():  # reading a pipe might never end
            return None
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError):
        return None
    known = isinstance(document, dict) and document.get("schema") == SCHEMA
    return document if known else None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _write(path: pathlib.Path, document: dict) -> None:
    with whole_file(path) as name:
        pathlib.Path(name).write_text(json_text(document, indent=None), encoding="utf-8")


def _modified(path: pathlib.Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return -math.inf
