"""`stepscope sweep` from end to end: a real program at real settings, and everything that can go wrong with that."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hostile

pytestmark = pytest.mark.shares

GRID = ["-p", "batch=1,2,4"]


@pytest.fixture(scope="session")
def settings(build_dir):
    """A program whose steps cost and hold what its arguments say."""
    found = build_dir / "tests/sweep/settings"
    if not found.exists():
        pytest.fail(f"{found} is not there: build it first")
    return found


class Sweep:
    """Sweeps of one program into one store."""

    def __init__(self, stepscope, program, folder):
        self.stepscope, self.program, self.folder = stepscope, program, folder
        self.store, self.log = folder / "sweep.db", folder / "log"

    def command(self, *options, grid=GRID, program=("--batch", "{batch}"), repeats=2):
        return [
            str(word)
            for word in (
                self.stepscope,
                "sweep",
                "-o",
                self.store,
                "--repeats",
                repeats,
                *options,
                *grid,
                "--",
                self.program,
                "--log",
                self.log,
                *program,
            )
        ]

    def run(self, *options, **more):
        return hostile.run(self.command(*options, **more))

    def query(self, text):
        return hostile.query(self.store, text)

    def started(self):
        """The batch of each process that was started, in order."""
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    def shown(self):
        done = hostile.run([self.stepscope, "sweep", "show", self.store, "--json"])
        assert done.code == 0, done.err
        return json.loads(done.out)


@pytest.fixture
def sweep(stepscope, settings, tmp_path):
    return Sweep(stepscope, settings, tmp_path)


def assert_one_line(done, code, *parts):
    assert done.code == code, done.err
    (line,) = done.err.splitlines()
    for part in parts:
        assert part in line
    return line


# --- what it measures -----------------------------------------------------------------------------


def test_every_setting_is_measured_in_processes_of_its_own(sweep):
    done = sweep.run(
        "--json",
        grid=["-p", "batch=1..4*2", "-p", "format=fast,slow"],
        program=("--batch", "{batch}", "--format", "{format}", "--wait-us", 500, "--steps", 30),
    )
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result == sweep.shown()
    assert result["schema"] == "stepscope.sweep/1"
    assert result["runs"] == {"made": 12, "planned": 12}
    assert sorted(sweep.started()) == sorted([1, 2, 4] * 4)
    for cell in result["cells"]:
        figures = cell["figures"]
        assert cell["outcome"] == "ok" and cell["runs"] == 2
        assert figures["samples_per_step"] == cell["values"]["batch"]
        assert figures["step_ns"]["p50"] <= figures["step_ns"]["p99"]
        assert 0 < figures["input_share"] < 1
        assert figures["peak_rss_bytes"] > 1e6
    # Twice the work in a step: told apart, whatever else runs on the machine.
    (comparison,) = result["comparisons"]
    assert [level["name"] for level in comparison["levels"]] == ["fast", "slow"]
    assert comparison["settings"] == 3


def test_the_figures_are_those_of_the_store(sweep):
    done = sweep.run("--json", program=("--batch", "{batch}", "--steps", 50))
    cells = json.loads(done.out)["cells"]
    rows = sweep.query(
        "SELECT mean_ns, p50_ns, p99_ns, steps, input_share, peak_rss_bytes FROM cell_stats ORDER BY cell_id"
    )
    assert len(rows) == len(cells) == 3
    for row, cell in zip(rows, cells):
        figures = cell["figures"]
        assert row[0] == pytest.approx(figures["step_ns"]["mean"]["value"], rel=1e-9)
        assert row[1:4] == (figures["step_ns"]["p50"], figures["step_ns"]["p99"], figures["steps"])
        assert row[4] == pytest.approx(figures["input_share"], rel=1e-9)
        assert row[5] == figures["peak_rss_bytes"]


def test_the_order_is_shuffled_and_that_of_its_seed(sweep):
    grid = ["-p", "batch=1..12"]
    sweep.run("--seed", 5, grid=grid, program=("--batch", "{batch}", "--steps", 5))
    first = sweep.started()
    assert sorted(first[:12]) == sorted(first[12:]) == list(range(1, 13)), (
        "each round has every setting once"
    )
    assert first[:12] != list(range(1, 13)) and first[:12] != first[12:]
    sweep.log.unlink()
    sweep.run("--seed", 5, "--restart", grid=grid, program=("--batch", "{batch}", "--steps", 5))
    assert sweep.started() == first


def test_peak_memory_grows_as_the_program_holds_more(sweep):
    sweep.run(program=("--batch", "{batch}", "--hold-mib", 32))
    one, two, four = [cell["figures"]["peak_rss_bytes"] for cell in sweep.shown()["cells"]]
    assert two - one == pytest.approx(32 << 20, rel=0.1)
    assert four - two == pytest.approx(64 << 20, rel=0.1)


def test_variants_are_compared(sweep):
    done = hostile.run(
        [
            sweep.stepscope,
            "sweep",
            "-o",
            sweep.store,
            "--repeats",
            2,
            "--json",
            "--variant",
            f"old='{sweep.program}' --fixed-us 900 --steps 30",
            "--variant",
            f"new='{sweep.program}' --fixed-us 300 --steps 30",
        ]
    )
    assert done.code == 0, done.err
    (comparison,) = json.loads(done.out)["comparisons"]
    assert comparison["of"] == "variant"
    assert [level["name"] for level in comparison["levels"]] == ["new", "old"]


def test_warm_up_is_as_many_steps_as_asked_for(sweep):
    sweep.run("--warmup", 7, program=("--batch", "{batch}", "--steps", 20))
    assert sweep.query(
        "SELECT DISTINCT sum(steady), sum(NOT steady) FROM step GROUP BY run_id"
    ) == [(13, 7)]


def test_a_python_program_without_torch_has_no_steps_and_is_told_so(sweep):
    done = hostile.run(
        [
            sweep.stepscope,
            "sweep",
            "-o",
            sweep.store,
            "-p",
            "n=1,2",
            "--",
            sys.executable,
            "-c",
            "print({n})",
        ]
    )
    assert_one_line(done, 3, "every setting failed", "nothing was recorded")


def test_recordings_are_kept_on_demand(sweep):
    sweep.run("--keep-runs", repeats=1)
    kept = sorted(path.name for path in pathlib.Path(f"{sweep.store}.runs").glob("*.db"))
    assert kept == ["cell1-1.db", "cell2-1.db", "cell3-1.db"]
    analyzed = hostile.run([sweep.stepscope, "analyze", f"{sweep.store}.runs/cell1-1.db", "--json"])
    assert json.loads(analyzed.out)["steps"]["count"] == 40


def test_nothing_else_is_left_behind(sweep, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = hostile.run(sweep.command(repeats=1), {"TMPDIR": str(temporary)})
    assert done.code == 0
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "sweep.db", "tmp"]


# --- settings that fail ---------------------------------------------------------------------------


def test_a_crash_makes_the_setting_not_available(sweep):
    done = sweep.run(program=("--batch", "{batch}", "--fail-above", 2))
    assert done.code == 0, done.err
    assert "N/A  batch=4: exit code 2: settings: a batch of 4 is too much" in done.out
    last = sweep.shown()["cells"][2]
    assert (last["outcome"], last["figures"]) == ("crashed", None)
    assert sweep.started().count(4) == 1, "it is not tried again"
    assert sweep.query("SELECT error_tail, exit_code FROM run WHERE outcome != 'ok'") == [
        ("settings: a batch of 4 is too much\n", 2)
    ]


def test_a_time_limit(sweep):
    done = sweep.run(
        "--timeout",
        0.7,
        "-p",
        "sleep=0,30",
        grid=["-p", "batch=1"],
        program=("--batch", "{batch}", "--sleep", "{sleep}"),
        repeats=1,
    )
    assert done.code == 0, done.err
    assert "sleep=30 batch=1: took longer than 0.7 s" in done.out
    assert sweep.query("SELECT outcome FROM run ORDER BY cell_id") == [("ok",), ("timed-out",)]


def largest_that_runs(sweep, limit):
    """By trying, with the same limit: the largest batch whose program ends well."""
    low, high = 1, 64
    while high - low > 1:
        middle = (low + high) // 2
        done = subprocess.run(
            [
                sweep.stepscope,
                "sweep",
                "-o",
                sweep.folder / f"try{middle}.db",
                "--repeats",
                "1",
                "--memory-limit",
                limit,
                "-p",
                f"batch=1,{middle}",
                "--json",
                "--",
                sweep.program,
                "--batch",
                "{batch}",
                "--hold-mib",
                "16",
                "--steps",
                "5",
            ],
            capture_output=True,
            text=True,
        )
        fits = json.loads(done.stdout)["cells"][1]["outcome"] == "ok"
        low, high = (middle, high) if fits else (low, middle)
    return low


def test_out_of_memory_and_the_largest_batch_that_would_have_fitted(sweep):
    done = sweep.run(
        "--memory-limit",
        "600M",
        grid=["-p", "batch=2,4,8,12,60"],
        program=("--batch", "{batch}", "--hold-mib", 16, "--steps", 200, "--fixed-us", 1000),
    )
    assert done.code == 0, done.err
    result = sweep.shown()
    last = result["cells"][4]
    assert last["outcome"] == "out-of-memory" and "std::bad_alloc" in last["cause"]
    memory = result["scans"][0]["memory"]
    assert memory["of"] == "address space" and memory["limit_bytes"] == 600 << 20
    assert memory["smallest_that_failed"] == 60
    assert memory["each_bytes"] == pytest.approx(16 << 20, rel=0.02)
    truth = largest_that_runs(sweep, "600M")
    assert abs(memory["largest"] - truth) <= 1
    assert memory["ci95"][0] - 1 <= truth <= memory["ci95"][1] + 1


def test_comparisons_leave_a_setting_out_for_all(sweep):
    done = sweep.run(
        "--json",
        grid=["-p", "batch=1,2,4", "-p", "format=fast,slow", "-p", "above=3,9"],
        program=("--batch", "{batch}", "--format", "{format}", "--crash-above", "{above}"),
    )
    (comparison,) = json.loads(done.out)["comparisons"]
    assert comparison["of"] == "format" and comparison["settings"] == 5
    assert comparison["left_out"] == ["batch=4 above=3"]


def test_when_every_setting_fails_it_says_so_after_one_round(sweep):
    done = sweep.run(program=("--batch", "{batch}", "--fail-above", 0))
    assert_one_line(
        done, 3, "every setting failed in the first round", "exit code 2: settings: a batch of"
    )
    assert len(sweep.started()) == 3
    # Once the program is mended, the same command goes on.
    mended = sweep.folder / "mended"
    mended.write_text(f'#!/bin/sh\nshift 4\nexec {sweep.program} --batch "$@"\n')
    mended.chmod(0o755)
    again = hostile.run(
        [str(mended) if word == str(sweep.program) else word for word in sweep.command()]
    )
    assert_one_line(again, 2, "another command")


def test_failures_are_tried_again_on_demand(sweep):
    broken = sweep.folder / "broken"
    program = sweep.folder / "program"
    program.write_text(
        f'#!/bin/sh\n[ -e {broken} ] && [ "$2" = 4 ] && exit 9\nexec {sweep.program} "$@"\n'
    )
    program.chmod(0o755)
    broken.touch()
    command = [
        str(program) if word == str(sweep.program) else word for word in sweep.command(program=())
    ]
    command = command[:-2] + ["--batch", "{batch}"]
    assert "exit code 9" in hostile.run(command).out
    broken.unlink()
    assert "N/A" in hostile.run(command).out, "without being asked it stays as it is"
    retried = hostile.run([*command[:2], "--retry", *command[2:]])
    assert "N/A" not in retried.out and retried.code == 0
    assert sweep.query("SELECT count(*), sum(outcome = 'ok') FROM run") == [(6, 6)]


# --- stopping and going on ------------------------------------------------------------------------


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


SLOW = {"program": ("--batch", "{batch}", "--steps", 300, "--fixed-us", 1000)}


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
    assert "the same command goes on" in line
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
    assert_one_line(sweep.run(**SLOW), 3, "somebody is writing into it")
    started.terminate()
    started.communicate(timeout=60)


def test_another_sweep_is_refused_and_restart_keeps_the_former(sweep):
    sweep.run()
    others = [{"grid": ["-p", "batch=1,2"]}, {"program": ("--batch", "{batch}", "--steps", 9)}]
    for other in others:
        assert_one_line(sweep.run(**other), 2, "holds a sweep of another", "--restart")
    assert sweep.query("SELECT count(*) FROM run") == [(6,)]
    assert sweep.run("--restart", **others[0]).code == 0
    assert sweep.query("SELECT count(*) FROM run") == [(4,)]
    assert hostile.query(f"{sweep.store}.old", "SELECT count(*) FROM run") == [(6,)]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid, program, says",
    [
        (["-p", "batch=1,2"], ("--batch", "{btach}"), "{btach} is no parameter; there is {batch}"),
        (
            ["-p", "batch=1,2", "-p", "length=8"],
            ("--batch", "{batch}"),
            "-p length: the command has no {length}",
        ),
        (["-p", "batch="], ("--batch", "{batch}"), "has no values"),
        ([], ("--batch", "1"), "nothing to sweep"),
        (["-p", "batch=1,2"], ("--batch", "{batch"), "a brace alone"),
        (["-p", "batch=1,2", "--memory-limit", "lots"], ("--batch", "{batch}"), "not a size"),
        (
            ["-p", "batch=1,2", "--samples-per-step", "x"],
            ("--batch", "{batch}"),
            "no product of numbers",
        ),
    ],
)
def test_what_is_no_sweep_is_refused_before_anything_runs(sweep, grid, program, says):
    assert_one_line(sweep.run(grid=grid, program=program), 2, says)
    assert not sweep.store.exists() and not sweep.started()


def test_a_program_that_is_not_there(sweep):
    done = hostile.run(
        [
            sweep.stepscope,
            "sweep",
            "-o",
            sweep.store,
            "-p",
            "n=1,2",
            "--",
            "./no-such-program",
            "{n}",
        ]
    )
    assert_one_line(done, 3, "./no-such-program: no such")
    assert not sweep.store.exists()


def test_other_files_are_left_alone(sweep):
    sweep.store.write_text("mine")
    assert_one_line(sweep.run(), 3, "not a Stepscope store")
    assert_one_line(sweep.run("--restart"), 3, "not a Stepscope store")
    assert sweep.store.read_text() == "mine"
    recording = sweep.folder / "run.db"
    hostile.run([sweep.stepscope, "run", "--quiet", "-o", recording, "--", sweep.program])
    assert_one_line(
        hostile.run([sweep.stepscope, "sweep", "show", recording]), 3, "a recording, not a sweep"
    )


@pytest.mark.parametrize(
    "verb",
    [
        ["analyze"],
        ["export", "-o", "x.json"],
        ["compare", "{}"],
        ["what-if", "--input", "prefetched"],
        ["report", "--baseline", "{}"],
        ["control", "status"],
    ],
)
def test_other_verbs_say_that_it_is_a_sweep(sweep, verb, tmp_path):
    sweep.run(repeats=1)
    words = [str(sweep.store) if word == "{}" else word for word in verb[1:]]
    words = [str(tmp_path / word) if word.endswith(".json") else word for word in words]
    done = hostile.run([sweep.stepscope, verb[0], sweep.store, *words])
    assert done.code in (2, 3)
    (line,) = done.err.splitlines()
    assert "sweep" in line.split(str(sweep.store))[1], line


def in_small_disk(sweep, size, script):
    """The script, in a shell, with a file system of its own at sweep.folder/disk."""
    disk, kept = sweep.folder / "disk", sweep.folder / "kept"
    disk.mkdir()
    kept.mkdir()
    mount = f"mount -t tmpfs -o size={size} none {disk} && {{ {script}; code=$?; cp {disk}/*.db {kept}/ 2>/dev/null; exit $code; }}"
    around = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or hostile.run([*around, f"mount -t tmpfs none {disk}"]).code != 0
    ):
        pytest.skip("no file system can be mounted here (unshare --user --mount)")
    return hostile.run([*around, mount]), kept / "sweep.db"


def quoted(words):
    return " ".join(f"'{word}'" for word in words)


def test_a_full_disk_under_the_sweep_loses_nothing_measured(sweep):
    sweep.store = sweep.folder / "disk/sweep.db"
    command = sweep.command(
        repeats=300, program=("--batch", "{batch}", "--steps", 400, "--fixed-us", 1)
    )
    full, kept = in_small_disk(sweep, "400k", quoted(command))
    assert_one_line(full, 3, "the disk is full")
    assert hostile.query(kept, "PRAGMA integrity_check") == [("ok",)]
    ((runs,),) = hostile.query(kept, "SELECT count(*) FROM run")
    assert runs > 0
    assert hostile.query(
        kept, "SELECT DISTINCT c FROM (SELECT count(*) AS c FROM step GROUP BY run_id)"
    ) == [(400,)]
    # With room again, the same sweep goes on.
    shutil.copy(kept, sweep.folder / "sweep.db")
    sweep.store = sweep.folder / "sweep.db"
    more = sweep.run(
        repeats=runs // 3 + 2, program=("--batch", "{batch}", "--steps", 400, "--fixed-us", 1)
    )
    assert more.code == 0, more.err
    assert sweep.query("SELECT count(*) FROM run") == [(3 * (runs // 3 + 2),)]


def test_a_full_disk_under_the_recordings_is_no_fault_of_a_setting(sweep):
    command = sweep.command(
        repeats=1,
        program=("--batch", "{batch}", "--steps", 200_000, "--fixed-us", 0, "--each-us", 0),
    )
    command[command.index("-o") + 1] = str(sweep.folder / "disk/../sweep.db")
    full, _ = in_small_disk(sweep, "3m", f"TMPDIR={sweep.folder}/disk {quoted(command)}")
    assert_one_line(full, 3, "disk is full")
    assert sweep.query("SELECT count(*) FROM run") == [(0,)]


# --- on a terminal --------------------------------------------------------------------------------


def test_progress_is_for_terminals_only(sweep):
    assert sweep.run().err == ""
    sweep.store = sweep.folder / "other.db"
    script = shutil.which("script")
    if script is None:
        pytest.skip("no `script` to make a terminal")
    command = quoted(sweep.command(**SLOW))
    shown = subprocess.run(
        [script, "-qec", f"{command} > /dev/null", "/dev/null"],
        capture_output=True,
        env=os.environ | {"TERM": "xterm"},
    ).stdout.decode()
    assert "sweep: run " in shown and " of 6 · batch=" in shown
    assert shown.endswith("\r\x1b[K"), "and gone at the end"
