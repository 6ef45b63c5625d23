"""Parallel groups: what is known of them, and ranks that are compared within their pipeline stage."""

import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest
from stores import MS, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.groups import Layout, recorded_groups
from stepscope_fleet.lake import add
from stepscope_fleet.text import fleet_text

# Eight ranks in two stages: 0 to 3 and 4 to 7.
STAGES = {"groups": " ".join(f"{rank}:dp={rank % 4}/4,pp={rank // 4}/2" for rank in range(8))}


def test_the_recorded_places():
    assert recorded_groups("0:dp=1/2,tp=0/4 12:pipe=3/4") == {0: {"dp": 1, "tp": 0}, 12: {"pp": 3}}
    for text in ("", "nonsense", "x:dp=1/2", "1:dp=1", "1:dp=-1/2"):
        assert not any(recorded_groups(text).values())


def test_the_places_that_sizes_give():
    layout = Layout("tp=2,dp=4,pp=2")
    assert [layout.places(rank) for rank in (0, 1, 2, 8, 15)] == [
        {"dp": 0, "pp": 0, "tp": 0},
        {"dp": 0, "pp": 0, "tp": 1},
        {"dp": 1, "pp": 0, "tp": 0},
        {"dp": 0, "pp": 1, "tp": 0},
        {"dp": 3, "pp": 1, "tp": 1},
    ]
    layout.check(16)
    for text in ("", "tp", "tp=0", "tp=2,tp=2", "tp=2;dp=4"):
        with pytest.raises(ValueError, match="is no list of sizes such as"):
            Layout(text)


def test_sizes_that_do_not_fit_are_refused(verb, lake, tmp_path, monkeypatch):
    store = make_store(tmp_path / "a.db", range(4), world=4)
    done = verb("lake", "add", store, "--lake", lake, "--groups", "tp=2,pp=4", expect=3)
    assert "are for 8 ranks, but the run has 4" in done.stderr and done.stderr.count("\n") == 1
    monkeypatch.setenv("STEPSCOPE_GROUPS", "tp=2,pp=2")
    verb("lake", "add", store, "--lake", lake)
    monkeypatch.setenv("STEPSCOPE_GROUPS", "tp=0")
    done = verb("lake", "add", store, "--lake", lake, expect=3)
    assert "STEPSCOPE_GROUPS: tp=0 is no list of sizes such as tp=2,dp=4,pp=2\n" in done.stderr


def run_of(lake, tmp_path, **given):
    add(make_store(tmp_path / "a.db", range(8), **({"meta": STAGES} | given)), lake, None, None)
    document = analyze(lake, []).document
    return document["runs"][0], fleet_text(document)


def test_a_slow_rank_is_slow_within_its_stage(lake, tmp_path):
    meta = STAGES | {"gpu_uuids": "6:0=GPU-6"}
    run, text = run_of(lake, tmp_path, slow={6: ("input", 10 * MS)}, meta=meta)
    (slow,) = run["slow_ranks"]
    assert (slow["rank"], slow["dp_rank"], slow["pp_rank"], slow["tp_rank"]) == (6, 2, 1, None)
    assert slow["within_stage"]["stage"] == 1 and not slow["within_stage"]["whole_stage"]
    assert slow["within_stage"]["excess_ns"] == pytest.approx(10 * MS, rel=0.01)
    assert "ms a step within pipeline stage 1" in text
    assert slow["gpu_uuid"] is None  # no device works for its steps
    assert run["slow_within_stage"] == []


def test_a_stage_that_is_slow_as_a_whole(lake, tmp_path):
    slow = {rank: ("compute", 10 * MS) for rank in range(4, 7)} | {7: ("compute", 10 * MS)}
    run, text = run_of(lake, tmp_path, slow=slow)
    assert {rank["rank"] for rank in run["slow_ranks"]} == {4, 5, 6, 7}
    assert all(rank["within_stage"]["excess_ns"] is None for rank in run["slow_ranks"])
    assert text.count("as all of pipeline stage 1") == 4


def test_a_rank_that_is_slow_only_within_its_stage(lake, tmp_path):
    """The usual rank is one of the stage that does more."""
    meta = {"groups": " ".join(f"{rank}:pp={int(rank > 3)}/2" for rank in range(12))}
    slow = {rank: ("compute", 20 * MS) for rank in range(4, 12)} | {2: ("compute", 15 * MS)}
    add(make_store(tmp_path / "a.db", range(12), slow=slow, meta=meta), lake, None, None)
    document = analyze(lake, []).document
    (run,) = document["runs"]
    assert run["slow_ranks"] == []
    (within,) = run["slow_within_stage"]
    assert (within["rank"], within["stage"], within["category"]) == (2, 0, "compute")
    text = fleet_text(document)
    assert "rank 2 on node-a: compute +15.0" in text and "within pipeline stage 0" in text


def test_the_gpu_of_a_rank(lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0, 1], slow={1: ("input", 10 * MS)})
    database = sqlite3.connect(store)
    database.execute("INSERT INTO device (id, process_id, number, name) VALUES (1, 2, 3, 'GPU')")
    database.execute(
        "UPDATE step_time SET device_id = 1 WHERE step_id IN (SELECT id FROM step WHERE thread_id = 2)"
    )
    database.execute("INSERT INTO meta VALUES ('gpu_uuids', '0:0=GPU-a 1:0=GPU-b,3=GPU-c')")
    database.commit()
    database.close()
    add(store, lake, None, None)
    document = analyze(lake, []).document
    assert document["runs"][0]["slow_ranks"][0]["gpu_uuid"] == "GPU-c"
    assert "GPU-c" in fleet_text(document)


PROGRAM = """
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
dist.init_process_group("gloo")
init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
dist.new_group([0, 1], group_desc="PIPELINE_MODEL_PARALLEL_GROUP")
dist.new_group([0], group_desc="CONTEXT_PARALLEL_GROUP")
dist.new_group([0, 1])
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    model(torch.rand(4, 4)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.torch
def test_the_groups_of_a_real_program(stepscope, tmp_path):
    program, store = tmp_path / "train.py", tmp_path / "run.db"
    program.write_text(PROGRAM)
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    subprocess.run(
        [
            stepscope,
            "run",
            "--quiet",
            "-o",
            store,
            "--lake",
            tmp_path / "lake",
            "--",
            *launcher,
            program,
        ],
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable},
        check=True,
    )
    meta = dict(sqlite3.connect(store).execute("SELECT key, value FROM meta"))
    assert meta["groups"] == "0:cp=0/1,dp=0/2,pp=0/2,tp=0/1 1:dp=1/2,pp=1/2,tp=0/1"
    (run,) = analyze(tmp_path / "lake", []).document["runs"]
    assert run["ranks"] == 2
