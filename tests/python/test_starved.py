"""Programs whose threads have no core: the share is that of the program's own schedstat, and what was starved is called
neither input nor blocked.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import recorded
from pythons import Python

pytestmark = [pytest.mark.torch, pytest.mark.shares, pytest.mark.usefixtures("python_ops")]
pytest.importorskip("torch", reason="pip install torch")

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/starved.py"
SPIN = "while True: pass"
BUSY = "other programs had the cores"

if not os.path.exists("/proc/thread-self/schedstat"):
    pytest.skip("the kernel does not say how threads are scheduled", allow_module_level=True)


@pytest.fixture
def busy_processes():
    """Starts processes that use all the CPU time they get."""
    started = []

    def start(count):
        started.extend(subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count))

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def run(tmp_path, stepscope):
    """Records the program and tries again while it misses: `wrong` says what is wrong, "" for nothing."""

    def run(kind, steps, threads, wrong):
        for attempt in range(recorded.ATTEMPTS):
            folder = tmp_path / str(attempt)
            folder.mkdir()
            python = Python(folder)
            python.options = []
            wrapper = [stepscope, "run", "-o", "run.db", "--quiet", "--"]
            arguments = [PROGRAM, kind, str(steps), str(threads), "own.json"]
            python.run_arguments(*arguments, wrapper=wrapper, timeout=300)
            done = recorded.analyze(stepscope, folder)
            own = done.own()
            missed = wrong(done.loop_of(own["pid"], own["tid"]), own["share"])
            if not missed:
                return
        if missed == BUSY:
            pytest.skip(f"{recorded.ATTEMPTS} times: {missed}")
        pytest.fail(f"{recorded.ATTEMPTS} times: {missed}")

    return run


def test_the_share_is_that_of_the_threads_own_schedstat(run, busy_processes):
    busy_processes(2 * os.cpu_count())

    def wrong(loop, own_share):
        said = loop["starvation"]["loop_share"]
        if abs(said - own_share) > recorded.POINT:
            return f"share {said:.4f}, own {own_share:.4f}"
        starved = own_share >= 0.22
        if starved and loop["verdict"]["kind"] not in ("cpu-starved", "input-bound"):
            return loop["verdict"]["why"]
        if starved and loop["starvation"]["cores"]["taken_by"] != "others":
            return str(loop["starvation"]["cores"])
        split = loop["input"]
        if split["starved_share"] < 0.05 or split["blocked_share"] > 0.05:
            return f"a wait that only works: {split}"
        return ""

    run("loader", 400, 1, wrong)


def test_a_program_without_a_loader_beside_busy_loops_is_not_input_bound(run, busy_processes):
    busy_processes(2)

    def wrong(loop, own_share):
        verdict = loop["verdict"]
        low, high = verdict["ci95"]
        # An inferred pause may have been no wait. What it was starved must not count twice.
        if verdict["kind"] == "cpu-starved" and not low <= verdict["share"] <= high:
            return f"{verdict['share']:.4f} is not between {low:.4f} and {high:.4f}"
        return verdict["why"] if verdict["kind"] == "input-bound" else ""

    run("plain", 400, 1, wrong)


def test_a_quiet_machine_starves_nobody(run):
    def wrong(loop, own_share):
        said = loop["starvation"]["share"]
        if own_share < 0.05 and said >= 0.10:
            return f"share {said:.4f}, own {own_share:.4f}"
        # Other programs may have had the cores meanwhile: the thread itself says so.
        return BUSY if own_share >= 0.05 else ""

    run("plain", 400, 1, wrong)
