"""What stragglers cost a job whose operations were recorded: small jobs worked out by hand, and published ones."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = ROOT.parent / "shared/fleet-data"
sys.path.insert(0, str(ROOT / "fleet"))

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pytest.importorskip("duckdb", reason="pip install duckdb")
import pyarrow.parquet as pq  # noqa: E402
from stepscope_fleet import pipeline, stragglers  # noqa: E402


def write(path, operations):
    """(dp_rank, stage, optype, seq_id, start, duration) of one step; ranks count the workers."""
    ranks = {worker: i for i, worker in enumerate(sorted({op[:2] for op in operations}))}
    columns = dict(zip(pipeline.COLUMNS, ([] for _ in pipeline.COLUMNS), strict=True))
    for dp_rank, stage, optype, seq_id, start, duration in operations:
        row = (dp_rank, stage, ranks[dp_rank, stage], 1, optype, start, duration, seq_id)
        for name, value in zip(pipeline.COLUMNS, row, strict=True):
            columns[name].append(value)
    pq.write_table(pa.table(columns), path)
    return path


# Two data-parallel workers; the second computes for 3 s instead of 1 s, and the first waits for it in a collective
# that takes 0.5 s.
#   worker 0  │ 1 s │ … waits 2 s … │ 0.5 │
#   worker 1  │ 3 s                 │ 0.5 │
SLOW_WORKER = [
    (0, 0, "forward-compute", 0, 0.0, 1.0),
    (0, 0, "grads-reduce-scatter", 0, 1.0, 2.5),
    (1, 0, "forward-compute", 0, 0.0, 3.0),
    (1, 0, "grads-reduce-scatter", 0, 3.0, 0.5),
]


def test_waiting_for_another_worker_is_no_communication(tmp_path):
    job = pipeline.read(write(tmp_path / "a.parquet", SLOW_WORKER))
    answer = stragglers.analyze(job)
    assert answer["step_s"] == pytest.approx(3.5)
    assert answer["ideal_step_s"] == pytest.approx(
        2 + 0.5
    )  # both compute for the mean of 1 and 3 s
    assert answer["slowdown"] == pytest.approx(3.5 / 2.5)
    assert answer["by_kind"] == pytest.approx({"forward-compute": 1.4, "grads-reduce-scatter": 1.0})
    assert answer["slowest_workers"] == [{"dp_rank": 1, "stage": 0}]
    assert answer["explained_by_slowest_workers"] == pytest.approx(1)


# Two stages, two micro-batches. Stage 1 takes twice as long for each, so stage 0 waits for a gradient.
#   stage 0   F0 F1 .. .. B0 ........ B1          pauses between operations do not count
#   stage 1      F0   B0   F1   B1
UNEVEN_STAGES = [
    (0, 0, "forward-compute", 0, 0.0, 1.0),
    (0, 0, "forward-send", 0, 1.0, 0.1),
    (0, 0, "forward-compute", 1, 1.2, 1.0),  # after a pause of 0.1 s
    (0, 0, "forward-send", 1, 2.2, 2.9),
    (0, 0, "backward-recv", 0, 2.2, 2.9),  # at the same time
    (0, 0, "backward-compute", 0, 5.1, 1.0),
    (0, 0, "backward-recv", 1, 6.1, 3.1),
    (0, 0, "backward-compute", 1, 9.2, 1.0),
    (0, 1, "forward-recv", 0, 0.0, 1.1),
    (0, 1, "forward-compute", 0, 1.1, 2.0),
    (0, 1, "backward-compute", 0, 3.1, 1.9),
    (0, 1, "backward-send", 0, 5.0, 0.1),
    (0, 1, "forward-recv", 1, 5.0, 0.1),
    (0, 1, "forward-compute", 1, 5.1, 2.0),
    (0, 1, "backward-compute", 1, 7.1, 2.0),
    (0, 1, "backward-send", 1, 9.1, 0.1),
]


def test_stages_wait_for_each_other(tmp_path):
    job = pipeline.read(write(tmp_path / "a.parquet", UNEVEN_STAGES))
    answer = stragglers.analyze(job)
    assert answer["step_s"] == pytest.approx(10.2)  # its pause hides behind stage 1
    assert answer["by_stage"]["1"] > 1.2 > answer["by_stage"]["0"]
    assert answer["explained_by_last_stage"] > 0.9


def test_a_trace_that_was_cut_off_is_refused(verb, tmp_path):
    crossed = [(0, 1, "forward-recv", 1, 0.0, 2.3), (0, 1, "forward-recv", 0, 2.3, 0.1)]
    done = verb("fleet", write(tmp_path / "cut.parquet", UNEVEN_STAGES[:4] + crossed), expect=3)
    assert done.stdout == ""
    assert "operations wait for each other; is the trace cut off?" in done.stderr


def test_another_file_is_refused(verb, tmp_path):
    (tmp_path / "text.parquet").write_text("no Parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    for name in "text.parquet", "other.parquet":
        done = verb("fleet", tmp_path / name, expect=3)
        assert name in done.stderr and "needs the columns" in done.stderr
        assert done.stderr.count("\n") == 1


# S and M_S within 1 %; of M_W, which is published as 0.03, the difference is below one point.
@pytest.mark.parametrize("job", ["ST", "SE"])
def test_published_jobs_get_their_published_figures(verb, job):
    trace = PUBLISHED / f"trace-{job}.parquet"
    if not trace.exists():
        pytest.skip(f"{trace} is not there")
    answer = json.loads(verb("fleet", trace, "--json").stdout)
    published = json.loads((PUBLISHED / f"result-{job}.json").read_text())
    workers = json.loads((PUBLISHED / f"mw-{job}.json").read_text())
    stage = json.loads((PUBLISHED / f"ms-{job}.json").read_text())
    assert answer["slowdown"] == pytest.approx(published["blocking_slowdown"], rel=0.01)
    assert answer["step_s"] == pytest.approx(workers["tori"], rel=0.01)
    assert answer["ideal_step_s"] == pytest.approx(workers["tideal"], rel=0.01)
    assert answer["explained_by_last_stage"] == pytest.approx(stage["Ms"], rel=0.01)
    assert answer["explained_by_slowest_workers"] == pytest.approx(workers["Mw"], abs=0.001)
    for number, slowdown in published["blocking_decompose_by_stage"].items():
        assert answer["by_stage"][number] == pytest.approx(slowdown, rel=0.01)
    for kind, slowdown in published["blocking_decompose_by_optype"].items():
        if kind in answer["by_kind"]:
            assert answer["by_kind"][kind] == pytest.approx(slowdown, rel=0.01)
