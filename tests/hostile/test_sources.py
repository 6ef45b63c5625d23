"""What a recording says of its run's source and set-up, and what becomes of an earlier recording."""

import json
import os
import shutil
import subprocess
import time

import pytest

import hostile

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path):
    """A repository that would run a program of its own at any chance."""
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "train.txt").write_text("one\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "train.txt")
    git(folder, "commit", "--quiet", "-m", "one")
    trap = folder / ".git/trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder}/.git/sprung\n")
    trap.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(trap))
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"]:
        shutil.copy(trap, folder / ".git/hooks" / hook)
    return folder


def facts(store):
    return dict(hostile.query(store, "SELECT key, value FROM meta"))


@pytest.fixture
def record(stepscope, program, tmp_path):
    def run(folder, *words, environment=None):
        store = tmp_path / "facts.db"
        command = [
            stepscope,
            "run",
            "--quiet",
            "-o",
            store,
            "--",
            program,
            *(words or ("note", 30)),
        ]
        done = hostile.run(command, environment, cwd=folder)
        assert done.code == 0, done.err
        return facts(store)

    return run


@pytest.fixture
def changes(stepscope, program, tmp_path):
    """A function that records a program in a folder, which lives until git has answered; what it answered."""

    def run(folder):
        store, go = tmp_path / "changes.db", tmp_path / "go"
        go.unlink(missing_ok=True)
        os.mkfifo(go)
        script = f'"$0" note 30; cat {go} > /dev/null'
        command = [stepscope, "run", "--quiet", "-o", store, "--", "sh", "-c", script, program]
        with subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdout=subprocess.DEVNULL
        ) as running:
            with go.open("w"):
                known = {}
                deadline = time.monotonic() + 60
                while "git_dirty" not in known and time.monotonic() < deadline:
                    time.sleep(0.05)
                    known = dict(hostile.query(store, "SELECT key, value FROM meta", otherwise=[]))
            assert running.wait(timeout=60) == 0
        return facts(store)

    return run


@needs_git
def test_the_commit_and_its_changes(changes, repository):
    head = (repository / ".git/refs/heads").glob("*")
    commit = next(iter(head)).read_text().strip()
    index = repository / ".git/index"
    os.utime(repository / "train.txt")  # the index is out of date, and stays so
    before = index.read_bytes(), index.stat().st_mtime_ns
    clean = changes(repository)
    assert (clean["git_commit"], clean["git_root"]) == (commit, str(repository.resolve()))
    assert clean["git_dirty"] == "no"
    (repository / "untracked.txt").write_text("new\n")
    assert changes(repository)["git_dirty"] == "no"
    (repository / "train.txt").write_text("two\n")
    assert changes(repository)["git_dirty"] == "yes"
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert not (repository / ".git/sprung").exists()
    assert not (repository / ".git/index.lock").exists()


@needs_git
def test_a_slow_git_does_not_delay_the_end(record, repository, tmp_path):
    """It would take a thousand seconds; the commit is read from the files."""
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o755)
    known = record(repository, environment={"PATH": f"{slow.parent}:{os.environ['PATH']}"})
    assert known["state"] == "complete"
    assert "git_dirty" not in known


def test_the_command_and_the_variables(record, tmp_path):
    environment = {"OMP_NUM_THREADS": "3", "TORCH_HUB_TOKEN": "secret", "RANK": "0"}
    known = record(tmp_path, "note", 20, "a b", environment=environment)
    assert known["program"] == "hostile"
    assert known["arguments"].splitlines()[1:] == ["note", "20", "a b"]
    assert known["working_folder"] == str(tmp_path)
    variables = known["environment"].splitlines()
    assert {"OMP_NUM_THREADS=3", "RANK=0"} <= set(variables)
    assert "secret" not in json.dumps(known)
    assert not [one for one in variables if one.startswith(("PATH=", "HOME=", "STEPSCOPE"))]


@needs_git
def test_a_program_that_records_itself_starts_no_git(program, library, repository, tmp_path):
    trap = tmp_path / "bin/git"
    trap.parent.mkdir()
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    trap.chmod(0o755)
    store = tmp_path / "own.db"
    environment = {
        "LD_LIBRARY_PATH": str(library.parent),
        "PATH": f"{trap.parent}:{os.environ['PATH']}",
    }
    done = hostile.run([program, "noting-threads", 1, 50, store], environment, cwd=repository)
    assert store.exists(), done.err
    known = facts(store)
    assert len(known["git_commit"]) == 40
    assert "git_dirty" not in known
    assert known["program"] == "hostile"
    assert not (tmp_path / "started").exists()


def test_failed_starts_keep_both_recordings(stepscope, wrapper, program, tmp_path):
    """A name with a typo, twice, lost both."""
    store = tmp_path / "t.db"
    for name in ["first", "second"]:
        assert hostile.run(wrapper.command(store, program, "note", 20, name)).code == 0
    before = store.read_bytes()
    for _ in range(3):
        assert hostile.run(wrapper.command(store, "python3", tmp_path / "trian.py")).code == 2
    assert store.read_bytes() == before
    assert set(hostile.scopes_in(store)) == {"second"}
    assert set(hostile.scopes_in(f"{store}.old")) == {"first"}


def test_two_that_want_the_same_file(stepscope, wrapper, program, tmp_path):
    """The second is refused before its program starts, also while the first has nothing to record yet."""
    store = tmp_path / "run.db"
    assert hostile.run(wrapper.command(store, program, "note", 20)).code == 0
    go = tmp_path / "go"
    os.mkfifo(go)
    script = f'cat {go} > /dev/null; exec "$0" note 40 late'
    first = subprocess.Popen(
        [str(word) for word in wrapper.command(store, "sh", "-c", script, program)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with go.open("w"):  # it has come to its first command
        second = hostile.run(wrapper.command(store, "echo", "started"))
        assert (second.code, second.out) == (3, "")
        assert "about to replace it" in second.err
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert hostile.scopes_in(store) == {"late": 40}
