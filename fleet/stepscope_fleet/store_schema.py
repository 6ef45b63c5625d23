"""The tables of a store that a lake needs, and whether a store has them: as plain tables, with values that can be true.
Everything that reads a store relies on this check."""

import pyarrow as pa

from .columns import (
    FARTHEST_NS,
    LINE,
    MOST_RANKS,
    VERDICT,
    Column,
    any_integer,
    duration,
    integer,
    step_number,
    text,
)
from .problem import Problem
from .store_database import LONGEST_VALUE, StoreDatabase

# Collectives that no rank can leave before the last one has arrived. Their ops begin when the rank arrives, and end
# with the collective. Those of NCCL end at the launch: its kernels count.
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
_OP_NAMES = [f"{back_end}:{kind}" for back_end in ("gloo", "mpi", "ucc") for kind in _COLLECTIVES]
_KERNEL_NAMES = [f"nccl*{kind}*" for kind in ("AllReduce", "AllGather", "ReduceScatter")]
_NAMED = "name_id IN (SELECT id FROM string WHERE {})"
# Conditions on op and on kernel.
COLLECTIVE_OPS = _NAMED.format(" OR ".join(f"text = '{name}'" for name in _OP_NAMES))
COLLECTIVE_KERNELS = _NAMED.format(" OR ".join(f"text GLOB '{name}'" for name in _KERNEL_NAMES))

_ROW = 1 << 62  # more rows than any table has


def _id(name: str, nullable: bool = False) -> Column:
    return integer(name, 0, _ROW, nullable)


def _time(name: str) -> Column:
    return integer(name, -FARTHEST_NS, FARTHEST_NS)


def _flag(name: str) -> Column:
    return integer(name, 0, 1)


META = (
    "boot_id",
    "gpu_uuids",
    "groups",
    "host",
    "job_id",
    "job_name",
    "local_ranks",
    "node_rank",
    "ops_blocks",
    "piece_of",
    "program",
    "rank",
    "rank_hosts",
    "requeue_count",
    "restart_count",
    "state",
    "wall_start_unix_ns",
    "world_size",
)
_TABLES: dict[str, list[Column]] = {
    "process": [_id("id"), any_integer("pid"), integer("rank", -1, MOST_RANKS - 1, nullable=True)],
    "thread": [_id("id"), _id("process_id")],
    "phase_kind": [_id("id"), text("name")],
    "device": [_id("id"), _id("process_id"), integer("number", 0, 2**31 - 1)],
    "stream": [_id("id"), _id("device_id")],
    "string": [_id("id")],
    "step": [
        _id("id"),
        _id("thread_id", nullable=True),
        step_number("number"),
        _time("start_ns"),
        duration("dur_ns"),
        _flag("ops_recorded"),
        _flag("steady"),
    ],
    "step_time": [
        _id("step_id"),
        text("category"),
        _id("phase"),
        duration("exposed_ns"),
        _id("device_id", nullable=True),
    ],
    "line_share": [
        _id("thread_id"),
        *LINE,
    ],
    "verdict": [
        _id("thread_id", nullable=True),
        *VERDICT,
    ],
    "op": [_id("thread_id", nullable=True), _time("start_ns"), duration("dur_ns")],
    "kernel": [_id("stream_id"), _time("start_ns"), duration("dur_ns")],
    "api_call": [_id("thread_id"), _time("start_ns")],
    "meta": [text("key"), text("value", most=LONGEST_VALUE)],
}
# Of these, only the rows that are read: a store may have very many others.
_ONLY = {
    "op": COLLECTIVE_OPS,
    "kernel": COLLECTIVE_KERNELS,
    "api_call": f"correlation IN (SELECT correlation FROM kernel WHERE {COLLECTIVE_KERNELS})",
    "meta": f"key IN ({', '.join(repr(key) for key in META)})",
}
_FIRST_WORDS = {
    "table": ("CREATE TABLE ",),
    "view": ("CREATE VIEW ",),
    "index": ("CREATE INDEX ", "CREATE UNIQUE INDEX "),
}


def check_store(database: StoreDatabase) -> None:
    """Raises Problem if the store does not have these tables, or a value that cannot be true."""
    _check_kinds(database)
    for table, columns in _TABLES.items():
        _check_columns(database, table, columns)
        _check_values(database, table, columns)


def _check_kinds(database: StoreDatabase) -> None:
    """As check_table_kinds() in store/schema_check.cc: a view with the name of a table could take forever to read."""
    kinds = database.rows(
        "SELECT type, lower(name), CAST(coalesce(sql, '') AS TEXT) FROM sqlite_master"
    )
    for kind, name, sql in kinds:
        if name in _TABLES and kind != "table":
            raise _refused(database, f"{name} is not a table but a {kind}")
        # SQLite runs the words when it opens the file, whatever the kind says.
        if not sql.startswith(_FIRST_WORDS.get(kind, ())) and (sql or kind != "index"):
            raise _refused(database, f"{name} is not a plain table, view or index")
    missing = _TABLES.keys() - {name for _, name, _ in kinds}
    if missing:
        raise _refused(database, f"it has no table {min(missing)}")


def _check_columns(database: StoreDatabase, table: str, columns: list[Column]) -> None:
    rows = database.rows(f"PRAGMA table_xinfo({table})")
    stored = {name for _, name, *_, hidden in rows if not hidden}  # others are worked out by SQL
    for column in columns:
        if column.name not in stored:
            raise _refused(database, f"the table {table} has no column {column.name}")


def _check_values(database: StoreDatabase, table: str, columns: list[Column]) -> None:
    cases = " ".join(
        f"WHEN NOT ({_condition(column)}) THEN {at}" for at, column in enumerate(columns)
    )
    found = database.rows(
        f"SELECT wrong FROM (SELECT CASE {cases} END AS wrong FROM {table}"
        f" WHERE {_ONLY.get(table, 'TRUE')}) WHERE wrong IS NOT NULL LIMIT 1"
    )
    if found:
        column = columns[found[0][0]]
        raise database.damaged(
            f"a row of {table} has a {column.name} that is not {column.allowed()}"
        )


def _condition(column: Column) -> str:
    """In SQL, and never NULL: whether a value is one that the column can have."""
    name = column.name
    if pa.types.is_string(column.type):
        allowed = (
            f"typeof({name}) = 'text' AND length(CAST({name} AS BLOB)) <= {column.high}"
            f" AND instr({name}, char(0)) = 0"
        )
    else:
        kinds = "'real', 'integer'" if pa.types.is_floating(column.type) else "'integer'"
        allowed = f"typeof({name}) IN ({kinds})"
        if column.low is not None:
            allowed += f" AND {name} BETWEEN {column.low} AND {column.high}"
    return f"{name} IS NULL OR ({allowed})" if column.nullable else allowed


def _refused(database: StoreDatabase, what: str) -> Problem:
    return Problem(
        f"{database.path}: does not have the schema of a Stepscope store ({what}); record again"
    )
