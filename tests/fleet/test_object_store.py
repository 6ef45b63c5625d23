"""A lake in an object store: through s3fs and a stand-in for S3."""

import json
import os
import pathlib
import sys
import threading

import pytest
from object_store import BUCKET, ObjectStore
from stores import MS, START, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fleet"))

from stepscope_fleet.answers import analyze
from stepscope_fleet.lake import add
from stepscope_fleet.lake_place import lake_at
from stepscope_fleet.problem import Problem
from stepscope_fleet.remote_lake import RemoteLake

pytest.importorskip("s3fs")

LAKE = f"s3://{BUCKET}/team/lake"
SLOW = {3: ("input", 10 * MS)}


@pytest.fixture
def store(monkeypatch):
    started = ObjectStore()
    for name, value in started.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    monkeypatch.setattr("s3fs.S3FileSystem.cachable", False)
    yield started
    started.close()


@pytest.fixture
def nodes(tmp_path):
    """Stores of two nodes; rank 3 is slow."""
    return [
        make_store(tmp_path / "a.db", [0, 1]),
        make_store(tmp_path / "b.db", [2, 3], node=1, host="node-b", slow=SLOW),
    ]


def document(lake, *words):
    return analyze(lake if isinstance(lake, pathlib.Path) else lake_at(lake), *words).document


def test_the_verbs_know_an_address(verb, store, nodes, lake):
    verb("lake", "add", *nodes, "--lake", LAKE)
    verb("lake", "add", *nodes, "--lake", lake)
    names = {f"team/lake/{path.relative_to(lake)}" for path in lake.glob("**/*.parquet")}
    assert set(store.objects) == names
    told = json.loads(verb("analyze", f"{LAKE}/run=77", "--json").stdout)
    assert told == json.loads(verb("fleet", lake, "--json").stdout)
    assert [rank["rank"] for rank in told["runs"][0]["slow_ranks"]] == [3]


def test_only_what_is_needed_is_copied(store, nodes, tmp_path):
    for run in ("one", "two"):
        add(nodes[0], lake_at(LAKE), None, run)
    store.requests.clear()
    assert [run["run"] for run in document(LAKE, ["two"])["runs"]] == ["two"]
    assert not [key for _, key in store.requests if "run=one" in key]
    with pytest.raises(Problem, match="no run matches three; the lake has one, two"):
        document(LAKE, ["three"])
    later = (1 << 62) + 1
    with pytest.raises(Problem, match="no run matches the chosen time; the lake has one, two"):
        document(LAKE, [], later)


def test_a_broken_upload_keeps_what_was_there(store, nodes, tmp_path):
    add(nodes[0], lake_at(LAKE), None, None)
    before = dict(store.objects)
    larger = make_store(tmp_path / "larger.db", [0, 1], steps=90)
    with store.break_upload("team/lake/step"):
        with pytest.raises(Problem, match=f"^{LAKE}: cannot be written") as failed:
            add(larger, lake_at(LAKE), None, None)
        assert "\n" not in str(failed.value)
        assert store.objects == before
    # Of a new node, the file in `run` is the last one.
    with store.break_upload("team/lake/run/run=77/node-0001.parquet"), pytest.raises(Problem):
        add(nodes[1], lake_at(LAKE), None, None)
    answer = document(LAKE, [])
    assert answer["runs"][0]["ranks"] == 2
    assert answer["left_out"] == [
        f"{LAKE}/step/run=77/node-0001.parquet: left out, adding it did not finish; add its store again"
    ]
    add(nodes[1], lake_at(LAKE), None, None)
    assert document(LAKE, [])["runs"][0]["ranks"] == 4


def at_first_upload(monkeypatch, do):
    """Does it while an add is about to upload its first table."""
    put, done = RemoteLake._put, []

    def put_later(self, file, name):
        if not done:
            done.append(name)
            do()
        put(self, file, name)

    monkeypatch.setattr(RemoteLake, "_put", put_later)


@pytest.mark.parametrize("conditional", [True, False])
def test_of_two_recordings_at_once_the_second_is_refused(
    store, nodes, tmp_path, monkeypatch, conditional
):
    """Also in a store that has no conditional writes, unless both begin at the same moment."""
    store.conditional = conditional
    second = make_store(tmp_path / "second.db", [0, 1], start=START + 1)

    def add_second():
        with pytest.raises(Problem, match="second.db: node 0000 of this run is being added"):
            add(second, lake_at(LAKE), None, None)
        add(nodes[0], lake_at(LAKE), None, None)  # the same recording

    at_first_upload(monkeypatch, add_second)
    add(nodes[0], lake_at(LAKE), None, None)
    (run,) = document(LAKE, [])["runs"]
    assert run["nodes"][0]["store"] == str(nodes[0])
    assert not [key for key in store.objects if key.endswith(".adding")]


def test_an_add_that_was_killed_before_its_first_file_is_named(store, nodes):
    claim = "run/run=77/node-0000.adding"
    lake_at(LAKE).create(claim, b"")
    with pytest.raises(Problem, match=f"^{LAKE}/{claim}: left out, adding it did not finish"):
        document(LAKE, [])


