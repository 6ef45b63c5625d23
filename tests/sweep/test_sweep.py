"""`stepscope sweep` from end to end: what it measures of a real program at real settings, and bad input."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import hostile
import pytest

from sweeping import SLOW, assert_one_line, quoted

pytestmark = pytest.mark.shares

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


def test_why_a_process_was_not_recorded_is_said(sweep):
    limited = ["sh", "-c", 'ulimit -v 40000; exec "$@"', "sh", sweep.program, "--batch", "{batch}"]
    done = hostile.run(
        [sweep.stepscope, "sweep", "-o", sweep.store, "-p", "batch=1,2", "--", *limited]
    )
    assert_one_line(done, 3, "every setting failed", "no rings fit, so it is not recorded")


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


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid, program, says",
    [
        (["-p", "batch=1,2"], ("--batch", "{btach}"), "{btach} is not a parameter; known: {batch}"),
        (
            ["-p", "batch=1,2", "-p", "length=8"],
            ("--batch", "{batch}"),
            "-p length: the command has no {length}",
        ),
        (["-p", "batch="], ("--batch", "{batch}"), "has no values"),
        ([], ("--batch", "1"), "nothing to sweep"),
        (["-p", "batch=1,2"], ("--batch", "{batch"), "unmatched brace"),
        (["-p", "batch=1,2", "--memory-limit", "lots"], ("--batch", "{batch}"), "not a size"),
        (
            ["-p", "batch=1,2", "--samples-per-step", "x"],
            ("--batch", "{batch}"),
            "not a product of numbers",
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
