#!/usr/bin/env python3
"""Kills a recorded program, its recorder, or both at random moments, many times, and compares what
the program had written with what is stored.

The program (tests/hostile/programs.cc, `until-killed`) records scopes on four threads and counts
them in a file that survives it. SIGKILL comes at a random time after its start: while it joins the
recording, in its first events, or much later. Then this must hold:

  - If the recorder survives (only the program is killed), the store has as many scopes of each
    thread as it had written, or one more, which it had written but not yet counted. With a full
    disk, the stored scopes and those counted as lost (`loss`) add up to what was written.
  - If the recorder is killed, the store is undamaged and still in the state `recording`. For each
    thread it has an unbroken beginning of the scopes written, and never more. Only events after the
    last commit are missing, at most those of one commit period; the output says how much that was.
  - A program whose recorder was killed continues.

    kill_many.py --build build/release --kills 1000
    kill_many.py --build build/release --kills 1000 --victim recorder --full-disk
    kill_many.py --build build/release --kills 1000 --victim embedded     # a program that records itself
"""

import argparse
import contextlib
import ctypes
import dataclasses
import mmap
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

THREADS = 4
BLOCK = 1000  # scopes with the same name
STEP = 10  # scopes per step of the first thread
FILE_FORMAT = f"={1 + THREADS}q"  # the process id, then what each thread has written
# The longest life before the kill, in seconds. A recorder commits four times a second, so if it is
# killed too, later moments are also interesting.
LONGEST_LIFE_S = {"program": 0.04, "recorder": 0.6, "both": 0.6, "embedded": 0.6}
LONGEST_LIFE_ON_A_FULL_DISK_S = 0.6
DISK = "6m"
PATIENCE_S = 60
PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Store:
    """The contents of a store."""

    blocks: list  # for each thread {block number: scopes}
    phases: int  # scopes and steps
    lost: int
    ended: tuple  # how, code; None: no process has ended
    intact: bool
    complete: bool

    @property
    def scopes(self):
        return [sum(blocks.values()) for blocks in self.blocks]

    def has_holes(self):
        """Whether a thread has an incomplete block before its last one."""
        return any(
            blocks.get(number, 0) != BLOCK
            for blocks in self.blocks
            for number in range(max(blocks, default=0))
        )


@dataclasses.dataclass
class Killed:
    """The state after one kill."""

    written: list  # by each thread, as counted by itself: the most that the recorder can have seen
    store: Store  # None: killed before there was one
    recorder_lived: bool
    age_s: float = 0.0  # age of the store's contents at the recorder's death

    @property
    def phases_written(self):
        return sum(self.written) + self.written[0] // STEP

    def missing(self):
        """How this breaks the promise above; "" if it does not."""
        if self.store is None:
            return "there is no store" if self.recorder_lived else ""
        if not self.store.intact:
            return "the store is damaged"
        if self.recorder_lived or self.store.complete:
            return self._missing_in_a_complete_one()
        return self._missing_in_a_beginning()

    def _say(self, what):
        return (
            f"{what}: written {self.written}, stored {self.store.scopes}, {self.store.phases} phases,"
            f" counted as lost {self.store.lost}"
        )

    def _missing_in_a_complete_one(self):
        store = self.store
        exact = all(
            wrote <= stored <= wrote + 1 for wrote, stored in zip(self.written, store.scopes)
        )
        if store.lost == 0 and not exact:
            return self._say("not all is stored")
        # Each thread may have one scope that it had not counted yet, and the first thread one step.
        if (
            not self.phases_written
            <= store.phases + store.lost
            <= self.phases_written + THREADS + 1
        ):
            return self._say("stored and lost events do not add up to what was written")
        if store.ended not in (None, ("signal", signal.SIGKILL)):
            return f"the store says that it ended by {store.ended}"
        return ""

    def _missing_in_a_beginning(self):
        store = self.store
        if any(stored > wrote + 1 for wrote, stored in zip(self.written, store.scopes)):
            return self._say("more than was written")
        if store.lost == 0 and store.has_holes():
            return self._say(f"holes in {store.blocks}")
        return ""


