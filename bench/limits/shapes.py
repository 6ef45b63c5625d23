"""Stores of extreme shapes: valid recordings that no program makes by itself.

Each shape is a function (store, n) that fills a Store with about n events. Its docstring describes
the shape; docs/limits.md has the figures.
"""

import re
import sqlite3
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BACKWARD, OPTIMIZER, STEP, SCOPE, INPUT = 3, 4, 7, 6, 1
STEP_NS = 1_000_000_000


def _constant(name):
    text = (ROOT / "store/schema.h").read_text()
    return int(re.search(rf"{name} = (\w+);", text).group(1), 0)


class Store:
    """A store under construction. Ids count from 1, as a recorder's do."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.execute("PRAGMA page_size = 65536")
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.execute("PRAGMA journal_mode = OFF")
        self.database.executescript((ROOT / "store/schema.sql").read_text())
        self.database.execute(f"PRAGMA application_id = {_constant('kApplicationId')}")
        self.database.execute(f"PRAGMA user_version = {_constant('kSchemaVersion')}")
        self.database.execute(
            "INSERT INTO meta VALUES ('schema_version', ?), ('state', 'finished')",
            (str(_constant("kSchemaVersion")),),
        )
        self.names = {}

    def name(self, text):
        known = self.names.get(text)
        if known is None:
            known = self.names[text] = len(self.names) + 1
            self.database.execute("INSERT INTO string VALUES (?, ?)", (known, text))
        return known

    def many(self, table, rows):
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"
        self.database.execute(insert, first)
        self.database.executemany(insert, rows)

    def processes(self, count):
        self.many(
            "process",
            (
                (i, 1000 + i, "train", "train", 1000 if i > 1 else None, None)
                for i in range(1, count + 1)
            ),
        )

    def threads(self, count, process=lambda i: 1):
        self.many("thread", ((i, process(i), 1000 + i, i, "python") for i in range(1, count + 1)))

    def ops(self, rows):
        """Adds rows (thread, name, start, dur, self, scope, depth), in the order of their ends."""
        self.many(
            "op",
            (
                (thread, name, start, dur, own, scope, 0, min(depth, 255), None, None, None)
                for thread, name, start, dur, own, scope, depth in rows
            ),
        )

    def steps(self, count, thread=1, length=STEP_NS):
        """Adds marked steps of a training loop, from time 0 on."""
        rows = []
        for i in range(count):
            end = (i + 1) * length
            rows += [
                (thread, BACKWARD, None, end - length // 2, length // 8, 0),
                (thread, OPTIMIZER, None, end - length // 4, length // 8, 0),
                (thread, STEP, None, end, 0, 0),
            ]
        self.phases(rows)

    def phases(self, rows):
        """Adds rows (thread, kind, name, start, dur, cpu)."""
        self.many("phase", ((None, *row) for row in rows))

    def close(self):
        self.database.commit()
        self.database.close()


def _loop(store, steps=4):
    store.processes(1)
    store.threads(1)
    store.steps(steps)


def nested_ops(store, n):
    """n ops of one thread, each nested in the one before, in one step."""
    _loop(store)
    name = store.name("aten::add")
    store.ops((1, name, STEP_NS + i, STEP_NS // 2 - 2 * i, 2, 0, i) for i in reversed(range(n)))


def nested_scopes(store, n):
    """n nested scopes with different names: n paths of up to n names."""
    _loop(store)
    store.ops(
        (1, store.name(f"scope {i}"), STEP_NS + i, STEP_NS // 2 - 2 * i, 2, 7, i)
        for i in reversed(range(n))
    )


def nested_across_steps(store, n):
    """n nested ops that span all steps except the ends of the first and last."""
    _loop(store, 200)
    name = store.name("aten::add")
    store.ops((1, name, 1 + i, 199 * STEP_NS - 2 * i, 2, 0, i) for i in reversed(range(n)))


def nested_one_start(store, n):
    """n nested ops that all begin in the same nanosecond."""
    _loop(store)
    name = store.name("aten::add")
    store.ops((1, name, STEP_NS, STEP_NS // 2 - i, 1, 0, i) for i in reversed(range(n)))


def overlapping_ops(store, n):
    """n ops of one thread that overlap without nesting."""
    _loop(store)
    name = store.name("aten::add")
    store.ops((1, name, STEP_NS + i, STEP_NS // 4, STEP_NS // 4, 0, 0) for i in range(n))


def nested_phases(store, n):
    """n scopes, marked as phases, each nested in the one before."""
    _loop(store)
    name = store.name("evaluate")
    store.phases((1, SCOPE, name, STEP_NS + i, STEP_NS // 2 - 2 * i, 0) for i in range(n))


def backward_passes(store, n):
    """n backward passes in one optimizer step: a closure that runs very often."""
    store.processes(1)
    store.threads(1)
    store.steps(3)
    store.phases([(1, OPTIMIZER, None, 4 * STEP_NS, STEP_NS // 2, 0)])
    store.phases((1, BACKWARD, None, 4 * STEP_NS + 4 * i, 2, 0) for i in range(n))
    store.phases([(1, STEP, None, 5 * STEP_NS, 0, 0)])


def names(store, n):
    """n ranges with n names, as from record_function(f"iter {i}"), each around an op."""
    _loop(store)
    add = store.name("aten::add")

    def rows():
        for i in range(n):
            start = i * (4 * STEP_NS // n)
            yield (1, add, start + 10, 100, 100, 0, 1)
            yield (1, store.name(f"iter {i}"), start, 200, 100, 7, 0)

    store.ops(rows())


def op_names(store, n):
    """n ops with n names that are not user ranges: n rows in the table of ops."""
    _loop(store)
    store.ops((1, store.name(f"op {i}"), i * (4 * STEP_NS // n), 200, 200, 0, 0) for i in range(n))


def processes(store, n):
    """n idle processes, children of the one that trains."""
    store.processes(n)
    store.threads(n, lambda i: i)
    store.steps(4)
    add = store.name("aten::add")
    store.ops((i, add, i, 1, 1, 0, 0) for i in range(1, n + 1))


def killed_processes(store, n):
    """n processes that were killed, each during an op."""
    store.processes(n)
    store.threads(n, lambda i: i)
    store.steps(4)
    add = store.name("aten::add")
    store.many(
        "process_end",
        ((i, "signal", 15 if i % 2 else 9, STEP_NS + i, None, 0) for i in range(1, n + 1)),
    )
    store.many("unfinished_op", ((None, i, add, STEP_NS, 0, 0) for i in range(1, n + 1)))


def training_processes(store, n):
    """n / 8 training processes with two steps each."""
    count = max(n // 8, 1)
    store.processes(count)
    store.threads(count, lambda i: i)
    for i in range(1, count + 1):
        store.steps(2, thread=i)
    add = store.name("aten::add")
    store.ops((i, add, STEP_NS + 5, 10, 10, 0, 0) for i in range(1, count + 1))


def chain_of_processes(store, n):
    """n processes without marks, each the child of the one before."""
    store.many("process", ((i, 1000 + i, "train", "train", 999 + i, None) for i in range(1, n + 1)))
    store.threads(n, lambda i: i)
    add = store.name("aten::add")
    store.ops((i, add, i, 1, 1, 0, 0) for i in range(1, n + 1))


def threads(store, n):
    """n threads of the training process, with one op each."""
    store.processes(1)
    store.threads(n)
    store.steps(4)
    add = store.name("aten::add")
    store.ops((i, add, STEP_NS + i, 5, 5, 0, 0) for i in range(1, n + 1))


def training_threads(store, n):
    """n / 8 training threads of one process, with two steps each."""
    count = max(n // 8, 1)
    store.processes(1)
    store.threads(count)
    for i in range(1, count + 1):
        store.steps(2, thread=i)
    add = store.name("aten::add")
    store.ops((i, add, STEP_NS + 5, 10, 10, 0, 0) for i in range(1, count + 1))


def steps(store, n):
    """n / 3 steps of a microsecond."""
    store.processes(1)
    store.threads(1)
    store.steps(n // 3, length=1000)
    add = store.name("aten::add")
    store.ops((1, add, 1000 * i, 400, 400, 0, 0) for i in range(n // 3))


def _device(store, streams=1, devices=1):
    store.many(
        "device",
        (
            (i, 1, i - 1, "GPU", None, None, None, None, None, None, None)
            for i in range(1, devices + 1)
        ),
    )
    store.many("stream", ((i, 1 + (i - 1) % devices, 1, 6 + i) for i in range(1, streams + 1)))


def _kernels(store, rows):
    """Adds rows (stream, name, start, dur, correlation)."""
    store.many("kernel", ((None, *row, 1, 1, 1, 32, 1, 1, 16, 0, 0, None, None) for row in rows))


def overlapping_calls(store, n):
    """n API calls of one thread that overlap without nesting, each with a kernel; so do these."""
    _loop(store)
    _device(store)
    launch, kernel = store.name("cudaLaunchKernel"), store.name("gemm")
    store.many("api_call", ((None, 1, launch, STEP_NS + i, STEP_NS // 8, i + 1) for i in range(n)))
    _kernels(
        store, ((1, kernel, STEP_NS + STEP_NS // 4 + i, STEP_NS // 8, i + 1) for i in range(n))
    )


def nested_calls(store, n):
    """n API calls of one thread, each nested in the one before."""
    _loop(store)
    _device(store)
    launch, kernel = store.name("cudaLaunchKernel"), store.name("gemm")
    store.many(
        "api_call", ((None, 1, launch, STEP_NS + i, STEP_NS // 4 - 2 * i, i + 1) for i in range(n))
    )
    _kernels(store, [(1, kernel, STEP_NS + STEP_NS // 2, 10, 1)])


def streams(store, n):
    """n streams on n / 16 devices, with one kernel each."""
    _loop(store)
    _device(store, n, max(n // 16, 1))
    launch, kernel = store.name("cudaLaunchKernel"), store.name("gemm")
    store.many("api_call", ((None, 1, launch, STEP_NS + 4 * i, 2, i + 1) for i in range(n)))
    _kernels(store, ((i + 1, kernel, STEP_NS + STEP_NS // 4 + i, 5, i + 1) for i in range(n)))


def kernel_names(store, n):
    """n kernels with n names."""
    _loop(store)
    _device(store)
    launch = store.name("cudaLaunchKernel")
    store.many("api_call", ((None, 1, launch, STEP_NS + 4 * i, 2, i + 1) for i in range(n)))
    _kernels(
        store, ((1, store.name(f"kernel {i}"), STEP_NS + 1000 + 4 * i, 3, i + 1) for i in range(n))
    )


def counters(store, n):
    """n counters with n names, with one reading each."""
    _loop(store)
    store.many("sample", ((1, store.name(f"cpu_tensor_bytes_{i}"), i, 1, None) for i in range(n)))


def unfinished_ops(store, n):
    """n ops that were open when their process was killed."""
    _loop(store)
    add = store.name("aten::add")
    store.many("process_end", [(1, "signal", 9, 5 * STEP_NS, None, 0)])
    store.many("unfinished_op", ((None, 1, add, STEP_NS + i, 0, min(i, 255)) for i in range(n)))


ALL = [
    nested_ops,
    nested_scopes,
    nested_across_steps,
    nested_one_start,
    overlapping_ops,
    nested_phases,
    backward_passes,
    names,
    op_names,
    processes,
    killed_processes,
    training_processes,
    chain_of_processes,
    threads,
    training_threads,
    steps,
    overlapping_calls,
    nested_calls,
    streams,
    kernel_names,
    counters,
    unfinished_ops,
]