def test_a_reader_never_sees_half(store, nodes, tmp_path):
    larger = make_store(tmp_path / "larger.db", [0, 1], steps=900)
    add(nodes[0], lake_at(LAKE), None, None)
    ended = threading.Event()

    def write():
        for store_path in [larger, nodes[0]] * 3:
            add(store_path, lake_at(LAKE), None, None)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    lengths = []
    while not ended.is_set():
        answer = document(LAKE, [])
        assert answer["left_out"] == []
        lengths.append(answer["runs"][0]["last_step"])
    writer.join()
    assert set(lengths) <= {60, 900} and len(lengths) > 1


def test_a_file_that_is_no_parquet_is_left_out(store, nodes):
    for path in nodes:
        add(path, lake_at(LAKE), None, None)
    key = "team/lake/step/run=77/node-0001.parquet"
    store.objects[key] = store.objects[key][:-9]
    answer = document(LAKE, [])
    assert answer["runs"][0]["ranks"] == 2
    (line,) = answer["left_out"]
    assert line.startswith(f"{LAKE}/step/run=77/node-0001.parquet: left out, cannot be read")


def test_a_footer_that_is_large(store, nodes, monkeypatch):
    monkeypatch.setattr("stepscope_fleet.remote_lake.FOOTER", 100)
    add(nodes[0], lake_at(LAKE), None, None)
    assert document(LAKE, [])["runs"][0]["last_step"] == 60


def test_pieces_are_merged(store, tmp_path):
    for first, name in ((1, "one.db"), (21, "two.db")):
        piece = make_store(
            tmp_path / name,
            [0, 1],
            steps=20,
            first=first,
            meta={"piece_of": str(tmp_path / "run.db")},
        )
        add(piece, lake_at(LAKE), None, None)
    (run,) = document(LAKE, [])["runs"]
    assert (run["last_step"], run["unfinished_nodes"]) == (40, ["0000"])
    with pytest.raises(
        Problem, match="rank 1 of this run is in the lake already, from another node"
    ):
        add(make_store(tmp_path / "c.db", [1], node=1), lake_at(LAKE), None, None)


def test_a_file_server_gets_files_under_another_name(nodes, lake, monkeypatch):
    """It shows a file while it grows."""
    from fsspec.implementations.local import LocalFileSystem

    add(nodes[0], lake_at(f"local://{lake}"), None, None)
    before = {path: path.read_bytes() for path in lake.glob("**/*") if path.is_file()}
    assert len(before) == 5 and document(f"local://{lake}", [])["runs"][0]["ranks"] == 2
    whole = LocalFileSystem.put_file

    def half(self, source, target, **options):
        pathlib.Path(target).write_bytes(pathlib.Path(source).read_bytes()[:100])
        raise OSError("the connection is lost")

    monkeypatch.setattr(LocalFileSystem, "put_file", half)
    with pytest.raises(Problem, match="cannot be written .*the connection is lost"):
        add(nodes[0], lake_at(f"local://{lake}"), None, None)
    assert (
        before.items()
        <= {path: path.read_bytes() for path in lake.glob("**/*") if path.is_file()}.items()
    )
    monkeypatch.setattr(LocalFileSystem, "put_file", whole)
    add(nodes[0], lake_at(f"local://{lake}"), None, None)
    assert {path for path in lake.glob("**/*") if path.is_file()} == set(before)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("gs://bucket/lake", "cannot read gs://; run `pip install gcsfs`"),
        ("sftp://host/lake", "cannot read sftp://; run `pip install paramiko`"),
        ("none://host/lake", "fsspec knows no none://"),
        (f"s3://{BUCKET}/none", "has no runs; add some with `stepscope lake add`"),
        ("s3://none/lake", "has no runs"),
    ],
)
def test_what_cannot_be_read_is_one_line(store, address, says):
    with pytest.raises(Problem) as failed:
        document(address, [])
    assert says in str(failed.value) and "\n" not in str(failed.value)


def test_a_missing_package_is_named(verb, tmp_path, monkeypatch):
    for missing in ("s3fs", "fsspec"):
        folder = tmp_path / missing
        folder.mkdir()
        (folder / f"{missing}.py").write_text(f"raise ImportError('none', name='{missing}')\n")
        monkeypatch.setenv("PYTHONPATH", str(folder))
        done = verb("fleet", LAKE, expect=3)
        assert "run `pip install s3fs`" in done.stderr and done.stderr.count("\n") == 1


def test_a_bucket_that_is_missing_is_one_line(store, nodes):
    with pytest.raises(Problem, match="^s3://none/lake: cannot be written .*check the address"):
        add(nodes[0], RemoteLake("s3://none/lake"), None, None)


def test_what_needs_a_folder(verb, store, nodes, tmp_path):
    done = verb(
        "run", "--lake", LAKE, "--watch-lake", "4", "-o", tmp_path / "o.db", "--", "true", expect=2
    )
    assert "--watch-lake needs a folder that all nodes share" in done.stderr
    done = verb("fleet", LAKE, "--engine", "spark", expect=3)
    assert "Spark reads a lake from a folder" in done.stderr
