"""`stepscope fleet LAKE report`: one file, right figures, and names that do nothing."""

import json
import pathlib
import re
import resource
import sys

import pytest
from stores import MS, make_store

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet import page, slow_ranks
from stepscope_fleet.answers import Answers, analyze
from stepscope_fleet.heat import MOST_ROWS, heat_map
from stepscope_fleet.lake import add
from stepscope_fleet.problem import Problem

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'\"&{{DATA}}"


def add_run(lake, folder, *, nodes=2, job="77", host="node-{}", **more):
    for node in range(nodes):
        store = make_store(
            folder / f"{node}-{len(list(folder.iterdir()))}.db",
            [2 * node, 2 * node + 1],
            host=host.format(node),
            node=node,
            job=job,
            **more,
        )
        add(store, lake, None, None)


@pytest.fixture
def page_of(verb, lake, tmp_path):
    def write(*options):
        path = tmp_path / "fleet.html"
        verb("fleet", lake, "report", "-o", path, *options)
        return path

    return write


def data_of(path):
    found = re.search(r'id="fleet-data">(.*?)</script>', path.read_text(encoding="utf-8"))
    return json.loads(found[1])


def test_one_file_with_the_figures_of_the_document(lake, tmp_path, page_of, answers):
    add_run(lake, tmp_path, nodes=4, slow={5: ("input", 30 * MS)})
    path = page_of("--price", "2.50")
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=[\"']?https?:", text) and "@import" not in text
    data = data_of(path)
    assert data["fleet"] == answers("--price", "2.50")
    (run,) = data["fleet"]["runs"]
    assert run["lost_cost"] == pytest.approx(2.5 * run["lost_hours"])
    heat = data["heat"]["77"]
    assert heat["first_ranks"] == heat["last_ranks"] == list(range(8))
    slow = [max(row) for row in heat["rows"]]
    assert slow[5] == pytest.approx(240, abs=5) and max(slow[:5] + slow[6:]) < 5
    assert set(data["queries"]) >= {run["query"], run["slow_ranks"][0]["query"]}


def test_the_page_in_a_browser(lake, tmp_path, page_of, browser):
    add_run(
        lake,
        tmp_path,
        nodes=4,
        slow={5: ("input", 30 * MS)},
        host="h{}" + HOSTILE,
        meta={"ops_blocks": "5:2000000000-3000000000"},
        ops_recorded=1,
    )
    add_run(lake, tmp_path, job=HOSTILE, name=HOSTILE, line_function=HOSTILE)
    path = page_of("--price", "2.50")
    for width in (1280, 400):
        shown = browser.new_page(viewport={"width": width, "height": 900})
        said = []
        shown.on("console", lambda message, said=said: said.append(message.text))
        shown.on("pageerror", lambda error, said=said: said.append(str(error)))
        shown.on("dialog", lambda dialog, said=said: said.append(dialog.message))
        shown.on(
            "request",
            lambda request, said=said: request.url.startswith(("file:", "data:"))
            or said.append(request.url),
        )
        shown.goto(path.as_uri())
        shown.wait_for_selector("#run-1")
        assert said == []
        assert shown.evaluate("document.documentElement.scrollWidth") == width
        text = shown.inner_text("body")
        assert "</script><script>alert(1)" in text and "\u202e" not in text
        assert "30.0 ms (24.0 %)" in text and "data.py:41" in text
        plain = text.replace("\u200b", "")
        assert "--rank 5 --steps 10-15" in plain
        assert "slowdown by kind" in plain.lower() and "input 1.276" in plain
        assert shown.locator("canvas").count() == 2
        assert shown.locator("main img, main script").count() == 0
        painted = shown.evaluate(
            "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 8).data]"
        )
        rows = [tuple(painted[4 * row : 4 * row + 3]) for row in range(8)]
        assert len(set(rows)) == 2 and rows.count(rows[5]) == 1
        canvas = shown.locator("canvas").first
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        shown.mouse.move(box["x"] + 3, box["y"] + box["height"] * 5.5 / 8)
        assert "rank 5, steps 1 to 1: 24.0 %" in shown.inner_text(".pointed >> nth=0")
        shown.close()


def test_a_page_needs_a_name_and_only_a_page_has_one(verb, lake):
    assert "go together" in verb("fleet", lake, "report", expect=2).stderr
    assert "not a price" in verb("fleet", lake, "--price", "-1", expect=2).stderr


def test_a_page_that_cannot_be_written_is_one_line(verb, lake, tmp_path):
    add_run(lake, tmp_path)
    done = verb("fleet", lake, "report", "-o", tmp_path / "none/fleet.html", expect=3)
    assert "none/fleet.html: cannot be written (No such file or directory)" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_full_disk_keeps_the_earlier_page(lake, tmp_path):
    """The limit on the size of a file stands for the disk."""
    add_run(lake, tmp_path)
    path = tmp_path / "fleet.html"
    path.write_text("earlier")
    answers = analyze(lake, [])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(Problem, match=r"fleet.html: cannot be written \(File too large\)"):
            page.write_page(path, lake, answers)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "earlier" and not list(tmp_path.glob("*.part"))


def test_a_page_of_many_slow_ranks_is_bounded():
    rank = {"rank": 1, "host": "h", "category": "input"}
    run = {"run": "77", "slow_ranks": [rank] * 4000, "missing_ranks": [5] * 4000}
    run |= {"unfinished_nodes": [], "nodes": [{}] * 512}
    document = {"runs": [run] * 300, "slow_hosts": [], "regressions": [], "left_out": ["x"] * 101}
    data = page._data(pathlib.Path("lake"), Answers(document, {}, {}))
    assert len(data["fleet"]["runs"]) == 200 and data["runs_left_out"] == 100
    assert data["slow_ranks"] == [4000] * 200
    assert len(data["fleet"]["runs"][0]["slow_ranks"]) == page.MOST_SLOW_RANKS
    assert data["fleet"]["left_out"][-1] == "and 1 more files"


def test_a_picture_of_many_ranks_is_bounded_and_shows_the_slowest():
    rows = (
        {
            "rank": rank,
            "block": block,
            "first_step": 10 * block + 1,
            "own_ns": 50.0 if rank == 1234 and block >= 40 else 10.0,
            "compute_ns": 100.0,
        }
        for rank in range(4096)
        for block in range(slow_ranks.BLOCKS)
    )
    found = heat_map(slow_ranks.Series(rows), 200.0)
    assert len(found.rows) == MOST_ROWS and len(found.rows[0]) == slow_ranks.BLOCKS
    hot = [(y, x) for y, row in enumerate(found.rows) for x, value in enumerate(row) if value]
    assert {y for y, _ in hot} == {1234 // 32} and [x for _, x in hot] == list(range(40, 100))
    assert found.rows[hot[0][0]][40] == 200
    assert (found.first_ranks[-1], found.last_ranks[-1]) == (4064, 4095)
