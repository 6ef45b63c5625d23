"""Which runs of a job are slower than the run before, and in which category."""

import dataclasses
import itertools

from .profiles import Profile, change

SLOWER_SHARE = 0.03  # of a step


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What is known about a run for comparisons with others."""

    job: str
    ranks: int
    start_unix_ns: int
    profile: Profile | None
    slow_ranks: list[dict]  # the slowest first
    lines: dict[str, dict]  # by category: the line that took most of its time


def find_regressions(runs: dict[str, RunFacts]) -> list[dict]:
    """Each run is compared with the run of the same job and number of ranks that began before it."""
    jobs: dict[tuple, list[str]] = {}
    for run in sorted(runs, key=lambda run: (runs[run].start_unix_ns, run)):
        if runs[run].profile:
            jobs.setdefault((runs[run].job, runs[run].ranks), []).append(run)
    pairs = (pair for names in jobs.values() for pair in itertools.pairwise(names))
    found = (_regression(before, run, runs[before], runs[run]) for before, run in pairs)
    return sorted((one for one in found if one), key=lambda one: -one["change_share"])


def _regression(before: str, run: str, old: RunFacts, new: RunFacts) -> dict | None:
    step = change(old.profile, new.profile, "step")
    if not step.beyond_chance or step.ns <= SLOWER_SHARE * step.before_ns:
        return None
    return {
        "job": new.job,
        "ranks": new.ranks,
        "before_run": before,
        "run": run,
        "before_step_ns": round(step.before_ns),
        "step_ns": round(step.after_ns),
        "change_share": step.ns / step.before_ns,
        "error_ns": round(step.error_ns),
        **_cause(step.ns, old, new),
        "query": "run_profile.sql",
    }


def _cause(change_ns: float, before: RunFacts, after: RunFacts) -> dict:
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
    changes = {
        name: change(before.profile, after.profile, name).ns for name in after.profile.categories()
    }
    most = max(changes, key=changes.get)
    return {
        "rank": None,
        "category": most,
        "category_change_ns": round(changes[most]),
        "line": after.lines.get(most),
    }
