#!/usr/bin/env python3
"""Makes each system call of Stepscope fail once, one per run, and checks the effect on the program.

A first run counts every allocation, new thread, open, mmap, write, fsync, reservation of space and
socket call of libstepscope, of its recorder library and of `stepscope run`. Then one run for each
of these calls makes it fail (tests/hostile/fail_once.cc). The program's output and exit code must
be the same as without Stepscope, the store must open, and everything missing from it must be
reported: as a loss, as the reason why the recording stopped, or in a line on stderr.

    fail_once.py --build build/release               # all of them
    fail_once.py --build build/release --sample 200  # 200 of them, drawn at random
    fail_once.py --build build/release --while-running  # all that are made while the program runs
    fail_once.py --build build/release --part 1/8 --json FILE  # an eighth; FILE adds the parts up
"""

import argparse
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

KINDS = ["memory", "thread", "open", "map", "write", "sync", "space", "socket"]
ROLES = ["program", "recorder"]
COUNTERS = len(KINDS) * len(ROLES)
# Made, to fail, failed, made before the program's start: Counts in fail_once.cc.
FILE_FORMAT = f"={2 * COUNTERS + 1 + len(KINDS)}q"
MODES = ["wrapped", "embedded"]
THREADS, SCOPES = 3, 200  # of the program


@dataclasses.dataclass(frozen=True)
class Fault:
    """The call that fails: its kind, and its number, counted from 1."""

    role: str
    kind: str
    number: int
    program_runs: bool  # the call comes after the program's start

    @property
    def index(self):
        return ROLES.index(self.role) * len(KINDS) + KINDS.index(self.kind)


@dataclasses.dataclass
class Outcome:
    fault: Fault
    code: int
    out: str
    err: str
    failed: int  # calls that did fail
    intact: bool  # there is no store, or it is undamaged
    stored: int  # scopes; -1: there is no store
    lost: int
    state: str
    stopped: str

    @property
    def said(self):
        """Stepscope's lines on standard error."""
        return [line for line in self.err.splitlines() if line.startswith("stepscope")]

    def wrong(self, bare):
        """How this breaks the promise above; "" if it does not."""
        if self.fault is not None and self.failed != 1:
            return f"{self.failed} calls failed"
        if [line for line in self.err.splitlines() if line not in self.said]:
            return f"other output on standard error: {self.err!r}"
        refused = (
            self.code == 3 and self.out == "" and self.said
        )  # by `stepscope run`, before the program began
        if (self.code, self.out) != bare and not refused:
            return f"the program returned {self.code} and printed {self.out!r}; {self.err!r}"
        if not self.intact:
            return "the store is damaged"
        complete = self.stored == THREADS * SCOPES and self.state == "complete"
        if not complete and not (self.said or self.lost or self.stopped):
            return f"{self.stored} of {THREADS * SCOPES} scopes are stored, state {self.state}, for no stated reason"
        if self.stored >= 0 and self.stopped and self.stored + self.lost < THREADS * SCOPES:
            return f"{self.stored} stored and {self.lost} missing of {THREADS * SCOPES} scopes"
        return ""


class Runner:
    def __init__(self, build, folder, mode):
        self.build, self.folder, self.mode = (
            pathlib.Path(build).resolve(),
            pathlib.Path(folder),
            mode,
        )
        self.program = [
            str(self.build / "tests/hostile/hostile"),
            "noting-threads",
            str(THREADS),
            str(SCOPES),
        ]
        self.preloaded = str(self.build / "tests/hostile/libfail_once.so")
        done = subprocess.run(self.program, capture_output=True, text=True, timeout=60, check=False)
        self.bare = done.returncode, done.stdout

    def run(self, fault=None):
        """Returns the Outcome, how often each call was made, and how often before the program's start."""
        counts, store = self.folder / "counts", self.folder / "run.db"
        for file in self.folder.glob("run.db*"):
            file.unlink()
        numbers = [0] * (2 * COUNTERS + 1 + len(KINDS))
        if fault:
            numbers[COUNTERS + fault.index] = fault.number
        counts.write_bytes(struct.pack(FILE_FORMAT, *numbers))
        environment = os.environ | {"LD_PRELOAD": self.preloaded, "FAIL_ONCE_COUNTS": str(counts)}
        command = [*self.program, str(store)]
        if self.mode == "wrapped":
            wrapper = [self.build / "bin/stepscope", "run", "--no-analysis", "-o", store, "--"]
            command = [str(word) for word in [*wrapper, *self.program]]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environment, check=False
        )
        numbers = struct.unpack(FILE_FORMAT, counts.read_bytes())
        looked = look(store)
        return Outcome(
            fault, done.returncode, done.stdout, done.stderr, numbers[2 * COUNTERS], *looked
        ), (numbers[:COUNTERS], numbers[2 * COUNTERS + 1 :])

    def faults(self):
        """All faults that a run without faults shows."""
        outcome, (made, before_start) = self.run()
        if wrong := outcome.wrong(self.bare):
            raise RuntimeError(f"{self.mode}: without any failure: {wrong}")
        return [
            Fault(role, kind, number + 1, role == "program" or number >= before_start[k])
            for r, role in enumerate(ROLES)
            for k, kind in enumerate(KINDS)
            for number in range(made[r * len(KINDS) + k])
        ]


