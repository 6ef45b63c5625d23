"""Runs of a lake in place of stores: `analyze LAKE/run=ID`, `compare LAKE/run=A LAKE/run=B`."""

import json
import subprocess

import pytest
from stores import MS, START, make_store


@pytest.fixture
def runs(verb, lake, tmp_path):
    """71, and 72, a day later, in which rank 3 is 30 ms late and all ranks take 10 ms more for input."""

    def add(job, **more):
        stores = [
            make_store(
                tmp_path / f"{job}-{node}.db",
                [2 * node, 2 * node + 1],
                host=f"node-{node}",
                node=node,
                job=job,
                steps=100,
                **more,
            )
            for node in (0, 1)
        ]
        verb("lake", "add", *stores, "--lake", lake)

    add("71")
    slow = {"slow": {3: ("input", 30 * MS)}, "longer": 10 * MS}
    add("72", start=START + 86_400_000_000_000, **slow)
    return lake


def test_a_run_of_a_lake_is_analyzed(verb, runs, tmp_path):
    text = verb("analyze", runs / "run=72").stdout
    assert text == verb("fleet", runs, "--run", "72").stdout
    assert "rank 3 on node-1: input +" in text
    assert "verdicts: compute-bound 4 ranks" in text
    assert f"0001 on node-1: stepscope analyze {tmp_path / '72-1.db'}" in text
    assert verb("analyze", f"{runs / 'step/run=72'}/").stdout == text
    document = json.loads(verb("analyze", runs / "run=72", "--json").stdout)
    assert [run["run"] for run in document["runs"]] == ["72"]
    assert document["runs"][0]["nodes"][1]["store"] == str(tmp_path / "72-1.db")


def test_a_lake_is_analyzed(verb, runs):
    text = verb("analyze", runs).stdout
    assert text == verb("fleet", runs).stdout
    assert text.startswith("0 of 2 runs are input-bound\n")


def test_input_bound_runs_are_counted(verb, runs, tmp_path):
    store = make_store(tmp_path / "73.db", [0, 1], job="73", verdict="input-bound")
    verb("lake", "add", store, "--lake", runs)
    assert verb("fleet", runs).stdout.startswith("1 of 3 runs is input-bound\n")


def test_half_of_the_ranks_are_not_most(verb, runs, tmp_path):
    for node, kind in enumerate(("input-bound", "compute-bound")):
        path = tmp_path / f"74-{node}.db"
        verb(
            "lake",
            "add",
            make_store(path, [node], node=node, job="74", verdict=kind),
            "--lake",
            runs,
        )
    assert verb("fleet", runs).stdout.startswith("0 of 3 runs are input-bound\n")


def test_two_runs_are_compared(verb, runs):
    text = verb("compare", runs / "run=71", runs / "run=72").stdout
    assert text == verb("fleet", runs, "compare", "--run", "71", "72").stdout
    assert "72 compared with 71: slower, +42.1% a step" in text
    assert "after: rank 3 on node-1: input +" in text
    words = ("compare", runs / "run=71", runs / "run=72", "--json")
    document = json.loads(verb(*words).stdout)
    assert (document["before"]["run"], document["after"]["run"]) == ("71", "72")
    step = document["step"]
    assert (step["before_ns"], step["after_ns"]) == (95 * MS, 135 * MS) and step["beyond_chance"]
    changes = {row["category"]: row["change_ns"] for row in document["categories"]}
    assert changes["input"] == pytest.approx(10 * MS + 30 * MS / 4, abs=1000)
    assert changes["compute"] == 0
    back = verb("compare", runs / "run=72", runs / "run=71").stdout
    assert "71 compared with 72: faster, -29.6% a step" in back


def test_steps_that_fill_blocks_unevenly_count_alike(verb, runs, tmp_path):
    store = make_store(
        tmp_path / "28.db", [0], job="28", steps=28, slow={0: ("input", 20 * MS)}, slow_from=20
    )
    verb("lake", "add", store, "--lake", runs)
    document = json.loads(verb("compare", runs / "run=71", runs / "run=28", "--json").stdout)
    every = json.loads(verb("fleet", runs, "--json").stdout)["runs"]
    mean = next(run["step_ns"] for run in every if run["run"] == "28")
    assert document["step"]["after_ns"] == pytest.approx(mean, abs=1)


def test_a_run_does_not_differ_from_itself(verb, runs):
    text = verb("compare", runs / "run=71", runs / "run=71").stdout
    assert "71 compared with 71: no difference beyond chance" in text


def test_too_few_steps_say_nothing(verb, runs, tmp_path):
    store = make_store(tmp_path / "few.db", [0, 1], job="few", steps=3, longer=60 * MS)
    verb("lake", "add", store, "--lake", runs)
    text = verb("compare", runs / "run=71", runs / "run=few").stdout
    assert "too few steps to tell a change from chance" in text


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["analyze", "{lake}/run=99"], 3, "no run matches 99; the lake has 71, 72"),
        (["analyze", "{lake}/run=71", "--rank", "1"], 2, "need one of its stores"),
        (["analyze", "{lake}/none/run=71"], 3, "no such file"),
        (
            ["what-if", "{lake}/run=71", "--input", "cached"],
            2,
            "a run of a lake, which has no events",
        ),
        (["report", "{lake}/run=71", "-o", "{lake}/x"], 2, "a run of a lake, which has no events"),
        (["export", "{lake}", "-o", "{lake}/x"], 2, "is a lake, which has no events"),
        (["compare", "{lake}/run=71", "{lake}/run=99"], 3, "no run matches 99"),
        (["compare", "{lake}/run=71", "{lake}"], 2, "name two runs of one lake"),
        (["compare", "{lake}/run=71", "{lake}/../71-0.db"], 2, "name two runs of one lake"),
        (["compare", "{lake}/run=71", "{lake}/run=72", "--fail-if", "p50>+5%"], 2, "not a lake"),
        (["fleet", "{lake}", "compare", "--run", "71"], 2, "--run BEFORE AFTER"),
        (["fleet", "{lake}", "--run", "71", "99"], 3, "no run matches 99"),
    ],
)
def test_what_cannot_be_done_is_said(verb, runs, words, code, says):
    done = verb(*(word.format(lake=runs) for word in words), expect=code)
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_name_that_a_folder_cannot_have(verb, lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0, 1], job="team/a b")
    verb("lake", "add", store, "--lake", lake)
    (folder,) = (path.name for path in (lake / "run").iterdir())
    assert folder.startswith("run=team_a_b-")
    assert "team/a b" in verb("analyze", lake / folder).stdout


def test_a_reader_that_ends_early_is_no_error(stepscope, runs, verb):
    words = f"{stepscope} fleet {runs} --json | head -c 1"
    environment = {"PATH": "/usr/bin:/bin", "STEPSCOPE_PYTHON": verb.python}
    done = subprocess.run(
        words, shell=True, capture_output=True, text=True, env=environment, check=False
    )
    assert (done.stdout, done.stderr) == ("{", "")
