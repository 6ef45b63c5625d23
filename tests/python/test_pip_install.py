"""`pip install profiler/python` installs the marks and a command `stepscope`, but not the program."""

import os
import shutil
import subprocess
import sys

import pytest

from pythons import PACKAGE

COMMAND = f"#!{sys.executable}\nfrom stepscope.__main__ import main\nmain()\n"


@pytest.fixture
def environment(tmp_path):
    """What pip makes of the package, without pip: PREFIX/lib/python3/site-packages and PREFIX/bin."""
    packages = tmp_path / "prefix/lib/python3/site-packages"
    shutil.copytree(PACKAGE / "stepscope", packages / "stepscope")
    command = tmp_path / "prefix/bin/stepscope"
    command.parent.mkdir()
    command.write_text(COMMAND)
    command.chmod(0o755)
    return {"PATH": str(command.parent), "PYTHONPATH": str(packages)}


def test_the_command_does_not_call_itself(environment):
    command = os.path.join(environment["PATH"], "stepscope")
    done = subprocess.run(
        [command, "--version"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "this package has only the marks for Python" in done.stderr


def test_a_program_elsewhere_on_the_path_is_found(environment, tmp_path):
    code = "from stepscope._library import program; print(program())"
    python = [sys.executable, "-c", code]
    assert subprocess.check_output(python, env=environment, text=True) == "None\n"
    program = tmp_path / "own/stepscope"
    program.parent.mkdir()
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    environment["PATH"] += f"{os.pathsep}{program.parent}"
    assert subprocess.check_output(python, env=environment, text=True) == f"{program}\n"
