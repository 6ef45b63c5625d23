"""What the system refuses Stepscope, once: memory, a thread, a file, space. The program does not notice."""

import os
import pathlib
import random
import resource
import shutil
import tempfile

import pytest

import fail_once
import hostile

CALLS = 80  # of each mode; bench/death/fail_once.py tries all of them


@pytest.mark.parametrize("mode", fail_once.MODES)
def test_one_call_fails(build_dir, programs, mode):
    seed = random.randrange(2**32)
    print(
        f"seed {seed}: bench/death/fail_once.py --mode {mode} --sample {CALLS} --seed {seed} does the same"
    )
    outcomes = list(fail_once.fail_each(build_dir, mode, CALLS, seed))
    assert [f"{outcome.fault}: {wrong}" for outcome, wrong in outcomes if wrong] == []
    assert sum(outcome.failed for outcome, _ in outcomes) > CALLS * 3 // 4, (
        "most of them were made again, and failed"
    )


def test_too_few_addresses_for_a_recording(program, tmp_path):
    """From too few for the rings to enough for all of it, and in between too few for the recorder."""
    arguments = [program, "noting-threads", 3, 100]
    # glibc reserves 128 MiB for a moment when a thread allocates for the first time. Near that limit
    # the program itself sometimes fails to start its next thread.
    one_arena = {"MALLOC_ARENA_MAX": "1"}
    bare = hostile.run(arguments, one_arena)
    for mib in range(60, 500, 20):
        limited = ["sh", "-c", f'ulimit -v {mib << 10}; exec "$@"', "sh", *arguments]
        done = hostile.run([*limited, tmp_path / "run.db"], one_arena)
        assert (done.code, done.out) == (bare.code, bare.out), f"with {mib} MiB: {done.err}"
        assert done.err.splitlines() == done.said
        if not (tmp_path / "run.db").exists():
            assert done.said, f"with {mib} MiB: not recorded, and nobody says so"


@pytest.fixture
def own_copy(program, library):
    """The program, its libraries and room for a store, where any user may use them."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        shutil.copy(program, copy)
        shutil.copytree(
            library.parent,
            copy / "lib",
            symlinks=True,
            ignore=shutil.ignore_patterns("torch-*", "python*"),
        )
        for path in [copy, *copy.rglob("*")]:
            path.chmod(0o777)
        yield copy


def test_no_thread_for_a_recording(own_copy):
    """The recorder's thread is one process too many."""

    def limit():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

    arguments = [own_copy / "hostile", "noting-threads", 0, 100]
    store = own_copy / "run.db"
    done = hostile.run(
        [*arguments, store], {"LD_LIBRARY_PATH": str(own_copy / "lib")}, preexec_fn=limit
    )
    assert (done.code, done.out) == (21, "all have noted\n"), done.err
    assert any("no thread could be started" in line and str(store) in line for line in done.said), (
        done.err
    )
    assert not store.exists()
