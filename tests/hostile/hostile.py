"""Runs the hostile programs bare and under `stepscope run`, and looks into what was recorded."""

import contextlib
import dataclasses
import os
import pathlib
import sqlite3
import subprocess

WRAPPERS_OWN = "stepscope: "  # what the wrapper says begins with this


@dataclasses.dataclass
class Outcome:
    code: int
    out: str
    err: str
    store: pathlib.Path = None

    @property
    def said(self):
        """What the wrapper said on standard error."""
        return [line for line in self.err.splitlines() if line.startswith(WRAPPERS_OWN)]

    def rows(self, text):
        return query(self.store, text)

    def scopes(self):
        """How many scopes of each name are in the store."""
        return scopes_in(self.store)

    def lost(self):
        return dict(self.rows("SELECT kind, sum(count) FROM loss GROUP BY kind"))

    def ends(self):
        """(how, code) of each process, in the order in which they came."""
        return self.rows("SELECT how, code FROM process_end ORDER BY process_id")


def query(path, text, otherwise=None):
    """The rows; `otherwise`, where it is given and the store is not there yet or busy."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as store:
            return store.execute(text).fetchall()
    except sqlite3.OperationalError:
        if otherwise is None:
            raise
        return otherwise


def scopes_in(path):
    return dict(
        query(
            path,
            "SELECT text, count(*) FROM phase JOIN phase_kind AS k ON k.id = kind"
            " JOIN string ON string.id = name_id WHERE k.name = 'scope' GROUP BY text",
        )
    )


def run(command, environment=None, **options):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | (environment or {}),
        **options,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


class Wrapper:
    """Programs under `stepscope run`, each with a store of its own."""

    def __init__(self, stepscope, folder):
        self.stepscope = stepscope
        self._folder = folder
        self._runs = 0

    def command(self, store, *program):
        return [self.stepscope, "run", "-o", store, "--quiet", "--", *program]

    def next_store(self):
        self._runs += 1
        return self._folder / f"run{self._runs}.db"

    def wrap(self, *program, around=(), environment=None):
        """`around`: the words before the wrapper."""
        store = self.next_store()
        outcome = run([*around, *self.command(store, *program)], environment)
        outcome.store = store
        return outcome

    def compare(self, *program, around=(), environment=None):
        """The outcome under the wrapper, which is that without it; but for a line of the wrapper's own."""
        bare = run([*around, *program], environment)
        wrapped = self.wrap(*program, around=around, environment=environment)
        assert wrapped.code == (bare.code if bare.code >= 0 else 128 - bare.code), wrapped.err
        assert wrapped.out == bare.out
        programs_own = [
            line for line in wrapped.err.splitlines(True) if not line.startswith(WRAPPERS_OWN)
        ]
        assert "".join(programs_own) == bare.err
        return wrapped
