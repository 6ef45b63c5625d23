"""Which ranks of a run are slow, in which category, and since when."""

import array
import dataclasses
import math
import statistics
from collections.abc import Iterable

BLOCKS = 100  # of steps, in rank_series.sql
# A rank is slow if it adds this share to a step, and stands out from the usual differences between ranks.
SLOW_SHARE = 0.03
SLOW_SPREADS = 6.0


def usual(values: list[float]) -> float:
    """The median; of fewer than four ranks the fastest, since half of them may be slow."""
    return min(values) if len(values) < 4 else statistics.median(values)


def merge_parts(parts: Iterable[list[dict]]) -> list[dict]:
    """Merges the results of rank_cost.sql for parts of the steps into means over all steps."""
    whole: dict[int, dict] = {}
    for part in parts:
        for row in part:
            before = whole.setdefault(row["rank"], dict.fromkeys(row, 0) | {"host": row["host"]})
            steps = before["steps"] + row["steps"]
            for key in ("step_ns", "input_ns", "late_ns", "slow_ns", "excess_ns"):
                before[key] += (row[key] - before[key]) * row["steps"] / steps
            before |= {
                "run": row["run"],
                "rank": row["rank"],
                "steps": steps,
                "total_ns": before["total_ns"] + row["total_ns"],
            }
    return [whole[rank] for rank in sorted(whole)]


def slow_ones(ranks: list[dict]) -> list[dict]:
    if len(ranks) < 2:
        return []
    # Compared with the better half, because the slow ones, which may be many, say nothing about the usual.
    every = sorted(rank["excess_ns"] for rank in ranks)
    better = every[: len(every) // 2] if len(every) >= 4 else every[:1]
    middle = statistics.median(better)
    spread = statistics.median(abs(one - middle) for one in better)
    return sorted(
        (
            rank
            for rank in ranks
            if rank["excess_ns"] - middle
            > max(SLOW_SHARE * rank["step_ns"], SLOW_SPREADS * 1.4826 * spread)
        ),
        key=lambda rank: -rank["excess_ns"],
    )


class Categories:
    """What each rank spends on each category, and what the usual rank does."""

    def __init__(self, rows: Iterable[dict]):
        self._own: dict[int, dict[str, float]] = {}
        for row in rows:
            self._own.setdefault(row["rank"], {})[row["category"]] = row["ns"]
        every: dict[str, list[float]] = {}
        for own in self._own.values():
            for name, ns in own.items():
                every.setdefault(name, []).append(ns)
        self._usual = {name: usual(values) for name, values in every.items()}

    def ranks(self) -> list[int]:
        return sorted(self._own)

    def cause(self, rank: dict) -> str:
        """The category in which the rank is furthest above the usual rank."""
        if rank["slow_ns"] > rank["late_ns"]:
            return "compute"
        own = {name: ns for name, ns in self._own[rank["rank"]].items() if name != "compute"}
        return max(own, key=lambda name: own[name] - self._usual[name])


@dataclasses.dataclass
class _RankSeries:
    own: array.array
    compute: array.array


def _empty() -> array.array:
    return array.array("d", [math.nan]) * BLOCKS


class Series:
    """Each rank's own time and compute over the run, in blocks of steps."""

    def __init__(self, rows: Iterable[dict]):
        self._ranks: dict[int, _RankSeries] = {}
        self.first_steps: dict[int, int] = {}  # of each block
        for row in rows:
            series = self._ranks.get(row["rank"])
            if series is None:
                series = self._ranks[row["rank"]] = _RankSeries(_empty(), _empty())
            block = row["block"]
            series.own[block], series.compute[block] = row["own_ns"], row["compute_ns"]
            first = self.first_steps.get(block, row["first_step"])
            self.first_steps[block] = min(first, row["first_step"])
        self._usual_own = self._usual(lambda series: series.own)
        self._usual_compute = self._usual(lambda series: series.compute)

    def _usual(self, column) -> array.array:
        middle = _empty()
        for block in self.first_steps:
            values = (column(series)[block] for series in self._ranks.values())
            middle[block] = usual([value for value in values if value == value])
        return middle

    def ranks(self) -> list[int]:
        return sorted(self._ranks)

    def excess(self, rank: int) -> list[float]:
        """For each block, the rank's time beyond that of the usual rank; NaN if it has no steps."""
        series = self._ranks[rank]
        return [
            max(own - usual_own, 0.0) + max(compute - usual_compute, 0.0) if own == own else own
            for own, usual_own, compute, usual_compute in zip(
                series.own, self._usual_own, series.compute, self._usual_compute, strict=True
            )
        ]

    def since(self, rank: int, cause: str) -> int | None:
        """The step from which on the rank was slow; None: from the start."""
        series = self._ranks[rank]
        own = series.compute if cause == "compute" else series.own
        middle = self._usual_compute if cause == "compute" else self._usual_own
        blocks = [block for block in sorted(self.first_steps) if own[block] == own[block]]
        at = change_point([own[block] - middle[block] for block in blocks])
        return None if at is None else self.first_steps[blocks[at]]


def change_point(series: list[float]) -> int | None:
    """Where a series steps up: the cut with the largest difference of means, weighted by the number of
    values on either side. None if the series was high from the start, or drifts."""
    if len(series) < 10:
        return None
    total = sum(series)
    best, at, before = 0.0, None, 0.0
    for cut in range(1, len(series)):
        before += series[cut - 1]
        left, right = before / cut, (total - before) / (len(series) - cut)
        weight = (right - left) * (cut * (len(series) - cut)) ** 0.5
        if weight > best:
            best, at = weight, cut
    if at is None:
        return None
    left, right = series[:at], series[at:]
    step = statistics.fmean(right) - statistics.fmean(left)
    noise = max(statistics.pstdev(left), statistics.pstdev(right))
    return at if step > 3 * noise and step > 0.5 * statistics.fmean(right) else None