class Counts:
    """The file with the program's counts."""

    def __init__(self, path):
        path.write_bytes(bytes(struct.calcsize(FILE_FORMAT)))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def pid(self):
        return struct.unpack_from("=q", self._memory)[0]

    def written(self):
        return list(struct.unpack_from(FILE_FORMAT, self._memory)[1:])


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.0005)


class Life:
    """One run, from its start to its death."""

    def __init__(self, stepscope, program, victim, store, counts):
        self.victim, self.counts = victim, counts
        watched = [program, "until-killed", counts_path(store)]
        if victim == "embedded":
            command = [*watched, store]
        else:
            command = [stepscope, "run", "-o", store, "--quiet", "--no-analysis", "--", *watched]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.history = []  # (when, scopes written)
        wait_until(lambda: counts.pid() or self.process.poll() is not None, "the program")
        if not counts.pid():
            raise RuntimeError(f"the program did not start: exit code {self.process.returncode}")

    def pass_by(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self.history.append((now, sum(self.counts.written())))
            time.sleep(min(0.001, end - now))

    def kill_program(self):
        os.kill(self.counts.pid(), signal.SIGKILL)

    def kill_recorder(self):
        """Kills the recorder and waits until it is gone."""
        self.process.kill()
        self.process.wait()
        self.history.append((time.monotonic(), sum(self.counts.written())))

    def reap_orphan(self):
        """Reaps the program, whose parent we are after the recorder's death."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.counts.pid(), 0)

    def age_of(self, scopes):
        """How long before the death this many scopes had been written."""
        death = self.history[-1][0]
        return death - max(
            (when for when, count in self.history if count <= scopes), default=self.history[0][0]
        )


def kill_one(life, rng):
    """Kills the victim. Returns what the program had written by then, and whether the recorder
    survived."""
    if life.victim == "embedded":
        life.kill_recorder()
        return life.counts.written(), False
    if life.victim == "program":
        life.kill_program()
        code = life.process.wait()
        if code != 128 + signal.SIGKILL:
            raise RuntimeError(f"`stepscope run` returned {code}")
        return life.counts.written(), True
    if (
        life.victim == "both" and rng.random() < 0.5
    ):  # the program first, the recorder at some point of its end
        life.kill_program()
        time.sleep(rng.uniform(0, 0.02))
    life.kill_recorder()
    written = life.counts.written()
    if life.victim == "recorder":
        wait_until(
            lambda: sum(life.counts.written()) > sum(written) + BLOCK, "the program to go on"
        )
    with contextlib.suppress(ProcessLookupError):
        life.kill_program()
    life.reap_orphan()
    return written, False


def counts_path(store):
    """A path on another disk than the store's, which may be full."""
    return store.parent.parent / "counts"


def look(path):
    """The Store; None if there is none yet. Reads a copy, on a disk with room for SQLite's own
    files."""
    with tempfile.TemporaryDirectory() as folder:
        copy_store(path, folder)
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder) / path.name)) as store:
            try:
                if store.execute(
                    "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"
                ).fetchone() == (0,):
                    return None
                return read(store)
            except sqlite3.DatabaseError:
                return Store([{}] * THREADS, 0, 0, None, False, False)


def copy_store(path, folder):
    for file in path.parent.glob(path.name + "*"):
        shutil.copy(file, folder)


def read(store):
    blocks = [{} for _ in range(THREADS)]
    for text, count in store.execute(
        "SELECT text, count(*) FROM phase JOIN phase_kind AS k ON k.id = kind JOIN string ON string.id = name_id"
        " WHERE k.name = 'scope' GROUP BY text"
    ):
        _, thread, _, block = text.split()
        blocks[int(thread)][int(block)] = count
    (phases,) = store.execute("SELECT count(*) FROM phase").fetchone()
    (lost,) = store.execute("SELECT coalesce(sum(count), 0) FROM loss").fetchone()
    ended = store.execute("SELECT how, code FROM process_end").fetchone()
    (intact,) = store.execute("PRAGMA integrity_check").fetchone()
    state = store.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()
    return Store(blocks, phases, lost, ended, intact == "ok", state == ("complete",))


