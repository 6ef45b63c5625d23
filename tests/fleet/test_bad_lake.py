"""What is wrong with a store or a lake is named, left out or resumed."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet import answers as fleet_answers
from stepscope_fleet import lake as fleet_lake
from stepscope_fleet.answers import analyze
from stepscope_fleet.engine import ChangedFiles, Engine
from stepscope_fleet.lake import add
from stepscope_fleet.problem import Problem

HOUR_NS = 3_600_000_000_000


def add_node(lake, folder, node, **more):
    store = make_store(
        folder / f"{node}.db", [2 * node, 2 * node + 1], host=f"node-{node}", node=node, **more
    )
    return add(store, lake, None, None)


def document(lake):
    return analyze(lake, []).document


@contextlib.contextmanager
def permissions_count():
    """root may read everything: for a while this process is somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def others_may_enter(tmp_path):
    top = pathlib.Path(tempfile.gettempdir()).resolve()
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.resolve() in (top, *top.parents):
            break
        folder.chmod(folder.stat().st_mode | 0o055)


def restart(path, rank, seconds):
    """A later process with the same rank, of a launcher that restarted its workers."""
    database = sqlite3.connect(path)
    database.execute("INSERT INTO process VALUES (50, 150, 'python', 'python', 1, ?)", (rank,))
    database.execute("INSERT INTO thread VALUES (50, 50, 150, NULL, 'main')")
    database.execute(
        "INSERT INTO step (thread_id, number, start_ns, dur_ns, marker, ops_recorded, steady)"
        " SELECT 50, number, start_ns + ?, dur_ns, marker, 0, 1 FROM step WHERE thread_id = 1 AND number < 9",
        (int(seconds * 1e9),),
    )
    database.commit()
    database.close()


def test_of_several_loops_of_a_process_the_longest_counts(lake, tmp_path):
    path = make_store(tmp_path / "two.db", [0, 1])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE thread SET process_id = 1")
        database.execute("DELETE FROM step WHERE thread_id = 1 AND number > 20")
    text = add(path, lake, None, None).text
    assert "ranks 0, 60 steps; left out: 1 loop beside another of the same process" in text


def test_of_restarted_ranks_the_last_start_counts(lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0, 1], meta={"restart_count": "1"})
    restart(store, 0, 3600)
    assert "left out: 1 process that was restarted" in add(store, lake, None, None).text
    rows = pq.read_table(lake / "rank/run=77/node-0000.parquet", partitioning=None).to_pylist()
    assert [(row["rank"], row["pid"], row["steps"]) for row in rows] == [(0, 150, 8), (1, 102, 60)]
    (run,) = document(lake)["runs"]
    assert run["restarts"] == 1 and run["missing_ranks"] == []


def test_two_processes_of_a_rank_at_the_same_time_are_refused(lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0, 1])
    restart(store, 0, 1)
    with pytest.raises(Problem, match="at the same time that they are rank 0"):
        add(store, lake, None, None)


def test_a_rank_in_two_files_counts_once(lake, tmp_path):
    """Two writers at once do not see each other."""
    add_node(lake, tmp_path, 0, slow={1: ("input", 30 * MS)})
    for table in ("line", "rank", "run", "step", "verdict"):
        folder = lake / table / "run=77"
        shutil.copy(folder / "node-0000.parquet", folder / "node-0009.parquet")
    found = document(lake)
    assert found["runs"][0]["ranks"] == 2 and len(found["left_out"]) == 1
    assert "node-0009.parquet: left out, rank 0 of run 77 is in" in found["left_out"][0]


def test_another_recording_does_not_replace_one(lake, tmp_path):
    add_node(lake, tmp_path, 0)
    (tmp_path / "later").mkdir()
    with pytest.raises(Problem, match=r"from another recording .*name another run with --run"):
        add_node(lake, tmp_path / "later", 0, start=START + HOUR_NS)


