"""The tables of a lake: their columns, and the version of both.

Times are int64 nanoseconds: no engine agrees with another on timestamps of that precision.
"""

import pyarrow as pa

from .columns import (
    LATEST_UNIX_NS,
    LINE,
    MOST_RANKS,
    MOST_RESTARTS,
    VERDICT,
    Column,
    any_integer,
    duration,
    flag,
    integer,
    place,
    step_number,
    text,
    unix_time,
)

SCHEMA_VERSION = 1
CATEGORIES = (
    "compute",
    "input",
    "copy",
    "communication",
    "sync",
    "launch",
    "allocation",
    "host",
    "other",
)
PHASES = ("forward", "backward", "optimizer")

_KEY = (text("run"), text("host"), place("rank"))

# Files of older versions lack some of the columns that may be NULL.
TABLES: dict[str, list[Column]] = {
    "step": [
        *_KEY,
        step_number("step"),
        unix_time("start_unix_ns"),
        duration("dur_ns"),
        flag("steady"),
        *(duration(f"{name}_ns") for name in (*CATEGORIES, *(f"in_{phase}" for phase in PHASES))),
        # Of the last collective of the step that ends on all ranks together (collectives.py).
        unix_time("collective_start_unix_ns", nullable=True),
        unix_time("collective_end_unix_ns", nullable=True),
    ],
    "rank": [
        *_KEY,
        text("node"),
        any_integer("pid", nullable=True),
        step_number("steps"),
        place("local_rank", nullable=True),
        # The steps whose ops were recorded because the rank was slow.
        step_number("ops_first_step", nullable=True),
        step_number("ops_last_step", nullable=True),
        # Its place in its parallel groups (groups.py).
        place("dp_rank", nullable=True),
        place("pp_rank", nullable=True),
        place("tp_rank", nullable=True),
        text("gpu_uuid", nullable=True),
    ],
    "line": [
        *_KEY,
        *LINE,
    ],
    "verdict": [
        *_KEY,
        *VERDICT,
    ],
    "run": [
        text("run"),
        text("job"),
        text("node"),
        text("host"),
        text("boot_id", nullable=True),
        text("program"),
        integer("world_size", 0, MOST_RANKS, nullable=True),
        integer("wall_start_unix_ns", 0, LATEST_UNIX_NS),
        text("state"),
        text("store"),
        text("job_id", nullable=True),
        integer("node_rank", 0, MOST_RANKS - 1, nullable=True),
        integer("restarts", 0, MOST_RESTARTS, nullable=True),
        integer("requeues", 0, MOST_RESTARTS, nullable=True),
    ],
}
# Columns of which a row has both or none.
PAIRS = {
    "step": [("collective_start_unix_ns", "collective_end_unix_ns")],
    "rank": [("ops_first_step", "ops_last_step")],
}


def arrow_schema(table: str) -> pa.Schema:
    return pa.schema(
        [(column.name, column.type) for column in TABLES[table]],
        metadata={"schema_version": str(SCHEMA_VERSION)},
    )
