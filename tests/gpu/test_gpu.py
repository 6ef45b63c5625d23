"""What is recorded of programs that use a GPU. Each runs as it is, under `stepscope run`; nothing here passes
without a GPU: it is skipped, and says so.
"""

import collections
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="pip install torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU here: see docs/gpu.md", allow_module_level=True)

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
MISTAKES = PROGRAMS.parents[2] / "samples" / "python" / "mistakes" / "mistakes.py"


class Recorded:
    """A program that was run twice, bare and wrapped, and what was recorded of it."""

    def __init__(self, stepscope, folder, program, *options, code=0):
        command = [sys.executable, PROGRAMS / program, *map(str, options)]
        environment = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
        bare = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.store = folder / "run.db"
        wrapped = subprocess.run(
            [stepscope, "run", "--quiet", "-o", self.store, "--", *command],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert bare.returncode == code, bare.stderr
        assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout), (
            wrapped.stderr
        )
        analyzed = subprocess.run(
            [stepscope, "analyze", "--json", self.store], capture_output=True, text=True
        )
        assert analyzed.returncode == 0, analyzed.stderr
        self.report = json.loads(analyzed.stdout)

    def rows(self, query):
        with sqlite3.connect(self.store) as store:
            return store.execute(query).fetchall()

    def value(self, query):
        ((value,),) = self.rows(query)
        return value


@pytest.fixture
def record(stepscope, tmp_path):
    def record(program, *options, **named):
        recorded = Recorded(stepscope, tmp_path, program, *options, **named)
        assert recorded.rows("SELECT kind, count FROM loss") == []
        return recorded

    return record


