"""The deb packages and the tarball, unpacked into a folder of their own. test.sh makes them; STEPSCOPE_PACKAGES
names their folder.
"""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

CONSUMER = pathlib.Path(__file__).parents[1] / "project/consumer"


def unpack_debs(packages, root):
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root / "usr"


def unpack_tarball(packages, root):
    (tarball,) = packages.glob("*.tar.gz")
    shutil.unpack_archive(tarball, root, filter="tar")
    (folder,) = root.iterdir()
    return folder


@pytest.fixture(params=[unpack_debs, unpack_tarball], ids=["deb", "tarball"], scope="module")
def prefix(request, tmp_path_factory):
    named = os.environ.get("STEPSCOPE_PACKAGES")
    if not named:
        pytest.skip("STEPSCOPE_PACKAGES names no folder; packaging/packages.sh makes the packages")
    root = tmp_path_factory.mktemp("packages") / "a root"  # with a space
    root.mkdir()
    return request.param(pathlib.Path(named), root)


def run(*command):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def test_hooks_for_the_systems_libtorch(prefix):
    done = run(prefix / "bin/stepscope", "doctor", "--json", "--torch", "/usr")
    (hooks,) = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "op-hooks"]
    assert hooks["state"] == "ok", hooks
    assert str(prefix) in hooks["detail"]


def test_a_program_is_built_against_it_and_recorded(prefix, tmp_path):
    found = run(prefix / "bin/stepscope", "--cmake-dir").stdout.strip()
    assert found == str(prefix / "lib/cmake/Stepscope")
    build = tmp_path / "build"
    for command in (
        ["cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", build],
        [
            prefix / "bin/stepscope",
            "run",
            "-o",
            tmp_path / "wrapped.db",
            "--",
            build / "plain",
            tmp_path / "plain.db",
        ],
        [build / "plain", tmp_path / "plain.db"],
    ):
        done = run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    with sqlite3.connect(tmp_path / "plain.db") as store:
        query = (
            "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'input'"
        )
        assert store.execute(query).fetchone() == (40,)


def test_only_old_glibc_is_needed(prefix):
    for file in [prefix / "bin/stepscope", *prefix.rglob("*.so*")]:
        needed = run("readelf", "-VW", file).stdout
        assert not any(f"GLIBC_2.{minor}" in needed for minor in range(29, 60)), file
