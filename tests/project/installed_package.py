#!/usr/bin/env python3
"""Installs a build into a temporary prefix and uses it from a project outside the tree.

usage: installed_package.py BUILD_DIR [TORCH_DIR]

Configures, builds and runs the project in consumer/ against the installed package, and looks into
what its programs recorded. With TORCH_DIR, the root of a libtorch, the one that trains too; its op hooks
are then taken away and built anew from what was installed.
"""

import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).parent / "consumer"
MARKED_LOOP = """
import stepscope, sys
with stepscope.record(sys.argv[1]) as recording:
    for batch in stepscope.input(range(40)):
        stepscope.step()
sys.exit(recording.error)
"""


def run(*command: object) -> str:
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} ended with {done.returncode}")
    return done.stdout


def counts(store: pathlib.Path) -> dict[str, int]:
    """How many waits, steps and ops of a kind a store holds."""
    queries = {
        "input": "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'input'",
        "step": "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'step'",
        "backward": "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'backward'",
        "addmm": "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::addmm'",
    }
    with sqlite3.connect(store) as connection:
        return {name: connection.execute(query).fetchone()[0] for name, query in queries.items()}


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def record(prefix: pathlib.Path, program: pathlib.Path, store: pathlib.Path) -> tuple[str, int]:
    """What `stepscope run` says, and how many of the program's ops it recorded."""
    said = run(
        prefix / "bin" / "stepscope",
        "run",
        "--ops",
        "all",
        "-o",
        store,
        "--",
        program,
        store.with_suffix(".own.db"),
    )
    return said, counts(store)["addmm"]


def check_hooks_are_built(prefix: pathlib.Path, program: pathlib.Path, place: pathlib.Path) -> None:
    """Of a libtorch without hooks the wrapper names the command that builds them, and that does."""
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    for hooks in prefix.glob("lib*/**/stepscope/torch-*"):
        shutil.rmtree(hooks)
    said, ops = record(prefix, program, place / "without.db")
    expect("ops without hooks", ops, 0)
    lines = [line for line in said.splitlines() if "no op hooks" in line]
    expect("lines about missing hooks", len(lines), 1)
    command = shlex.split(lines[0].rpartition("To build them: ")[2])
    expect("the command in it", command[:4], ["stepscope", "doctor", "--build-hooks", "--torch"])

    doctor = [prefix / "bin" / "stepscope", "doctor", "--torch", command[4]]
    expect("doctor's code before", subprocess.run(doctor, stdout=subprocess.DEVNULL).returncode, 1)
    run(prefix / "bin" / "stepscope", *command[1:])
    run(*doctor)
    said, ops = record(prefix, program, place / "with.db")
    expect("ops with the hooks built", ops, 40)
    expect("a line about missing hooks", "no op hooks" in said, False)


def main(arguments: list[str]) -> None:
    build, torch = pathlib.Path(arguments[0]), arguments[1] if len(arguments) > 1 else ""
    with tempfile.TemporaryDirectory(prefix="stepscope-consumer-") as temporary:
        place = pathlib.Path(temporary)
        run("cmake", "--install", build, "--prefix", place / "installed")
        # Moved, so that nothing can lean on the place it was installed to.
        prefix = pathlib.Path(shutil.move(place / "installed", place / "moved"))
        run(
            "cmake",
            "-G",
            "Ninja",
            "-S",
            CONSUMER,
            "-B",
            place / "build",
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_PREFIX_PATH={prefix};{torch}",
            f"-DWITH_TORCH={'ON' if torch else 'OFF'}",
        )
        run("cmake", "--build", place / "build")

        run(place / "build" / "plain", place / "plain.db")
        expect(
            "plain",
            counts(place / "plain.db"),
            {"input": 40, "step": 40, "backward": 0, "addmm": 0},
        )
        if torch:
            run(place / "build" / "train", place / "train.db")
            expect(
                "train",
                counts(place / "train.db"),
                {"input": 40, "step": 0, "backward": 40, "addmm": 40},
            )

        python = next(prefix.glob("lib*/**/stepscope/python"))
        run(
            "env",
            f"PYTHONPATH={python}",
            sys.executable,
            "-B",
            "-c",
            MARKED_LOOP,
            place / "marked.db",
        )
        expect(
            "marked loop",
            counts(place / "marked.db"),
            {"input": 40, "step": 40, "backward": 0, "addmm": 0},
        )
        expect("the folder for PYTHONPATH", (python / "inject" / "sitecustomize.py").exists(), True)
        if torch:
            check_hooks_are_built(prefix, place / "build" / "train", place)
        expect(
            "the installed program's help",
            "analyze" in run(prefix / "bin" / "stepscope", "--help"),
            True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
