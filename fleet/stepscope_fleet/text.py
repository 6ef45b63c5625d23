"""The answers as text for a terminal."""

import shlex

LEAST_SLOWDOWN = 1.01  # that is worth a word
MOST_SLOW_RANKS = 10
LEAST_OFFSET_NS = 1_000_000
MOST_NODES = 8  # of a run's nodes that are listed


def plain(text: object) -> str:
    """Names come from other machines: removes everything that controls a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def _hours(hours: float) -> str:
    if hours >= 1:
        return f"{hours:.1f} h"
    return f"{hours * 60:.1f} min" if hours * 60 >= 1 else f"{hours * 3600:.1f} s"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def slow_rank_line(rank: dict) -> str:
    since = f" since about step {rank['since_step']}" if rank["since_step"] is not None else ""
    return (
        f"rank {rank['rank']} on {plain(rank['host'])}: {rank['category']}"
        f" +{rank['excess_ns'] / 1e6:.2f} ms a step ({rank['step_share']:.1%}){since}"
    )


def _rank_lines(rank: dict) -> list[str]:
    waited = f"the other ranks waited {_hours(rank['costs_others_hours'])} for it"
    lines = [f"  {slow_rank_line(rank)}; {waited}"]
    if rank["line"]:
        at = rank["line"]
        worker = ", in a worker" if at["place"] == "worker" else ""
        lines.append(
            f"    {plain(at['file'])}:{at['line']} {plain(at['function'])}"
            f"  {at['share']:.0%} of its {rank['category']} time{worker}"
        )
    if rank["arrives_late_ns"] is not None:
        lines.append(
            f"    arrives {rank['arrives_late_ns'] / 1e6:.2f} ms after the first rank at the last collective of a"
            f" step; the last one in {rank['arrives_last_share']:.0%} of the steps"
        )
    if rank["ops"]:
        lines.append(f"    its ops: {_analyze_command(rank)}")
    if rank["within_stage"]:
        lines.append(f"    {_stage_text(rank['within_stage'])}")
    if rank["gpu_uuid"]:
        lines.append(f"    {plain(rank['gpu_uuid'])}")
    return lines


def _stage_text(within: dict) -> str:
    stage = f"pipeline stage {within['stage']}"
    if within["excess_ns"] is not None:
        return f"+{within['excess_ns'] / 1e6:.2f} ms a step within {stage}"
    return f"as all of {stage}" if within["whole_stage"] else f"not slow within {stage}"


def _within_stage_line(rank: dict) -> str:
    return (
        f"  rank {rank['rank']} on {plain(rank['host'])}: {rank['category']} +{rank['excess_ns'] / 1e6:.2f} ms a"
        f" step ({rank['step_share']:.1%}) within pipeline stage {rank['stage']}; other stages take longer"
    )


def _analyze_command(rank: dict) -> str:
    ops = rank["ops"]
    store = shlex.quote(plain(ops["store"]))
    steps = f"{ops['first_step']}-{ops['last_step']}"
    return f"stepscope analyze {store} --rank {rank['rank']} --steps {steps}"


def _kinds_line(run: dict) -> list[str]:
    kinds = [
        f"{kind} {factor:.3f}"
        for kind, factor in run["slowdown_by_kind"].items()
        if factor >= LEAST_SLOWDOWN
    ]
    return [f"  slowdown by kind: {', '.join(kinds)}"] if kinds and run["slow_ranks"] else []


def _clock_lines(run: dict) -> list[str]:
    """Clocks that are further apart than a millisecond, and than the collectives that say so differ."""
    apart = [
        node
        for node in run["node_clocks"]
        if abs(node["offset_ns"]) > max(LEAST_OFFSET_NS, 2 * node["error_ns"])
    ]
    lines = [
        f"  the clock of node {plain(node['node'])} is {abs(node['offset_ns']) / 1e6:,.2f} ms"
        f" {'ahead' if node['offset_ns'] > 0 else 'behind'} (± {node['error_ns'] / 1e6:.2f} ms, from"
        f" {_count(node['collectives'], 'collective')}); arrival times are corrected"
        for node in apart[:MOST_NODES]
    ]
    more = len(apart) - MOST_NODES
    return lines + ([f"  so are those of {_count(more, 'more node')}"] if more > 0 else [])


def run_text(run: dict) -> str:
    lines = [
        f"{plain(run['run'])} · {plain(run['program'])} · {_count(run['ranks'], 'rank')} on"
        f" {_count(run['hosts'], 'host')} · {_hours(run['hours'])} of rank time",
        f"  lost: input {_hours(run['lost_input_hours'])} ({run['input_share']:.1%}),"
        f" stragglers {_hours(run['lost_straggler_hours'])} (slowdown {run['slowdown']:.3f}),"
        f" launch {_hours(run['lost_launch_hours'])}"
        + (f"; this costs {run['lost_cost']:,.2f}" if run["lost_cost"] is not None else ""),
    ]
    if run["verdicts"]:
        verdicts = [
            f"{plain(one['kind'])} {_count(one['ranks'], 'rank')}" for one in run["verdicts"][:3]
        ]
        lines.append(f"  verdicts: {', '.join(verdicts)}")
    if run["missing_ranks"]:
        missing = ", ".join(str(rank) for rank in run["missing_ranks"][:8])
        count = run["missing_rank_count"]
        more = "" if count <= 8 else f", … ({count} in all)"
        lines.append(f"  missing in the lake: rank {missing}{more}")
    if run["unfinished_nodes"]:
        nodes = plain(", ".join(run["unfinished_nodes"]))
        lines.append(f"  still being written, or cut off: node {nodes}")
    if run["restarts"]:
        lines.append(f"  its processes were restarted {_count(run['restarts'], 'time')}")
    if run["clocks_apart_ns"]:
        apart = _hours(run["clocks_apart_ns"] / 3.6e12)
        lines.append(f"  the clocks of its hosts are {apart} apart; steps are compared by number")
    lines += _clock_lines(run)
    lines += _kinds_line(run)
    for rank in run["slow_ranks"][:MOST_SLOW_RANKS]:
        lines += _rank_lines(rank)
    more = len(run["slow_ranks"]) - MOST_SLOW_RANKS
    if more > 0:
        lines.append(f"  and {more} more slow ranks (--json has them all)")
    lines += [_within_stage_line(rank) for rank in run["slow_within_stage"][:MOST_SLOW_RANKS]]
    if not run["slow_ranks"] and run["ranks"] > 1:
        lines.append("  no rank holds the others up")
    return "\n".join(lines)


def _regression_text(one: dict) -> str:
    line = (
        f"{plain(one['run'])} is slower than {plain(one['before_run'])}, the run of {plain(one['job'])} before it:"
        f" {one['step_ns'] / 1e6:.2f} ms a step after {one['before_step_ns'] / 1e6:.2f} ms"
        f" (+{one['change_share']:.1%}); most of it is {one['category']}"
        f" (+{one['category_change_ns'] / 1e6:.2f} ms)"
        + (f" of rank {one['rank']}" if one["rank"] is not None else "")
    )
    if one["line"]:
        at = one["line"]
        line += f", {plain(at['file'])}:{at['line']} {plain(at['function'])}"
    return line


def _node_lines(run: dict) -> list[str]:
    lines = [
        f"  {plain(node['node'])} on {plain(node['host'])}: stepscope analyze"
        f" {shlex.quote(plain(node['store']))}"
        for node in run["nodes"][:MOST_NODES]
    ]
    more = len(run["nodes"]) - MOST_NODES
    return ["stores of its nodes:", *lines] + (
        [f"  and {_count(more, 'more node')}"] if more > 0 else []
    )


def _most_are_input_bound(verdicts: list[dict]) -> bool:
    ranks = {verdict["kind"]: verdict["ranks"] for verdict in verdicts}
    return 2 * ranks.get("input-bound", 0) > sum(ranks.values())


def _input_bound_line(runs: list[dict]) -> str:
    bound = sum(1 for run in runs if _most_are_input_bound(run["verdicts"]))
    return f"{bound} of {len(runs)} runs {'is' if bound == 1 else 'are'} input-bound"


def fleet_text(answers: dict) -> str:
    parts = [run_text(run) for run in answers["runs"]]
    if len(parts) == 1:
        parts.append("\n".join(_node_lines(answers["runs"][0])))
    else:
        parts.insert(0, _input_bound_line(answers["runs"]))
    parts += [
        f"{plain(host['host'])} has slow ranks in {len(host['runs'])} runs:"
        f" {plain(', '.join(host['runs']))}"
        for host in answers["slow_hosts"]
    ]
    parts += [_regression_text(one) for one in answers["regressions"]]
    return "\n\n".join(parts)
