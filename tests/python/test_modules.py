"""Which module of a Python program's model its time went to: names, memory, and forward passes as timed by itself."""

import json
import pathlib
import re
import sqlite3
import subprocess
import sys

import pytest

from test_lines import environment

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/modules.py"
POINTS = 0.05  # of the forward pass
NAMES = {""} | {
    name
    for layer in ("encoder.layer.0", "encoder.layer.1")
    for name in (
        *("encoder", "encoder.layer", layer, layer + ".norm", layer + ".attention"),
        *(layer + ".attention.inner", layer + ".attention.out"),
    )
}
NAMES |= {"wide", "head", "(ReLU)"}

pytestmark = pytest.mark.torch


def record(stepscope, folder, *arguments, options=("--modules", "--ops", "all")):
    store = folder / "run.db"
    command = [sys.executable, PROGRAM, folder / "own.json", *arguments]
    done = subprocess.run(
        [stepscope, "run", "-o", store, "--quiet", *options, "--", *map(str, command)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "global hooks" not in done.stderr  # PyTorch warns of them where a module is compiled
    told = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)["modules"]


def of_model(modules):
    return {module["name"]: module for module in modules if module["root"] == "Net"}


def test_modules_have_their_names_calls_and_memory(stepscope, tmp_path):
    modules = record(stepscope, tmp_path, "30")
    net = of_model(modules)
    assert set(net) == NAMES
    assert net["encoder.layer.1.attention"]["class"] == "Attention"
    assert net["encoder.layer"]["class"] is None and net["encoder.layer"]["calls"] == 0
    called = [module for module in net.values() if module["class"] is not None]
    assert all(module["calls"] == pytest.approx(1, abs=0.1) for module in called)
    assert all(module["backward_ns"] > 0 for module in called)
    # What it leaves: its output, 128 × 2048 floats, which the backward pass needs.
    assert net["wide"]["held_bytes"] == pytest.approx(128 * 2048 * 4, rel=0.01)
    # A mean over modules that call one another: never more than the one around them.
    assert net["wide"]["forward_ns"] <= net[""]["forward_ns"]
    assert net["wide"]["ops"] < net[""]["ops"]
    # Made anew in each step, or raising: the calls are there, under one name.
    assert {module["root"] for module in modules} == {"Net", "MSELoss", "Broken"}


def test_module_stats_and_the_tree_tell_the_same(stepscope, tmp_path):
    record(stepscope, tmp_path, "20")
    with sqlite3.connect(tmp_path / "run.db") as store:
        rows = store.execute("SELECT name FROM module_stats WHERE root = 'Net'").fetchall()
    assert {name for (name,) in rows} == NAMES
    page = subprocess.run(
        [stepscope, "analyze", "--modules", tmp_path / "run.db"], capture_output=True, text=True
    )
    assert page.returncode == 0 and "    layer\n" not in page.stderr
    assert "attention (Attention)" in page.stdout
    assert max(len(line) for line in page.stdout.splitlines()) <= 100


def test_modules_are_recorded_in_steps_with_ops_alone(stepscope, tmp_path):
    record(stepscope, tmp_path, "40", options=("--modules", "--steps", "11-20"))
    with sqlite3.connect(tmp_path / "run.db") as store:
        store.row_factory = None
        (outside,) = store.execute(
            "SELECT count(*) FROM module_call AS c WHERE NOT EXISTS (SELECT 1 FROM step AS s WHERE"
            " s.number BETWEEN 11 AND 20 AND c.start_ns BETWEEN s.start_ns AND s.start_ns + s.dur_ns)"
        ).fetchone()
        (calls,) = store.execute(
            "SELECT count(*) FROM module_call JOIN string ON string.id = name_id"
            " WHERE text = 'encoder.layer.0'"
        ).fetchone()
    assert outside == 0 and calls == 10


def test_a_compiled_program_is_left_alone(stepscope, tmp_path):
    assert record(stepscope, tmp_path, "10", "compile") == []


def test_nobody_gets_hooks_who_did_not_ask(stepscope, tmp_path):
    assert record(stepscope, tmp_path, "10", options=("--ops", "all")) == []


def test_phases_alone_have_no_modules(stepscope, tmp_path):
    assert record(stepscope, tmp_path, "10", options=("--modules", "--tier", "phases")) == []


@pytest.mark.shares
def test_forward_shares_are_those_of_the_program(stepscope, tmp_path):
    net = of_model(record(stepscope, tmp_path, "200"))
    own = json.loads((tmp_path / "own.json").read_text())
    for name, seconds in own.items():
        told = net[name]["forward_ns"] / net[""]["forward_ns"]
        assert told == pytest.approx(seconds / own[""], abs=POINTS), name


def calls_of_torch_profiler(trace):
    """{class: [(number of calls, their time) of each of its modules, in the order of the first calls]}"""
    calls = {}
    for event in sorted(
        json.loads(trace.read_text())["traceEvents"], key=lambda e: e["ts"] if "ts" in e else 0
    ):
        found = re.fullmatch(r"nn\.Module: (\w+)_\d+", event.get("name", ""))
        if event.get("cat") == "python_function" and found:
            of_class = calls.setdefault(found[1], {})
            number, time = of_class.get(event["name"], (0, 0))
            of_class[event["name"]] = (number + 1, time + event["dur"])
    return {name: list(modules.values()) for name, modules in calls.items()}


@pytest.mark.shares
def test_forward_shares_are_those_of_torch_profiler(stepscope, tmp_path):
    """It records the calls of modules too, with_modules; in a run of its own."""
    net = list(of_model(record(stepscope, tmp_path, "200")).values())
    trace = tmp_path / "trace.json"
    program = [sys.executable, PROGRAM, tmp_path / "own.json", "60", "profile", trace]
    subprocess.run(program, check=True, capture_output=True, timeout=300)
    theirs = calls_of_torch_profiler(trace)
    ((steps, whole),) = theirs["Net"]
    for name in ("Block", "Attention", "Linear", "LayerNorm"):
        ours = [module for module in net if module["class"] == name]
        assert [calls for calls, _ in theirs[name]] == [steps] * len(ours), name
        for module, (_, time) in zip(ours, theirs[name]):
            assert module["calls"] == pytest.approx(1, abs=0.1)
            share = module["forward_ns"] / net[0]["forward_ns"]
            assert share == pytest.approx(time / whole, abs=POINTS), module["name"]
