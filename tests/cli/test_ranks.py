"""What `analyze` and `report` say of the ranks of one run: which one the others wait for, for what, and how often."""

import json
import re
import sqlite3
import subprocess

import pytest

from report_runs import late_input, on_device


@pytest.fixture(scope="module")
def run_of(stepscope, tmp_path_factory):
    """Imports the traces of some ranks; returns a function that runs a verb on the store."""

    def make(*traces):
        folder = tmp_path_factory.mktemp("ranks")
        files = [trace.write(folder / f"rank{trace.rank}.pt.trace.json") for trace in traces]

        def run(verb, *arguments):
            command = [stepscope, verb, folder / "run.db", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        run.store = folder / "run.db"
        command = [stepscope, "import", *files, "-o", run.store]
        subprocess.run(command, check=True, capture_output=True)
        return run

    return make


@pytest.fixture(scope="module")
def late(run_of):
    """Two ranks; rank 0 waits for its input in every third of 24 steps."""
    return run_of(late_input(0), late_input(1))


def document_of(run, *arguments):
    return json.loads(run("analyze", "--json", *arguments).stdout)


def loop_of(document, rank):
    return next(loop for loop in document["loops"] if loop["rank"] == rank)


def test_a_rank_that_waits_for_another_is_told_so(late):
    document = document_of(late)
    loop = loop_of(document, 1)
    assert loop["verdict"]["kind"] == "straggler-bound"
    assert (
        "of the step waits for rank 0. Rank 0 comes last because of its input: 1.50 ms more"
        in (loop["verdict"]["why"])
    )
    wait = loop["rank_wait"]
    assert (wait["rank"], wait["excess"]["category"]) == (0, "input")
    assert wait["rank_part"] == pytest.approx(1)
    assert loop["verdict"]["share"] == wait["share"] < loop["shares"]["communication"]
    assert loop_of(document, 0)["verdict"]["kind"] == "input-bound"


@pytest.mark.parametrize("every", [3, 1], ids=["in some steps", "in each step"])
def test_the_evidence_of_the_waiting_is_in_the_store(run_of, every):
    run = run_of(late_input(0, every=every), late_input(1, every=every))
    document = document_of(run)  # and writes it there
    evidence = loop_of(document, 1)["verdict"]["evidence"][0]
    assert evidence["value"] > 0.1
    with sqlite3.connect(run.store) as store:
        assert store.execute(evidence["query"]).fetchone()[0] == pytest.approx(evidence["value"])
        kinds = store.execute("SELECT kind FROM verdict ORDER BY kind").fetchall()
    assert kinds == [("input-bound",), ("straggler-bound",)]


def test_each_step_is_accounted_for(late):
    steps = document_of(late)["ranks"]["steps"]
    assert steps["count"] == 24 and steps["held_up"] == 8
    accounted = ("held_up", "even", "warm_up", "missing", "unmeasured")
    assert sum(steps[key] for key in accounted) == 24
    assert re.match(
        r"Of 24 steps, rank 0 came last in 8; in \d+ no rank held up the others by 5.0 % of the"
        r" step; \d (was|were) warm-up\.$",
        steps["why"],
    )


def test_steps_that_one_rank_has_not_are_counted_apart(run_of):
    steps = document_of(run_of(on_device(world=2), on_device(rank=1, world=2, steps=20)))["ranks"][
        "steps"
    ]
    assert (steps["count"], steps["missing"], steps["held_up"]) == (25, 5, 0)


def test_the_page_is_of_the_job_with_a_row_for_each_rank(late):
    page = late("analyze", "--no-write").stdout
    assert "2 ranks" in page and page.count("step time") == 1
    rows = [line.split() for line in page.splitlines() if re.match(r" +[01] +400[01] ", line)]
    assert [row[:2] for row in rows] == [["0", "4000"], ["1", "4001"]]
    assert rows[0][-1] == "input-bound" and " ".join(rows[1][-4:]) == "waits for rank 0"
    assert "rank 0 of 2, which the other waits for" in page
    assert "run.db --rank 1" in page
    assert all(len(line) <= 100 for line in page.splitlines() if ".db" not in line)


def test_rank_chooses_one(late):
    page = late("analyze", "--no-write", "--rank", "1").stdout
    assert "STRAGGLER-BOUND" in page and "rank 1 of 2" in page and "INPUT-BOUND" not in page
    document = document_of(late, "--rank", "1")
    assert [loop["rank"] for loop in document["loops"]] == [1]
    assert document["verdict"]["kind"] == "straggler-bound"
    assert len(document["ranks"]["each"]) == 2
    with sqlite3.connect(late.store) as store:
        assert store.execute("SELECT count(*) FROM verdict").fetchone()[0] == 2


@pytest.mark.parametrize("verb", ["analyze", "report", "view"])
def test_a_rank_that_is_not_there_is_named(late, stepscope, build_dir, verb, tmp_path):
    more = {"report": ["-o", tmp_path / "report.html"], "view": ["--no-browser"]}.get(verb, [])
    done = late(verb, "--rank", "7", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"stepscope {verb}: --rank 7: the run has ranks 0–1\n"
    alone = tmp_path / "run.db"
    subprocess.run(
        [build_dir / "tests/viewer-export/make_trace_store", "steps", alone, "20"], check=True
    )
    command = [stepscope, verb, alone, "--rank", "0", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--rank 0: the run has no ranks; omit --rank" in done.stderr
