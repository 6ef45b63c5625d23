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


@pytest.fixture
def clock_ahead(tmp_path):
    """The environment of a program whose wall clock is ahead."""
    library = tmp_path / "ahead.so"
    source = pathlib.Path(__file__).resolve().parent / "ahead.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return lambda seconds: {"LD_PRELOAD": str(library), "AHEAD_S": str(seconds)}


def start_node(stepscope, folder, node, port, environment):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
    launcher += ["--nproc-per-node", "2", "--node-rank", str(node), "--rdzv-id", "job7"]
    launcher += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    return subprocess.Popen(
        [stepscope, "run", "--quiet", "-o", folder / "runs/{job}/{node}.db", "--job", "nightly"]
        + ["--ops", "all"]
        + ["--lake", folder / "lake", "--", *launcher, PROGRAM]
        + ["--slow-rank", "2", "--slow-ms", "60", "--batches", "50"],
        env=os.environ | {"NODE_RANK": str(node), "STEPSCOPE_PYTHON": sys.executable} | environment,
        stdout=subprocess.DEVNULL,
    )


def meta_of(store):
    return dict(sqlite3.connect(store).execute("SELECT key, value FROM meta"))


@pytest.mark.shares
def test_two_nodes_of_torchrun(stepscope, verb, lake, tmp_path, clock_ahead):
    port = free_port()
    nodes = [
        start_node(stepscope, tmp_path, node, port, clock_ahead(90) if node else {})
        for node in (0, 1)
    ]
    try:
        assert [node.wait(timeout=240) for node in nodes] == [0, 0]
    finally:
        for node in nodes:
            node.kill()
    meta = meta_of(tmp_path / "runs/nightly/1.db")
    # What torchrun told its workers only.
    assert meta["job_id"] == "job7" and meta["job_name"] == "nightly"
    assert (meta["node_rank"], meta["world_size"], meta["restart_count"]) == ("1", "4", "0")
    assert meta["local_ranks"] == "2:0 3:1"
    (run,) = json.loads(verb("fleet", lake, "--json").stdout)["runs"]
    assert (run["run"], run["job"]) == ("job7", "nightly")
    assert run["ranks"] == 4 and run["missing_ranks"] == []
    slow = run["slow_ranks"][0]
    assert (slow["rank"], slow["category"]) == (2, "input")
    assert slow["host"] == socket.gethostname()
    assert slow["line"]["file"].endswith("small.py") and slow["line"]["function"] == "stall"
    assert slow["costs_others_hours"] > 0
    assert run["slowdown"] > 1.2
    # The two nodes have one clock, which one of them sees 90 s ahead.
    first, second = run["node_clocks"]
    assert (first["node"], first["offset_ns"]) == ("0000", 0)
    assert second["offset_ns"] == pytest.approx(90e9, abs=20e6) and second["collectives"] > 20
    assert slow["arrives_late_ns"] > 20e6 and slow["arrives_last_share"] > 0.5


IMPORT = [sys.executable, "-c", "import sys, torch; sys.exit(7)"]


@pytest.mark.parametrize(
    ("variables", "rank", "facts"),
    [
        (
            {"RANK": "5", "LOCAL_RANK": "1", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"},
            5,
            {"rank": "5", "local_ranks": "5:1"},
        ),
        (
            {
                "SLURM_PROCID": "1",
                "SLURM_NTASKS": "2",
                "SLURM_JOB_ID": "4711",
                "SLURM_RESTART_COUNT": "1",
            },
            1,
            {"job_id": "4711", "rank": "1", "world_size": "2", "requeue_count": "1"},
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None, {"world_size": "1"}),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, 3, {"rank": "3"}),
    ],
)
def test_what_a_scheduler_says(stepscope, tmp_path, variables, rank, facts):
    store = tmp_path / "run.db"
    done = subprocess.run(
        [stepscope, "run", "--no-analysis", "-o", store, "--", *IMPORT],
        env={name: value for name, value in os.environ.items() if name != "RANK"} | variables,
        check=False,
    )
    assert done.returncode == 7
    ranks = sqlite3.connect(store).execute("SELECT DISTINCT rank FROM process").fetchall()
    assert ranks == [(rank,)]
    meta = meta_of(store)
    assert set(meta["environment"].splitlines()) >= {f"{k}={v}" for k, v in variables.items()}
    assert meta["boot_id"] and meta["host"] == socket.gethostname()
    assert {key: meta.get(key) for key in facts} == facts


def test_a_lake_that_takes_nothing_changes_nothing(stepscope, tmp_path):
    for python, says in (
        (sys.executable, "run.db: has no steps"),
        (tmp_path / "none", "install Python 3, or name one in STEPSCOPE_PYTHON"),
    ):
        done = subprocess.run(
            [stepscope, "run", "--quiet", "-o", tmp_path / "run.db", "--lake", tmp_path / "lake"]
            + ["--", *IMPORT],
            capture_output=True,
            text=True,
            env=os.environ | {"STEPSCOPE_PYTHON": str(python)},
            check=False,
        )
        assert done.returncode == 7
        assert done.stderr.startswith("stepscope: not added to the lake: ")
        assert says in done.stderr and done.stderr.count("\n") == 1
        assert "stepscope lake add" in done.stderr
    assert not (tmp_path / "lake").exists()
