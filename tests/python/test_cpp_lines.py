"""Which lines of a C++ program its time went to: what `stepscope run` says of a program that timed its functions
itself."""

import json
import pathlib
import sqlite3
import subprocess

import pytest

import recorded
import test_lines

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "programs/lines.cc"
INCLUDE = HERE.parent.parent / "profiler/include"
POINTS = 0.05


@pytest.fixture
def program(tmp_path, build_dir):
    """Compiles the program, with or without debug information."""

    def program(*options):
        made = tmp_path / "lines"
        library = build_dir / "lib"
        command = ["g++", "-std=c++17", "-O1", *options, f"-I{INCLUDE}", PROGRAM, "-o", made]
        link = [f"-L{library}", "-lstepscope", f"-Wl,-rpath,{library}"]
        done = subprocess.run([*command, *link], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return made

    return program


def share_of(report, function, category="input"):
    """The share of the lines of a function of the loop's thread."""
    return sum(
        line["share"]
        for line in report["lines"]
        if (line["where"], line["category"]) == ("loop", category)
        and line["function"].partition("+0x")[0].split("::")[-1] == function
    )


def line_of(text):
    """The number of the line of the program that begins with `text`."""
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


@pytest.mark.shares
def test_functions_get_the_time_that_they_took(stepscope, program, tmp_path):
    report = test_lines.record(stepscope, tmp_path, program("-g"), "own.json", 700)
    if recorded.is_starved(report):
        pytest.skip("other programs had the cores")
    own = json.loads((tmp_path / "own.json").read_text())
    total = own["decode"] + own["read_file"] + own["wait_for_network"]
    for name in "decode", "read_file", "wait_for_network":
        assert share_of(report, name) == pytest.approx(own[name] / total, abs=POINTS), (
            name,
            [(line["function"], line["line"], line["share"]) for line in report["lines"]],
        )
    # The rest of that time, 1 of 5 ms, is of what the loop does with the batch, and no stacks are
    # taken there.
    host = [line for line in report["lines"] if line["category"] == "host"]
    assert host[0]["function"].endswith("log_metrics")
    assert host[0]["share"] == pytest.approx(0.8, abs=POINTS)
    first = max(
        (line for line in report["lines"] if line["category"] == "input"),
        key=lambda line: line["share"],
    )
    assert first["file"] == str(PROGRAM)
    assert (
        line_of("[[gnu::noinline]] void decode")
        < first["line"]
        < line_of("[[gnu::noinline]] void read")
    )


def test_a_program_without_debug_information_is_told_by_functions(stepscope, program, tmp_path):
    made = program()
    report = test_lines.record(stepscope, tmp_path, made, "own.json", 300)
    functions = [line for line in report["lines"] if "decode+0x" in line["function"]]
    assert functions and {line["file"] for line in functions} == {str(made)}
    told = subprocess.run(
        [stepscope, "analyze", tmp_path / "run.db"], capture_output=True, text=True, check=True
    )
    assert told.stdout.count("compile with -g") == 1


def test_without_libdw_it_says_what_is_missing(stepscope, program, tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/libdw.so.1").touch()  # the loader takes the first that it finds
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "broken"))
    report = test_lines.record(stepscope, tmp_path, program("-g"), "own.json", 60)
    assert report["lines"] == []
    told = subprocess.run(
        [stepscope, "analyze", tmp_path / "run.db"], capture_output=True, text=True, check=True
    )
    assert "no lines of code: reading the symbols of C++ programs needs libdw.so.1" in told.stdout


def test_no_lines(stepscope, program, tmp_path):
    report = test_lines.record(
        stepscope, tmp_path, program("-g"), "own.json", 60, options=["--no-lines"]
    )
    assert report["lines"] == []
    with sqlite3.connect(tmp_path / "run.db") as store:
        assert store.execute("SELECT count(*) FROM stack_sample").fetchone() == (0,)


@pytest.mark.torch
@pytest.mark.shares
def test_mnist_is_told_the_line_that_decodes(stepscope, tmp_path, mnist):
    report = test_lines.record(stepscope, tmp_path, mnist, "--epochs", 2, options=["--ops", "all"])
    first = next(line for line in report["lines"] if line["category"] == "input")
    assert first["file"].endswith("samples/cpp/mnist/loader.cc")
    assert share_of(report, "decode") > 0.3
