"""The program dies, or the recorder does, or its disk is full: what was written is in the store, and the program's
result is what it would have been.
"""

import json
import os
import pathlib
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hostile
import kill_many

KILLS = 100
FEWER_KILLS = 12
MOST_KILLS = (
    300  # on a machine that is too busy for a recorder to commit anything in its first half second
)


def integrity(store):
    (answer,) = hostile.query(store, "PRAGMA integrity_check")[0]
    return answer


# --- the program dies ----------------------------------------------------------------------------


def test_killed_a_hundred_times_at_random(stepscope, program):
    seed = random.randrange(2**32)
    print(f"seed {seed}: bench/death/kill_many.py --seed {seed} does the same")
    deaths = list(kill_many.kill_many(stepscope, program, KILLS, seed))
    assert [death.missing() for death in deaths if death.missing()] == []
    assert sum(sum(death.written) for death in deaths) > KILLS * 100, (
        "most of them lived long enough to write"
    )


@pytest.mark.parametrize("victim", ["recorder", "both", "embedded"])
def test_the_recorder_is_killed_at_random(stepscope, program, victim):
    """The store is an unbroken beginning of what was written, and a program that is left goes on."""
    seed = random.randrange(2**32)
    print(f"seed {seed}: bench/death/kill_many.py --seed {seed} --victim {victim} does the same")
    deaths = []
    for death in kill_many.kill_many(stepscope, program, MOST_KILLS, seed, victim):
        deaths.append(death)
        assert death.missing() == ""
        if len(deaths) >= FEWER_KILLS and any(
            sum(death.store.scopes) for death in deaths if death.store
        ):
            return
    pytest.fail(f"no recorder lived to see a commit in {MOST_KILLS} runs")


