"""Queries of docs/schema.md on a run of several loops: each answers for each loop."""

import pathlib
import re
import sqlite3
import subprocess
from collections import defaultdict

import pytest

from report_runs import on_device

PAGE = pathlib.Path(__file__).parents[2] / "docs/schema.md"


def query_after(question):
    text = PAGE.read_text()
    return re.search(r"```sql\n(.*?)```", text[text.index(question) :], re.DOTALL).group(1)


@pytest.fixture(scope="module")
def ranks(stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    files = [
        on_device(rank=rank, world=3, work=850 if rank == 1 else 300).write(
            folder / f"rank{rank}.pt.trace.json"
        )
        for rank in range(3)
    ]
    store = folder / "run.db"
    subprocess.run([stepscope, "import", *files, "-o", store], check=True, capture_output=True)
    subprocess.run([stepscope, "analyze", store], check=True, capture_output=True)
    with sqlite3.connect(store) as database:
        yield database


def test_the_average_step_adds_up_to_100_percent(ranks):
    of_loop = defaultdict(float)
    for thread, device, _, _, percent in ranks.execute(query_after("Where does the average step")):
        of_loop[thread, device] += percent
    assert len(of_loop) == 3
    assert list(of_loop.values()) == pytest.approx([100] * 3, abs=0.5)


def test_waiting_for_input_is_a_share_of_each_loop(ranks):
    waits = dict(ranks.execute(query_after("How much of the recording")).fetchall())
    assert len(waits) == 3
    for thread, percent in waits.items():
        begin, end, waited = ranks.execute(
            "SELECT min(start_ns), max(start_ns + dur_ns), sum(iif(kind = 1, dur_ns, 0)) FROM phase"
            " WHERE thread_id = ?",
            (thread,),
        ).fetchone()
        assert percent == pytest.approx(100 * waited / (end - begin), abs=0.06)


def test_each_step_is_bound_by_one_kind(ranks):
    counted = defaultdict(int)
    for thread, _, _, steps, _ in ranks.execute(query_after("What bounds single steps")):
        counted[thread] += steps
    steady = "SELECT thread_id, count(*) FROM step WHERE steady GROUP BY thread_id"
    assert dict(counted) == dict(ranks.execute(steady).fetchall())
