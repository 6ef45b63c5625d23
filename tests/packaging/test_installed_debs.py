"""The deb packages, installed by apt in a Debian of their own that has PyTorch and nothing else of ours.
STEPSCOPE_PACKAGES names their folder. Takes some minutes and 1.5 GB in the folder for temporary files.
"""

import json
import os
import pathlib
import platform
import shutil
import sqlite3
import subprocess

import pytest

PLAIN = pathlib.Path(__file__).parent / "plain.py"
INCLUDED = ("python3-torch", "bash-completion", "zsh", "fish", "man-db")
OPS = "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::addmm'"


class Root:
    """The root of a Debian. Programs run in it with /proc, as on a machine."""

    def __init__(self, folder):
        self.folder = folder
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        options = ["--variant=apt", f"--include={','.join(INCLUDED)}", "--dpkgopt=force-unsafe-io"]
        made = self._run(["mmdebstrap", "--quiet", *options, suite, folder], timeout=1800)
        assert made.returncode == 0, made.stderr

    def run(self, *command):
        shell = 'mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"'
        return self._run(["unshare", "--mount", "sh", "-c", shell, self.folder, *command])

    def _run(self, command, timeout=600):
        words = [str(word) for word in command]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    packages = os.environ.get("STEPSCOPE_PACKAGES")
    if not packages:
        pytest.skip("STEPSCOPE_PACKAGES names no folder; packaging/packages.sh makes the packages")
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("needs root and mmdebstrap")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("may not mount here")
    made = Root(tmp_path_factory.mktemp("debian") / "root")
    debs = sorted(pathlib.Path(packages).glob("*.deb"))
    for deb in debs:
        shutil.copy(deb, made.folder / "tmp")
    shutil.copy(PLAIN, made.folder / "root")
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "--yes", *(f"/tmp/{deb.name}" for deb in debs)],
    ):
        done = made.run(*command)
        assert done.returncode == 0, done.stderr
    yield made
    shutil.rmtree(made.folder)


def test_a_training_is_recorded_with_ops(root):
    done = root.run("sh", "-c", "cd /root && stepscope run --ops all -o run.db -- python3 plain.py")
    assert done.returncode == 0, done.stderr
    assert "stepscope: run.db" in done.stderr
    with sqlite3.connect(root.folder / "root/run.db") as store:
        assert store.execute(OPS).fetchone() == (50,)


def test_doctor_misses_nothing(root):
    done = root.run("stepscope", "doctor", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["records_ops"]) == (0, True), done.stdout
    (torch,) = found["torches"]
    assert torch["gets"]["ops"]["recorded"] and torch["gets"]["phases"]["recorded"]


OFFERED = {
    "bash": ". /usr/share/bash-completion/bash_completion; _completion_loader stepscope || _comp_load stepscope;"
    " COMP_WORDS=(stepscope ana); COMP_CWORD=1; _stepscope; echo ${COMPREPLY[@]}",
    "fish": "complete --do-complete 'stepscope ana'",
    "zsh": "autoload -Uz compinit; compinit -D -u; [ $_comps[stepscope] = _stepscope ] && echo analyze",
}


@pytest.mark.parametrize("shell", OFFERED)
def test_a_shell_completes_verbs(root, shell):
    done = root.run(shell, "-c", OFFERED[shell])
    assert done.stdout.split()[:1] == ["analyze"], done.stderr


def test_man_shows_the_manual(root):
    done = root.run("man", "stepscope")
    assert done.returncode == 0, done.stderr
    assert "stepscope analyze" in done.stdout


def test_it_is_removed_without_a_trace(root):
    done = root.run("apt-get", "purge", "--yes", "stepscope", "stepscope-torch")
    assert done.returncode == 0, done.stderr
    left = [
        *(root.folder / "usr").rglob("*stepscope*"),
        *(root.folder / "etc").rglob("*stepscope*"),
    ]
    assert left == []
