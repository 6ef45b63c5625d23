"""Stepscope is installed where ld.so and Python could not be told of it: LD_PRELOAD is split at spaces and colons and
knows $ORIGIN, PYTHONPATH is split at colons. Programs are recorded all the same, and hear nothing of it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

import hostile

NAMES = ["with space", "with:colon", "with$ORIGIN", "all of: a $LIB"]


def copy_installation(build_dir, folder):
    """What runs of a build, in `folder`; returns the command-line program."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(build_dir / "bin/stepscope", folder / "bin")
    for library in build_dir.glob("lib*/libstepscope.so*"):
        (folder / library.parent.name).mkdir(exist_ok=True)
        shutil.copy2(library, folder / library.parent.name, follow_symlinks=False)
    for sources in build_dir.glob("share/stepscope/source"):
        (folder / "share/stepscope").mkdir(parents=True)
        (folder / "share/stepscope/source").symlink_to(sources.resolve())
    for companions in build_dir.glob("lib*/stepscope"):
        shutil.copytree(companions, folder / companions.parent.name / "stepscope")
    return folder / "bin/stepscope"


@pytest.fixture(params=NAMES)
def installed(request, build_dir):
    """The command-line program of an installation that other users may use too."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield copy_installation(build_dir, pathlib.Path(folder) / request.param)


@pytest.fixture
def moved(installed, tmp_path, monkeypatch):
    """A wrapper that is installed there. Its temporary files have a folder of their own, which is empty at the end."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield hostile.Wrapper(installed, tmp_path)
    if temporary.exists():
        assert list(temporary.iterdir()) == []


def test_a_program(moved, program):
    done = moved.compare(program, "note", 50)
    assert done.scopes() == {"work": 50}
    assert done.said == []


def test_programs_that_it_starts(moved, program):
    done = moved.compare("sh", "-c", '"$0" note 10; "$0" note 20 again', program)
    assert done.scopes() == {"work": 10, "again": 20}


def test_python(moved):
    done = moved.compare(
        sys.executable,
        "-c",
        "import sys\nprint(sys.path)\ntry:\n import stepscope\nexcept ImportError:\n"
        " sys.exit(0)\nwith stepscope.scope('work'): pass\n",
    )
    assert done.scopes() == {"work": 1}


@pytest.mark.torch
def test_ops(moved, cpp_programs):
    done = moved.wrap(cpp_programs, "reader", "--batches", 5, "--stall-ms", 0)
    assert (done.code, done.err) == (0, "")
    ((ops,),) = done.rows("SELECT count(*) FROM op")
    assert ops > 50


def test_a_sweep(installed, build_dir, tmp_path):
    settings = build_dir / "tests/sweep/settings"
    done = hostile.run(
        [
            installed,
            "sweep",
            "-o",
            tmp_path / "sweep.db",
            "--repeats",
            1,
            "-p",
            "batch=1",
            "--",
            settings,
            "--batch",
            "{batch}",
            "--steps",
            20,
        ]
    )
    assert done.code == 0, done.err
    assert hostile.query(tmp_path / "sweep.db", "SELECT steps > 0 FROM cell_stats") == [(1,)]


def test_a_folder_for_temporary_files_of_such_a_name(installed, program, tmp_path):
    """The link is made elsewhere."""
    temporary = tmp_path / "tmp of: a $LIB"
    temporary.mkdir()
    done = hostile.Wrapper(installed, tmp_path).wrap(
        program, "note", 50, environment={"TMPDIR": str(temporary)}
    )
    assert (done.code, done.out, done.err) == (0, "noted\n", "")
    assert done.scopes() == {"work": 50}
    assert list(temporary.iterdir()) == []


def test_a_process_that_lives_longer_than_the_recorder(installed, program, tmp_path):
    """What it starts later still finds the library, so ld.so has nothing to say."""
    temporary, begin, said = tmp_path / "tmp", tmp_path / "begin", tmp_path / "said"
    temporary.mkdir()
    later = f'(while [ ! -e {begin} ]; do sleep 0.01; done; cat /dev/null; echo done) >{said} 2>&1 & "$0" note 5'
    done = hostile.Wrapper(installed, tmp_path).wrap(
        "sh", "-c", later, program, environment={"TMPDIR": str(temporary)}
    )
    assert (done.code, done.err) == (0, "")
    assert done.scopes() == {"work": 5}
    begin.touch()
    deadline = time.monotonic() + 60
    while "done" not in said.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert said.read_text() == "done\n"


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)
def test_a_program_that_goes_on_as_another_user(installed, tmp_path):
    """It may not take part in the recording; ld.so finds the library all the same."""
    wrapper = hostile.Wrapper(installed, tmp_path)
    wrapper.compare(
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "cat",
        "/dev/null",
        environment={"TMPDIR": "/tmp"},
    )


# --- doctor --------------------------------------------------------------------------------------


@pytest.mark.torch
def test_doctor_builds_hooks(build_dir, cpp_programs, python_ops, tmp_path):
    """Neither make nor the loader, which tries what was built, would take the path."""
    stepscope = copy_installation(build_dir, tmp_path / NAMES[-1])
    for hooks in stepscope.parent.parent.glob("lib*/stepscope/torch-*"):
        shutil.rmtree(hooks)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    built = subprocess.run(
        [stepscope, "doctor", "--python", sys.executable, "--build-hooks"],
        env=os.environ | cache,
        capture_output=True,
        text=True,
        timeout=900,
    )  # a compiler's work
    if "building hooks needs" in built.stderr:
        pytest.skip(built.stderr)
    assert built.returncode == 0, built.stderr
    program = [cpp_programs, "reader", "--batches", 5, "--stall-ms", 0]
    done = hostile.Wrapper(stepscope, tmp_path).wrap(*program, environment=cache)
    ((ops,),) = done.rows("SELECT count(*) FROM op")
    assert ops > 50


def preload_library(stepscope):
    done = hostile.run([stepscope, "doctor", "--json"])
    (finding,) = [one for one in json.loads(done.out)["findings"] if one["id"] == "preload-library"]
    return finding


def test_doctor_has_tried_it(installed):
    finding = preload_library(installed)
    assert finding["state"] == "ok"
    assert "loaded through a link" in finding["detail"]


def test_doctor_where_the_path_is_plain(stepscope):
    finding = preload_library(stepscope)
    assert finding["state"] == "ok"
    assert "link" not in finding["detail"]


@pytest.mark.parametrize("name", ["plain", NAMES[-1]])
def test_doctor_says_what_the_loader_says(build_dir, tmp_path, name):
    """A library that is there and does not load: the wrapped program would hear of it, and nothing be recorded."""
    stepscope = copy_installation(build_dir, tmp_path / name)
    for library in stepscope.parent.parent.glob("lib*/libstepscope.so.[0-9]"):
        library.write_text("not a library")
    finding = preload_library(stepscope)
    assert finding["state"] == "missing"
    assert "does not load" in finding["detail"] and "ld.so" in finding["detail"]
