"""Reads the parts of a store that a lake keeps. Never writes to the store."""

import bisect
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterator, Sequence

from .problem import Problem
from .store_database import StoreDatabase
from .store_lock import is_being_recorded
from .store_meta import check_lengths, numbers_in
from .store_schema import META, check_store
from .tables import CATEGORIES, PHASES

STORE_VERSION = 5
# As in store/schema.h.
_RECORDING_ID = 0x53545343
_SWEEP_ID = 0x53545357

_STEPS = f"""
SELECT s.thread_id, s.number, s.start_ns, s.dur_ns, s.steady,
  {", ".join(f"coalesce(sum(t.exposed_ns) FILTER (WHERE t.category = '{c}'), 0)" for c in CATEGORIES)},
  {", ".join(f"coalesce(sum(t.exposed_ns) FILTER (WHERE k.name = '{p}'), 0)" for p in PHASES)}
FROM step AS s
LEFT JOIN (SELECT step_id, min(device_id) AS device_id FROM step_time GROUP BY step_id) AS d
  ON d.step_id = s.id
LEFT JOIN step_time AS t ON t.step_id = s.id AND t.device_id IS d.device_id
LEFT JOIN phase_kind AS k ON k.id = t.phase
GROUP BY s.id ORDER BY s.number
"""


@dataclasses.dataclass
class Loop:
    """The training loop of a rank: of several in a process, the one with the most steps."""

    thread: int
    process: int
    rank: int
    pid: int
    steps: int
    first_ns: int
    end_ns: int


def _why_no_file(path: pathlib.Path) -> str:
    if path.is_dir():
        return "is a folder; name the recordings in it"
    return "not a regular file" if path.exists() else "no such file"


