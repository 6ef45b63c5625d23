"""The wheel where something is missing: each row of the table in docs/install.md is tried."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

import pytest

TRAIN = pathlib.Path(__file__).parent / "train.py"
PLAIN = pathlib.Path(__file__).parent / "plain.py"
PHASES = "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = ?"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def ops(store):
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT count(*) FROM op").fetchone()[0]


def phases(store):
    with sqlite3.connect(store) as connection:
        return [
            connection.execute(PHASES, (kind,)).fetchone()[0]
            for kind in ("input", "backward", "optimizer")
        ]


def doctor(environment, *arguments, **variables):
    done = environment.stepscope("doctor", "--json", *arguments, **variables)
    return done.returncode, json.loads(done.stdout)


def remove_hooks(environment):
    for hooks in (environment.packages / "stepscope/_prefix/lib/stepscope").glob("torch-*"):
        shutil.rmtree(hooks)


# --- pip -----------------------------------------------------------------------------------------

# pip's own look at the machine, made to see another one.
ELSEWHERE = """
import sys
from pip._vendor.packaging import _manylinux, _musllinux
glibc, musl = eval(sys.argv.pop(1))
_manylinux._get_glibc_version = lambda: glibc
_musllinux._get_musl_version = lambda executable: musl and _musllinux._MuslVersion(*musl)
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
INSTALL = ["install", "--no-index", "--no-deps", "--dry-run", "--target", "none"]


@pytest.mark.parametrize(
    ("libraries", "code"),
    [
        pytest.param(((2, 28), None), 0, id="glibc-2.28"),
        pytest.param(((2, 27), None), 1, id="glibc-2.27"),
        pytest.param(((-1, -1), (1, 2)), 1, id="musl"),
    ],
)
def test_another_c_library(wheel, tmp_path, libraries, code):
    command = [sys.executable, "-c", ELSEWHERE, repr(libraries), *INSTALL, wheel]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("is not a supported wheel on this platform" in done.stderr) == (code == 1)


def test_another_processor(wheel, tmp_path):
    options = ["--only-binary=:all:", "--platform", "manylinux_2_28_aarch64"]
    command = [sys.executable, "-m", "pip", *INSTALL, *options, wheel]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not a supported wheel on this platform" in done.stderr