def at_first_write(monkeypatch, do):
    """Does it while an add is about to write its first file."""
    write, done = fleet_lake.write_table, []

    def write_later(path, table):
        if not done:
            done.append(path)
            do()
        write(path, table)

    monkeypatch.setattr(fleet_lake, "write_table", write_later)


def test_of_two_recordings_at_once_the_second_is_refused(lake, tmp_path, monkeypatch):
    first = make_store(tmp_path / "a.db", [0, 1])
    second = make_store(tmp_path / "b.db", [0, 1], start=START + HOUR_NS)

    def add_second():
        with pytest.raises(Problem, match=r"b.db: node 0000 .* another recording \(.*a.db\)"):
            add(second, lake, None, None)

    at_first_write(monkeypatch, add_second)
    add(first, lake, None, None)
    (run,) = document(lake)["runs"]
    assert run["nodes"][0]["store"] == str(first) and run["ranks"] == 2
    assert not list(lake.rglob("*.adding"))
    with pytest.raises(Problem, match="is in the lake already, from another recording"):
        add(second, lake, None, None)
    assert not list(lake.rglob("*.adding"))


def test_two_equal_adds_at_once_both_succeed(lake, tmp_path, monkeypatch):
    store = make_store(tmp_path / "a.db", [0, 1])
    at_first_write(monkeypatch, lambda: add(store, lake, None, None))
    add(store, lake, None, None)
    assert document(lake)["runs"][0]["ranks"] == 2 and document(lake)["left_out"] == []
    assert not list(lake.rglob("*.adding"))


def test_one_of_several_programs_at_once_adds_its_recording(verb, lake, tmp_path):
    stores = [make_store(tmp_path / f"{n}.db", [0], start=START + n * HOUR_NS) for n in range(4)]
    with concurrent.futures.ThreadPoolExecutor() as threads:
        codes = list(threads.map(lambda path: code_of_add(verb, path, lake), stores))
    assert sorted(codes) == [0, 3, 3, 3]
    (run,) = document(lake)["runs"]
    assert run["nodes"][0]["store"] == str(stores[codes.index(0)])


def code_of_add(verb, store, lake):
    return verb("lake", "add", store, "--lake", lake, expect=None).returncode


def test_clocks_hours_apart_are_named(lake, tmp_path):
    for node in range(4):
        add_node(
            lake, tmp_path, node, start=START + node * 3 * HOUR_NS, slow={5: ("input", 30 * MS)}
        )
    (run,) = document(lake)["runs"]
    assert run["clocks_apart_ns"] == 9 * HOUR_NS
    assert [slow["rank"] for slow in run["slow_ranks"]] == [5]


def test_an_add_that_did_not_finish_is_named_and_resumed(lake, tmp_path):
    add_node(lake, tmp_path, 0)
    add_node(lake, tmp_path, 1)
    (lake / "run/run=77/node-0001.parquet").unlink()  # the last that is written
    found = document(lake)
    assert found["runs"][0]["ranks"] == 2
    assert "node-0001.parquet: left out, adding it did not finish" in found["left_out"][0]
    add(tmp_path / "1.db", lake, None, None)
    assert document(lake)["runs"][0]["ranks"] == 4 and document(lake)["left_out"] == []


