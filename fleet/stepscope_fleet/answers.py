"""Runs the queries on a lake, and works out the answers. Facts only: text.py puts them into words."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable

from .batches import Batch, RunOfBatch, batches_of
from .clocks import node_clocks
from .engine import ChangedFiles, Engine, chosen
from .heat import HeatMap, heat_map
from .lake_files import LakeFiles, Node
from .lake_place import Lake, reading
from .problem import Problem
from .profiles import Profile
from .regressions import RunFacts, find_regressions
from .slow_ranks import Categories, Series, merge_parts, slow_ones
from .stages import Stages

Engines = Callable[[list[Node]], Engine]
Progress = Callable[[int, int], None]

TRIES = 3  # to read a lake that others write to
NS_PER_HOUR = 3.6e12
MOST_MISSING_RANKS = 1000  # that an answer lists
CLOCKS_APART_NS = 10_000_000_000
_LINE = ("file", "line", "function", "place", "share")
_GOOD_PART = 0.25  # of a category's time, for a line of a worker to be named; as in analyzer/verdict/ranks.cc
_OPS = ("store", "first_step", "last_step")
_GROUPS = ("dp_rank", "pp_rank", "tp_rank", "gpu_uuid")


@dataclasses.dataclass
class Answers:
    document: dict  # what --json prints
    heat: dict[str, HeatMap]  # of each run with ranks to compare
    facts: dict[str, RunFacts]  # of each run


def analyze(
    lake: Lake,
    runs: list[str],
    since_unix_ns: int = 0,
    price: float | None = None,
    engines: Engines = Engine,
    progress: Progress | None = None,
) -> Answers:
    """`price`: of one rank per hour. `progress`: called with the number of runs that are done, and of all."""
    for _ in range(TRIES):
        try:
            with reading(lake, runs, since_unix_ns) as files:
                return _analyze_once(files, runs, since_unix_ns, price, engines, progress)
        except ChangedFiles as error:
            problem = str(error)
    raise Problem(f"{lake}: others write to it all the time; try again ({problem})")


def _analyze_once(
    files: LakeFiles,
    chosen_runs: list[str],
    since_unix_ns: int,
    price: float | None,
    engines: Engines,
    progress: Progress | None,
) -> Answers:
    nodes = chosen(files, chosen_runs, since_unix_ns)
    heat: dict[str, HeatMap] = {}
    facts: dict[str, RunFacts] = {}
    runs = []
    for there in batches_of(files, nodes):
        with engines([node for of_run in there.values() for node in of_run]) as engine:
            batch = Batch(engine, there)
            for name in there:
                found = _RunAnswers(name, RunOfBatch(batch, name))
                runs.append(found.document(price))
                facts[name] = found.facts(runs[-1])
                if found.heat:
                    heat[name] = found.heat
        if progress:
            progress(len(runs), len(nodes))
    if not runs:
        raise Problem("; ".join(files.left_out))
    runs.sort(key=lambda run: (-run["lost_hours"], run["run"]))
    document = {
        "schema": "stepscope.fleet/1",
        "price": price,
        "runs": runs,
        "slow_hosts": _slow_hosts(runs),
        "regressions": find_regressions(facts),
        "left_out": files.left_out,
    }
    return Answers(document, heat, facts)


class _RunAnswers:
    """What the queries say about a run."""

    def __init__(self, name: str, engine: RunOfBatch):
        (self._waste,) = list(engine.ask("run_waste")) or [_no_waste(name)]
        self._about = list(engine.ask("run_about"))
        self._ranks = merge_parts(engine.in_parts("rank_cost"))
        categories = list(engine.ask("rank_category"))
        self._categories = Categories(categories)
        groups = list(engine.ask("rank_groups"))
        has_stages = any(row["pp_rank"] is not None for row in groups)
        self._stages = Stages(
            groups, engine.in_parts("stage_cost") if has_stages else [], categories
        )
        self._groups = {row["rank"]: {key: row[key] for key in _GROUPS} for row in groups}
        self._series = Series(engine.ask("rank_series"))
        self._clocks_apart_ns = _clocks_apart(engine.ask("host_clock"))
        self._node_clocks = node_clocks(
            engine.ask("node_clock"), {node["node"]: node["host"] for node in self._about}
        )
        self._arrivals = {row["rank"]: row for row in engine.ask("rank_arrival")}
        self._extra_ns = {row["category"]: row["extra_ns"] for row in engine.ask("kind_cost")}
        self._ops = {row["rank"]: {key: row[key] for key in _OPS} for row in engine.ask("rank_ops")}
        self._lines: dict[tuple[int, str], dict] = {}
        self.main_lines: dict[str, dict] = {}
        for row in engine.ask("slow_line"):
            line = {key: row[key] for key in _LINE}
            _keep_main(self._lines, (row["rank"], row["category"]), line)
            _keep_main(self.main_lines, row["category"], line)
        self._profile = Profile.of(engine.ask("run_profile"))
        self._verdicts = _verdicts(engine.ask("rank_verdict"))
        self.heat = heat_map(self._series, self._step_ns()) if self._ranks else None

    def document(self, price: float | None) -> dict:
        found = slow_ones(self._ranks)
        worst = max((round(rank["excess_ns"]) for rank in found), default=0)
        numbers = {rank["rank"] for rank in found}
        slow = [self._slow_rank(rank, worst, numbers) for rank in found]
        step_ns = self._step_ns()
        straggler_hours = worst * sum(rank["steps"] for rank in self._ranks) / NS_PER_HOUR
        lost = self._waste["lost_input_hours"] + self._waste["lost_launch_hours"] + straggler_hours
        return {
            **self._waste,
            "job": self._about[0]["job"],
            "program": self._about[0]["program"],
            **self._missing(),
            "verdicts": self._verdicts,
            "nodes": self._nodes(),
            "unfinished_nodes": [n["node"] for n in self._about if n["state"] != "complete"],
            "restarts": max((n["restarts"] or 0 for n in self._about), default=0),
            "clocks_apart_ns": self._clocks_apart_ns,
            "node_clocks": self._node_clocks,
            "compared_steps": self._ranks[0]["steps"] if self._ranks else 0,
            "step_ns": step_ns,
            "slowdown": step_ns / (step_ns - worst) if step_ns and worst < step_ns else 1.0,
            "slowdown_by_kind": self._slowdown_by_kind(worst),
            "lost_straggler_hours": straggler_hours,
            "lost_hours": lost,
            "lost_cost": None if price is None else lost * price,
            "slow_ranks": slow,
            "slow_within_stage": self._stages.slow_within(numbers),
            "query": "run_waste.sql",
        }

    def facts(self, document: dict) -> RunFacts:
        return RunFacts(
            document["job"],
            document["ranks"],
            min(node["wall_start_unix_ns"] for node in self._about),
            self._profile,
            document["slow_ranks"],
            self.main_lines,
        )

    def _nodes(self) -> list[dict]:
        return [
            {key: node[key] for key in ("node", "host", "state", "store")} for node in self._about
        ]

    def _step_ns(self) -> float | None:
        return statistics.fmean(rank["step_ns"] for rank in self._ranks) if self._ranks else None

    def _slowdown_by_kind(self, worst_ns: float) -> dict[str, float]:
        """The factor by which differences between ranks in a category alone make a step longer, the largest first."""
        step_ns = self._step_ns() or 0.0
        if worst_ns >= step_ns:
            return {}
        kinds = sorted(self._extra_ns.items(), key=lambda item: (-item[1], item[0]))
        return {kind: 1.0 + extra_ns / (step_ns - worst_ns) for kind, extra_ns in kinds}

    def _slow_rank(self, rank: dict, worst_ns: float, slow_ranks: set[int]) -> dict:
        cause = self._categories.cause(rank)
        arrival = self._arrivals.get(rank["rank"])
        # Every other rank waits this long in each of these steps.
        others = rank["excess_ns"] * rank["steps"] * (len(self._ranks) - 1)
        return {
            "rank": rank["rank"],
            "host": rank["host"],
            "category": cause,
            "excess_ns": round(rank["excess_ns"]),
            "step_share": rank["excess_ns"] / rank["step_ns"],
            "since_step": self._series.since(rank["rank"], cause),
            "line": self._lines.get((rank["rank"], cause)),
            "costs_others_hours": others / NS_PER_HOUR,
            # If no other rank were slow.
            "slowdown": 1.0 + rank["excess_ns"] / max(rank["step_ns"] - worst_ns, 1.0),
            "ops": self._ops.get(rank["rank"]),
            **self._groups.get(rank["rank"], dict.fromkeys(_GROUPS)),
            "arrives_late_ns": round(arrival["late_ns"]) if arrival else None,
            "arrives_last_share": arrival["last_share"] if arrival else None,
            "within_stage": self._stages.about(rank["rank"], slow_ranks),
            "query": "rank_cost.sql",
        }

    def _missing(self) -> dict:
        there = self._categories.ranks()
        world = max([n["world_size"] or 0 for n in self._about] + [max(there, default=-1) + 1])
        return {
            "missing_ranks": first_missing(there, world, MOST_MISSING_RANKS),
            "missing_rank_count": world - len(there),
        }


def first_missing(there: list[int], world: int, most: int) -> list[int]:
    """The first `most` numbers below `world` that are not in `there`, which is sorted."""
    found: list[int] = []
    next_rank = 0
    for rank in [*there, world]:
        found.extend(range(next_rank, min(rank, next_rank + most - len(found))))
        next_rank = rank + 1
    return found


def _no_waste(run: str) -> dict:
    numbers = ("ranks", "hosts", "last_step", "start_unix_ns")
    hours = ("hours", "lost_input_hours", "lost_launch_hours", "input_share")
    return {"run": run} | dict.fromkeys(numbers, 0) | dict.fromkeys(hours, 0.0)


def _verdicts(rows: Iterable[dict]) -> list[dict]:
    """How many ranks have which verdict, and their mean share; that of the most ranks first."""
    shares: dict[str, list[float]] = {}
    for row in rows:
        shares.setdefault(row["kind"], []).append(row["share"] or 0.0)
    found = [
        {"kind": kind, "ranks": len(each), "share": statistics.fmean(each)}
        for kind, each in shares.items()
    ]
    return sorted(found, key=lambda one: (-one["ranks"], -one["share"], one["kind"]))


def _keep_main(lines: dict, key: object, line: dict) -> None:
    """Lines of workers that make the batches come before the line of the loop that waits for them."""

    def importance(one: dict) -> tuple[bool, float]:
        return one["place"] == "worker" and one["share"] >= _GOOD_PART, one["share"]

    if key not in lines or importance(line) > importance(lines[key]):
        lines[key] = line


def _clocks_apart(rows: Iterable[dict]) -> int | None:
    """None if they are close enough not to matter."""
    starts = [row["start_unix_ns"] for row in rows]
    apart = max(starts, default=0) - min(starts, default=0)
    return apart if apart > CLOCKS_APART_NS else None


def _slow_hosts(runs: list[dict]) -> list[dict]:
    """Hosts with a slow rank in more than one run."""
    hosts: dict[str, dict[str, float]] = {}
    for run in runs:
        for rank in run["slow_ranks"]:
            of_host = hosts.setdefault(rank["host"], {})
            of_host[run["run"]] = of_host.get(run["run"], 0.0) + rank["costs_others_hours"]
    return [
        {"host": host, "runs": sorted(costs), "costs_others_hours": sum(costs.values())}
        for host, costs in sorted(hosts.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(costs) > 1
    ]