def look(path):
    """Returns whether the store is intact, scopes stored, events lost, its state, why it
    stopped."""
    if not path.exists():
        return True, -1, 0, "", ""
    try:
        with contextlib.closing(sqlite3.connect(path)) as store:
            (intact,) = store.execute("PRAGMA integrity_check").fetchone()
            (stored,) = store.execute(
                "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind"
                " WHERE k.name = 'scope'"
            ).fetchone()
            (lost,) = store.execute("SELECT coalesce(sum(count), 0) FROM loss").fetchone()
            meta = dict(store.execute("SELECT key, value FROM meta"))
        return (
            intact == "ok",
            stored,
            lost,
            meta.get("state", ""),
            meta.get("recording_stopped", ""),
        )
    except sqlite3.DatabaseError as error:
        return False, -1, 0, str(error), ""


def draw(faults, sample, seed):
    """Draws `sample` faults, as evenly as possible among the kinds, and among the times before and after
    the program's start: most calls are allocations that make the store, before any program could be
    harmed."""
    groups = {}
    for fault in random.Random(seed).sample(faults, len(faults)):
        group = fault.role, fault.kind, fault.program_runs
        groups.setdefault(group, []).append(fault)
    turns = itertools.zip_longest(*groups.values())
    return list(itertools.islice((fault for turn in turns for fault in turn if fault), sample))


def fail_each(build, mode, sample=None, seed=None, while_running=False, part=(1, 1)):
    """Yields, for each fault or for `sample` of them, an Outcome and what is wrong with it. `part`
    (k, n): only for the k-th of n parts of all faults, each with every n-th call of a kind."""
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(build, folder, mode)
        faults = [fault for fault in runner.faults() if fault.program_runs or not while_running]
        number, parts = part
        faults = [fault for fault in faults if fault.number % parts == number % parts]
        for fault in draw(faults, sample, seed):
            outcome, _ = runner.run(fault)
            # Threads interleave differently, so a call may come less often than before; then
            # nothing failed.
            yield outcome, outcome.wrong(runner.bare) if outcome.failed else ""


def part_of(text):
    """The text "1/8" as two numbers."""
    number, parts = (int(word) for word in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def add_figures(path, figures):
    """Adds the figures of one mode and part to those in the file; a part that is there is replaced."""
    known = json.loads(path.read_text()) if path.exists() else []
    key = figures["mode"], figures["part"]
    known = [row for row in known if (row["mode"], row["part"]) != key] + [figures]
    known.sort(key=lambda row: (row["mode"], row["part"]))
    path.write_text(json.dumps(known, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    parser.add_argument("--mode", choices=MODES, action="append", help="default: both")
    parser.add_argument(
        "--sample", type=int, help="how many calls of each mode, drawn at random; default: all"
    )
    parser.add_argument(
        "--seed", type=int, default=random.randrange(2**32), help="of the draw; default: random"
    )
    parser.add_argument(
        "--while-running", action="store_true", help="only calls made after the program's start"
    )
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="default: 1/1")
    parser.add_argument("--json", type=pathlib.Path, help="add the figures to this file")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    failed = 0
    for mode in given.mode or MODES:
        begin, made, wrong = time.monotonic(), {}, 0
        faults = fail_each(
            given.build, mode, given.sample, given.seed, given.while_running, given.part
        )
        for outcome, why in faults:
            key = outcome.fault.role, outcome.fault.kind
            made[key] = made.get(key, 0) + (outcome.failed > 0)
            if why:
                wrong += 1
                print(f"{mode}: {outcome.fault}: {why}", flush=True)
        kinds = ", ".join(f"{role} {kind} {number}" for (role, kind), number in made.items())
        print(
            f"{mode}: {sum(made.values())} calls failed, one in each run, in {time.monotonic() - begin:.0f} s"
            f" ({kinds}); {wrong} went wrong",
            flush=True,
        )
        failed += wrong
        if given.json:
            seconds = round(time.monotonic() - begin)
            calls = {f"{role} {kind}": number for (role, kind), number in sorted(made.items())}
            part = "/".join(map(str, given.part))
            add_figures(
                given.json,
                {"mode": mode, "part": part, "seconds": seconds, "calls": calls, "wrong": wrong},
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
