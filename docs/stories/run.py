#!/usr/bin/env python3
"""Runs the commands of the stories, and puts what they print and show into them.

usage: .venv/bin/python docs/stories/run.py [--build build/release] [--check [--quick]] [STORY.md ...]

In a story, a fence marked `console` is a session: lines that begin with "$ " are commands (a backslash at the end
goes on), what follows each is its output, which is replaced by what it prints now. A comment in the line before
can shorten it: <!-- show 1-14 --> keeps these lines of the output of each command in that fence, and marks the cut by
an ellipsis. A comment <!-- picture: report.html#overview 1000x700 light --> before an image takes that image anew.
A command that fails ends the run; one that is to fail says so in the story: `... || echo "exit code $?"`.

--check runs everything and changes nothing: that the stories can still be followed. Figures differ from machine to
machine, so output is not compared. --quick measures less (QUICK), which is enough for that; tests/docs does so.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "docs" / "images"), str(ROOT / "tests" / "browser")]

FENCE = re.compile(
    r"(?:<!-- show (?P<first>\d+)-(?P<last>\d+) -->\n)?```console\n(?P<session>.*?)^```$",
    re.DOTALL | re.M,
)
PICTURE = re.compile(
    r"<!-- picture: (?P<page>\S+) (?P<width>\d+)x(?P<height>\d+) (?P<colours>light|dark) -->\n"
    r"!\[[^\]]*\]\((?P<file>[^)]+)\)"
)
# Every command stays; it runs less often, and of a range or list of numbers at both ends only.
QUICK = [
    (re.compile(r"--(epochs|repeats) \d+"), r"--\1 1"),
    (re.compile(r"--calls \d+"), "--calls 5"),
    (re.compile(r"=(\d+)\.\.(\d+)\*\d+\b"), r"=\1,\2"),
    (re.compile(r"=(\d+)(?:,\d+)+,(\d+)\b"), r"=\1,\2"),
]
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*$", re.M)


def environment(build):
    """The shell of somebody who followed docs/stories/README.md."""
    path = [build / "bin", build / "samples", pathlib.Path(sys.executable).parent]
    return {
        **os.environ,
        "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
        "COLUMNS": "100",
    }


def run(command, folder, env):
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        sys.exit(f"{command}\nexited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def shorten(output, first, last):
    lines = output.splitlines()
    if first is None or len(lines) <= int(last):
        return output
    kept = lines[int(first) - 1 : int(last)]
    return "\n".join([*(["…"] if int(first) > 1 else []), *kept, "…"]) + "\n"


def shorter(command):
    for pattern, replacement in QUICK:
        command = pattern.sub(replacement, command)
    return command


def run_session(found, folder, env, quick):
    """A fence with each command's output made anew."""
    text = ""
    for command in COMMAND.findall(found["session"]):
        typed = shorter(command) if quick else command
        print(f"  {typed}", file=sys.stderr, flush=True)
        output = run(typed[2:], folder, env)
        text += command + "\n" + shorten(output, found["first"], found["last"])
    return found[0][: found.start("session") - found.start()] + text + "```"


def take_pictures(story, text, folder):
    import report as pictures  # docs/images/report.py
    import viewers
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=viewers.find_chromium(), args=["--no-sandbox"]
        )
        for found in PICTURE.finditer(text):
            file, _, page = found["page"].partition("#")
            pictures.take(
                browser,
                folder / file,
                story.parent / found["file"],
                page,
                int(found["width"]),
                int(found["height"]),
                found["colours"],
            )
        browser.close()


def tell(story, build, check, quick):
    print(story.name, file=sys.stderr)
    text = story.read_text()
    with tempfile.TemporaryDirectory() as temporary:
        (pathlib.Path(temporary) / "samples").symlink_to(ROOT / "samples")
        folder = pathlib.Path(temporary) / "stories"
        folder.mkdir()
        told = FENCE.sub(lambda found: run_session(found, folder, environment(build), quick), text)
        missing = [
            found["page"]
            for found in PICTURE.finditer(text)
            if not (folder / found["page"].partition("#")[0]).exists()
        ]
        if missing:
            sys.exit(f"{story.name}: no command made {', '.join(missing)}")
        if not check:
            take_pictures(story, text, folder)
            story.write_text(told)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true", help="only with --check")
    parser.add_argument("stories", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if options.quick and not options.check:
        parser.error("--quick: what a quick run prints is not for the stories; add --check")
    for story in options.stories or sorted(HERE.glob("[0-9]*.md")):
        tell(story.resolve(), options.build.resolve(), options.check, options.quick)


if __name__ == "__main__":
    main()
