"""Runs the queries on a lake, and works out what they say. Facts only; text.py has the words."""

import pathlib
import statistics

import duckdb

from .lake import first_line, usable_files
from .problem import Problem

QUERIES = pathlib.Path(__file__).resolve().parent.parent / "queries"
# A rank is slow if it adds this share to a step, and stands out from how ranks differ anyhow.
SLOW_SHARE = 0.03
SLOW_SPREADS = 6.0


class Lake:
    """The tables of a lake as views of an engine."""

    def __init__(self, folder: pathlib.Path, runs: list[str], since_unix_ns: int = 0):
        files, self.left_out = usable_files(folder)
        self._engine = duckdb.connect()
        for table, paths in files.items():
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            self._engine.execute(
                f"CREATE VIEW every_{table} AS SELECT * FROM read_parquet([{listed}],"
                " union_by_name = true, hive_partitioning = false)"
            )
        self._engine.execute(
            "CREATE TABLE chosen AS SELECT run FROM every_run GROUP BY run"
            " HAVING (len(?::VARCHAR[]) = 0 OR list_contains(?::VARCHAR[], run))"
            " AND max(wall_start_unix_ns) >= ?",
            [runs, runs, since_unix_ns],
        )
        for table in files:
            self._engine.execute(
                f"CREATE VIEW {table} AS SELECT * FROM every_{table}"
                " WHERE run IN (SELECT run FROM chosen)"
            )
        if self._engine.execute("SELECT count(*) FROM chosen").fetchone() == (0,):
            raise Problem(f"{folder}: no run is chosen; it holds {', '.join(self._all_runs())}")

    def _all_runs(self) -> list[str]:
        rows = self._engine.execute("SELECT DISTINCT run FROM every_run ORDER BY run LIMIT 20")
        return [run for (run,) in rows.fetchall()]

    def ask(self, query: str) -> list[dict]:
        """The rows of queries/QUERY.sql."""
        try:
            answer = self._engine.execute((QUERIES / f"{query}.sql").read_text(encoding="utf-8"))
            names = [column[0] for column in answer.description]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        except duckdb.Error as error:
            raise Problem(f"{query}.sql: {first_line(error)}") from error


def _by_run(rows: list[dict]) -> dict[str, list[dict]]:
    runs: dict[str, list[dict]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    return runs


def _slow_ones(ranks: list[dict]) -> list[dict]:
    if len(ranks) < 2:
        return []
    # Against the better half: the slow ones, which may be many, say nothing about what is usual.
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


def _cause(rank: dict, categories: list[dict]) -> str:
    """The category in which the rank is furthest above the usual rank."""
    if rank["slow_ns"] > rank["late_ns"]:
        return "compute"
    every: dict[str, list[float]] = {}
    own: dict[str, float] = {}
    for row in categories:
        every.setdefault(row["category"], []).append(row["ns"])
        if row["rank"] == rank["rank"]:
            own[row["category"]] = row["ns"]
    own.pop("compute", None)
    usual = {name: min(v) if len(v) < 4 else statistics.median(v) for name, v in every.items()}
    return max(own, key=lambda name: own[name] - usual[name])


def change_point(series: list[float]) -> int | None:
    """Where a series steps up: the cut with the largest difference of means, weighed by how much
    stands on either side. None where it was so from the start, or drifts."""
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


def _since(rank: dict, cause: str, series: list[dict]) -> int | None:
    column = "compute_ns" if cause == "compute" else "own_ns"
    blocks: dict[int, list[float]] = {}
    own: dict[int, dict] = {}
    for row in series:
        blocks.setdefault(row["block"], []).append(row[column])
        if row["rank"] == rank["rank"]:
            own[row["block"]] = row
    order = sorted(own)
    usual = {b: min(v) if len(v) < 4 else statistics.median(v) for b, v in blocks.items()}
    at = change_point([own[block][column] - usual[block] for block in order])
    return None if at is None else own[order[at]]["first_step"]


def _line(run: str, rank: dict, cause: str, lines: list[dict]) -> dict | None:
    for row in lines:
        if (row["run"], row["rank"], row["category"]) == (run, rank["rank"], cause):
            return {key: row[key] for key in ("file", "line", "function", "place", "share")}
    return None


def _missing(nodes: list[dict], ranks: list[dict]) -> list[int]:
    there = {rank["rank"] for rank in ranks}
    world = max([node["world_size"] or 0 for node in nodes] + [max(there, default=-1) + 1])
    return [rank for rank in range(world) if rank not in there]


def analyze(lake: Lake) -> dict:
    """The document that --json prints."""
    ranks, categories = _by_run(lake.ask("rank_cost")), _by_run(lake.ask("rank_category"))
    series, about = _by_run(lake.ask("rank_series")), _by_run(lake.ask("run_about"))
    lines = lake.ask("slow_line")
    runs = []
    for waste in lake.ask("run_waste"):
        run = waste["run"]
        compared = ranks.get(run, [])
        slow = []
        for rank in _slow_ones(compared):
            cause = _cause(rank, categories[run])
            slow.append(
                {
                    "rank": rank["rank"],
                    "host": rank["host"],
                    "category": cause,
                    "excess_ns": round(rank["excess_ns"]),
                    "step_share": rank["excess_ns"] / rank["step_ns"],
                    "since_step": _since(rank, cause, series[run]),
                    "line": _line(run, rank, cause, lines),
                    # Every other rank waits for as long in each of these steps.
                    "costs_others_hours": rank["excess_ns"]
                    * rank["steps"]
                    * (len(compared) - 1)
                    / 3.6e12,
                    "query": "rank_cost.sql",
                }
            )
        worst = max((one["excess_ns"] for one in slow), default=0)
        step_ns = statistics.fmean(r["step_ns"] for r in compared) if compared else None
        present = lake_ranks(categories.get(run, []))
        runs.append(
            {
                **waste,
                "job": about[run][0]["job"],
                "program": about[run][0]["program"],
                "missing_ranks": _missing(about[run], present),
                "unfinished_nodes": [n["node"] for n in about[run] if n["state"] != "complete"],
                "compared_steps": compared[0]["steps"] if compared else 0,
                "step_ns": step_ns,
                "slowdown": step_ns / (step_ns - worst) if step_ns and worst < step_ns else 1.0,
                "lost_straggler_hours": worst * sum(rank["steps"] for rank in compared) / 3.6e12,
                "slow_ranks": slow,
                "query": "run_waste.sql",
            }
        )
    for run in runs:
        run["lost_hours"] = (
            run["lost_input_hours"] + run["lost_launch_hours"] + run["lost_straggler_hours"]
        )
    runs.sort(key=lambda run: -run["lost_hours"])
    return {
        "schema": "stepscope.fleet/1",
        "runs": runs,
        "slow_hosts": _slow_hosts(runs),
        "left_out": lake.left_out,
    }


def lake_ranks(rows: list[dict]) -> list[dict]:
    return [{"rank": rank} for rank in sorted({row["rank"] for row in rows})]


def _slow_hosts(runs: list[dict]) -> list[dict]:
    """Hosts with a slow rank in more than one run."""
    hosts: dict[str, set[str]] = {}
    for run in runs:
        for rank in run["slow_ranks"]:
            hosts.setdefault(rank["host"], set()).add(run["run"])
    return [
        {"host": host, "runs": sorted(names)}
        for host, names in sorted(hosts.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(names) > 1
    ]
