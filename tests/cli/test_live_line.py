"""The line that `stepscope run` shows about a running program never mixes with what the program writes."""

import fcntl
import os
import pty
import struct
import sys
import termios

import pytest

pyte = pytest.importorskip("pyte")
# Without op hooks, a line about them comes first.
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("python_ops")]

COLUMNS, ROWS = 100, 12
LIVE = "stepscope: step "

TRAINS = """\
import time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def train(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        time.sleep(0.01)
def say(text, end="\\n"):
    print(text, end=end, flush=True)
"""
# Longer than the program must be silent before the line is shown.
SILENCE = "train(3.2)\n"


class Terminal:
    """A terminal that is its program's controlling one, and what was to be seen on it in turn."""

    def __init__(self, command, folder):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        stream = pyte.ByteStream(self.screen)
        self.seen = []
        pid, parent = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", NO_COLOR="1")
            os.chdir(folder)
            os.execvp(command[0], command)
        fcntl.ioctl(parent, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        while output := self.read(parent):
            stream.feed(output)
            self.seen.append(self.lines())
        os.close(parent)
        self.code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    @staticmethod
    def read(parent):
        try:
            return os.read(parent, 65536)
        except OSError:  # the last process that had it open has ended
            return b""

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def live(self):
        """What was above the live line, each time that it was to be seen."""
        for lines in self.seen:
            for row, line in enumerate(lines):
                if LIVE in line:
                    assert line.strip().startswith(LIVE), line  # alone in its row
                    yield lines[:row]


@pytest.fixture
def run(stepscope, tmp_path):
    def run(program, *options, then=()):
        (tmp_path / "train.py").write_text(TRAINS + program)
        command = [str(stepscope), "run", "--no-analysis", *options, "-o", "run.db", "--"]
        return Terminal([*command, sys.executable, "train.py", *then], tmp_path)

    return run


def test_it_is_shown_while_the_program_is_silent_and_makes_way(run):
    terminal = run(f"say('one')\n{SILENCE}say('two', end='')\n{SILENCE}say(' three')")
    assert terminal.code == 0
    above = list(terminal.live())
    assert ["one", ""] in above  # the cursor's row is empty
    assert ["one", "two"] in above
    assert [line for line in terminal.lines() if line] == ["one", "two three"]


def test_at_the_bottom_it_scrolls_by_one_row(run):
    terminal = run(f"for i in range({ROWS + 8}): say(i)\n{SILENCE}say('next')")
    above = next(terminal.live())
    assert above[-2:] == [str(ROWS + 7), ""]
    lines = [line for line in terminal.lines() if line]
    assert lines[-2:] == [str(ROWS + 7), "next"]
    assert lines[0] == str(ROWS + 7 - (len(lines) - 2)), lines


def test_it_is_not_shown_where_the_program_writes_all_the_time(run):
    terminal = run("for i in range(40):\n  train(0.1)\n  say('.', end='')")
    # It may be there from before the first ones, and take a moment to go.
    assert not any("." * 8 in line for above in terminal.live() for line in above)
    assert [line for line in terminal.lines() if line] == ["." * 40]


def test_quiet_means_none(run):
    terminal = run(SILENCE, "--quiet")
    assert not list(terminal.live())
    assert not any(terminal.lines())


def test_what_follows_the_program_begins_a_line(stepscope, tmp_path):
    command = [str(stepscope), "run", "-o", "run.db", "--", "sh", "-c", "printf unfinished"]
    terminal = Terminal(command, tmp_path)
    assert terminal.lines()[:2] == [
        "unfinished",
        "stepscope: no libtorch was seen in sh -c: nothing was recorded",
    ]
