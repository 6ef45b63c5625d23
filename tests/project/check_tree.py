#!/usr/bin/env python3
"""Checks the rules of the source tree that no compiler checks.

usage: check_tree.py (includes|cycles|links|paths|prints|sentences) ROOT

includes  which folder may include which, and where libtorch's and CUPTI's headers may be seen
cycles    no headers, and no folders within a stage, include one another in a circle
links     relative links in Markdown files lead to files that are there, and to headings they have
paths     no tracked file holds a path of the machine it was made on
prints    one file prints, which keeps from terminals what they would obey
sentences the analyzer finds facts and composes no sentences: present/ puts its facts into words

Prints one line for each violation, "file:line: what is wrong", and exits with 1 if there is any.
"""

import gzip
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

# Dependencies run one way: an event's way. A folder that is not named here may include them all.
STAGES = {
    "store": {"store"},
    "profiler": {"store", "profiler"},
    "analyzer": {"store", "analyzer"},
    "viewer-export": {"store", "viewer-export"},
    "sweep": {"store", "profiler", "analyzer", "sweep"},
    "present": {
        "store",
        "profiler/doctor",
        "profiler/recorder",
        "analyzer",
        "viewer-export",
        "sweep",
        "present",
    },
    "metrics": {"store", "analyzer", "viewer-export/serve", "metrics"},
    "terminal": {"store", "analyzer", "present", "terminal"},
    "wrap": {
        "store",
        "profiler",
        "analyzer",
        "sweep",
        "present",
        "metrics",
        "terminal",
        "wrap",
    },
    "fleet": set(),  # Python; a source in C++ would be in the wrong place
    "samples": {"samples", "profiler/include"},
}
PUBLIC_HEADERS = "profiler/include"  # included as <stepscope/…>, installed, so free of the rest

