"""Stack samples in the exported trace: loaded by both viewers without a complaint, and with nothing lost."""

import json

import pytest

import viewers
from stack_rows import StackRows

NAMES = [
    "</script>",
    'semi;colon "quotes" \\',
    "new\nline",
    "\u2028\u202e",
    "\U0001f525",
    "x" * 9000,
]
OUTER = ("main", "/src/train.py", 12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stacks")


@pytest.fixture(scope="module")
def trace(run_stepscope, make_store, folder):
    """Of two threads: one in another function at each look, one that is seldom looked at."""
    store = make_store("steps", 20)
    with StackRows(store) as rows:
        loop = rows.thread(4242, 4242, "python")
        worker = rows.thread(4250, 4250, "worker </script>")
        for i in range(100):
            frames = [(name, f"/src/{name}.py", i) for name in NAMES[: 1 + i % len(NAMES)]]
            rows.sample(loop, i if i < 50 else i + 200, rows.stack(OUTER, *frames))
        for i in range(5):
            rows.sample(worker, 40 * i, rows.stack(OUTER), blocked="read")
    done = run_stepscope("export", store, "-o", folder / "trace.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return "trace.json"


@pytest.fixture(scope="module")
def server(viewer_folder, folder):
    with viewers.serve(viewer_folder, folder) as url:
        yield url


def slices_in(folder, trace):
    events = json.loads((folder / trace).read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X"]


def test_perfetto_shows_a_track_of_each_thread(page, server, folder, trace):
    perfetto = viewers.Perfetto(page, server, trace)
    assert perfetto.import_problems() == []
    tracks = perfetto.query(
        "select thread.name as name, min(slice.ts) as start, max(slice.ts + dur) - min(slice.ts) as length,"
        " max(depth) as depth, count(*) as n from slice join thread_track on track_id = thread_track.id"
        " join thread using (utid) where category = 'line' group by 1 order by 1"
    )
    drawn = [event for event in slices_in(folder, trace) if event["cat"] == "line"]
    assert [track["name"] for track in tracks] == [
        "lines · python 4242",
        "lines · worker </script> 4250",
    ]
    assert [track["depth"] for track in tracks] == [len(NAMES), 0]
    assert [track["length"] for track in tracks] == [300_000_000, 200_000_000]
    assert sum(track["n"] for track in tracks) == len(drawn)


def test_the_frames_of_a_thread_nest(page, server, trace):
    perfetto = viewers.Perfetto(page, server, trace)
    parents = perfetto.query(
        "select parent.name as parent, count(*) as n from slice join slice as parent on slice.parent_id = parent.id"
        " where slice.name glob '<[/]script> *' group by 1"
    )
    assert parents == [{"parent": "main (train.py:12)", "n": 100}]
    # Nobody looked in the middle.
    assert perfetto.value("select count(*) from slice where name = 'main (train.py:12)'") == 3


def test_catapult_loads_all_of_it(page, viewer_folder, server, folder, trace):
    viewer = viewers.Catapult(page, viewer_folder, server, trace)
    assert viewer.import_warnings() == []
    assert viewer.slice_count() == len(slices_in(folder, trace))