def test_an_old_python(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        assert "\nRequires-Python: >=3.8\n" in archive.read(name).decode()


# --- Python --------------------------------------------------------------------------------------


def find_python(version):
    """One that runs: what pyenv puts in PATH may only say that another version is chosen."""
    of_pyenv = pathlib.Path.home() / ".pyenv/versions"
    for path in (shutil.which(f"python{version}"), *of_pyenv.glob(f"{version}.*/bin/python")):
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_a_python_without_lines(environment, tmp_path, version):
    """Where this machine has one: its marks are recorded, with the package of the other environment."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"no python{version}")
    code = "import stepscope\nfor _ in range(10): stepscope.step()\n"
    package = tmp_path / "packages"
    package.mkdir()
    (package / "stepscope").symlink_to(environment.packages / "stepscope")
    done = environment.stepscope(
        *["run", "-o", "a.db", "--", python, "-c", code],
        cwd=tmp_path,
        PYTHONPATH=str(package),
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "a.db") as store:
        assert store.execute("SELECT value FROM meta WHERE key = 'step_count'").fetchone() == (
            "10",
        )


# --- torch ---------------------------------------------------------------------------------------


def test_no_torch_and_no_home(make_environment, tmp_path):
    made = make_environment(tmp_path / "bare")
    done = made.stepscope("run", "-o", "a.db", "--", "python", "-c", "pass", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and "libtorch" in done.stderr
    done = made.stepscope("doctor", "--build-hooks", "--torch", "/nowhere")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    code, found = doctor(made, "--python", made.python)
    assert (code, found["torches"]) == (1, [])
    (torch,) = [finding for finding in found["findings"] if finding["id"] == "libtorch"]
    assert torch["fix"] == f"{made.python} -m pip install torch"


def test_no_home_for_hooks(make_environment, tmp_path):
    """Only building hooks needs a place in the user's home, and says so."""
    made = make_environment(tmp_path / "bare")
    made.see_torch()
    remove_hooks(made)
    tools = f"{made.folder / 'bin'}:/usr/bin:/bin"
    done = made.stepscope("doctor", "--python", made.python, "--build-hooks", PATH=tools)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "HOME" in done.stderr


def test_a_torch_without_hooks(make_environment, tmp_path):
    """Such as a nightly, or one that is newer than the wheel."""
    made = make_environment(tmp_path / "of a newer torch")
    made.see_torch()
    remove_hooks(made)
    done = made.stepscope("run", "-o", "a.db", "--quiet", "--", "python", PLAIN, cwd=tmp_path)
    assert done.returncode == 0
    assert re.fullmatch(
        r"stepscope: no op hooks: none for libtorch [\d.]+; phases are recorded, ops are not. "
        r"To build them: stepscope doctor --build-hooks --torch \S+\n",
        done.stderr,
    )
    assert (ops(tmp_path / "a.db"), phases(tmp_path / "a.db")) == (0, [50, 50, 50])
    code, found = doctor(made, "--python", made.python)
    (torch,) = found["torches"]
    assert (code, torch["in_use"]) == (1, True)
    recorded = {part: gets["recorded"] for part, gets in torch["gets"].items()}
    assert recorded == {"ops": False, "phases": True, "lines": True, "modules": False}


def test_two_torches(environment, tmp_path):
    """That of Python is judged, and gets everything; another one without hooks is a note."""
    other = tmp_path / "other"
    (other / "lib").mkdir(parents=True)
    (other / "lib/libtorch_cpu.so").write_bytes(b"no library")
    (other / "version.py").write_text("__version__ = '1.0.0'\n")
    ours = pathlib.Path(pytest.importorskip("torch").__file__).parent
    code, found = doctor(environment, CMAKE_PREFIX_PATH=f"{ours}:{other}")
    assert (code, found["records_ops"]) == (0, True)
    first, second = found["torches"][:2]
    assert first["in_use"] and all(part["recorded"] for part in first["gets"].values()), first
    assert (second["root"], second["in_use"]) == (str(other), False)
    assert second["gets"]["ops"] == {"recorded": False, "why": "op hooks: none for libtorch 1.0.0"}
    assert second["gets"]["phases"]["recorded"] is None  # does not load


# --- where it is installed -----------------------------------------------------------------------


def test_nothing_is_written_where_it_is_installed(environment):
    def files():
        return sorted(path for path in environment.packages.rglob("*") if path.suffix != ".pyc")

    before = files()
    environment.stepscope("doctor")
    assert files() == before


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)
def test_a_user_who_may_not_write_there(make_environment):
    """Read-only for all, used by a user without a home."""
    # Folders of pytest are closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        made = make_environment(pathlib.Path(folder) / "site of all")
        subprocess.run(["chmod", "-R", "a-w", made.packages], check=True)
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        os.chmod(work, 0o777)
        program = made.packages / "stepscope/_prefix/bin/stepscope"
        steps = "import stepscope\nfor _ in range(10): stepscope.step()\n"
        # The environment's own may lie in root's home.
        python = shutil.which("python3", path="/usr/bin:/bin")
        if python is None:
            pytest.skip("no python3 of the system, for users who may not read root's home")
        paths = {"PYTHONPATH": str(made.packages), "PATH": "/usr/bin:/bin"}
        done = made.run(
            *NOBODY, program, "run", "-o", "a.db", "--", python, "-c", steps, cwd=work, **paths
        )
        assert done.returncode == 0, done.stderr
        assert (work / "a.db").stat().st_uid == 65534
        report = made.run(*NOBODY, program, "analyze", "a.db", "--json", cwd=work, **paths)
        assert report.returncode == 0, report.stderr
        assert not list(made.packages.rglob("*.db*"))


def test_the_marks_without_the_program(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(r"stepscope/\w+\.py", name)]
        archive.extractall(tmp_path, names)
    done = subprocess.run(
        [shutil.which("python3"), "-m", "stepscope"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("stepscope: this package has only the marks for Python")
