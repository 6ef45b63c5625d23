"""A recording that starts while its program exits does no harm: libtorch may no longer be called then."""

import subprocess

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def run(build_dir, tmp_path):
    program = build_dir / "tests/e2e/exits"
    if not program.exists():
        pytest.skip("built without libtorch")

    def run(kind):
        done = subprocess.run(
            [program, kind, "run.db"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 7, (done.returncode, done.stderr)
        return done

    return run


def test_a_static_object_cannot_start_one(run, tmp_path):
    done = run("static")
    refusal = "run.db: not recorded: the program has begun to exit; start the recording before main() returns"
    assert done.stdout == refusal + "\n"
    assert done.stderr == f"stepscope: {refusal}\n"
    assert not (tmp_path / "run.db").exists()


def test_a_thread_that_starts_one_after_another(run):
    for _ in range(10):
        run("thread")


def test_the_end_of_the_main_thread_alone_is_no_exit(run, tmp_path):
    assert run("main-thread-ends").stdout == "recorded\n"
    assert (tmp_path / "run.db").exists()
