"""Rows of stack samples, written into a store by hand: what a recorder would never write, too."""

import contextlib
import sqlite3

MS = 1_000_000


class StackRows:
    """The stack samples of a store in place of those it has. Rows are committed when `with` ends."""

    def __init__(self, path):
        self._store = sqlite3.connect(path)
        for table in ("stack_sample", "frame"):
            self._store.execute(f"DELETE FROM {table}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with contextlib.closing(self._store), self._store:
            pass

    def thread(self, pid, tid, name):
        return self._add("watched_thread", self._first("process"), pid, tid, name)

    def stack(self, *frames):
        """The innermost of frames (function, file, line), the outermost first."""
        caller = None
        for function, file, line in frames:
            row = (self._string(function), self._string(file), line)
            known = self._store.execute(
                "SELECT id FROM frame WHERE caller_id IS ? AND function_id = ? AND file_id = ?"
                " AND line IS ?",
                (caller, *row),
            ).fetchone()
            caller = known[0] if known else self._add("frame", caller, *row)
        return caller

    def sample(self, thread, at_ms, frame, *, awaited=False, blocked=None):
        call = None if blocked is None else self._string(blocked)
        self._add("stack_sample", thread, at_ms * MS, frame, int(awaited), call)

    def _string(self, text):
        known = self._store.execute("SELECT id FROM string WHERE text = ?", (text,)).fetchone()
        return known[0] if known else self._add("string", text)

    def _first(self, table):
        return self._store.execute(f"SELECT min(id) FROM {table}").fetchone()[0]

    def _add(self, table, *values):
        marks = ", ".join("?" * len(values))
        # Ids have no gaps.
        return self._store.execute(
            f"INSERT INTO {table} VALUES ((SELECT coalesce(max(id), 0) + 1 FROM {table}), {marks})",
            values,
        ).lastrowid
