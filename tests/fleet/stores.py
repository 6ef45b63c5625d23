"""Makes analyzed stores of ranks, by the schema of the store."""

import pathlib
import sqlite3

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = (ROOT / "store/schema.sql").read_text(encoding="utf-8")
MS = 1_000_000
START = 1_760_000_000_000_000_000


def make_store(
    path,
    ranks,
    *,
    host="node-a",
    node=0,
    steps=60,
    job="77",
    world=None,
    slow=None,
    slow_from=0,
    start=START,
    version=5,
    state="complete",
    name=None,
    line_function="load",
    worker_line=None,
    longer=0,
    meta=None,
    first=1,
    pid=101,
    ops_recorded=0,
    verdict="compute-bound",
    collectives=None,
):
    """`ranks`: of each its process; `slow`: {rank: (category, ns more a step)}, from a step on. `longer`: ns that every
    rank takes more in each step, for input. The steps have the numbers from `first` on. `collectives`: ns by which the clock is ahead at a step of the
    given number; each step has one collective. None: no step has one. `worker_line`: a function of workers and its share of the input."""
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    database.execute("CREATE INDEX step_time_by_step ON step_time(step_id)")  # as `analyze` does
    database.execute(f"PRAGMA application_id = {0x53545343}")
    database.execute(f"PRAGMA user_version = {version}")
    facts = {
        "host": host,
        "wall_start_unix_ns": str(start),
        "state": state,
        "program": "train.py",
        **({"job_id": job, "node_rank": str(node)} if job else {}),
        **({"job_name": name} if name else {}),
        **({"world_size": str(world)} if world else {}),
        **(meta or {}),
    }
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
    for thread, rank in enumerate(ranks, 1):
        database.execute(
            "INSERT INTO process VALUES (?, ?, 'python', 'python', 1, ?)",
            (thread, pid - 1 + thread, rank),
        )
        database.execute(
            "INSERT INTO thread VALUES (?, ?, ?, NULL, 'main')", (thread, thread, pid - 1 + thread)
        )
        database.execute(
            "INSERT INTO line_share VALUES (NULL, ?, 'loop', 'input', 'data.py', 41, ?, '', '', 9, 0.9,"
            " 0.8, 1.0, 1)",
            (thread, line_function),
        )
        if worker_line:
            function, share = worker_line
            database.execute(
                "INSERT INTO line_share VALUES (NULL, ?, 'worker', 'input', 'set.py', 7, ?, '', '', 9, ?,"
                " 0.0, 1.0, 1)",
                (thread, function, share),
            )
        database.execute(
            "INSERT INTO verdict VALUES (NULL, ?, ?, NULL, 0.1, 0, 1, 'high', 'x', 9, NULL)",
            (thread, verdict),
        )
        numbers = range(first, first + steps)
        add_steps(database, thread, rank, numbers, slow or {}, slow_from, longer, ops_recorded)
        if collectives:
            add_collectives(database, thread, rank, collectives)
    database.commit()
    database.close()
    return pathlib.Path(path)


def add_steps(database, thread, rank, numbers, slow, slow_from, longer, ops_recorded):
    longest = max((more for _, more in slow.values()), default=0)
    for number in numbers:
        parts = {
            "input": 2 * MS + longer,
            "compute": 90 * MS,
            "host": MS + (number * 7 + rank) % 5 * 10_000,
        }
        late = longest if number > slow_from else 0
        length = 95 * MS + late + longer
        if rank in slow and number > slow_from:
            category, more = slow[rank]
            parts[category] += more
        parts["communication"] = length - sum(parts.values())
        (step,) = database.execute(
            "INSERT INTO step (thread_id, number, start_ns, dur_ns, marker, ops_recorded, steady)"
            " VALUES (?, ?, ?, ?, 'user', ?, 1) RETURNING id",
            (thread, number, number * 200 * MS, length, ops_recorded),
        ).fetchone()
        database.executemany(
            "INSERT INTO step_time (step_id, category, phase, exposed_ns, hidden_ns) VALUES (?, ?, 3, ?, 0)",
            [(step, category, ns) for category, ns in parts.items()],
        )


def add_collectives(database, thread, rank, ahead_ns):
    """Each begins when the rank has done its own work, and ends on all ranks within 40 us."""
    database.execute("INSERT OR IGNORE INTO string VALUES (1, 'gloo:all_reduce')")
    steps = database.execute(
        "SELECT s.number, s.start_ns, s.dur_ns, sum(t.exposed_ns) FROM step AS s"
        " JOIN step_time AS t ON t.step_id = s.id AND t.category <> 'communication'"
        " WHERE s.thread_id = ? GROUP BY s.id",
        (thread,),
    ).fetchall()
    for number, start, length, own in steps:
        ahead = ahead_ns(number)
        end = start + length - MS + (number * 3 + rank) % 5 * 10_000
        database.execute(
            "INSERT INTO op (thread_id, name_id, start_ns, dur_ns) VALUES (?, 1, ?, ?)",
            (
                thread,
                start + min(own, length - 2 * MS) + ahead,
                end - start - min(own, length - 2 * MS),
            ),
        )
