"""A lake that others write to: a file that cannot be used is left out with one line, and the rest is answered."""

import json
import os
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import MS, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet import pipeline
from stepscope_fleet.answers import analyze
from stepscope_fleet.json_text import json_text
from stepscope_fleet.lake import add
from stepscope_fleet.page import page_text
from stepscope_fleet.problem import Problem
from stepscope_fleet.text import fleet_text
from stepscope_fleet.watch import Watch

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture
def two_nodes(lake, tmp_path):
    for node in range(2):
        ranks = [2 * node, 2 * node + 1]
        store = make_store(tmp_path / f"{node}.db", ranks, node=node, slow={1: ("input", 9 * MS)})
        add(store, lake, None, None)
    return lake


def file_of(lake, table):
    return lake / table / "run=77/node-0001.parquet"


def set_column(lake, table, name, value):
    path = file_of(lake, table)
    rows = pq.read_table(path, partitioning=None)
    at = rows.schema.get_field_index(name)
    kind = rows.schema.field(at).type
    column = pa.array([value] * len(rows), pa.binary() if isinstance(value, bytes) else kind)
    if isinstance(value, bytes):  # text that is not UTF-8
        column = pa.Array.from_buffers(kind, len(column), column.buffers())
    metadata = rows.schema.metadata
    changed = rows.set_column(at, name, column).replace_schema_metadata(metadata)
    pq.write_table(changed, path)


def only_the_other_node(lake, table):
    """That is what is answered. Returns the line about the file."""
    answers = analyze(lake, [])
    (run,) = answers.document["runs"]
    assert run["ranks"] == 2 and [node["node"] for node in run["nodes"]] == ["0000"]
    (line,) = answers.document["left_out"]
    assert line.startswith(f"{file_of(lake, table)}: left out, ") and "\n" not in line
    json.loads(json_text(answers.document), parse_constant=pytest.fail)
    assert fleet_text(answers.document) and page_text(lake, answers)
    return line


WRONG = [
    ("run", "world_size", (2**31, -5)),
    ("run", "wall_start_unix_ns", (None, -1, 2**63 - 1)),
    ("run", "host", (None, b"\xff\xfe", "a\0b", "h" * 70_000)),
    ("run", "store", (None,)),
    ("run", "restarts", (2**62,)),
    ("rank", "rank", (None, -1, 2**31 - 1)),
    ("rank", "node", (None,)),
    ("rank", "steps", (None,)),
    ("rank", "run", ("other",)),
    ("rank", "ops_first_step", (5, -1)),
    ("rank", "dp_rank", (2**31 - 1,)),
    ("step", "run", ("other", None)),
    ("step", "rank", (None, 2**31 - 1, 0)),
    ("step", "step", (None, 2**62, -1)),
    ("step", "start_unix_ns", (None, 2**63 - 1, -(2**63))),
    ("step", "dur_ns", (None, 0, -5, 2**63 - 1)),
    ("step", "steady", (None,)),
    ("step", "input_ns", (None, -(2**63), 2**63 - 1)),
    ("step", "collective_end_unix_ns", (5, 2**63 - 1)),
    ("line", "share", (NAN, INFINITY, -1.0)),
    ("line", "file", (None,)),
    ("line", "step_ns", (2**63 - 1,)),
    ("verdict", "share", (NAN, INFINITY, None)),
    ("verdict", "kind", (None,)),
]


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [(table, name, value) for table, name, values in WRONG for value in values],
)
def test_a_value_that_cannot_be_true(two_nodes, table, name, value):
    set_column(two_nodes, table, name, value)
    only_the_other_node(two_nodes, table)


def test_a_column_that_is_missing(two_nodes):
    path = file_of(two_nodes, "step")
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["dur_ns"]), path)
    assert "has 0 columns dur_ns instead of one" in only_the_other_node(two_nodes, "step")


