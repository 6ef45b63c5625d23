"""The sources are formatted as tests/project/format.py formats them, and it would say so if they were not."""

import pathlib
import subprocess
import sys

import pytest

FORMAT = pathlib.Path(__file__).with_name("format.py")


def check(*files):
    return subprocess.run(
        [sys.executable, FORMAT, "--check", *files], capture_output=True, text=True
    )


def test_all_sources_are_formatted():
    done = check()
    assert done.returncode == 0, f"run {FORMAT}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.cc", "int  main( ) {return 0;}\n"),
        ("a.js", "export function f( ) {return 0;}\n"),
        ("a.py", "x = {'a':1}\n"),
    ],
)
def test_what_is_not_formatted_is_named(tmp_path, name, text):
    source = tmp_path / name
    source.write_text(text)
    done = check(source)
    assert done.returncode == 1
    assert name in done.stdout + done.stderr
    assert source.read_text() == text
