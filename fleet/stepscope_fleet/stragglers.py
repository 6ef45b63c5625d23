"""What stragglers cost a job whose operations were recorded: equations 1 to 5 of the paper that pipeline.py names.

All figures compare mean steps that are simulated: with the recorded times, with ideal ones (all operations of a kind
take equally long), and with ideal times for some operations only.
"""

from collections.abc import Callable

from .pipeline import COMPUTE, Operation, Pipeline
from .problem import Problem
from .text import plain

SLOWEST_SHARE = 0.03  # of the workers


def analyze(job: Pipeline) -> dict:
    """The document that --json prints. Slowdowns are factors, explained shares are shares of the lost time."""
    ideal = job.ideal_seconds()
    recorded_s, ideal_s = job.mean_step(job.seconds), job.mean_step(ideal)
    if ideal_s <= 0:
        raise Problem("its operations take no time, so there is nothing to compare")

    def only(kept: Callable[[Operation], bool]) -> float:
        """The slowdown if all but these operations were ideal."""
        times = [
            recorded if kept(one) else other
            for one, recorded, other in zip(job.operations, job.seconds, ideal, strict=True)
        ]
        return job.mean_step(times) / ideal_s

    def explained(mended: Callable[[Operation], bool]) -> float | None:
        """The share of the lost time that ideal compute in these would win back; None if no time is lost."""
        times = [
            other if one.kind in COMPUTE and mended(one) else recorded
            for one, recorded, other in zip(job.operations, job.seconds, ideal, strict=True)
        ]
        lost = recorded_s - ideal_s
        return (recorded_s - job.mean_step(times)) / lost if lost > 0 else None

    kinds = {one.kind for one in job.operations}
    dp_ranks, stages = ({worker[i] for worker in job.workers} for i in (0, 1))
    by_dp_rank = {d: only(lambda one, d=d: any(w[0] == d for w in one.workers)) for d in dp_ranks}
    by_stage = {s: only(lambda one, s=s: any(w[1] == s for w in one.workers)) for s in stages}
    by_worker = {(d, s): min(by_dp_rank[d], by_stage[s]) for d, s in job.workers}
    slowest = _largest(by_worker)[: max(1, round(SLOWEST_SHARE * len(by_worker)))]
    by_kind = {kind: only(lambda one, kind=kind: one.kind == kind) for kind in kinds}
    return {
        "schema": "stepscope.stragglers/1",
        "workers": len(job.workers),
        "step_s": recorded_s,
        "ideal_step_s": ideal_s,
        "slowdown": recorded_s / ideal_s,
        "by_kind": {kind: by_kind[kind] for kind in _largest(by_kind)},
        "by_stage": {str(stage): by_stage[stage] for stage in sorted(by_stage)},
        "by_worker": [
            {"dp_rank": d, "stage": s, "slowdown": by_worker[d, s]} for d, s in _largest(by_worker)
        ],
        "slowest_workers": [{"dp_rank": d, "stage": s} for d, s in slowest],
        "explained_by_slowest_workers": explained(lambda one: not one.workers.isdisjoint(slowest)),
        "explained_by_last_stage": explained(
            lambda one: any(stage == job.last_stage for _, stage in one.workers)
        ),
    }


def _largest(figures: dict) -> list:
    return sorted(figures, key=lambda key: (-figures[key], key))


def text(name: str, answer: dict) -> str:
    """The same in words."""
    lines = [
        f"{plain(name)} · {answer['workers']} workers",
        f"  a step takes {answer['step_s']:.2f} s; {answer['ideal_step_s']:.2f} s if all operations of a kind took"
        f" equally long: slowdown {answer['slowdown']:.3f}",
    ]
    slowest = len(answer["slowest_workers"])
    for key, who in (
        ("explained_by_last_stage", "the last stage explains"),
        (
            "explained_by_slowest_workers",
            "the slowest worker explains"
            if slowest == 1
            else f"the slowest {slowest} workers explain",
        ),
    ):
        if answer[key] is not None:
            lines.append(f"  {who} {answer[key]:.1%} of the lost time")
    lines.append("  slowdown by kind of operation")
    lines += [
        f"    {plain(kind):28} {factor:.3f}" for kind, factor in list(answer["by_kind"].items())[:5]
    ]
    lines.append("  slowdown by stage")
    lines += [f"    {stage:28} {factor:.3f}" for stage, factor in answer["by_stage"].items()]
    lines.append("  slowest workers")
    lines += [
        f"    {'data-parallel rank %d, stage %d' % (one['dp_rank'], one['stage']):28} {one['slowdown']:.3f}"
        for one in answer["by_worker"][:5]
    ]
    return "\n".join(lines)