@pytest.mark.parametrize("victim", ["program", "recorder", "both", "embedded"])
def test_killed_at_random_on_a_full_disk(build_dir, program, victim):
    """What is stored and what is stated as lost make up what was written; of a dead recorder, a beginning is there."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or hostile.run([*unshare, "true"]).code != 0:
        pytest.skip("no file system can be mounted here (unshare --user --mount)")
    done = hostile.run(
        [
            sys.executable,
            kill_many.__file__,
            "--build",
            build_dir,
            "--kills",
            FEWER_KILLS,
            "--victim",
            victim,
            "--full-disk",
        ]
    )
    print(done.out)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "how, end",
    [
        ("segv", ("signal", signal.SIGSEGV)),
        ("abort", ("signal", signal.SIGABRT)),
        ("throw", ("signal", signal.SIGABRT)),
        ("_exit", ("exit", 9)),
    ],
)
def test_death_in_the_middle_of_a_step(wrapper, program, how, end):
    done = wrapper.compare(program, "dies", how)
    assert done.scopes() == {"work": 7, "last": 3}
    assert done.ends() == [end]
    assert done.rows("SELECT step, out_of_memory FROM process_end") == [(8, 0)]


def test_no_memory_by_a_limit(wrapper, program):
    done = wrapper.compare(
        "sh", "-c", 'ulimit -v 600000; exec "$@"', "sh", program, "dies", "memory"
    )
    assert done.scopes() == {"work": 7, "last": 3}
    assert done.ends() == [("signal", signal.SIGABRT)]


def limit_group(group, files):
    """Makes the group; what is not in FILES here (swap, in a kernel without) cannot be limited."""
    group.mkdir()
    for name, value in files.items():
        if (group / name).exists():
            (group / name).write_text(str(value))


@pytest.fixture
def memory_cgroup():
    """A group of processes with 64 MiB, of cgroup v2 or v1."""
    root = pathlib.Path("/sys/fs/cgroup")
    most = 64 << 20
    controllers = root / "cgroup.subtree_control"
    if controllers.exists() and "memory" in controllers.read_text().split():
        parent, files = root, {"memory.max": most, "memory.oom.group": 0, "memory.swap.max": 0}
    else:
        # In this order: with swap can never be less than without.
        parent, files = (
            root / "memory",
            {"memory.limit_in_bytes": most, "memory.memsw.limit_in_bytes": most},
        )
    if not (parent / "cgroup.procs").exists():
        pytest.skip("no memory controller for groups of processes here")
    group = parent / f"stepscope-test-{os.getpid()}"
    try:
        limit_group(group, files)
    except OSError as error:
        pytest.skip(f"no group of processes can be made here: {error}")
    yield group
    group.rmdir()


def test_the_out_of_memory_killer(wrapper, program, memory_cgroup):
    joins = f'echo $$ > {memory_cgroup}/cgroup.procs; exec "$@"'
    done = wrapper.compare("sh", "-c", joins, "sh", program, "dies", "memory")
    assert done.scopes() == {"work": 7, "last": 3}
    assert done.rows("SELECT how, code, out_of_memory FROM process_end") == [
        ("signal", signal.SIGKILL, 1)
    ]


# --- the recorder dies ---------------------------------------------------------------------------


def start(wrapper, tmp_path, *program):
    """The wrapper around a program whose exit code is told on its standard output, once it has stored something."""
    store = wrapper.next_store()
    tells = ["sh", "-c", '"$@"; echo exit code $?', "sh"]
    command = [str(word) for word in wrapper.command(store, *tells, *program)]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    deadline = time.monotonic() + 60
    while not (
        store.exists()
        and hostile.query(store, "SELECT count(*) FROM phase", otherwise=[(0,)])[0][0]
    ):
        assert time.monotonic() < deadline and started.poll() is None, started.communicate()
        time.sleep(0.01)
    return started, store


def read_until(stream, end, seconds=60):
    text = ""
    while not text.endswith(end):
        ready, _, _ = select.select([stream], [], [], seconds)
        assert ready, f"nothing for {seconds} s after {text!r}"
        text += os.read(stream.fileno(), 4096).decode()
    return text


def result_without_us(program):
    bare = hostile.run(program)
    return f"{bare.out}exit code {bare.code}\n"


def test_the_recorder_is_killed(wrapper, program, tmp_path):
    loop = [program, "steps", 1500, 1000]
    started, store = start(wrapper, tmp_path, *loop)
    started.kill()
    out, _ = started.communicate(
        timeout=60
    )  # until the program, which has the other end, is through
    assert out == result_without_us(loop)
    assert integrity(store) == "ok"
    assert 0 < hostile.scopes_in(store)["work"] < 1500
    analyzed = hostile.run([wrapper.stepscope, "analyze", "--json", store])
    assert "its recorder died" in json.loads(analyzed.out)["run"]["incomplete"]
    page = hostile.run([wrapper.stepscope, "analyze", store]).out
    assert "nothing lost" not in page and "its recorder died" in page


def test_the_recorder_is_stopped(wrapper, program, tmp_path):
    """It reads no more, and the program does not wait for it."""
    loop = [program, "steps", 1500, 1000]
    started, store = start(wrapper, tmp_path, *loop)
    started.send_signal(signal.SIGSTOP)
    try:
        out = read_until(
            started.stdout, "exit code 17\n"
        )  # not to its end: the recorder has that open
    finally:
        started.send_signal(signal.SIGCONT)
    assert started.wait(timeout=60) == 0
    assert out == result_without_us(loop)
    assert hostile.scopes_in(store) == {"work": 1500}, "its ring held them"


def test_the_program_is_stopped(wrapper, program, tmp_path):
    """The step in which it stood still says nothing about its steps."""
    started, store = start(wrapper, tmp_path, program, "steps", 1500, 1000)
    (shell,) = children_of(started.pid)
    (stopped,) = children_of(shell)
    os.kill(stopped, signal.SIGSTOP)
    counted = (
        "SELECT count(*) FROM sample JOIN string ON string.id = name_id WHERE text = 'stopped'"
    )
    deadline = time.monotonic() + 60
    while hostile.query(store, counted, otherwise=[(0,)])[0][0] < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(stopped, signal.SIGCONT)
    out, _ = started.communicate(timeout=60)
    assert out.endswith("exit code 17\n")
    analyzed = json.loads(hostile.run([wrapper.stepscope, "analyze", "--json", store]).out)
    (loop,) = analyzed["loops"]
    assert loop["steps"]["with_stops"] == 1
    assert (
        "1 call in which a signal had stopped the program"
        in hostile.run([wrapper.stepscope, "analyze", store]).out
    )


def children_of(pid):
    return [
        int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


# --- the analysis at its end ---------------------------------------------------------------------


def test_a_signal_ends_the_analysis(wrapper, program, tmp_path):
    store = wrapper.next_store()
    loop = [program, "steps", 150_000, 5]
    command = wrapper.command(store, "sh", "-c", 'echo $$; "$@"; exit 7', "sh", *loop)
    command.remove("--quiet")  # which analyses nothing
    started = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    shell = pathlib.Path("/proc", started.stdout.readline().strip())
    while shell.exists():  # a signal before its end is passed on to it
        time.sleep(0.002)
    while started.poll() is None:
        started.terminate()
        time.sleep(0.02)
    assert started.returncode == 7, "the program's"
    assert "interrupted; the recording is complete" in started.stderr.read()
    assert hostile.scopes_in(store) == {"work": 150_000}
    assert not list(tmp_path.glob("stepscope-*"))


def test_a_window_that_no_step_reached(wrapper, program):
    store = wrapper.next_store()
    command = wrapper.command(store, program, "steps", 50, 100)
    command[command.index("--quiet")] = "--no-analysis"
    for window, said in (("51-60", True), ("50-60", False)):
        done = hostile.run([*command[:2], "--steps", window, *command[2:]])
        assert done.code == 17, "the program's"
        assert ("begins after the last step, 50" in done.err) == said, done.err


# --- its disk is full ----------------------------------------------------------------------------


def test_the_recorders_files_may_not_grow(wrapper, program, tmp_path):
    steps = 16000
    loop = [program, "steps", steps, 300]
    started, store = start(wrapper, tmp_path, *loop)
    most = 200_000 + max(path.stat().st_size for path in tmp_path.glob(f"{store.name}*"))
    resource.prlimit(started.pid, resource.RLIMIT_FSIZE, (most, most))
    said = started.stderr.readline()
    assert "recording stopped before the program ended" in said
    status = hostile.run([wrapper.stepscope, "control", store, "status"])
    assert "recording stopped" in status.out and " 0 lost" not in status.out
    assert started.poll() is None, "said at once"
    out, err = started.communicate(timeout=60)
    assert started.returncode == 0
    assert out == result_without_us(loop)
    assert err == ""
    assert integrity(store) == "ok"
    assert 0 < hostile.scopes_in(store)["work"] < steps


class SmallDisk:
    """A file system of its own, gone with the program that runs on it; what was there is kept."""

    def __init__(self, folder, size):
        self.path, self.kept = folder / "disk", folder / "kept"
        self.path.mkdir()
        self.kept.mkdir()
        script = (
            f"mount -t tmpfs -o size={size} none {self.path} &&"
            f' {{ "$@"; code=$?; cp {self.path}/* {self.kept}/; exit $code; }}'
        )
        self.around = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
        if shutil.which("unshare") is None or self.run(["touch", self.path / "there"]).code != 0:
            pytest.skip("no file system can be mounted here (unshare --user --mount)")

    def run(self, command):
        return hostile.run([*self.around, *command])


def assert_what_is_missing_is_counted(store, phases):
    assert integrity(store) == "ok"
    ((stored,),) = hostile.query(store, "SELECT count(*) FROM phase")
    ((missing,),) = hostile.query(store, "SELECT sum(count) FROM loss")
    assert missing > 0 and stored + missing == phases
    ((why,),) = hostile.query(store, "SELECT value FROM meta WHERE key = 'recording_stopped'")
    assert "disk is full" in why


def test_a_full_disk_and_what_is_missing(wrapper, program, tmp_path):
    """What was written to the rings is in the store or counted as missing."""
    disk = SmallDisk(tmp_path, "6m")
    loop = [str(word) for word in (program, "steps", 20000, 100)]
    bare = hostile.run(loop)
    full = disk.run([str(word) for word in wrapper.command(disk.path / "run.db", *loop)])
    assert (full.code, full.out) == (bare.code, bare.out)
    (said,) = full.err.splitlines()
    assert "recording stopped before the program ended" in said and "disk is full" in said
    store = disk.kept / "run.db"
    assert hostile.scopes_in(store)["work"] > 0
    assert_what_is_missing_is_counted(store, 20000 * 2)  # a scope and a step each
    analyzed = hostile.run([wrapper.stepscope, "analyze", store])
    page = " ".join(analyzed.out.split())  # not in lines
    assert "The recording is incomplete" in page and "disk is full" in page


def test_a_full_disk_of_a_program_that_records_itself(program, tmp_path):
    threads, scopes = 3, 40_000
    disk = SmallDisk(tmp_path, "5m")
    full = disk.run([program, "noting-threads", threads, scopes, disk.path / "run.db"])
    assert (full.code, full.out) == (21, "all have noted\n"), full.err
    assert any("disk is full" in line for line in full.said)
    assert_what_is_missing_is_counted(disk.kept / "run.db", threads * scopes + scopes // 10)
