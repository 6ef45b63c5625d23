"""The exported trace of each kind of run in both viewers: loaded without a complaint, and with no slice lost on
the way. What is drawn of them in detail is in test_timeline.py."""

import functools
import json
import pathlib
import sqlite3

import pytest

import report_runs
import viewers

REAL_TRACE = (
    pathlib.Path(__file__).parents[3] / "shared/traces/resnet50_v100_workers0.pt.trace.json.gz"
)
KINDS = [*report_runs.RUNS, "killed", "synthetic", "trace"]
TABLES = {
    "step": "step",
    "verdict": "verdict",
    "op": "cpu_op",
    "kernel": "kernel",
    "copy": "gpu_memcpy",
    "memset": "gpu_memset",
    "api_call": "cuda_runtime",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traces")


@pytest.fixture(scope="module")
def exported(run_stepscope, make_store, folder):
    """The store of a kind of run and the name of its trace, made once."""

    def store_of(kind):
        if kind == "killed":
            return make_store("killed")
        if kind == "synthetic":
            return make_store("steps", 50)
        traces = (
            [REAL_TRACE]
            if kind == "trace"
            else [
                trace.write(folder / f"{kind}{trace.rank}.pt.trace.json")
                for trace in reversed(report_runs.RUNS[kind]())
            ]
        )
        if not traces[0].exists():
            pytest.skip(f"{traces[0]} is not there")
        done = run_stepscope("import", *traces, "-o", folder / f"{kind}.db")
        assert done.returncode == 0, done.stderr
        return folder / f"{kind}.db"

    @functools.cache
    def make(kind):
        store = store_of(kind)
        assert run_stepscope("analyze", store).returncode == 0
        done = run_stepscope("export", store, "-o", folder / f"{kind}.json")
        assert done.returncode == 0, done.stderr
        return store, f"{kind}.json"

    return make


@pytest.fixture(scope="module")
def server(viewer_folder, folder):
    with viewers.serve(viewer_folder, folder) as url:
        yield url


def rows_of(store, table):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        return database.execute(f"select count(*) from {table}").fetchone()[0]


def slices_in(trace):
    return [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]


@pytest.mark.parametrize("kind", KINDS)
def test_perfetto_loads_all_of_it(page, server, exported, folder, kind):
    store, trace = exported(kind)
    perfetto = viewers.Perfetto(page, server, trace)
    assert perfetto.import_problems() == []
    assert perfetto.value("select count(*) from slice where dur >= 0") >= len(
        slices_in(folder / trace)
    )
    by_category = {
        row["category"]: row["n"]
        for row in perfetto.query("select category, count(*) as n from slice group by category")
    }
    for table, category in TABLES.items():
        drawn = by_category.get(category, 0)
        if table == "op":
            drawn += by_category.get("user_annotation", 0)
            assert drawn >= rows_of(store, table)  # phases with labels, unfinished ops
        elif table == "api_call":
            assert drawn + by_category.get("cuda_driver", 0) == rows_of(store, table)
        else:
            assert drawn == rows_of(store, table), table


@pytest.mark.parametrize("kind", KINDS)
def test_catapult_loads_all_of_it(page, viewer_folder, server, exported, folder, kind):
    _, trace = exported(kind)
    viewer = viewers.Catapult(page, viewer_folder, server, trace)
    assert viewer.import_warnings() == []
    assert viewer.slice_count() == len(slices_in(folder / trace))


def test_every_colour_is_one_that_catapult_knows(page, viewer_folder, server, exported, folder):
    viewers.Catapult(page, viewer_folder, server, exported("killed")[1])
    named = {
        event["cname"]
        for kind in ("compute", "input", "device", "killed")
        for event in slices_in(folder / exported(kind)[1])
        if "cname" in event
    }
    assert {"terrible", "good"} <= named  # input waits; steps that compute
    for name in named:
        assert page.evaluate("name => tr.b.ColorScheme.getColorIdForReservedName(name)", name) >= 0


def test_ranks_stand_in_their_order_whichever_came_first(page, server, exported):
    perfetto = viewers.Perfetto(page, server, exported("ranks")[1])
    names = [
        row["name"]
        for row in perfetto.query("select name from process where name like '%rank%' order by pid")
    ]
    assert [name.split("rank ")[1].rstrip(")") for name in names] == [
        "0",
        "1",
        "2",
    ] * 2  # the processes, their GPUs
    assert all(name.startswith("GPU 0") for name in names[3:])


def test_every_kernel_has_an_arrow_from_its_launch(page, server, exported):
    store, trace = exported("device")
    perfetto = viewers.Perfetto(page, server, trace)
    ends = perfetto.query(
        "select b.category as category, count(*) as n from flow join slice as a on flow.slice_out = a.id"
        " join slice as b on flow.slice_in = b.id where a.category = 'cuda_runtime' group by 1"
    )
    assert {row["category"]: row["n"] for row in ends} == {
        "kernel": rows_of(store, "kernel"),
        "gpu_memcpy": rows_of(store, "copy"),
    }


def test_the_viewer_alone_tells_the_verdict_and_the_advice(page, server, exported):
    perfetto = viewers.Perfetto(page, server, exported("input")[1])
    name = perfetto.value("select name from slice where category = 'verdict'")
    assert name.startswith("HIGHLY INPUT-BOUND · ")
    told = perfetto.query(
        "select key, string_value as text from slice join args using (arg_set_id) where category = 'verdict'"
    )
    assert any(row["key"].endswith("advice[0].title") and row["text"] for row in told)
