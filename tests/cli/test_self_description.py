"""What the program says of itself to shells, man and CMake."""

import pathlib
import re
import shutil
import subprocess

import pytest


def say(stepscope, *arguments):
    done = subprocess.run([stepscope, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def completed(stepscope, tmp_path, *words):
    """What bash offers for the last of `words`."""
    script = tmp_path / "completion"
    script.write_text(say(stepscope, "--completion", "bash"))
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stepscope; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", code, "bash", script, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def verbs(stepscope):
    listed = say(stepscope, "--help").partition("Subcommands:")[2]
    return re.findall(r"^  (\S+)  ", listed.partition("Examples:")[0], re.MULTILINE)


def test_bash_completes_verbs(stepscope, tmp_path):
    offered = completed(stepscope, tmp_path, "stepscope", "")
    assert set(verbs(stepscope)) <= set(offered)
    assert completed(stepscope, tmp_path, "stepscope", "ana") == ["analyze"]


def test_bash_completes_options_and_their_choices(stepscope, tmp_path):
    assert completed(stepscope, tmp_path, "stepscope", "run", "--dur") == ["--duration"]
    assert completed(stepscope, tmp_path, "stepscope", "run", "--tier", "") == ["ops", "phases"]


def test_bash_leaves_files_and_programs_to_themselves(stepscope, tmp_path):
    assert completed(stepscope, tmp_path, "stepscope", "analyze", "run") == []
    assert "bash" in completed(stepscope, tmp_path, "stepscope", "run", "--", "bas")
    assert completed(stepscope, tmp_path, "stepscope", "run", "--", "python", "--t") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_reads_its_script(stepscope, tmp_path, shell):
    script = tmp_path / "completion"
    script.write_text(say(stepscope, "--completion", shell))
    for verb in verbs(stepscope):
        assert verb in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", script], check=True)


def test_the_manual_page_has_every_verb_and_option(stepscope):
    page = say(stepscope, "--man").replace("\\-", "-")
    for verb in verbs(stepscope):
        assert f".SS stepscope {verb}\n" in page
        for option in re.findall(r"(?<!\S)(--[a-z-]+)", say(stepscope, verb, "--help")):
            assert option in page
    assert not re.search(r"^'", page, re.MULTILINE)


def test_a_build_tree_has_no_cmake_folder(stepscope):
    """What an installation says is in tests/packaging."""
    done = subprocess.run([stepscope, "--cmake-dir"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "/lib/cmake/Stepscope: no such folder" in done.stderr
    assert "cmake --install BUILD" in done.stderr


def test_an_unknown_shell(stepscope):
    done = subprocess.run([stepscope, "--completion", "csh"], capture_output=True, text=True)
    assert done.returncode == 2 and "csh" in done.stderr
