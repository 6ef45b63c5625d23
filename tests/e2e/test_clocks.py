"""A program whose clocks are not the recorder's: its ops are recorded all the same, at the right times."""

import os
import sqlite3
import subprocess

import pytest

pytestmark = pytest.mark.torch

BATCHES = 60


@pytest.fixture
def record(tmp_path, stepscope, cpp_programs):
    """Runs a program wrapped, in `surroundings` of its own; returns the path of the store."""

    def record(surroundings=(), environment=None):
        store = tmp_path / "run.db"
        program = [
            cpp_programs,
            "reader",
            "--batches",
            BATCHES,
            "--stall-ms",
            0,
            "--own",
            tmp_path / "own.json",
        ]
        command = [stepscope, "run", "-o", store, "--quiet", "--", *surroundings, *program]
        done = subprocess.run(
            [str(word) for word in command],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return store

    return record


def assert_recorded(store):
    with sqlite3.connect(store) as opened:

        def one(query):
            return opened.execute(query).fetchone()

        (end,) = one("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'end_ns'")
        (updates,) = one(
            "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'optimizer'"
        )
        assert updates == BATCHES
        ops, first, last = one("SELECT count(*), min(start_ns), max(start_ns + dur_ns) FROM op")
        assert ops > 10 * BATCHES
        assert 0 <= first < last <= end
        assert one("SELECT count(*) FROM loss") == (0,)


@pytest.mark.parametrize("seconds", [100_000, -1])
def test_a_program_in_another_time_namespace(record, seconds):
    unshare = ["unshare", "--time", "--monotonic", seconds, "--boottime", seconds, "--fork"]
    try:
        tried = subprocess.run([*map(str, unshare), "true"], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no unshare")
    if tried.returncode != 0:
        pytest.skip("no time namespace can be made here (unshare --time)")
    assert_recorded(record(unshare))


@pytest.mark.parametrize("shift, rate", [(100_000, 1), (-100_000, 1), (0, 1000), (0, 0)])
def test_a_program_whose_clocks_are_faked(record, build_dir, shift, rate):
    library = build_dir / "tests/hostile/libshifted_clock.so"
    assert library.exists(), "build it first"
    environment = {"STEPSCOPE_TEST_SHIFT": str(shift), "STEPSCOPE_TEST_RATE": str(rate)}
    preload = ["sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"', library]
    assert_recorded(record(preload, environment))
