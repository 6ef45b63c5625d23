"""`stepscope sweep` where settings fail, or the disk is full."""

import json
import shutil
import subprocess

import hostile
import pytest

from sweeping import assert_one_line, quoted

pytestmark = pytest.mark.shares

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


# --- full disks ----------------------------------------------------------------------------------


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
