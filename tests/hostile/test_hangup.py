"""The terminal closes, or somebody types Ctrl-C: the program gets the signals that it would get without the wrapper,
each once, and is recorded for as long as it lives.
"""

import contextlib
import mmap
import os
import pty
import signal
import struct
import subprocess
import time

import pytest

import hostile

COUNTED = 3 + 65  # process id, stop, scopes, then the count of each signal
PATIENCE_S = 60


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s for {what}"
        time.sleep(0.005)


def name_of(number):
    if number in set(signal.Signals):
        return signal.Signals(number).name
    return f"SIGRTMIN+{number - signal.SIGRTMIN}"


class Counts:
    """What `hostile signals FILE` says of itself, while it runs and afterwards."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(8 * COUNTED))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def _at(self, index):
        return struct.unpack_from("=q", self._memory, 8 * index)[0]

    @property
    def pid(self):
        return self._at(0)

    @property
    def scopes(self):
        return self._at(2)

    def of(self, number):
        return self._at(3 + number)

    def seen(self):
        return {name_of(number): self.of(number) for number in range(65) if self.of(number)}

    def stop(self):
        struct.pack_into("=q", self._memory, 8, 1)


class Terminal:
    """A pseudo-terminal whose session is led by `command`."""

    def __init__(self, command, folder):
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            for number in (
                signal.SIGHUP,
                signal.SIGINT,
                signal.SIGQUIT,
                signal.SIGTERM,
                signal.SIGCONT,
            ):
                signal.signal(number, signal.SIG_DFL)  # who runs the tests may ignore it (nohup)
            os.chdir(folder)
            os.execvp(str(command[0]), [str(word) for word in command])

    def type(self, text):
        os.write(self._master, text)

    def close(self):
        if self._master >= 0:
            os.close(self._master)
        self._master = -1

    def wait(self):
        """The status of the leader, as waitpid() has it."""
        ended = []

        def reap():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            ended.extend([status] if pid else [])
            return ended

        wait_until(reap, "the leader's end")
        return ended[0]


@contextlib.contextmanager
def on_terminal(command, folder):
    terminal = Terminal(command, folder)
    try:
        yield terminal
    finally:
        terminal.close()
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)


def rows(store, text):
    """[] as long as there are none, or no store."""
    return hostile.query(store, text, otherwise=[]) if store.exists() else []


def is_gone(pid):
    """Also a process that nobody has waited for: its parent may be elsewhere."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


# Who leads the session: the program or its wrapper itself (`ssh -t host stepscope run …`, a terminal's own command),
# or a shell that is not interactive.
LEADERS = {"itself": [], "a shell": ["sh", "-c", 'trap : INT QUIT; "$@"; true', "sh"]}

HANG_UP = {"SIGHUP": 1, "SIGCONT": 1}


def signals_seen(leader, counts, command, act, expected, folder):
    """Runs `command`, does `act` to its terminal once it listens; returns the signals that it got."""
    with on_terminal([*LEADERS[leader], *command], folder) as terminal:
        wait_until(lambda: counts.scopes > 0, "the program")
        act(terminal)
        wait_until(
            lambda: sum(counts.seen().values()) >= sum(expected.values()),
            f"{expected}, got {counts.seen()}",
        )
        before = counts.scopes
        wait_until(
            lambda: counts.scopes >= before + 100, "the program to go on"
        )  # time for a signal too many
        seen = counts.seen()
        counts.stop()
        wait_until(lambda: is_gone(counts.pid), "the program's end")
        terminal.wait()  # the recorder may still be writing
        return seen


@pytest.mark.parametrize("leader", LEADERS)
@pytest.mark.parametrize(
    "act, expected",
    [
        (Terminal.close, HANG_UP),
        (lambda terminal: terminal.type(b"\x03"), {"SIGINT": 1}),
        (lambda terminal: terminal.type(b"\x1c"), {"SIGQUIT": 1}),
    ],
    ids=["hang-up", "ctrl-c", "ctrl-backslash"],
)
def test_a_signal_of_the_terminal_comes_once(wrapper, program, tmp_path, leader, act, expected):
    bare, wrapped = Counts(tmp_path / "bare"), Counts(tmp_path / "wrapped")
    assert (
        signals_seen(leader, bare, [program, "signals", bare.path], act, expected, tmp_path)
        == expected
    )
    store = wrapper.next_store()
    command = wrapper.command(store, program, "signals", wrapped.path)
    assert signals_seen(leader, wrapped, command, act, expected, tmp_path) == expected
    wait_until(
        lambda: rows(store, "SELECT value FROM meta WHERE key = 'end_ns'"),
        "the end of the recording",
    )
    assert hostile.scopes_in(store) == {"work": wrapped.scopes}, "it was recorded to its end"
    assert hostile.query(store, "SELECT how, code FROM process_end") == [("exit", 17)]


