"""What differs between two runs of a lake. Facts only: compared_text() puts them into words."""

from .problem import Problem
from .profiles import change
from .regressions import RunFacts
from .text import plain, slow_rank_line


def compare(before: str, after: str, runs: dict[str, RunFacts]) -> dict:
    """The document that --json prints."""
    for run in (before, after):
        if runs[run].profile is None:
            raise Problem(f"run {run} has no steady steps, so there is nothing to compare")
    old, new = runs[before].profile, runs[after].profile
    rows = [_row(name, old, new) for name in ("step", *new.categories())]
    return {
        "schema": "stepscope.fleet-compare/1",
        "before": {"run": before, "ranks": runs[before].ranks},
        "after": {"run": after, "ranks": runs[after].ranks},
        "step": rows[0],
        "categories": sorted(rows[1:], key=lambda row: -abs(row["change_ns"])),
        "slow_ranks_before": runs[before].slow_ranks,
        "slow_ranks_after": runs[after].slow_ranks,
        "query": "run_profile.sql",
    }


def _row(category: str, old, new) -> dict:
    found = change(old, new, category)
    return {
        "category": category,
        "before_ns": round(found.before_ns),
        "after_ns": round(found.after_ns),
        "change_ns": round(found.ns),
        "error_ns": round(found.error_ns),
        "beyond_chance": found.beyond_chance,
    }


def compared_text(document: dict) -> str:
    before, after, step = document["before"], document["after"], document["step"]
    lines = [
        f"{plain(after['run'])} compared with {plain(before['run'])}: {_verdict(step)}",
        f"  {'':14} {'before':>12} {'after':>12} {'change':>12}",
        _table_line(step),
    ]
    lines += [
        _table_line(row) for row in document["categories"] if row["before_ns"] or row["after_ns"]
    ]
    if before["ranks"] != after["ranks"]:
        lines.append(f"  {before['ranks']} ranks before, {after['ranks']} after")
    for when in ("before", "after"):
        slow = document[f"slow_ranks_{when}"]
        lines += [f"  {when}: {slow_rank_line(rank)}" for rank in slow[:5]]
        if len(slow) > 5:
            lines.append(f"  {when}: and {len(slow) - 5} more slow ranks (--json has them all)")
    return "\n".join(lines)


def _verdict(step: dict) -> str:
    if step["beyond_chance"] is None:
        return "too few steps to tell a change from chance"
    if not step["beyond_chance"]:
        return "no difference beyond chance"
    share = step["change_ns"] / step["before_ns"]
    return f"{'slower' if share > 0 else 'faster'}, {share:+.1%} a step"


def _table_line(row: dict) -> str:
    error = f" ± {2 * row['error_ns'] / 1e6:.2f} ms"
    return (
        f"  {row['category']:14} {row['before_ns'] / 1e6:9.2f} ms {row['after_ns'] / 1e6:9.2f} ms"
        f" {row['change_ns'] / 1e6:+9.2f} ms{error}"
    )
