"""`stepscope sweep` stopped, killed, and going on."""

import pathlib
import signal
import subprocess
import time

import hostile
import pytest

from sweeping import SLOW, assert_one_line

pytestmark = pytest.mark.shares


def start_and_wait(sweep, runs, *options, **more):
    """A sweep that has stored so many runs and is going on."""
    started = subprocess.Popen(
        sweep.command(*options, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        hostile.query(sweep.store, "SELECT count(*) FROM run", otherwise=[(0,)])[0][0] < runs
        if sweep.store.exists()
        else True
    ):
        assert time.monotonic() < deadline and started.poll() is None, started.communicate()
        time.sleep(0.01)
    return started


def is_running(pid):
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def children_of(pid):
    return [
        int(entry) for entry in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_keeps_what_it_measured_and_goes_on(sweep, how):
    started = start_and_wait(sweep, 2, **SLOW)
    started.send_signal(how)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 128 + how
    (line,) = err.splitlines()
    assert "run the same command again to resume" in line
    before = sweep.query("SELECT id, cell_id, round, wall_ns FROM run ORDER BY id")
    assert 2 <= len(before) < 6
    assert f"{len(before)} of 6 runs" in out.replace("\n  ", " "), "the result so far is printed"
    done = sweep.run(**SLOW)
    assert done.code == 0, done.err
    after = sweep.query("SELECT id, cell_id, round, wall_ns FROM run ORDER BY id")
    assert after[: len(before)] == before and len(after) == 6
    assert sorted(row[1:3] for row in after) == [
        (cell, round) for cell in (1, 2, 3) for round in (1, 2)
    ]


def test_a_killed_sweep_goes_on_and_leaves_no_process(sweep):
    started = start_and_wait(sweep, 1, **SLOW)
    program = []
    while not program:
        program = children_of(started.pid)
    started.kill()
    started.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in program):
        assert time.monotonic() < deadline, "the program outlived the sweep"
        time.sleep(0.01)
    assert hostile.query(sweep.store, "PRAGMA integrity_check") == [("ok",)]
    before = sweep.query("SELECT id, wall_ns FROM run ORDER BY id")
    done = sweep.run(**SLOW)
    assert done.code == 0, done.err
    after = sweep.query("SELECT id, wall_ns FROM run ORDER BY id")
    assert after[: len(before)] == before and len(after) == 6


def test_a_finished_sweep_starts_nothing(sweep):
    first = sweep.run()
    started = sweep.started()
    again = sweep.run()
    assert (again.code, again.out) == (0, first.out)
    assert sweep.started() == started


def test_more_rounds_go_on_with_what_is_there(sweep):
    sweep.run(repeats=1)
    before = sweep.query("SELECT id, wall_ns FROM run ORDER BY id")
    sweep.run(repeats=3)
    after = sweep.query("SELECT id, wall_ns FROM run ORDER BY id")
    assert after[:3] == before and len(after) == 9


def test_two_cannot_go_on_with_one_sweep(sweep):
    started = start_and_wait(sweep, 1, **SLOW)
    assert_one_line(sweep.run(**SLOW), 3, "another process is writing to it")
    started.terminate()
    started.communicate(timeout=60)


def test_another_sweep_is_refused_and_restart_keeps_the_former(sweep):
    sweep.run()
    others = [{"grid": ["-p", "batch=1,2"]}, {"program": ("--batch", "{batch}", "--steps", 9)}]
    for other in others:
        assert_one_line(sweep.run(**other), 2, "contains a sweep with another", "--restart")
    assert sweep.query("SELECT count(*) FROM run") == [(6,)]
    assert sweep.run("--restart", **others[0]).code == 0
    assert sweep.query("SELECT count(*) FROM run") == [(4,)]
    assert hostile.query(f"{sweep.store}.old", "SELECT count(*) FROM run") == [(6,)]