def test_damaged_bytes(two_nodes):
    """In a page of data: its numbers would still look like numbers."""
    path = file_of(two_nodes, "step")
    metadata = pq.read_metadata(path).row_group(0)
    at = next(
        i for i in range(metadata.num_columns) if metadata.column(i).path_in_schema == "host_ns"
    )
    column = metadata.column(at)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 9] ^= 0x10
    path.write_bytes(content)
    only_the_other_node(two_nodes, "step")


def test_a_rank_twice(two_nodes):
    path = file_of(two_nodes, "rank")
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(pa.concat_tables([rows, rows]), path)
    assert "has a rank twice" in only_the_other_node(two_nodes, "rank")


@pytest.mark.parametrize("table", ["run", "rank", "step", "line"])
def test_a_pipe_is_not_read(verb, two_nodes, tmp_path, table):
    file_of(two_nodes, table).unlink()
    os.mkfifo(file_of(two_nodes, table))
    assert "is not a regular file" in only_the_other_node(two_nodes, table)
    # Adding is possible too: the store of the other node as before, and that of this node in the pipe's place.
    done = verb("lake", "add", tmp_path / "0.db", "--lake", two_nodes)
    assert done.stderr.count("not a regular file") == (table == "rank")
    if table != "run":
        verb("lake", "add", tmp_path / "1.db", "--lake", two_nodes)
        assert analyze(two_nodes, []).document["left_out"] == []


def test_a_pipe_among_the_files_of_a_watch_is_not_read(two_nodes):
    folder = two_nodes / "watch/run=77"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "node-0001.json")
    steps = pq.read_table(two_nodes / "step/run=77/node-0000.parquet", partitioning=None)
    assert Watch(two_nodes, "run=77", "0000", 60).slow_ranks(steps) == []


def test_a_lake_without_any_sound_node_is_one_line(verb, two_nodes):
    for path in (two_nodes / "step/run=77").iterdir():
        os.truncate(path, path.stat().st_size - 9)
    done = verb("fleet", two_nodes, expect=3)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert "node-0000.parquet: left out, cannot be read as Parquet" in done.stderr


def test_a_comparison_says_what_is_left_out(verb, two_nodes):
    set_column(two_nodes, "verdict", "share", NAN)
    done = verb("fleet", two_nodes, "compare", "--run", "77", "77")
    assert "left out, its column share has a value that is not a finite number" in done.stderr


def test_a_document_has_no_nan():
    with pytest.raises(Problem, match="a number that JSON does not have"):
        json_text({"share": NAN})


OPERATIONS = {
    "dp_rank": [0, 1],
    "stage": [0, 0],
    "rank": [0, 1],
    "step": [1, 1],
    "optype": ["forward-compute"] * 2,
    "start_ts": [0.0, 0.0],
    "duration": [1.0, 2.0],
    "seq_id": [0, 0],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("duration", NAN),
        ("duration", INFINITY),
        ("duration", -1.0),
        ("duration", 0.0),
        ("duration", None),
        ("duration", "long"),
        ("start_ts", NAN),
        ("optype", None),
        ("stage", None),
        ("stage", 2**40),
        ("dp_rank", "x"),
        ("step", -1),
        ("rank", 0.5),
    ],
)
def test_operations_that_cannot_be_true(verb, tmp_path, name, value):
    path = tmp_path / "operations.parquet"
    pq.write_table(pa.table(OPERATIONS | {name: [value, value]}), path)
    done = verb("fleet", path, "--json", expect=3)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"stepscope fleet: {path}: ")


def test_operations_of_other_types(tmp_path):
    path = tmp_path / "operations.parquet"
    table = pa.table(OPERATIONS)
    table = table.set_column(4, "optype", table["optype"].dictionary_encode())
    table = table.set_column(1, "stage", table["stage"].cast(pa.float64()))
    pq.write_table(table, path)
    assert len(pipeline.read(path).operations) == 2
