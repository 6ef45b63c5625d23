"""Real programs that are still running: their steps are in the lake, and a slow rank's ops are recorded."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from test_programs import PROGRAM, free_port

# Four ranks on a busy machine: whether one has been slow for long enough is a matter of times.
pytestmark = pytest.mark.flaky(reruns=2)

LIMIT_S = 240  # a limit of waiting, so that nothing hangs
BATCHES = "8000"  # of 60 ms: more than the limit; each takes 35 KB of each rank's memory


@pytest.fixture
def nodes(stepscope, tmp_path):
    """Starts two nodes with two ranks each; rank 2 is slow."""
    started = []

    def start(*options):
        port = free_port()
        for node in (0, 1):
            launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
            launcher += ["--nproc-per-node", "2", "--node-rank", str(node), "--rdzv-id", "job7"]
            launcher += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
            started.append(
                subprocess.Popen(
                    [stepscope, "run", "--quiet", "-o", tmp_path / f"{node}.db"]
                    + ["--lake", tmp_path / "lake", *options, "--", *launcher, PROGRAM]
                    + ["--slow-rank", "2", "--slow-ms", "60", "--batches", BATCHES],
                    env=os.environ | {"NODE_RANK": str(node), "STEPSCOPE_PYTHON": sys.executable},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        return started

    yield start
    for node in started:
        end(node, signal.SIGKILL)


def end(node, how):
    try:
        os.killpg(node.pid, how)
    except ProcessLookupError:
        pass
    node.wait(timeout=LIMIT_S)


def wait_until(there):
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        found = there()
        if found:
            return found
        time.sleep(0.5)
    pytest.fail("it did not happen")


def steps_of(lake):
    """(rank, step) of all rows, while others write."""
    import pyarrow.parquet as pq

    tables = [pq.read_table(path, partitioning=None) for path in lake.glob("step/run=*/*.parquet")]
    return [
        key
        for table in tables
        for key in zip(table["rank"].to_pylist(), table["step"].to_pylist(), strict=True)
    ]


def test_a_run_that_dies_has_its_steps(nodes, verb, lake, tmp_path):
    started = nodes("--watch-lake", "4")
    wait_until(lambda: {rank for rank, step in steps_of(lake) if step > 40} == {0, 1, 2, 3})
    for node in started:
        end(node, signal.SIGKILL)
    rows = steps_of(lake)
    assert len(rows) == len(set(rows))
    (run,) = json.loads(verb("fleet", lake, "--json").stdout)["runs"]
    assert (run["run"], run["ranks"], run["unfinished_nodes"]) == ("job7", 4, ["0000", "0001"])
    slow = run["slow_ranks"][0]
    assert (slow["rank"], slow["category"]) == (2, "input")
    # What the store has is more: the steps up to the last commit.
    for node in (0, 1):
        verb("analyze", tmp_path / f"{node}.db")
        verb("lake", "add", tmp_path / f"{node}.db", "--lake", lake)
    assert set(rows) <= set(steps_of(lake))


def ops_by_rank(store):
    """How many ops of each rank there are; {} as long as the store cannot be read."""
    try:
        database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
        return dict(
            database.execute(
                "SELECT p.rank, count(*) FROM op JOIN thread AS t ON t.id = op.thread_id"
                " JOIN process AS p ON p.id = t.process_id GROUP BY p.rank"
            ).fetchall()
        )
    except sqlite3.Error:
        return {}


@pytest.mark.usefixtures("python_ops")
def test_the_ops_of_a_slow_rank_are_recorded(nodes, verb, lake, tmp_path):
    started = nodes("--tier", "phases", "--watch-lake", "4")
    store = tmp_path / "1.db"
    wait_until(lambda: ops_by_rank(store).get(2, 0) > 1000)
    for node in started:
        os.killpg(node.pid, signal.SIGTERM)
    for node in started:
        node.wait(timeout=LIMIT_S)
    meta = dict(sqlite3.connect(store).execute("SELECT key, value FROM meta"))
    ranks = {block.split(":")[0] for block in meta["ops_blocks"].split()}
    assert "2" in ranks
    # A rank without a block has no ops: only the block switched them on.
    assert {str(rank) for rank in ops_by_rank(store)} <= ranks
    assert ops_by_rank(tmp_path / "0.db") == {}
    (run,) = json.loads(verb("fleet", lake, "--json").stdout)["runs"]
    slow = run["slow_ranks"][0]
    assert slow["rank"] == 2 and slow["ops"]["store"] == str(store)
    assert slow["ops"]["first_step"] < slow["ops"]["last_step"]
    text = verb("fleet", lake).stdout
    (command,) = [line for line in text.splitlines() if "its ops: stepscope analyze" in line]
    assert "--rank 2" in command
    # Which op comes first depends on which one lost its core.
    assert "aten::" in verb(*command.split("stepscope ")[1].split(), "--no-write").stdout