def kill_many(stepscope, program, kills, seed, victim="program", disk=None, keep=None):
    """Yields a Killed for each of `kills` kills. `disk`: a small file system for the stores.
    `keep`: a folder for the first store that breaks the promise above."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rng = random.Random(seed)
    longest = LONGEST_LIFE_S[victim] if disk is None else LONGEST_LIFE_ON_A_FULL_DISK_S
    with tempfile.TemporaryDirectory() as folder:
        stores = pathlib.Path(folder) / "stores"
        if disk is None:
            stores.mkdir()
        else:
            stores = disk
        for _ in range(kills):
            store = stores / "run.db"
            life = Life(stepscope, program, victim, store, Counts(counts_path(store)))
            life.pass_by(rng.uniform(0, longest))
            written, recorder_lived = kill_one(life, rng)
            found = look(store)
            age = (
                life.age_of(sum(found.scopes))
                if found and life.history and not recorder_lived
                else 0.0
            )
            killed = Killed(written, found, recorder_lived, age)
            if keep is not None and killed.missing() and not keep.exists():
                keep.mkdir(parents=True)
                copy_store(store, keep)
            yield killed
            for file in stores.iterdir():
                file.unlink()


def on_a_small_disk(arguments):
    """Runs this script again in a namespace with a small disk; returns its exit code."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    with tempfile.TemporaryDirectory() as folder:
        disk = pathlib.Path(folder) / "disk"
        disk.mkdir()
        script = f'mount -t tmpfs -o size={DISK} none "$0" && exec "$@" --disk "$0"'
        command = [
            "unshare",
            *as_root,
            "--mount",
            "sh",
            "-c",
            script,
            disk,
            sys.executable,
            __file__,
            *arguments,
        ]
        return subprocess.run([str(word) for word in command], check=False).returncode


def summary(deaths, seconds):
    failed = sum(1 for death in deaths if death.missing())
    stores = [death.store for death in deaths if death.store]
    text = (
        f"{len(deaths)} kills in {seconds:.0f} s: {sum(sum(death.written) for death in deaths)} scopes written,"
        f" {sum(sum(store.scopes) for store in stores)} stored, {sum(store.lost for store in stores)} events counted as"
        f" lost; {failed} runs with missing events"
    )
    ages = sorted(
        death.age_s
        for death in deaths
        if not death.recorder_lived and death.store and not death.store.complete
    )
    if ages:
        text += (
            f"\n{len(ages)} stores end before their recorder's death: by {1e3 * statistics.median(ages):.0f} ms"
            f" (median), {1e3 * ages[-1]:.0f} ms at most"
        )
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument(
        "--seed", type=int, default=random.randrange(2**32), help="of the moments; default: random"
    )
    parser.add_argument(
        "--victim",
        choices=LONGEST_LIFE_S,
        default="program",
        help="what to kill; embedded: a program that records itself",
    )
    parser.add_argument(
        "--full-disk", action="store_true", help="use a disk that is soon full (needs unshare)"
    )
    parser.add_argument(
        "--keep", type=pathlib.Path, help="a new folder for the first store that fails the check"
    )
    parser.add_argument("--disk", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.full_disk and given.disk is None:
        return on_a_small_disk([*sys.argv[1:], "--seed", given.seed])
    print(
        f"victim {given.victim}, seed {given.seed}{', full disk' if given.full_disk else ''}",
        flush=True,
    )
    begin = time.monotonic()
    deaths = []
    for killed in kill_many(
        given.build / "bin/stepscope",
        given.build / "tests/hostile/hostile",
        given.kills,
        given.seed,
        given.victim,
        given.disk,
        given.keep,
    ):
        deaths.append(killed)
        if killed.missing():
            print(f"kill {len(deaths)}: {killed.missing()}", flush=True)
    print(summary(deaths, time.monotonic() - begin))
    return 1 if any(death.missing() for death in deaths) else 0


if __name__ == "__main__":
    sys.exit(main())
