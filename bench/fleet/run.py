"""Makes a lake of many ranks with planted faults, and measures the answers to it.

usage: run.py [--ranks 512] [--steps 10000] [--healthy [LAKES]] [--keep FOLDER] [--engine spark --master URL]

Planted faults: one host whose eight ranks load slowly after 40 % of the steps; one rank with an 8 %
slower GPU; 30 ranks that stall together on storage in one of a hundred steps; an eighth of the ranks,
a stage of a pipeline, that compute 5 % more. With --healthy there are none, in each of LAKES lakes
with other random times. Prints one JSON document. A separate process computes the answers, so that
its peak memory is theirs alone (without that of Spark's own processes).
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "fleet"))

from stepscope_fleet.answers import analyze  # noqa: E402
from stepscope_fleet.parquet_files import write_table  # noqa: E402
from stepscope_fleet.tables import TABLES, arrow_schema  # noqa: E402

RUN = "bench"
NODE = 8  # ranks per node
START = 1_760_000_000_000_000_000
ABSENT = ("collective_start_unix_ns", "collective_end_unix_ns")  # known only of steps with ops


def planted(ranks: int) -> dict[str, list[int]]:
    return {
        "slow_host": list(range(NODE, 2 * NODE)),
        "slow_gpu": [3],
        "stalled": list(range(ranks - min(30, ranks // 4), ranks)),
        "uneven_stage": list(range(ranks // 2, ranks // 2 + ranks // 8)),
    }


def work(
    node: int, ranks: int, steps: int, healthy: bool, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nanoseconds of input and of compute of a node's ranks, by rank and step. `node`: its first rank."""
    random = np.random.default_rng([seed, node])
    there = range(node, min(node + NODE, ranks))
    load = random.gamma(40, 50e3, (len(there), steps)).astype(np.int64)  # 2 ms
    compute = random.normal(90e6, 0.5e6, (len(there), steps)).astype(np.int64)
    if not healthy:
        faults = {name: set(slow) for name, slow in planted(ranks).items()}
        for at, rank in enumerate(there):
            if rank in faults["slow_host"]:
                load[at, steps * 4 // 10 :] += 20_000_000
            if rank in faults["slow_gpu"]:
                compute[at] += 7_200_000
            if rank in faults["uneven_stage"]:
                compute[at] += 4_500_000
            if rank in faults["stalled"]:
                load[at, 50::100] += 800_000_000
    return load, compute


def make(lake: pathlib.Path, ranks: int, steps: int, healthy: bool, seed: int = 7) -> None:
    # The work of all ranks may not fit in memory, so that of each node is made twice.
    step_ns = np.zeros(steps, np.int64)
    for node in range(0, ranks, NODE):
        load, compute = work(node, ranks, steps, healthy, seed)
        step_ns = np.maximum(step_ns, (load + compute).max(axis=0))  # they wait for the last one
    starts = START + np.concatenate([[0], np.cumsum(step_ns[:-1])])
    for node in range(0, ranks, NODE):
        load, compute = work(node, ranks, steps, healthy, seed)
        there = range(node, min(node + NODE, ranks))
        rows = len(there) * steps
        host = f"host-{node // NODE:04d}"
        columns = {
            "rank": np.repeat(there, steps),
            "step": np.tile(np.arange(1, steps + 1), len(there)),
            "start_unix_ns": np.tile(starts, len(there)),
            "dur_ns": np.tile(step_ns, len(there)),
            "steady": np.ones(rows, bool),
            "input_ns": load.reshape(-1),
            "compute_ns": compute.reshape(-1),
            "communication_ns": (step_ns - load - compute).reshape(-1),
        }
        tables = {name: arrow_schema(name).empty_table() for name in TABLES}
        name = f"{node // NODE:04d}"
        tables["rank"] = pa.Table.from_pylist(
            [{"run": RUN, "host": host, "rank": r, "node": name, "steps": steps} for r in there],
            schema=arrow_schema("rank"),
        )
        schema = arrow_schema("step")
        texts = {"run": RUN, "host": host}
        tables["step"] = pa.table(
            [
                pa.repeat(texts[field.name], rows)
                if field.name in texts
                else pa.nulls(rows, field.type)
                if field.name in ABSENT
                else pa.array(columns.get(field.name, np.zeros(rows, np.int64))).cast(field.type)
                for field in schema
            ],
            schema=schema,
        )
        about = {
            "run": RUN,
            "job": RUN,
            "node": name,
            "host": host,
            "program": "train.py",
            "world_size": ranks,
            "wall_start_unix_ns": START,
            "state": "complete",
            "store": f"/runs/{name}.db",
        }
        tables["run"] = pa.Table.from_pylist([about], schema=arrow_schema("run"))
        for table, rows_of_node in tables.items():
            write_table(lake / table / f"run={RUN}" / f"node-{name}.parquet", rows_of_node)


def ask(folder: pathlib.Path, engine: str, master: str) -> dict:
    began = time.monotonic()
    if engine == "spark":
        from stepscope_fleet.spark_engine import SparkEngines

        with SparkEngines(master) as engines:
            started = time.monotonic()
            run = analyze(folder, [], engines=engines).document["runs"][0]
            took = {"start_seconds": round(started - began, 1)}
            began = started
    else:
        run = analyze(folder, []).document["runs"][0]
        took = {}
    return {
        **took,
        "seconds": round(time.monotonic() - began, 1),
        # Of this process: other programs that use the cores lengthen it less than the seconds.
        "cpu_seconds": round(time.process_time(), 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "slow": [
            {key: rank[key] for key in ("rank", "host", "category", "since_step")}
            for rank in run["slow_ranks"]
        ],
    }


def measure(folder: pathlib.Path, given: argparse.Namespace) -> dict:
    ranks, steps, healthy = given.ranks, given.steps, given.healthy > 0
    make(folder, ranks, steps, healthy)
    size = sum(path.stat().st_size for path in folder.glob("**/*.parquet"))
    words = ["--ask", folder, "--engine", given.engine, "--master", given.master]
    asked = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE)
    found = json.loads(asked.stdout)
    faults = {} if healthy else planted(ranks)
    slow = {rank["rank"] for rank in found["slow"]}
    known = {rank for those in faults.values() for rank in those}
    return {
        "ranks": ranks,
        "steps": steps,
        "bytes_a_row": size / (ranks * steps),
        "planted": len(known),
        "found": len(slow & known),
        "wrongly_named": len(slow - known),
        **found,
        "faults": faults,
    }


def count_false(ranks: int, steps: int, lakes: int) -> dict:
    """How many of the lakes, none of which has a fault, have a rank that is called slow."""
    false = 0
    for seed in range(lakes):
        with tempfile.TemporaryDirectory() as folder:
            make(pathlib.Path(folder), ranks, steps, healthy=True, seed=seed)
            false += bool(analyze(pathlib.Path(folder), []).document["runs"][0]["slow_ranks"])
    return {"ranks": ranks, "steps": steps, "healthy_lakes": lakes, "with_a_slow_rank": false}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--healthy", type=int, nargs="?", const=1, default=0, metavar="LAKES")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--engine", choices=["duckdb", "spark"], default="duckdb")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--ask", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        print(json.dumps(ask(given.ask, given.engine, given.master)))
        return
    if given.healthy > 1:
        print(json.dumps(count_false(given.ranks, given.steps, given.healthy)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(measure(given.keep or pathlib.Path(temporary), given), indent=1))


if __name__ == "__main__":
    main()
