"""A program that was recorded and analyzed, and how what is said of it is compared with what it saw itself."""

import dataclasses
import json
import pathlib
import sqlite3
import subprocess

import pytest

import own_steps

POINT = 0.01  # the promise: the input share is within one point of the program's own
ATTEMPTS = 5
STARVED = 0.10  # of a loop's time without a core: what it then measures itself is no truth


@dataclasses.dataclass
class Run:
    """A program that was recorded."""

    report: dict  # stepscope analyze --json
    folder: pathlib.Path

    def own(self, suffix=""):
        return own_steps.read(self.folder / f"own.json{suffix}")

    def loop_of(self, pid, tid=None):
        """What the report says of the training loop of a process, or of one of its threads."""
        loops = [
            loop
            for loop in self.report["loops"]
            if loop["process"] == pid and tid in (None, loop["thread"])
        ]
        assert len(loops) == 1, f"{len(loops)} loops of process {pid}: {self.report['run']}"
        return loops[0]

    def share_error(self, own, steps):
        """The reported input share of a process less its own, over the same steps."""
        loop = own["pid"], own.get("tid")
        report = self.loop_of(*loop)
        numbers = (
            self.plain_steps(*loop) if report["recording"]["removed"] else self.steady_steps(*loop)
        )
        return report["shares"]["input"] - own_steps.input_share(own, steps, numbers)

    def steady_steps(self, pid, tid=None):
        """The numbers of the steps that the report of a process rests on."""
        with sqlite3.connect(self.folder / "run.db") as store:
            rows = store.execute(
                "SELECT number FROM step JOIN thread ON thread.id = thread_id JOIN process ON process.id = process_id"
                " WHERE pid = ?1 AND (tid = ?2 OR ?2 IS NULL) AND steady ORDER BY number",
                [pid, tid],
            )
            return [number for (number,) in rows]

    def plain_steps(self, pid, tid=None):
        """The numbers of the steps that a report rests on where recording ops cost something: those without ops, and
        none beside one with ops if there are ten others. The program's own times of the others have that cost in
        them."""
        steady = self.steady_steps(pid, tid)
        with sqlite3.connect(self.folder / "run.db") as store:
            rows = store.execute(
                "SELECT number FROM step JOIN thread ON thread.id = thread_id JOIN process ON process.id = process_id"
                " WHERE pid = ?1 AND (tid = ?2 OR ?2 IS NULL) AND ops_recorded",
                [pid, tid],
            )
            with_ops = {number for (number,) in rows}
        plain = [number for number in steady if number not in with_ops]
        inner = [number for number in plain if not {number - 1, number + 1} & with_ops]
        return inner if len(inner) >= 10 else plain


def analyze(stepscope, folder):
    """The Run in folder/run.db."""
    analyzed = subprocess.run(
        [stepscope, "analyze", "--json", folder / "run.db"], capture_output=True, text=True
    )
    assert analyzed.returncode == 0, analyzed.stderr
    return Run(json.loads(analyzed.stdout), folder)


def until_shares_agree(record, steps_of, of):
    """The first of ATTEMPTS runs whose input shares are the program's own. record(attempt) makes a Run; steps_of and
    of are those of the fixtures `run`. Skips if the program's loops lacked a core in every attempt."""
    starved = True
    for attempt in range(ATTEMPTS):
        done = record(attempt)
        owns = [done.own(which) for which in of if steps_of]
        errors = [share_error_of_its_own_steps(done, own, steps_of) for own in owns]
        if all(abs(error) <= POINT for error in errors):
            return done
        starved &= any(is_starved(done.loop_of(own["pid"], own.get("tid"))) for own in owns)
    message = f"input shares differ from the program's own by {errors}, {ATTEMPTS} times"
    if starved:
        pytest.skip(f"no cores for the program: {message}")
    pytest.fail(message)


def is_starved(loop):
    starvation = loop["starvation"]  # null where the kernel does not tell
    return starvation is not None and starvation["loop_share"] >= STARVED


def share_error_of_its_own_steps(run, own, steps_of):
    """One run may miss the share: between the program's reading of a clock and ours, other programs may have had
    the processor. The steps it may not miss."""
    steps = steps_of(own)
    assert len(steps) >= 60
    loop = own["pid"], own.get("tid")
    assert run.loop_of(*loop)["steps"]["count"] == len(steps)
    assert len(run.steady_steps(*loop)) >= len(steps) // 2
    return run.share_error(own, steps)
