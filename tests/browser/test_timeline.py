"""The exported trace, opened in the real viewers: it must load without a complaint, show every event
of the store, and look like a timeline."""

import gzip
import json
import sqlite3

import pytest

import png
import viewers

ROWS = ("Verdict", "Steps", "Phases", "Phases, overlapping")


def as_imported(name):
    """The importer leaves a name with a \\u escape as it stands in the file; control characters must
    be escaped all the same, or it is no JSON."""
    if all(c >= " " or c in "\n\t" for c in name):
        return name
    return json.dumps(name, ensure_ascii=False)[1:-1]


@pytest.fixture(scope="module")
def store(make_store):
    return make_store("hostile")


@pytest.fixture(scope="module")
def counts(store):
    """What the store itself says it holds."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        return {
            table: database.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("op", "phase", "step", "verdict", "thread")
        }


@pytest.fixture(scope="module")
def traces(store, run_stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    for name in ("trace.json", "trace.json.gz"):
        done = run_stepscope("export", store, "-o", folder / name)
        assert done.returncode == 0, done.stderr
    done = run_stepscope("export", store, "-o", folder / "cut.json.gz", "--steps", "10-12")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def server(viewer_folder, traces):
    with viewers.serve(viewer_folder, traces) as url:
        yield url


@pytest.fixture(scope="module")
def perfetto(browser, server):
    """The whole trace in one page, for the tests that only ask."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, service_workers="block")
    yield viewers.Perfetto(context.new_page(), server, "trace.json.gz")
    context.close()


def test_both_files_hold_one_text(traces):
    plain = (traces / "trace.json").read_bytes()
    assert gzip.decompress((traces / "trace.json.gz").read_bytes()) == plain
    json.loads(plain)


def test_perfetto_imports_it_without_a_complaint(perfetto):
    assert perfetto.import_problems() == []


def test_perfetto_shows_every_event(perfetto, counts):
    drawn = counts["op"] + counts["phase"] + counts["step"] + counts["verdict"]
    assert perfetto.value("select count(*) from slice") == drawn + 1  # and the losses
    by_category = {
        row["category"]: row["n"]
        for row in perfetto.query("select category, count(*) as n from slice group by category")
    }
    assert by_category["step"] == counts["step"]
    assert by_category["verdict"] == counts["verdict"]
    assert by_category["loss"] == 1


def test_perfetto_has_the_exact_times_and_names(perfetto, store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        want = database.execute(
            "select op.start_ns, op.dur_ns, string.text from op"
            " join string on string.id = op.name_id order by 1, 2, 3"
        ).fetchall()
    got = perfetto.query(
        "select ts, dur, name from slice where category in ('cpu_op', 'user_annotation')"
        " and track_id in (select thread_track.id from thread_track join thread using (utid)"
        "   where thread.name not glob 'Phases*') order by 1, 2, 3"
    )
    want = [(ts, dur, as_imported(name)) for ts, dur, name in want]
    assert sorted((row["ts"], row["dur"], row["name"]) for row in got) == sorted(want)


def test_perfetto_draws_children_inside_their_parents(perfetto):
    pairs = perfetto.query(
        "select child.name as child, parent.name as parent, count(*) as n from slice as child"
        " join slice as parent on child.parent_id = parent.id"
        " where child.name like 'aten::%' group by 1, 2"
    )
    nested = {(row["child"], row["parent"]) for row in pairs}
    assert ("aten::t", "aten::linear") in nested  # these three begin in one nanosecond
    assert ("aten::transpose", "aten::t") in nested
    assert ("aten::addmm", "aten::linear") in nested


def test_perfetto_has_every_arrow(perfetto, store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        (nodes,) = database.execute(
            "select count(*) from op where forward_thread is not null and forward_thread > 0"
        ).fetchone()
    ends = perfetto.query(
        "select a.name as src, b.name as dst, count(*) as n from flow"
        " join slice as a on flow.slice_out = a.id join slice as b on flow.slice_in = b.id group by 1, 2"
    )
    assert ends == [{"src": "aten::addmm", "dst": "AddmmBackward0", "n": nodes}]


def test_perfetto_has_the_rows_and_threads_in_order(perfetto):
    names = [
        row["name"]
        for row in perfetto.query(
            "select distinct thread.name as name, tid from thread_track join thread using (utid)"
            " join slice on slice.track_id = thread_track.id order by tid"
        )
    ]
    odd = 'odd </script> "thread"'
    assert names == [*ROWS, "mnist", "pt_autograd_0", odd] + [f"{odd} (overlapping)"] * 2
    process = perfetto.query("select name from process where name is not null")
    assert process == [{"name": "mnist (pid 4242)"}]


def test_perfetto_counts_steps(perfetto, counts):
    for name in ("Step time", "Input wait"):
        samples = perfetto.value(
            "select count(*) from counter join counter_track on counter.track_id = counter_track.id"
            f" where counter_track.name = '{name} ms'"
        )
        assert samples == counts["step"] + 1  # back to 0 at the end


def test_perfetto_tells_the_verdict_and_the_losses(perfetto):
    rows = perfetto.query(
        "select slice.name as name, string_value from slice join args using (arg_set_id)"
        " where category = 'verdict' and key = 'args.kind'"
    )
    assert [row["string_value"] for row in rows] == ["input-bound"]
    assert rows[0]["name"] == "HIGHLY INPUT-BOUND · 55.2 % of the step waits for input."
    lost = perfetto.value(
        "select int_value from slice join args using (arg_set_id)"
        " where category = 'loss' and key = 'args.op'"
    )
    assert lost == 12


def test_perfetto_shows_a_picture(perfetto, tmp_path):
    perfetto.page.wait_for_timeout(1500)  # tracks are drawn after the trace is loaded
    picture = tmp_path / "perfetto.png"
    perfetto.page.screenshot(path=picture)
    print(f"\nscreenshot: {picture}")
    assert png.distinct_colours(picture.read_bytes()) > 50
    text = perfetto.page.inner_text("body")
    for row in ("Verdict", "Steps", "Phases", "mnist 4242", "pt_autograd_0"):
        assert row in text


def test_perfetto_imports_a_cut(page, server):
    perfetto = viewers.Perfetto(page, server, "cut.json.gz")
    assert perfetto.import_problems() == []
    steps = perfetto.query("select name from slice where category = 'step' order by ts")
    assert [row["name"].split(" ·")[0] for row in steps] == ["step 10", "step 11", "step 12"]


def test_catapult_draws_every_event(page, viewer_folder, server, counts, tmp_path):
    viewer = viewers.Catapult(page, viewer_folder, server, "trace.json")
    assert viewer.import_warnings() == []
    drawn = counts["op"] + counts["phase"] + counts["step"] + counts["verdict"] + 1
    assert viewer.slice_count() == drawn
    page.wait_for_timeout(1500)
    picture = tmp_path / "catapult.png"
    page.screenshot(path=picture)
    print(f"\nscreenshot: {picture}")
    assert png.distinct_colours(picture.read_bytes()) > 30
