"""The checks of the tree find what they are there for, in small trees made to break each rule."""

import gzip
import subprocess

import pytest

import check_tree


@pytest.fixture
def tree(tmp_path):
    """A function that makes a repository of the given files; returns its root."""

    def make(files):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        return tmp_path

    return make


HEADERS = {
    "store/events.h": "",
    "profiler/ring/ring.h": "",
    "profiler/include/stepscope/stepscope.h": "",
    "analyzer/steps/steps.h": "",
    "present/words.h": "",
    "sweep/plan.h": "",
    "terminal/terminal_out.h": "",
    "wrap/wrapped_run.h": "",
}


@pytest.mark.parametrize(
    "name, include, complaint",
    [
        ("analyzer/a.cc", '"store/events.h"', None),
        (
            "analyzer/a.cc",
            '"profiler/ring/ring.h"',
            "analyzer may not include profiler/ring/ring.h",
        ),
        (
            "profiler/a.cc",
            '"analyzer/steps/steps.h"',
            "profiler may not include analyzer/steps/steps.h",
        ),
        ("profiler/a.cc", '"profiler/ring/ring.h"', None),
        (
            "viewer-export/a.cc",
            "<stepscope/stepscope.h>",
            "viewer-export may not include profiler/include",
        ),
        ("store/a.h", '"analyzer/steps/steps.h"', "store may not include"),
        ("cli/a.cc", '"analyzer/steps/steps.h"', None),
        ("present/a.cc", '"sweep/plan.h"', None),
        ("present/a.cc", '"profiler/ring/ring.h"', "present may not include profiler/ring/ring.h"),
        ("sweep/a.cc", '"profiler/ring/ring.h"', None),
        ("sweep/a.cc", '"present/words.h"', "sweep may not include present/words.h"),
        ("analyzer/a.cc", '"present/words.h"', "analyzer may not include present/words.h"),
        (
            "viewer-export/a.cc",
            '"present/words.h"',
            "viewer-export may not include present/words.h",
        ),
        ("terminal/a.cc", '"present/words.h"', None),
        (
            "terminal/a.cc",
            '"profiler/ring/ring.h"',
            "terminal may not include profiler/ring/ring.h",
        ),
        (
            "present/a.cc",
            '"terminal/terminal_out.h"',
            "present may not include terminal/terminal_out.h",
        ),
        ("wrap/a.cc", '"terminal/terminal_out.h"', None),
        ("sweep/a.cc", '"wrap/wrapped_run.h"', "sweep may not include wrap/wrapped_run.h"),
        ("cli/a.cc", '"wrap/wrapped_run.h"', None),
        ("samples/a.cc", "<stepscope/stepscope.h>", None),
        ("samples/a.cc", '"store/events.h"', "samples may not include"),
        ("profiler/include/stepscope/a.h", '"profiler/ring/ring.h"', "only profiler/include"),
        ("store/a.cc", '"events.h"', "rooted at the repository"),
        ("profiler/ring/a.cc", "<ATen/record_function.h>", "libtorch's ATen/record_function.h"),
        ("profiler/hooks/a.cc", "<ATen/record_function.h>", None),
        ("profiler/include/stepscope/a.h", "<c10/util/Optional.h>", "libtorch's c10/util"),
        ("profiler/hooks/a.cc", "<cupti.h>", "CUDA's cupti.h"),
        ("profiler/cupti/a.cc", "<cupti_activity.h>", None),
        ("analyzer/a.cc", "<vector>", None),
    ],
)
def test_includes(tree, name, include, complaint):
    root = tree(HEADERS | {name: f"#pragma once\n#  include {include}\n"})
    violations = list(check_tree.check_includes(root))
    if complaint is None:
        assert violations == []
    else:
        assert len(violations) == 1
        assert violations[0].startswith(f"{name}:2: ")
        assert complaint in violations[0]


