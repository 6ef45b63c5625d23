"""Real programs: two nodes of torchrun, and what schedulers say about ranks."""

import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "python/programs/ddp.py"


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def start_node(stepscope, folder, node, port):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
    launcher += ["--nproc-per-node", "2", "--node-rank", str(node)]
    launcher += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    return subprocess.Popen(
        [stepscope, "run", "--quiet", "-o", folder / f"{node}.db", "--", *launcher, PROGRAM]
        + ["--slow-rank", "2", "--slow-ms", "60", "--batches", "50"],
        env=os.environ | {"NODE_RANK": str(node)},
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.shares
def test_two_nodes_of_torchrun(stepscope, verb, lake, tmp_path):
    port = free_port()
    nodes = [start_node(stepscope, tmp_path, node, port) for node in (0, 1)]
    try:
        assert [node.wait(timeout=240) for node in nodes] == [0, 0]
    finally:
        for node in nodes:
            node.kill()
    stores = [tmp_path / "0.db", tmp_path / "1.db"]
    for store in stores:
        verb("analyze", store)
    verb("lake", "add", *stores, "--lake", lake, "--run", "job")
    (run,) = json.loads(verb("fleet", lake, "--json").stdout)["runs"]
    assert run["ranks"] == 4 and run["missing_ranks"] == []
    slow = run["slow_ranks"][0]
    assert (slow["rank"], slow["category"]) == (2, "input")
    assert slow["host"] == socket.gethostname()
    assert slow["line"]["file"].endswith("small.py") and slow["line"]["function"] == "stall"
    assert slow["costs_others_hours"] > 0
    assert run["slowdown"] > 1.2


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({"RANK": "5", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, 5),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "4711"}, 1),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, 3),
    ],
)
def test_the_rank_that_a_scheduler_gives(stepscope, tmp_path, variables, rank):
    store = tmp_path / "run.db"
    done = subprocess.run(
        [
            stepscope,
            "run",
            "--no-analysis",
            "-o",
            store,
            "--",
            sys.executable,
            "-c",
            "import torch",
        ],
        env={name: value for name, value in os.environ.items() if name != "RANK"} | variables,
        check=False,
    )
    assert done.returncode == 0
    database = sqlite3.connect(store)
    assert database.execute("SELECT DISTINCT rank FROM process").fetchall() == [(rank,)]
    meta = dict(database.execute("SELECT key, value FROM meta"))
    assert set(meta["environment"].splitlines()) >= {f"{k}={v}" for k, v in variables.items()}
    assert meta["boot_id"]
