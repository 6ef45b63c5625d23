#!/usr/bin/env python3
r"""Runs the commands of the stories, and puts what they print and show into them.

usage: .venv/bin/python docs/stories/run.py [--build build/release] [--check [--quick]] [STORY.md ...]

In a story, a fence marked `console` is a session: lines that begin with "$ " are commands (a backslash at the end
goes on), what follows each is its output, which is replaced by what it prints now. A comment in the line before
can shorten it: <!-- show 1-4 block:would_help --> keeps the lines 1 to 4 of the output of each command in that fence,
and the paragraph whose first line contains "would help", and marks each cut by an ellipsis. A comment <!-- picture: report.html#overview 1000x700 light -->
before an image takes that image anew. A command that fails ends the run; one that is to fail says so in the story:
`... || echo "exit code $?"`.

A sentence that states a result has a claim beside it, which is checked once all commands of the story have run:

    <!-- claim before.db: verdict.kind == "input-bound" and shares.input > 0.4 -->

The names are the keys of `stepscope analyze --json before.db`; with two stores, of `stepscope compare --json`.
printed("mnist --epochs") is what the first command that contains these words printed, and printed("mnist --epochs",
r"(\d+) steps/s") the number in it. A story with a claim that does not hold is left as it is: take it anew on a quiet
machine, or rewrite the sentence.

--check runs everything and changes nothing: that the stories can still be followed, and that their claims hold.
Figures differ from machine to machine, so output is not compared. --quick measures less (QUICK), which is enough to
follow them, though not for the claims: they only have to be readable. tests/docs does so.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "docs" / "images"), str(ROOT / "tests" / "browser")]

FENCE = re.compile(
    r"(?:<!-- show (?P<show>[^>]+) -->\n)?```console\n(?P<session>.*?)^```$",
    re.DOTALL | re.M,
)
CLAIM = re.compile(r"<!-- claim(?P<stores>(?: [\w.-]+)*): (?P<claim>.*?) -->", re.DOTALL)
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
    (re.compile(r"length=(\d+),\d+\b"), r"length=\1"),
    (re.compile(r"--sentences 2048\b"), "--sentences 256"),
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


class StoryError(Exception):
    """Why a story cannot be told."""


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
        raise StoryError(f"{command}\nexited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def shorten(output, show):
    """The lines that `show` names ("1-4 block:would_help"), with an ellipsis for each cut."""
    if show is None:
        return output
    lines = output.splitlines()
    kept = set()
    for item in show.split():
        if item.startswith("block:"):
            kept |= set(block(lines, item.removeprefix("block:").replace("_", " ")))
        else:
            first, last = map(int, item.split("-"))
            kept |= set(range(first - 1, min(last, len(lines))))
    # What is cut ends in one ellipsis, with the empty line before what follows it.
    text, cut = "", False
    for i, line in enumerate(lines):
        if i in kept:
            text += line + "\n"
        elif not cut and line:
            text += "…\n"
            cut = True
        elif not line and i + 1 in kept:
            text += "\n"
        cut = cut and i not in kept
    return text


def block(lines, words):
    """The numbers of the lines of the first paragraph whose first line contains `words`."""
    first = next(
        (i for i, line in enumerate(lines) if words in line and (i == 0 or not lines[i - 1])), None
    )
    if first is None:
        return range(0)
    end = next((i for i in range(first, len(lines)) if not lines[i]), len(lines))
    return range(first, end)


def shorter(command):
    for pattern, replacement in QUICK:
        command = pattern.sub(replacement, command)
    return command


class Session:
    """Runs the commands of a story in a folder, and keeps what they printed."""

    def __init__(self, folder, env, quick):
        self.folder, self.env, self.quick = folder, env, quick
        self.outputs = {}  # by command, as the story has it

    def run_fence(self, found):
        """A fence with each command's output made anew."""
        text = ""
        for command in COMMAND.findall(found["session"]):
            typed = shorter(command) if self.quick else command
            print(f"  {typed}", file=sys.stderr, flush=True)
            output = run(typed[2:], self.folder, self.env)
            self.outputs.setdefault(command, output)
            text += command + "\n" + shorten(output, found["show"])
        return found[0][: found.start("session") - found.start()] + text + "```"

    def printed(self, words, number=None):
        output = next(output for command, output in self.outputs.items() if words in command)
        if number is None:
            return output
        found = re.search(number, output)
        if found is None:
            raise ValueError(f"{words} printed nothing like {number}")
        return float(found[1].replace(",", ""))

    def holds(self, stores, claim):
        """Whether a claim holds. Raises what Python does where it cannot be read."""
        facts = Facts()
        if stores:
            verb = "analyze" if len(stores) == 1 else "compare"
            command = shlex.join(["stepscope", verb, "--json", *stores])
            facts = json.loads(run(command, self.folder, self.env), object_hook=Facts)
        return bool(eval(claim, {"printed": self.printed}, facts))


class Facts(dict):
    """A JSON object whose values are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


def check_claims(story, text, session):
    wrong = []
    for found in CLAIM.finditer(text):
        claim = re.sub(r"\n\s*", " ", found["claim"])
        try:
            if not session.holds(found["stores"].split(), claim) and not session.quick:
                wrong.append(f"{claim}: does not hold for{found['stores'] or ' what was printed'}")
        except (IndexError, ValueError) as error:  # a row or line that a quick run has not
            if not session.quick:
                wrong.append(f"{claim}: {error}")
        except Exception as error:
            wrong.append(f"{claim}: {type(error).__name__}: {error}")
    if wrong:
        raise StoryError("\n".join(f"{story.name}: {line}" for line in wrong))


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
        # A copy is in no repository: of which commit the samples are says nothing in a story.
        shutil.copytree(ROOT / "samples", pathlib.Path(temporary) / "samples")
        folder = pathlib.Path(temporary) / "stories"
        folder.mkdir()
        session = Session(folder, environment(build), quick)
        told = FENCE.sub(session.run_fence, text)
        missing = [
            found["page"]
            for found in PICTURE.finditer(text)
            if not (folder / found["page"].partition("#")[0]).exists()
        ]
        if missing:
            raise StoryError(f"{story.name}: no command made {', '.join(missing)}")
        check_claims(story, text, session)
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
    failed = []
    for story in options.stories or sorted(HERE.glob("[0-9]*.md")):
        try:
            tell(story.resolve(), options.build.resolve(), options.check, options.quick)
        except StoryError as error:
            failed.append(str(error))
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
