"""What the verbs write: a page never replaces a recording or a part of a lake, and errors of writing are one line."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest
from stores import MS, make_store


@pytest.fixture
def lake_with_a_run(verb, lake, tmp_path):
    for node in range(2):
        store = make_store(tmp_path / f"{node}.db", [node], node=node, slow={1: ("input", 9 * MS)})
        verb("lake", "add", store, "--lake", lake)
    return lake


def content(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def refused(verb, lake_with_a_run, tmp_path):
    def refuse(path):
        before = content(tmp_path)
        done = verb("fleet", lake_with_a_run, "report", "-o", path, expect=3)
        assert done.stderr.count("\n") == 1 and str(path) in done.stderr
        assert content(tmp_path) == before
        return done.stderr

    return refuse


def test_a_page_does_not_replace_a_recording(refused, tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "0.db")
    for path in (tmp_path / "0.db", link):
        assert "is a database, which an export does not replace; choose another name" in refused(
            path
        )


def test_a_page_does_not_replace_the_log_of_a_recording(refused, tmp_path):
    said = f"belongs to the database {tmp_path / '0.db'}; choose another name"
    assert said in refused(tmp_path / "0.db-wal")


def test_a_page_does_not_replace_a_part_of_the_lake(refused, lake_with_a_run, tmp_path):
    step = lake_with_a_run / "step/run=77/node-0000.parquet"
    (tmp_path / "file.html").symlink_to(step)
    (tmp_path / "folder").symlink_to(step.parent)
    for path in (
        step,
        lake_with_a_run / "new.html",
        tmp_path / "file.html",
        tmp_path / "folder/node-0000.parquet",
        tmp_path / "folder/../../run/run=77/node-0001.parquet",
    ):
        assert "is in the lake" in refused(path)


def test_a_table_of_the_lake_on_another_disk_is_not_replaced(refused, lake_with_a_run, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.move(lake_with_a_run / "step", moved)
    (lake_with_a_run / "step").symlink_to(moved)
    assert "is a Parquet file" in refused(moved / "run=77/node-0000.parquet")


def test_a_folder_is_not_replaced(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "is a folder; name a file in it" in refused(tmp_path / "folder")


def test_a_page_keeps_the_permissions_and_the_link(verb, lake_with_a_run, tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("earlier")
    page.chmod(0o600)
    link.symlink_to(page)
    for name in (page, link):
        verb("fleet", lake_with_a_run, "report", "-o", name)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600 and link.is_symlink()
        assert "fleet-data" in page.read_text(encoding="utf-8")


def test_a_page_to_standard_output(verb, lake_with_a_run, tmp_path):
    verb("fleet", lake_with_a_run, "report", "-o", tmp_path / "page.html")
    done = verb("fleet", lake_with_a_run, "report", "-o", "-")
    assert done.stdout == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not pathlib.Path("-").exists() and done.stderr == ""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_page_goes_after_what_an_open_file_has(verb, stepscope, lake_with_a_run, tmp_path, name):
    verb("fleet", lake_with_a_run, "report", "-o", tmp_path / "page.html")
    log = tmp_path / "log"
    subprocess.run(
        [
            "bash",
            "-c",
            f"(echo first; {stepscope} fleet {lake_with_a_run} report -o {name}; echo last) > {log}",
        ],
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable},
        check=True,
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert log.read_text(encoding="utf-8") == f"first\n{page}last\n"


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
@pytest.mark.parametrize("action", ["", "--json", "report -o -", "compare --run 77 77", "add"])
def test_standard_output_that_cannot_be_written_is_one_line(
    stepscope, lake_with_a_run, tmp_path, action, redirected
):
    words = f"fleet {lake_with_a_run} {action}"
    if action == "add":
        words = f"lake add {tmp_path / '0.db'} {tmp_path / '1.db'} --lake {tmp_path / 'second'}"
    done = subprocess.run(
        ["bash", "-c", f"{stepscope} {words} {redirected}"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable},
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1 and ": standard output: cannot be written" in done.stderr
    if action == "add":  # all the same, both are in the lake
        assert len(list((tmp_path / "second/run").rglob("*.parquet"))) == 2
