"""A store as SQLite opens it. It can come from anywhere: what its schema may do, and how long a query may take, is
limited as store/sqlite.cc limits it for the verbs that are written in C++."""

import os
import pathlib
import sqlite3
from collections.abc import Sequence

from .problem import Problem

# Steps of SQLite's virtual machine that one query may take, as in store/limits.h.
_STEPS_PER_BYTE = 64
_LEAST_STEPS = 50_000_000
_STEPS_BETWEEN_LOOKS = 10_000
LONGEST_VALUE = 16 << 20  # bytes of a text or a row
# By the names of the limits, which only Python 3.11 and newer have.
_LIMITS = {
    "SQLITE_LIMIT_LENGTH": LONGEST_VALUE,
    "SQLITE_LIMIT_SQL_LENGTH": 100_000,
    "SQLITE_LIMIT_COLUMN": 128,
    "SQLITE_LIMIT_EXPR_DEPTH": 100,
    "SQLITE_LIMIT_COMPOUND_SELECT": 50,
    "SQLITE_LIMIT_VDBE_OP": 25_000,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 1,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}
# The same, of Python 3.12 and newer.
_SWITCHES = {
    "SQLITE_DBCONFIG_DEFENSIVE": True,
    "SQLITE_DBCONFIG_TRUSTED_SCHEMA": False,
    "SQLITE_DBCONFIG_ENABLE_TRIGGER": False,
    "SQLITE_DBCONFIG_ENABLE_VIEW": False,
    "SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION": False,
}


class StoreDatabase:
    """Raises Problem, a line that names the store, if a query fails."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self._steps_left = 0
        try:
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        try:
            self._restrict()
        except Problem:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple]:
        self._steps_left = max(_LEAST_STEPS, _STEPS_PER_BYTE * _size_with_log(self.path))
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            if self._steps_left < 0:
                raise self.damaged(
                    "reading it takes more steps than a file of its size can need"
                ) from error
            if "interrupted" in str(error):  # by _look(), and not for want of steps
                raise KeyboardInterrupt from error
            raise self._unreadable(error) from error

    def damaged(self, how: str) -> Problem:
        return Problem(f"{self.path}: damaged ({how}); use another copy or record again")

    def _unreadable(self, error: Exception) -> Problem:
        return Problem(f"{self.path}: cannot be read as a store ({error})")

    def _restrict(self) -> None:
        if hasattr(self._connection, "setlimit"):
            for name, limit in _LIMITS.items():
                self._connection.setlimit(getattr(sqlite3, name), limit)
        if hasattr(self._connection, "setconfig"):
            for name, on in _SWITCHES.items():
                self._connection.setconfig(getattr(sqlite3, name), on)
        self._connection.set_progress_handler(self._look, _STEPS_BETWEEN_LOOKS)
        self.rows("PRAGMA trusted_schema = OFF")
        self.rows("PRAGMA cell_size_check = ON")

    def _look(self) -> bool:
        """Whether to end the query. It ends too if Python meets Ctrl-C here, but SQLite swallows that exception."""
        self._steps_left -= _STEPS_BETWEEN_LOOKS
        return self._steps_left < 0


def _size_with_log(path: pathlib.Path) -> int:
    size = 0
    for name in (path, f"{path}-wal"):
        try:
            size += os.stat(name).st_size
        except OSError:  # there is no log
            continue
    return size
