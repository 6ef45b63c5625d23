"""A recording of an H200 (docs/gpu.md): 12 steps of a multilayer perceptron, CUDA 13.0, PyTorch 2.11."""

import json
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

STORE = pathlib.Path(__file__).parents[1] / "data/h200/mlp.db"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    copy = tmp_path_factory.mktemp("h200") / "mlp.db"
    shutil.copy(STORE, copy)
    return copy


@pytest.fixture(scope="module")
def report(stepscope, store):
    done = subprocess.run(
        [stepscope, "analyze", "--json", store], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rows(store, query):
    with sqlite3.connect(store) as database:
        return database.execute(query).fetchall()


def test_clocks_agree(store):
    """No kernel begins before its call: the device's times were mapped to the host's clock."""
    ((joined, least_ns),) = rows(
        store,
        "SELECT count(*), min(kernel.start_ns - api_call.start_ns)"
        " FROM kernel JOIN api_call USING (correlation)",
    )
    assert joined == 500
    assert 1_000 < least_ns < 20_000


def test_each_step_launches_the_same_kernels(report, store):
    counts = rows(
        store,
        "SELECT count(*) FROM step JOIN api_call ON api_call.start_ns BETWEEN step.start_ns AND"
        " step.start_ns + step.dur_ns JOIN kernel USING (correlation) WHERE step.number > 1"
        " GROUP BY step.id",
    )
    assert report["steps"]["count"] == 12
    assert len(counts) == 11 and len(set(counts)) == 1


def test_small_kernels_wait_for_launches(report):
    assert report["verdict"]["kind"] == "launch-bound"
    assert report["losses"] == {} or not any(report["losses"].values())
    rules = {advice["rule"] for advice in report["advice"]}
    assert {"fewer-tiny-ops", "input-cache"} <= rules
    assert "input-prefetch" not in rules, "a batch costs more to hand over than the 0.6 ms it takes"


def test_every_copy_is_known(store):
    directions = rows(
        store,
        "SELECT DISTINCT k.name, s.name, t.name FROM copy JOIN copy_kind AS k ON k.id = kind"
        " JOIN memory_kind AS s ON s.id = source JOIN memory_kind AS t ON t.id = target",
    )
    assert set(directions) == {
        ("HtoD", "pageable", "device"),
        ("DtoD", "device", "device"),
        ("DtoH", "device", "pinned"),  # the loss, which PyTorch reads through pinned memory
    }


def test_its_trace_shows_the_device(stepscope, store, tmp_path):
    trace = tmp_path / "trace.json"
    subprocess.run([stepscope, "export", store, "-o", trace], check=True, capture_output=True)
    events = json.loads(trace.read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert len(kernels) == 500