KINDS = {
    "plain": [],
    "pinned": ["--pinned"],
    "pageable workers": ["--workers", 4],
    "pinned workers": ["--workers", 4, "--pinned"],
    "amp": ["--amp"],
    "two streams": ["--pinned", "--second-stream"],
    "graph": ["--graph"],
    "resnet50": ["--model", "resnet50", "--batch", 16],
    "resnet50 amp": ["--model", "resnet50", "--amp"],
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_a_training_loop(record, options):
    run = record("training.py", *options)
    assert run.report["steps"]["count"] == 30
    kernels = run.value("SELECT count(*) FROM kernel")
    assert kernels > 30 * 5
    assert run.value("SELECT count(*) FROM copy") >= 30 * 2
    # An activity without a call was launched before the recording began.
    joined = run.value("SELECT count(*) FROM kernel JOIN api_call USING (correlation)")
    assert joined >= 0.99 * kernels
    # Time does not run backwards between the host's clock and the device's.
    assert (
        run.value(
            "SELECT count(*) FROM kernel JOIN api_call USING (correlation)"
            " WHERE kernel.start_ns < api_call.start_ns - 1000"
        )
        == 0
    )


def test_streams_are_told_apart(record):
    run = record("training.py", "--pinned", "--second-stream")
    # The weights were copied on the stream that computes.
    assert (
        run.value("SELECT count(*) FROM copy WHERE stream_id NOT IN (SELECT stream_id FROM kernel)")
        == 30 * 2
    )


def test_the_device_is_described(record):
    run = record("training.py")
    known = torch.cuda.get_device_properties(0)
    assert run.rows(
        "SELECT name, memory_bytes, compute_major, compute_minor, multiprocessors FROM device"
    ) == [
        (
            known.name,
            known.total_memory,
            known.major,
            known.minor,
            known.multi_processor_count,
        )
    ]


def test_a_killed_program_loses_what_was_not_handed_over(stepscope, tmp_path):
    """A handover each second: of four seconds, at least half is there. What is missing is said to be."""
    store = tmp_path / "run.db"
    command = [stepscope, "run", "--quiet", "--ops", "all", "-o", store, "--"]
    done = subprocess.run(
        [*command, sys.executable, PROGRAMS / "killed.py", "4"], capture_output=True, text=True
    )
    assert done.returncode == 128 + 9, done.stderr
    with sqlite3.connect(store) as database:
        ((with_kernels,),) = database.execute(
            "SELECT count(DISTINCT o.id) FROM op AS o JOIN string ON string.id = o.name_id"
            " JOIN api_call AS a ON a.start_ns BETWEEN o.start_ns AND o.start_ns + o.dur_ns"
            " AND a.thread_id = o.thread_id JOIN kernel USING (correlation)"
            " WHERE text = 'aten::addmm'"
        ).fetchall()
        losses = dict(database.execute("SELECT kind, count FROM loss"))
    steps = int(done.stdout)
    assert steps / 2 < with_kernels <= steps
    assert with_kernels == steps or losses.get("device_record", 0) > 0


def test_a_graph_is_one_call_and_many_kernels(record):
    run = record("training.py", "--graph")
    most = run.value("SELECT max(n) FROM (SELECT count(*) AS n FROM kernel GROUP BY correlation)")
    assert most >= 10


@pytest.mark.parametrize(
    "program, package", [("hugging_face.py", "transformers"), ("lightning_loop.py", "lightning")]
)
def test_a_trainer(record, program, package):
    pytest.importorskip(package)
    run = record(program)
    assert run.report["steps"]["count"] in (24, 40)
    assert run.value("SELECT count(*) FROM kernel") > 24 * 20


def test_out_of_memory_is_the_programs_own_end(record):
    run = record("out_of_memory.py", code=1)
    assert run.report["steps"]["count"] >= 5


@pytest.mark.parametrize(
    "options", [[], ["--model", "resnet50", "--batch", "16"]], ids=["mlp", "resnet50"]
)
def test_every_kernel_of_the_pytorch_profiler_is_seen(record, tmp_path, options):
    """One after the other: a process has one subscriber of CUPTI. The same program launches the same kernels, and
    each takes as long, to 1 µs or to what a kernel's time varies."""
    kernels = tmp_path / "kernels.json"
    subprocess.run(
        [sys.executable, PROGRAMS / "training.py", *options, "--kernels", kernels], check=True
    )
    theirs = collections.defaultdict(list)
    for name, microseconds in json.loads(kernels.read_text()):
        theirs[name].append(microseconds)
    ours = collections.defaultdict(list)
    for name, ns in record("training.py", *options).rows(
        "SELECT text, dur_ns FROM kernel JOIN string ON string.id = kernel.name_id"
    ):
        ours[name].append(ns / 1e3)
    assert {name: len(times) for name, times in ours.items()} == {
        name: len(times) for name, times in theirs.items()
    }
    for name, times in theirs.items():
        assert statistics.median(ours[name]) == pytest.approx(
            statistics.median(times), abs=1, rel=0.05
        ), name


# The samples' mistakes that need a GPU, and the rule that is to find each.
RULES = {
    "pageable": "pinned-copies",
    "sync": "blocking-sync",
    "host": "ops-on-cpu",
    "cudnn": "cudnn-benchmark",
    "idle": "idle-gpu",
}


@pytest.fixture(params=["python", "c++"])
def advised(request, stepscope, tmp_path):
    """A function that records a sample and gives the rules that speak of it."""
    sample = (
        [sys.executable, MISTAKES]
        if request.param == "python"
        else [request.getfixturevalue("mistakes")]
    )

    def advised(*options):
        store = tmp_path / "run.db"
        command = [
            stepscope,
            "run",
            "--quiet",
            "--no-analysis",
            "-o",
            store,
            "--",
            *sample,
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        page = subprocess.run(
            [stepscope, "analyze", "--json", store], capture_output=True, text=True
        )
        assert page.returncode == 0, page.stderr
        return {advice["rule"] for advice in json.loads(page.stdout)["advice"]}

    return advised


@pytest.mark.parametrize("mistake, rule", RULES.items())
def test_a_production_mistake_is_told_and_its_mended_twin_is_not(advised, mistake, rule):
    assert rule in advised("--mistake", mistake)
    assert rule not in advised("--mistake", mistake, "--fixed")
