"""Which runs of a job are slower than the run before, and in which category."""

import dataclasses
from collections.abc import Iterable

# A run is slower if its step grew by this share, and by more than chance would explain.
SLOWER_SHARE = 0.03
ERRORS = 4.0
FEWEST_BLOCKS = 5  # of steps: with fewer, nothing is known about chance


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What is known about a run besides its times."""

    slow_ranks: list[dict]  # the slowest first
    lines: dict[str, dict]  # by category: the line that took most of its time


def find_regressions(rows: Iterable[dict], runs: dict[str, RunFacts]) -> list[dict]:
    """`rows`: the result of job_regression.sql."""
    changes: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        key = (row["job"], row["ranks"], row["before_run"], row["run"])
        changes.setdefault(key, {})[row["category"]] = row
    found = []
    for (job, ranks, before, run), categories in changes.items():
        step = categories.pop("step")
        limit = max(SLOWER_SHARE * step["before_ns"], ERRORS * step["error_ns"])
        if step["change_ns"] <= limit or step["blocks"] < FEWEST_BLOCKS:
            continue
        found.append(
            {
                "job": job,
                "ranks": ranks,
                "before_run": before,
                "run": run,
                "before_step_ns": round(step["before_ns"]),
                "step_ns": round(step["ns"]),
                "change_share": step["change_ns"] / step["before_ns"],
                "error_ns": round(step["error_ns"]),
                **_cause(step["change_ns"], categories, runs[before], runs[run]),
                "query": "job_regression.sql",
            }
        )
    return sorted(found, key=lambda one: -one["change_share"])


def _cause(
    change_ns: float, categories: dict[str, dict], before: RunFacts, after: RunFacts
) -> dict:
    """A slow rank if it explains half of the change (on the others it shows as waiting), else what grew most."""
    worst_before = before.slow_ranks[0]["excess_ns"] if before.slow_ranks else 0
    if after.slow_ranks and after.slow_ranks[0]["excess_ns"] - worst_before > 0.5 * change_ns:
        worst = after.slow_ranks[0]
        return {
            "rank": worst["rank"],
            "category": worst["category"],
            "category_change_ns": worst["excess_ns"] - worst_before,
            "line": worst["line"],
        }
    most = max(categories.values(), key=lambda row: row["change_ns"])
    return {
        "rank": None,
        "category": most["category"],
        "category_change_ns": round(most["change_ns"]),
        "line": after.lines.get(most["category"]),
    }