TORCH_HEADER = re.compile(r"^(torch|ATen|c10|caffe2)/")
TORCH_ROOMS = (
    "profiler/hooks/",
    "samples/",
    "bench/",
    "tests/profiler/",
    "tests/samples/",
    "tests/e2e/",
    "tests/cpp_programs/",
    "tests/project/consumer/",
)
CUPTI_HEADER = re.compile(r"^(cupti|nvml|cuda|generated_cuda)[\w/]*\.h$")
CUPTI_ROOMS = ("profiler/cupti/", "tests/profiler/cupti/", "bench/gpu/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = (".h", ".cc", ".cpp", ".c", ".inc")


def tracked_files(root: pathlib.Path) -> list[str]:
    """The files of the tree: tracked ones and new ones that git would not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    return sorted(name for name in listed if name and (root / name).is_file())


# --- includes ------------------------------------------------------------------------------------


def included_from_tree(root: pathlib.Path, header: str) -> str | None:
    """Where a header of ours is, relative to the root; None for everybody else's."""
    for base in ("", PUBLIC_HEADERS):
        if (root / base / header).is_file():
            return f"{base}/{header}".lstrip("/")
    return None


def stage_violation(name: str, header: str) -> str | None:
    stage = name.split("/")[0]
    if name.startswith(PUBLIC_HEADERS + "/"):
        allowed = {PUBLIC_HEADERS}
    elif stage in STAGES:
        allowed = STAGES[stage]
    else:
        return None
    if any(header.startswith(folder + "/") for folder in allowed):
        return None
    return f"{stage} may not include {header} (only {', '.join(sorted(allowed))})"


def include_violations(root: pathlib.Path, name: str, quote: str, header: str) -> Iterator[str]:
    ours = included_from_tree(root, header)
    if ours:
        violation = stage_violation(name, ours)
        if violation:
            yield violation
    elif quote == '"':
        yield f'"{header}" is not there: includes of our own headers are rooted at the repository'
    if TORCH_HEADER.match(header) and not name.startswith(TORCH_ROOMS):
        yield f"libtorch's {header} may be included only in {', '.join(TORCH_ROOMS)}"
    if CUPTI_HEADER.match(header) and not name.startswith(CUPTI_ROOMS):
        yield f"CUDA's {header} may be included only in {', '.join(CUPTI_ROOMS)}"


def check_includes(root: pathlib.Path) -> Iterator[str]:
    for name in tracked_files(root):
        if not name.endswith(SOURCES):
            continue
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match:
                for violation in include_violations(root, name, *match.groups()):
                    yield f"{name}:{number}: {violation}"


# --- cycles --------------------------------------------------------------------------------------

# Includes that close a circle and may stay for now: (from, to), each a folder of a stage or a header
# at the top of one. An entry that is not needed any more is a violation too.
KNOWN_CYCLES: set[tuple[str, str]] = set()

Includes = dict[str, dict[str, str]]  # who includes whom, and one place where that is: "file:line"


def tree_includes(root: pathlib.Path) -> dict[str, dict[str, int]]:
    """Of each source of a stage, the headers of the tree that it includes, and in which line."""
    found: dict[str, dict[str, int]] = {}
    for name in tracked_files(root):
        if not name.endswith(SOURCES) or name.split("/")[0] not in (*STAGES, "cli"):
            continue
        headers = found.setdefault(name, {})
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            ours = included_from_tree(root, match.group(2)) if match else None
            if ours:
                headers.setdefault(ours, number)
    return found


def folder_of(name: str) -> str | None:
    """The folder within its stage. At the top of a stage: a header itself; None for a source, which
    nobody includes."""
    parts = name.split("/")
    if len(parts) > 2:
        return "/".join(parts[:2])
    return name if name.endswith(".h") else None


def folder_includes(files: dict[str, dict[str, int]]) -> Includes:
    edges: Includes = {}
    for name, headers in files.items():
        for header, number in headers.items():
            begin, end = folder_of(name), folder_of(header)
            if begin and end and begin != end and begin.split("/")[0] == end.split("/")[0]:
                edges.setdefault(begin, {}).setdefault(end, f"{name}:{number}")
    return edges


def circle(edges: Includes, begin: str, end: str) -> list[str] | None:
    """The shortest way from `end` back to `begin`; None where there is none."""
    ways, seen = [[end]], {end}
    for way in ways:
        if way[-1] == begin:
            return way
        for following in sorted(edges.get(way[-1], {})):
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return None


def circle_violations(edges: Includes, of_folders: bool = False) -> Iterator[str]:
    """`of_folders`: circles of headers alone are left out."""
    for begin in sorted(edges):
        for end, place in sorted(edges[begin].items()):
            way = circle(edges, begin, end)
            if way is None or begin != min(way):  # told once, not by each of its members
                continue
            if not of_folders or not all(name.endswith(".h") for name in way):
                yield f"{place}: a circle of includes: {' -> '.join([begin, *way])}"


def check_cycles(root: pathlib.Path, known: set[tuple[str, str]] | None = None) -> Iterator[str]:
    known = KNOWN_CYCLES if known is None else known
    files = tree_includes(root)
    headers = {
        name: {header: f"{name}:{number}" for header, number in there.items()}
        for name, there in files.items()
        if name.endswith(".h")
    }
    yield from circle_violations(headers)
    edges = folder_includes(files)
    for begin, end in sorted(known):
        if end not in edges.get(begin, {}) or circle(edges, begin, end) is None:
            yield f"tests/project/check_tree.py:1: {begin} -> {end} is in no circle; take it out of KNOWN_CYCLES"
    kept = {
        begin: {end: place for end, place in ends.items() if (begin, end) not in known}
        for begin, ends in edges.items()
    }
    yield from circle_violations(kept, of_folders=True)


# --- links ---------------------------------------------------------------------------------------

LINK = re.compile(r"\[[^\]]*\]\(\s*([^)\s]+)[^)]*\)")
FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`[^`]*`")


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    found: set[str] = set()
    for _, line in prose_lines(text):
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title)))
    return found


def link_violation(root: pathlib.Path, page: str, target: str) -> str | None:
    if re.match(r"^[a-z][a-z0-9+.-]*:", target):  # https:, mailto:
        return None
    path, _, anchor = target.partition("#")
    there = (root / page).parent / path if path else root / page
    if not there.exists():
        return f"the link to {target} leads nowhere"
    if (
        anchor
        and there.suffix == ".md"
        and anchor not in anchors(there.read_text(encoding="utf-8"))
    ):
        return f"the link to {target} names a heading that is not there"
    return None


def check_links(root: pathlib.Path) -> Iterator[str]:
    for name in tracked_files(root):
        if not name.endswith(".md"):
            continue
        for number, line in prose_lines((root / name).read_text(encoding="utf-8")):
            for target in LINK.findall(CODE.sub("``", line)):
                violation = link_violation(root, name, target)
                if violation:
                    yield f"{name}:{number}: {violation}"


# --- paths ---------------------------------------------------------------------------------------

# Home and work folders; recorded command lines in test data are where they slip in.
MACHINE_PATH = re.compile(
    rb"(?<![\w.$}~-])/(?:home/\w[\w.-]*/|Users/\w[\w.-]*/|root/[\w.]|work/\w|workspace/\w|builds/\w)"
)


def content(file: pathlib.Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def check_paths(root: pathlib.Path) -> Iterator[str]:
    own = str(root).encode()
    tell_tale = own.count(b"/") > 1  # a root like /src says nothing about a machine
    for name in tracked_files(root):
        if name.startswith("tests/project/"):  # speaks of such paths
            continue
        for number, line in enumerate(content(root / name).split(b"\n"), 1):
            match = MACHINE_PATH.search(line)
            found = match.group(0) if match else own if tell_tale and own in line else None
            if found:
                yield f"{name}:{number}: holds a path of a machine ({found.decode()}…)"


# --- prints --------------------------------------------------------------------------------------

PRINTS = re.compile(
    r"\b(printf|fprintf|vfprintf|dprintf|puts|fputs|putchar|fputc|putc|fwrite|perror)\s*\(|std::(cout|cerr|clog)\b"
)
PRINTERS = ("terminal/terminal_out.cc",)
PRINTED = ("cli/", "present/", "sweep/", "terminal/", "wrap/")


def check_prints(root: pathlib.Path) -> Iterator[str]:
    for name in tracked_files(root):
        if not name.startswith(PRINTED) or not name.endswith(SOURCES) or name in PRINTERS:
            continue
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            if PRINTS.search(line):
                yield f"{name}:{number}: prints by itself; go through terminal/terminal_out.h"
            if "snprintf(" in line:
                yield f"{name}:{number}: formats with snprintf; use fmt::format"


# --- sentences -----------------------------------------------------------------------------------

# What analyzer/ finds are facts; present/ puts them into words. A literal of several words is a
# sentence or a part of one, unless it is SQL or belongs to an error.
SENTENCE_ROOM = "analyzer/"
ONLY_ERRORS = ("analyzer/import/",)  # what these say is why a file cannot be read
COMMENT_OR_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*|'(?:\\.|[^'\\\n])'|"
    r'R"(\w*)\(.*?\)\1"|(?P<literal>"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)',
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"[(]?[A-Za-z][a-z']*(?:-[a-z]+)?[,.;:)]*")
SQL = re.compile(r"\b(SELECT|FROM|WHERE|AND|ORDER BY|GROUP BY|JOIN|NULL)\b|\bAS \w")
ERROR = re.compile(r"\b(Status::error|wrong)\(")
STATEMENT_ENDS = re.compile(r"[;{}]")
MOST_WORDS = 2  # in a literal that is a name; a part of a sentence begins or ends with a blank

# Literals of several words that are no sentences: (file, what they begin with).
NAMES = {
    ("analyzer/compare/gate.cc", ", forward, backward"),  # the metrics that an error lists
    ("analyzer/loop_report.cc", " further names)"),  # the name of a row in a table
}


def multi_word_literals(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, literal (adjacent ones joined) and what stands before it in its statement."""
    blank = list(text)
    for match in COMMENT_OR_LITERAL.finditer(text):
        literal = match.group("literal")
        before = "".join(blank[: match.start()])
        blank[match.start() : match.end()] = " " * (match.end() - match.start())
        if literal is None:
            continue
        joined = re.sub(r'"\s*"', "", literal)[1:-1]
        words = sum(1 for word in joined.split() if WORD.fullmatch(word))
        fragment = joined != joined.strip() and joined.strip()
        if words > (1 if fragment else MOST_WORDS):
            yield text.count("\n", 0, match.start()) + 1, joined, STATEMENT_ENDS.split(before)[-1]


def check_sentences(root: pathlib.Path) -> Iterator[str]:
    needed = set()
    for name in tracked_files(root):
        if not name.startswith(SENTENCE_ROOM) or not name.endswith(SOURCES):
            continue
        if name.startswith(ONLY_ERRORS):
            continue
        for number, literal, before in multi_word_literals((root / name).read_text()):
            known = {entry for entry in NAMES if entry[0] == name and literal.startswith(entry[1])}
            needed |= known
            if not (known or SQL.search(literal) or ERROR.search(before)):
                yield (
                    f'{name}:{number}: composes a sentence ("{literal[:40]}"); return facts, '
                    "which present/ puts into words"
                )
    for file, begin in sorted(NAMES - needed):
        if (root / file).is_file():
            yield f'tests/project/check_tree.py:1: {file} has no "{begin}" any more; take it out of NAMES'


CHECKS = {
    "includes": check_includes,
    "cycles": check_cycles,
    "links": check_links,
    "paths": check_paths,
    "prints": check_prints,
    "sentences": check_sentences,
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    violations = list(CHECKS[arguments[0]](pathlib.Path(arguments[1]).resolve()))
    print("\n".join(violations) if violations else f"{arguments[0]}: nothing to complain about")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