def including(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


CIRCLE = {
    "analyzer/steps/a.h": including(),
    "analyzer/steps/a.cc": including("analyzer/steps/a.h", "analyzer/verdict/b.h"),
    "analyzer/verdict/b.h": including("analyzer/steps/a.h"),
}


@pytest.mark.parametrize(
    "files, found",
    [
        # The way of the stage: nothing turns back.
        (
            {
                "analyzer/steps/a.h": "",
                "analyzer/verdict/b.h": including("analyzer/steps/a.h"),
                "analyzer/analyze.cc": including("analyzer/verdict/b.h"),
            },
            [],
        ),
        (
            {"store/a.h": including("store/b.h"), "store/b.h": including("store/a.h")},
            ["store/a.h:1: a circle of includes: store/a.h -> store/b.h -> store/a.h"],
        ),
        (
            CIRCLE,
            [
                "analyzer/steps/a.cc:2: a circle of includes: "
                "analyzer/steps -> analyzer/verdict -> analyzer/steps"
            ],
        ),
        # A header at the top of a stage is a member of its own.
        (
            {
                "analyzer/report.h": including("analyzer/verdict/a.h"),
                "analyzer/verdict/a.h": "",
                "analyzer/verdict/b.h": including("analyzer/report.h"),
            },
            [
                "analyzer/report.h:1: a circle of includes: analyzer/report.h -> analyzer/verdict -> analyzer/report.h"
            ],
        ),
        # A source at the top uses what it likes: nobody includes it.
        (
            {
                "store/a.h": "",
                "store/b.h": including("store/a.h"),
                "store/a.cc": including("store/a.h", "store/b.h"),
            },
            [],
        ),
    ],
)
def test_cycles(tree, files, found):
    assert list(check_tree.check_cycles(tree(files), known=set())) == found


def test_known_cycles_are_left_alone_for_as_long_as_they_are_there(tree):
    known = {("analyzer/steps", "analyzer/verdict")}
    root = tree(CIRCLE)
    assert list(check_tree.check_cycles(root, known)) == []
    (root / "analyzer/steps/a.cc").write_text(including("analyzer/steps/a.h"))
    assert [violation.partition(": ")[2] for violation in check_tree.check_cycles(root, known)] == [
        "analyzer/steps -> analyzer/verdict is in no circle; take it out of KNOWN_CYCLES"
    ]


@pytest.mark.parametrize(
    "link, complaint",
    [
        ("[a](docs/a.md)", None),
        ("[a](docs/a.md#how-it-works)", None),
        ("[a](docs/a.md#elsewhere)", "names a heading"),
        ("![a](docs/missing.png)", "leads nowhere"),
        ("[here](#top)", None),
        ("[there](#bottom)", "names a heading"),
        ("[site](https://example.org/nothing)", None),
        ("`[code](missing.md)`", None),
        ("```\n[code](missing.md)\n```", None),
    ],
)
def test_links(tree, link, complaint):
    root = tree({"README.md": f"# Top\n{link}\n", "docs/a.md": "## How it works\n"})
    violations = list(check_tree.check_links(root))
    if complaint is None:
        assert violations == []
    else:
        assert len(violations) == 1
        assert violations[0].startswith("README.md:2: ")
        assert complaint in violations[0]


@pytest.mark.parametrize(
    "name, content, found",
    [
        ("a.md", "see /home/ann/run.db", True),
        ("a.db", b"\x00\x01 /root/train/x.py\x00", True),
        ("a.json.gz", gzip.compress(b"/Users/ann/trace", mtime=0), True),
        ("a.sh", "cache=$HOME/work/x; ls /usr/lib", False),
        ("a.md", "https://example.org/home/ann/", False),
    ],
)
def test_paths(tree, name, content, found):
    violations = list(check_tree.check_paths(tree({name: content})))
    assert len(violations) == (1 if found else 0)


def test_paths_finds_the_root_itself(tree):
    root = tree({})
    (root / "a.txt").write_text(f"first\nmade in {root}/build\n")
    assert [v.split(" ")[0] for v in check_tree.check_paths(root)] == ["a.txt:2:"]


@pytest.mark.parametrize(
    "name, line, complains",
    [
        ("cli/a.cc", 'std::printf("%s", name);', True),
        ("present/a.cc", "std::fputs(name, stderr);", True),
        ("sweep/a.cc", "std::puts(name);", True),
        ("cli/a.h", "std::cerr << name;", True),
        ("wrap/a.cc", "std::puts(name);", True),
        ("terminal/a.h", "std::puts(name);", True),
        ("cli/a.cc", 'std::snprintf(text, sizeof text, "%d", 1);', True),
        ("terminal/terminal_out.cc", "std::fwrite(text, 1, size, stdout);", False),
        ("store/a.cc", "std::fputs(name, stderr);", False),
    ],
)
def test_prints(tree, name, line, complains):
    found = list(check_tree.check_prints(tree({name: line + "\n"})))
    assert [violation.split(" ")[0] for violation in found] == ([f"{name}:1:"] if complains else [])


@pytest.mark.parametrize(
    "line, complains",
    [
        ('why = "the loop thread waits for it";', True),
        ('text += " a step";', True),  # a part of a sentence
        ('text = count + " ops a "\n  "step cost ";', True),
        ('return "input-bound";', False),
        ('return "batch size";', False),
        ('query = "SELECT name, calls FROM op_stats WHERE " + which;', False),
        (
            'return Status::error(ErrorKind::kUsage, name + ": no such op ran in these steps");',
            False,
        ),
        ('return wrong("give 1 to 64 workers");', False),
        ('// "says what is wrong with it"', False),
        ('#include "analyzer/a b c.h"', False),
        ('if (c == \'"\') why = "because of it all";', True),
    ],
)
def test_sentences(tree, line, complains):
    root = tree({"analyzer/a.cc": line + "\n", "present/a.cc": line + "\n"})
    found = list(check_tree.check_sentences(root))
    assert [violation.split(" ")[0] for violation in found] == (
        ["analyzer/a.cc:1:"] if complains else []
    )


def test_sentences_of_names_that_are_gone(tree):
    (name, begin) = next(iter(check_tree.NAMES))
    found = list(check_tree.check_sentences(tree({name: "int main() {}\n"})))
    assert len(found) == 1 and begin in found[0]
