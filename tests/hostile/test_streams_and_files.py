"""Standard streams that are closed, files that may not grow, links and pipes where files are expected."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hostile


@pytest.fixture
def recorded(wrapper, program):
    """A store with a few scopes."""
    return wrapper.wrap(program, "note", 30, "noted").store


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream_stays_closed_for_the_program(wrapper, stream):
    closed = ("sh", "-c", f'exec "$@" {stream}>&-', "sh")
    done = wrapper.compare("sh", "-c", "test -e /proc/self/fd/$0", stream, around=closed)
    assert done.code == 1


@pytest.mark.parametrize("verb", ["export", "report"])
def test_a_store_is_not_written_as_standard_output(stepscope, recorded, verb):
    """With standard output closed, the store could get descriptor 1, and the output be written into it."""
    before = recorded.read_bytes()
    done = hostile.run(["sh", "-c", '"$@" >&-', "sh", stepscope, verb, recorded, "-o", "-"])
    assert done.code != 0
    assert recorded.read_bytes() == before


def test_a_signal_to_the_parent_does_not_come_back(wrapper):
    """A server tells its parent that it is ready; the wrapper is its parent now."""
    tell = (
        "import os, signal, time\n"
        "got = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: got.append(1))\n"
        "os.kill(os.getppid(), signal.SIGUSR1)\n"
        "time.sleep(0.5)\n"
        "print(len(got))\n"
    )
    done = wrapper.wrap(sys.executable, "-c", tell)
    assert (done.code, done.out) == (0, "0\n")


def test_exceeding_the_file_size_limit_is_an_error(wrapper, program):
    done = wrapper.wrap(
        program, "note", 30, "noted", around=("sh", "-c", 'ulimit -f 8; exec "$@"', "sh")
    )
    assert done.code == 3
    (line,) = done.err.splitlines()
    assert done.store.name in line
    assert not done.store.exists()


@pytest.mark.parametrize("verb, suffix", [("export", ".json"), ("report", ".html")])
def test_an_output_does_not_follow_a_planted_link(stepscope, recorded, tmp_path, verb, suffix):
    """The name of the unfinished file can be guessed, so anybody may have put something there."""
    output, victim = tmp_path / f"out{suffix}", tmp_path / "victim"
    victim.write_text("mine")
    plant = 'ln -s "$0" "$1.partial-$$"; shift; exec "$@"'
    done = hostile.run(["sh", "-c", plant, victim, output, stepscope, verb, recorded, "-o", output])
    assert done.code == 0, done.err
    assert victim.read_text() == "mine"
    assert output.is_file() and not output.is_symlink()


@pytest.mark.parametrize("verb, suffix", [("export", ".json"), ("report", ".html")])
def test_an_output_is_never_readable_for_more_users(stepscope, recorded, tmp_path, verb, suffix):
    """Who has opened it reads on after its rights are taken away."""
    if not shutil.which("strace"):
        pytest.skip("apt install strace")
    output = tmp_path / f"output{suffix}"
    output.write_text("earlier")
    output.chmod(0o600)
    calls = tmp_path / "calls"
    strace = ["strace", "-f", "-q", "-e", "trace=openat", "-e", "signal=none", "-o", calls]
    done = hostile.run([*strace, stepscope, verb, recorded, "-o", output])
    if "ptrace(" in done.err:
        pytest.skip(f"strace cannot trace here: {done.err}")
    assert done.code == 0
    (made,) = [
        line for line in calls.read_text().splitlines() if "partial" in line and "O_CREAT" in line
    ]
    assert ", 0600) = " in made
    assert output.stat().st_mode & 0o777 == 0o600


def test_a_trace_is_read_from_standard_input(stepscope, tmp_path):
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    store = tmp_path / "run.db"
    done = hostile.run(
        [stepscope, "import", "-", "-o", store], input=json.dumps({"traceEvents": [op]})
    )
    assert done.code == 0, done.err
    assert hostile.query(store, "SELECT count(*) FROM op") == [(1,)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_import_from_a_silent_pipe_can_be_interrupted(stepscope, tmp_path, how):
    pipe = tmp_path / "pipe"
    subprocess.run(["mkfifo", pipe], check=True)
    command = [stepscope, "import", pipe, "-o", tmp_path / "run.db"]
    # A background job of a shell ignores SIGINT, and so would its children.
    child = subprocess.Popen(
        command, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(how, signal.SIG_DFL)
    )
    time.sleep(0.5)
    assert child.poll() is None, "it waits for the pipe"
    child.send_signal(how)
    child.communicate(timeout=60)
    assert child.returncode == -how
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("duration", ["nan", "inf", "-1", "0", "1e300"])
def test_an_invalid_duration_is_rejected(stepscope, tmp_path, duration):
    store = tmp_path / "run.db"
    done = hostile.run([stepscope, "run", "-o", store, "--duration", duration, "--", "true"])
    assert done.code == 2
    assert "--duration" in done.err and duration in done.err
    assert not store.exists()