# About the wrapper itself: what stops it, its other children, and its own faults.
STAY = {
    getattr(signal, "SIG" + name)
    for name in "KILL STOP TSTP TTIN TTOU CHLD ILL TRAP BUS FPE SEGV SYS".split()
}


def test_a_signal_to_the_wrapper_alone_is_passed_on(wrapper, program, tmp_path):
    counts = Counts(tmp_path / "counts")
    command = [
        str(word) for word in wrapper.command(wrapper.next_store(), program, "signals", counts.path)
    ]
    with subprocess.Popen(command) as running:
        wait_until(lambda: counts.scopes > 0, "the program")
        passed_on = set(range(1, signal.SIGRTMAX + 1)) & signal.valid_signals() - STAY
        for number in passed_on:
            running.send_signal(number)
        expected = {name_of(number): 1 for number in passed_on}
        wait_until(lambda: counts.seen() == expected, f"the signals; came: {counts.seen()}")
        counts.stop()
        assert running.wait(timeout=PATIENCE_S) == 17


def test_closing_the_terminal_ends_the_program(wrapper, program, tmp_path):
    store = wrapper.next_store()
    with on_terminal(
        wrapper.command(store, program, "steps", 1_000_000, 1000), tmp_path
    ) as terminal:
        wait_until(lambda: rows(store, "SELECT pid FROM process"), "the program")
        ((pid,),) = rows(store, "SELECT pid FROM process")
        terminal.close()
        wait_until(lambda: is_gone(pid), "the program's end")
        assert os.waitstatus_to_exitcode(terminal.wait()) == 128 + signal.SIGHUP
    assert hostile.query(store, "SELECT how, code FROM process_end") == [("signal", signal.SIGHUP)]


@pytest.mark.parametrize(
    "around, inside", [(["nohup"], []), ([], ["nohup"])], ids=["the wrapper", "the program"]
)
def test_a_program_that_ignores_the_hang_up_goes_on(wrapper, program, tmp_path, around, inside):
    store = wrapper.next_store()
    command = [*around, *wrapper.command(store, *inside, program, "steps", 1000, 1000)]
    with on_terminal(command, tmp_path) as terminal:
        wait_until(lambda: rows(store, "SELECT 1 FROM phase LIMIT 1"), "the program")
        terminal.close()
        assert os.waitstatus_to_exitcode(terminal.wait()) == 17
    assert hostile.scopes_in(store) == {"work": 1000}
    assert hostile.query(store, "SELECT how, code FROM process_end") == [("exit", 17)]


# --- a sweep -------------------------------------------------------------------------------------


@pytest.fixture
def sweep(stepscope, build_dir, tmp_path):
    """The words that sweep one setting once, with so many steps of 1 ms; and the file that says that it has begun."""
    settings, log = build_dir / "tests/sweep/settings", tmp_path / "log"
    if not settings.exists():
        pytest.fail(f"{settings} is not there: build it first")

    def command(steps):
        return [
            stepscope,
            "sweep",
            "-o",
            tmp_path / "sweep.db",
            "--repeats",
            1,
            "-p",
            "batch=1",
            "--",
            settings,
            "--log",
            log,
            "--batch",
            "{batch}",
            "--wait-us",
            1000,
            "--steps",
            steps,
        ]

    return command, log


def test_closing_the_terminal_ends_a_sweep(sweep, tmp_path):
    command, log = sweep
    with on_terminal(command(1_000_000), tmp_path) as terminal:
        wait_until(log.exists, "the program")
        terminal.close()
        assert os.waitstatus_to_exitcode(terminal.wait()) == 128 + signal.SIGHUP


def test_a_sweep_that_ignores_the_hang_up_goes_on(sweep, tmp_path):
    command, log = sweep
    with on_terminal(["nohup", *command(1000)], tmp_path) as terminal:
        wait_until(log.exists, "the program")
        terminal.close()
        assert os.waitstatus_to_exitcode(terminal.wait()) == 0
    assert hostile.query(tmp_path / "sweep.db", "SELECT steps >= 900 FROM cell_stats") == [(1,)]