class Store:
    """A recording. Raises Problem if it is not a store, is damaged or has not been analyzed."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.restarts = 0  # processes whose rank a later process has
        self.other_loops = 0  # beside those that stand for their processes
        try:
            found = path.is_file()
            path.open("rb").close() if found else None
        except PermissionError as error:
            raise Problem(f"{path}: may not be read; ask its owner to permit that") from error
        if not found:
            raise Problem(f"{path}: {_why_no_file(path)}")
        self._being_recorded = is_being_recorded(path)
        self._database = StoreDatabase(path)
        try:
            self._check_kind()
            self._check_version()
            check_store(self._database)
            self.meta: dict[str, str] = self._read_meta()
            self.numbers = self._read_numbers()
            self.loops = self._find_loops()
        except Problem:
            self.close()
            raise

    @property
    def is_piece(self) -> bool:
        """Whether it has only the latest steps of a run that is being recorded (pieces.py)."""
        return "piece_of" in self.meta

    @property
    def whole_path(self) -> pathlib.Path:
        """The store of the whole run."""
        return pathlib.Path(self.meta["piece_of"]) if self.is_piece else self.path

    @property
    def whole_name(self) -> str:
        """Where the store of the whole run is, as a lake names it."""
        try:
            path = self.whole_path.resolve()
        except (OSError, RuntimeError):  # links that lead to each other
            path = self.whole_path.absolute()
        return os.fsencode(path).decode(errors="replace")

    @property
    def wall_start_unix_ns(self) -> int:
        return self.numbers.get("wall_start_unix_ns", 0)

    @property
    def state(self) -> str:
        return "recording" if self.is_piece else self.meta.get("state", "")

    def ops_block(self, rank: int) -> tuple[int, int] | None:
        """The first and last step of the latest block of steps whose ops were recorded because the rank was slow."""
        blocks = re.findall(
            r"(?:^| )(\d{1,9}):(\d{1,18})-(\d{1,18})(?= |$)", self.meta.get("ops_blocks", "")
        )
        loop = next(loop for loop in self.loops if loop.rank == rank)
        recorded = self.rows(
            "SELECT start_ns, number FROM step WHERE thread_id = ? AND ops_recorded ORDER BY start_ns",
            (loop.thread,),
        )
        starts = [start for start, _ in recorded]
        for _, begin, end in reversed([block for block in blocks if int(block[0]) == rank]):
            inside = recorded[
                bisect.bisect_left(starts, int(begin)) : bisect.bisect_right(starts, int(end))
            ]
            if inside:
                return min(number for _, number in inside), max(number for _, number in inside)
        return None

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple]:
        return self._database.rows(query, values)

    def gpu_uuid(self, loop: Loop) -> str | None:
        """Of the first device that works for the loop."""
        found = self.rows(
            "SELECT d.number FROM step AS s JOIN step_time AS t ON t.step_id = s.id"
            " JOIN device AS d ON d.id = t.device_id WHERE s.thread_id = ? ORDER BY d.id LIMIT 1",
            (loop.thread,),
        )
        every = re.findall(r"(?:^| )(\d{1,9}):(\S+)", self.meta.get("gpu_uuids", ""))
        uuids = next((uuids for rank, uuids in every if int(rank) == loop.rank), "")
        named = dict(re.findall(r"(?:^|,)(\d{1,9})=([^,]{1,64})", uuids))
        return named.get(str(found[0][0])) if found else None

    def close(self) -> None:
        self._database.close()

    def _check_kind(self) -> None:
        """Refuses what the other verbs refuse, in their words (store/store_file.cc)."""
        ((kind,),) = self.rows("PRAGMA application_id")
        if kind == _RECORDING_ID:
            return
        if self.path.stat().st_size == 0:
            what = "empty, not a Stepscope store; remove it or give another file"
        elif kind == _SWEEP_ID:
            what = "a sweep, not a recording; `stepscope sweep show` and `stepscope report` read it"
        else:
            what = "a SQLite database, but not a Stepscope store"
        raise Problem(f"{self.path}: {what}")

    def _check_version(self) -> None:
        ((version,),) = self.rows("PRAGMA user_version")
        if version == STORE_VERSION:
            return
        if version > STORE_VERSION:
            raise Problem(
                f"{self.path}: has schema version {version}, but this Stepscope knows {STORE_VERSION};"
                " install a newer Stepscope"
            )
        raise Problem(
            f"{self.path}: has schema version {version}, not {STORE_VERSION}; `stepscope analyze"
            f" {self.path}` brings it up to date"
        )

    def _read_meta(self) -> dict[str, str]:
        marks = ", ".join("?" * len(META))
        return dict(self.rows(f"SELECT key, value FROM meta WHERE key IN ({marks})", META))

    def _read_numbers(self) -> dict[str, int]:
        try:
            check_lengths(self.meta)
            return numbers_in(self.meta)
        except ValueError as error:
            raise self._database.damaged(str(error)) from error

    def _find_loops(self) -> list[Loop]:
        rows = self.rows(
            "SELECT s.thread_id, p.id, p.rank, p.pid, count(*) AS steps, min(s.start_ns),"
            " max(s.start_ns + s.dur_ns) FROM step AS s"
            " JOIN thread AS t ON t.id = s.thread_id JOIN process AS p ON p.id = t.process_id"
            " GROUP BY s.thread_id ORDER BY steps DESC"
        )
        if not rows:
            raise Problem(f"{self.path}: {self._why_no_steps()}")
        loops: dict[int, Loop] = {}
        for thread, process, rank, pid, *numbers in rows:
            loops.setdefault(
                process, Loop(thread, process, -1 if rank is None else rank, pid, *numbers)
            )
        self.other_loops = len(rows) - len(loops)
        return self._with_ranks(list(loops.values()))

    def _why_no_steps(self) -> str:
        if self._being_recorded:
            return (
                "still being recorded; add it when the program has ended. `stepscope run --lake` adds the latest steps"
                " while a program runs"
            )
        return f"has no steps; run `stepscope analyze {self.path}` first"

    def _with_ranks(self, loops: list[Loop]) -> list[Loop]:
        if len(loops) == 1 and loops[0].rank < 0:
            loops[0].rank = 0
        if any(loop.rank < 0 for loop in loops):
            raise Problem(
                f"{self.path}: has {len(loops)} training processes, and not all have a rank; set"
                " RANK for each"
            )
        return self._last_of_each_rank(loops)

    def _last_of_each_rank(self, loops: list[Loop]) -> list[Loop]:
        """A launcher that restarts its workers gives them the ranks of the earlier ones."""
        last: dict[int, Loop] = {}
        for loop in sorted(loops, key=lambda loop: loop.first_ns):
            before = last.get(loop.rank)
            if before and loop.first_ns < before.end_ns:
                raise Problem(
                    f"{self.path}: two processes say at the same time that they are rank {loop.rank}; give each its"
                    " own RANK"
                )
            self.restarts += before is not None
            last[loop.rank] = loop
        return sorted(last.values(), key=lambda loop: loop.rank)

    def steps(self) -> Iterator[tuple[Loop, tuple]]:
        """(loop, row) of each step of the loops, by rank and number."""
        rows: dict[int, list[tuple]] = {}
        for thread, *row in self.rows(_STEPS):
            rows.setdefault(thread, []).append(tuple(row))
        for loop in self.loops:
            for row in rows[loop.thread]:
                yield loop, row

    def of_loops(self, columns: str, table: str) -> Iterator[tuple[int, tuple]]:
        """(rank, row) of each row of a table that has a thread_id."""
        query = f"SELECT {columns} FROM {table} WHERE thread_id = ? ORDER BY id"
        for loop in self.loops:
            for row in self.rows(query, (loop.thread,)):
                yield loop.rank, row