# Python runs this when it starts: the program is killed in its first file.
KILLED = """\
import os, signal
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_add_that_was_killed_in_its_first_file_is_named_and_resumed(
    verb, stepscope, lake, tmp_path
):
    store = make_store(tmp_path / "a.db", [0, 1])
    (tmp_path / "sitecustomize.py").write_text(KILLED)
    killed = {"PYTHONPATH": str(tmp_path), "STEPSCOPE_PYTHON": sys.executable}
    done = subprocess.run(
        [stepscope, "lake", "add", store, "--lake", lake], env=os.environ | killed, check=False
    )
    assert done.returncode == -signal.SIGKILL
    begun = lake / "run/run=77/node-0000.adding"
    done = verb("fleet", lake, expect=3)
    assert done.stderr == (
        f"stepscope fleet: {begun}: left out, adding it did not finish; add its store again\n"
    )
    other = make_store(tmp_path / "b.db", [0, 1], start=START + HOUR_NS)
    with pytest.raises(Problem, match=f"or remove {begun} if that add was killed"):
        add(other, lake, None, None)
    add(store, lake, None, None)
    assert document(lake)["left_out"] == [] and not begun.exists()


def test_a_file_of_another_program_is_left_out(lake, tmp_path):
    add_node(lake, tmp_path, 0)
    add_node(lake, tmp_path, 1)
    path = lake / "step/run=77/node-0001.parquet"
    table = pq.read_table(path, partitioning=None)
    at = table.schema.get_field_index("dur_ns")
    pq.write_table(table.set_column(at, "dur_ns", table["dur_ns"].cast(pa.float64())), path)
    found = document(lake)
    assert found["runs"][0]["ranks"] == 2
    assert "its column dur_ns has the type double, not int64" in found["left_out"][0]


def test_a_run_without_steps_is_listed(lake, tmp_path, verb):
    add_node(lake, tmp_path, 0, world=2)
    path = lake / "step/run=77/node-0000.parquet"
    pq.write_table(pq.read_schema(path).empty_table(), path)
    (run,) = document(lake)["runs"]
    assert (run["hours"], run["missing_ranks"], run["slow_ranks"]) == (0, [0, 1], [])
    assert "missing in the lake: rank 0, 1" in verb("fleet", lake).stdout
    verb("fleet", lake, "report", "-o", tmp_path / "fleet.html")


def test_a_lake_that_changes_while_it_is_read_is_read_again(lake, tmp_path, monkeypatch):
    add_node(lake, tmp_path, 0)
    add_node(lake, tmp_path, 1)
    ask, times = Engine.ask, []

    def vanish(engine, query):
        if not times:
            for table in ("run", "step"):
                (lake / table / "run=77/node-0001.parquet").unlink()
        times.append(query)
        return ask(engine, query)

    monkeypatch.setattr(Engine, "ask", vanish)
    (run,) = document(lake)["runs"]
    assert run["ranks"] == 2 and len(times) == 15

    def never(*unused):
        raise ChangedFiles("gone")

    monkeypatch.setattr(fleet_answers, "_analyze_once", never)
    with pytest.raises(Problem, match="others write to it all the time"):
        document(lake)


def test_readers_beside_a_writer_always_see_whole_runs(lake, tmp_path):
    for node in range(3):
        add_node(lake, tmp_path, node)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            for node in range(3):
                add(tmp_path / f"{node}.db", lake, None, None)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            found = document(lake)
            assert found["left_out"] == [] and found["runs"][0]["ranks"] == 6
    finally:
        stop.set()
        writer.join()


@pytest.mark.usefixtures("others_may_enter")
def test_without_permission(lake, tmp_path):
    add_node(lake, tmp_path, 0)
    secret = lake / "step/run=77/node-0000.parquet"
    store = tmp_path / "0.db"
    for path in (secret, store):
        path.chmod(0)
    with permissions_count():
        with pytest.raises(Problem, match=r"node-0000.parquet: left out, may not be read"):
            document(lake)
        with pytest.raises(Problem, match=r"0.db: may not be read; ask its owner"):
            add(store, lake, None, None)
    store.chmod(0o644)
    secret.chmod(0o644)
    with permissions_count(), pytest.raises(Problem, match=r"lake: cannot be written \(.*ermi"):
        add(store, lake, None, None)
    (lake / "run").chmod(0)
    with permissions_count(), pytest.raises(Problem, match=r"lake: may not be read; ask"):
        document(lake)
    (lake / "run").chmod(0o755)
    assert document(lake)["left_out"] == []
