"""Sweeps of one program, for the tests of `stepscope sweep`."""

import json

import hostile

GRID = ["-p", "batch=1,2,4"]
SLOW = {"program": ("--batch", "{batch}", "--steps", 300, "--fixed-us", 1000)}


class Sweep:
    """Sweeps of one program into one store."""

    def __init__(self, stepscope, program, folder):
        self.stepscope, self.program, self.folder = stepscope, program, folder
        self.store, self.log = folder / "sweep.db", folder / "log"

    def command(self, *options, grid=GRID, program=("--batch", "{batch}"), repeats=2):
        return [
            str(word)
            for word in (
                self.stepscope,
                "sweep",
                "-o",
                self.store,
                "--repeats",
                repeats,
                *options,
                *grid,
                "--",
                self.program,
                "--log",
                self.log,
                *program,
            )
        ]

    def run(self, *options, **more):
        return hostile.run(self.command(*options, **more))

    def query(self, text):
        return hostile.query(self.store, text)

    def started(self):
        """The batch of each process that was started, in order."""
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    def shown(self):
        done = hostile.run([self.stepscope, "sweep", "show", self.store, "--json"])
        assert done.code == 0, done.err
        return json.loads(done.out)


def assert_one_line(done, code, *parts):
    assert done.code == code, done.err
    (line,) = done.err.splitlines()
    for part in parts:
        assert part in line
    return line


def quoted(words):
    return " ".join(f"'{word}'" for word in words)
