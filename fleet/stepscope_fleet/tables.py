"""The tables of a lake: their columns, and the version of both.

Times are int64 nanoseconds: no engine agrees with another on timestamps of that precision.
"""

import pyarrow as pa

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

_KEY = [("run", pa.string()), ("host", pa.string()), ("rank", pa.int32())]
_NUMBERS = [f"{name}_ns" for name in (*CATEGORIES, *(f"in_{phase}" for phase in PHASES))]

TABLES = {
    "step": [
        *_KEY,
        ("step", pa.int64()),
        ("start_unix_ns", pa.int64()),
        ("dur_ns", pa.int64()),
        ("steady", pa.bool_()),
        *((name, pa.int64()) for name in _NUMBERS),
        # Of the last collective of the step that ends on all ranks together (collectives.py).
        ("collective_start_unix_ns", pa.int64()),
        ("collective_end_unix_ns", pa.int64()),
    ],
    "rank": [
        *_KEY,
        ("node", pa.string()),
        ("pid", pa.int64()),
        ("steps", pa.int64()),
        ("local_rank", pa.int32()),
        # The steps whose ops were recorded because the rank was slow.
        ("ops_first_step", pa.int64()),
        ("ops_last_step", pa.int64()),
        # Its place in its parallel groups (groups.py).
        ("dp_rank", pa.int32()),
        ("pp_rank", pa.int32()),
        ("tp_rank", pa.int32()),
        ("gpu_uuid", pa.string()),
    ],
    "line": [
        *_KEY,
        ("place", pa.string()),
        ("category", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("function", pa.string()),
        ("share", pa.float64()),
        ("step_ns", pa.int64()),
    ],
    "verdict": [
        *_KEY,
        ("kind", pa.string()),
        ("degree", pa.string()),
        ("share", pa.float64()),
        ("confidence", pa.string()),
    ],
    "run": [
        ("run", pa.string()),
        ("job", pa.string()),
        ("node", pa.string()),
        ("host", pa.string()),
        ("boot_id", pa.string()),
        ("program", pa.string()),
        ("world_size", pa.int64()),
        ("wall_start_unix_ns", pa.int64()),
        ("state", pa.string()),
        ("store", pa.string()),
        ("job_id", pa.string()),
        ("node_rank", pa.int64()),
        ("restarts", pa.int64()),
        ("requeues", pa.int64()),
    ],
}


def arrow_schema(table: str) -> pa.Schema:
    return pa.schema(TABLES[table], metadata={"schema_version": str(SCHEMA_VERSION)})
