"""The trace of a run that was killed, in the real viewer: its counters, its mark, and what it died in."""

import sqlite3

import pytest

import viewers


@pytest.fixture(scope="module")
def store(make_store):
    return make_store("killed")


@pytest.fixture(scope="module")
def perfetto(browser, viewer_folder, store, run_stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    done = run_stepscope("export", store, "-o", folder / "killed.json.gz")
    assert done.returncode == 0, done.stderr
    context = browser.new_context(viewport={"width": 1600, "height": 900}, service_workers="block")
    with viewers.serve(viewer_folder, folder) as url:
        yield viewers.Perfetto(context.new_page(), url, "killed.json.gz")
    context.close()


def test_it_is_imported_without_a_complaint(perfetto):
    assert perfetto.import_problems() == []


def test_the_death_is_a_mark_of_its_process(perfetto):
    marks = perfetto.query(
        "select slice.name as name, process.name as process from slice"
        " join process_track on process_track.id = slice.track_id join process using (upid)"
        " where category = 'death'"
    )
    assert [(row["name"], row["process"]) for row in marks] == [
        ("killed by SIGKILL (9)", "train (pid 4242, rank 1)")
    ]


def test_what_it_died_in_ends_with_it(perfetto):
    rows = perfetto.query(
        "select name, depth, ts + dur as end_ts from slice"
        " where extract_arg(arg_set_id, 'args.unfinished') = 1 order by depth"
    )
    death = perfetto.value("select ts from slice where category = 'death'")
    assert [(row["name"], row["depth"], row["end_ts"]) for row in rows] == [
        ("aten::linear", 0, death),
        ("aten::addmm", 1, death),
    ]


def test_every_sample_of_a_gauge_is_there(perfetto, store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        want = database.execute(
            "select at_ns, value from counter where counter = 'rss_bytes' order by 1"
        ).fetchall()
    got = perfetto.query(
        "select ts, value from counter join process_counter_track as track"
        " on track.id = counter.track_id where track.name glob 'Memory held*' order by 1"
    )
    assert [(row["ts"], round(row["value"] * 1e6)) for row in got] == want


def test_the_machine_has_a_group_of_its_own(perfetto):
    groups = perfetto.query(
        "select process.name as name from process_counter_track as track join process using (upid)"
        " where track.name glob 'Memory available*'"
    )
    assert [row["name"] for row in groups] == ["Machine"]
