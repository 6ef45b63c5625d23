#!/usr/bin/env python3
"""Kills a recorded program at random points, again and again, and compares what it had written with what is stored.

The program (tests/hostile/programs.cc, `until-killed`) notes scopes on four threads and keeps count of them in a
file that survives it. It is killed by SIGKILL at a moment after its start that is drawn at random: while it joins
the recording, in its first events, or much later. Then of each thread there must be as many scopes in the store as
it had written, or one more: the one that it had written and not yet counted.

    kill_many.py --build build/release --kills 1000
"""

import argparse
import contextlib
import dataclasses
import mmap
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

THREADS = 4
FILE_FORMAT = f"={1 + THREADS}q"  # the process id, then what each thread has written
LONGEST_LIFE_S = 0.04


@dataclasses.dataclass
class Killed:
    """What was found after one death."""

    written: list  # by each thread, as it counted itself
    stored: list
    lost: int
    ended: tuple  # how, code; None: the process is not in the store
    intact: bool

    def missing(self):
        """Why this is not as promised; "" when it is."""
        if not self.intact:
            return "the store is damaged"
        if self.lost == 0 and any(not wrote <= stored <= wrote + 1 for wrote, stored in zip(self.written, self.stored)):
            return f"written {self.written}, stored {self.stored}"
        if not sum(self.written) <= sum(self.stored) + self.lost <= sum(self.written) + THREADS:
            return f"written {self.written}, stored {self.stored}, counted as lost {self.lost}"
        if self.ended != ("signal", signal.SIGKILL):
            return f"said to have ended by {self.ended}"
        return ""


def start_and_kill(stepscope, program, store, counts, life):
    """Returns what the program had written, by thread."""
    counts.write_bytes(bytes(struct.calcsize(FILE_FORMAT)))
    command = [stepscope, "run", "-o", store, "--quiet", "--no-analysis", "--", program, "until-killed", counts]
    with subprocess.Popen(command) as wrapper, open(counts, "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as memory:
            while (pid := struct.unpack_from("=q", memory)[0]) == 0:
                if wrapper.poll() is not None:
                    raise RuntimeError(f"the program did not start: exit code {wrapper.returncode}")
                time.sleep(0.0005)
            time.sleep(life)
            os.kill(pid, signal.SIGKILL)
            code = wrapper.wait()
            if code != 128 + signal.SIGKILL:
                raise RuntimeError(f"`stepscope run` returned {code}")
            return list(struct.unpack_from(FILE_FORMAT, memory)[1:])


def look(path, written):
    with contextlib.closing(sqlite3.connect(path)) as store:
        stored = dict(store.execute(
            "SELECT text, count(*) FROM phase JOIN phase_kind AS k ON k.id = kind JOIN string ON string.id = name_id"
            " WHERE k.name = 'scope' GROUP BY text"))
        (lost,) = store.execute("SELECT coalesce(sum(count), 0) FROM loss").fetchone()
        ended = store.execute("SELECT how, code FROM process_end").fetchone()
        (intact,) = store.execute("PRAGMA integrity_check").fetchone()
    return Killed(written, [stored.get(f"thread {i}", 0) for i in range(THREADS)], lost, ended, intact == "ok")


def kill_many(stepscope, program, kills, seed):
    """Yields a Killed for each of so many deaths."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(kills):
            store = pathlib.Path(folder) / f"{number}.db"
            written = start_and_kill(stepscope, program, store, pathlib.Path(folder) / "counts",
                                     moments.uniform(0, LONGEST_LIFE_S))
            yield look(store, written)
            store.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the moments; default: any")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    begin = time.monotonic()
    deaths = []
    for killed in kill_many(given.build / "bin/stepscope", given.build / "tests/hostile/hostile", given.kills,
                            given.seed):
        deaths.append(killed)
        if killed.missing():
            print(f"kill {len(deaths)}: {killed.missing()}", flush=True)
    failed = sum(1 for killed in deaths if killed.missing())
    print(f"{len(deaths)} kills in {time.monotonic() - begin:.0f} s: {sum(sum(k.written) for k in deaths)} scopes written,"
          f" {sum(sum(k.stored) for k in deaths)} stored, {sum(k.lost for k in deaths)} counted as lost;"
          f" {failed} runs with anything missing")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
