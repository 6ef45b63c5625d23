"""The page Code of the report: the lines that matter, the flame graph of the samples, the source beside it."""

import json
import os
import re

import pytest

from report_looks import as_percent, as_time, go_to, pages_of, text_of
from report_runs import run_checked

# As tests/viewer-export/testing/code_store.h says.
STEPS = 40
ANALYSED = STEPS - 1  # the first is warm-up
DECODE, READ_FILE = 20, 10  # samples a step, of the worker while it is awaited
INPUT, FORWARD, BACKWARD, OPTIMIZER = 30, 6, 8, 4  # of the loop
DECODE_LINE, READ_FILE_LINE = 6, 10


@pytest.fixture(scope="module")
def code_run(make_store, tmp_path_factory):
    """The store of a run whose source is there."""
    folder = tmp_path_factory.mktemp("program")
    source = folder / "train.py"
    source.write_text("".join(f"\tline_{number}('</script><b>')\n" for number in range(1, 31)))
    os.utime(source, (1_000_000_000, 1_000_000_000))
    return make_store("code", folder)


@pytest.fixture(scope="module")
def code_report(code_run, run_stepscope):
    path = code_run.parent / "report.html"
    run_checked(run_stepscope, "report", code_run, "-o", path)
    return path


def frames(page):
    """What is drawn: {text: (row, x, width, samples)}; of equal ones the last."""
    return {
        text: tuple(rest)
        for text, *rest in page.evaluate("""[...document.querySelectorAll('.flame .frame')].map((e) => {
            const box = e.getBoundingClientRect();
            return [e.title.split(' · ')[0], Number(e.dataset.row), box.x, box.width, Number(e.dataset.samples)];
        })""")
    }


def frame(page, text):
    return page.locator(f".flame .frame[title^='{text} ·']").first


def matched(page):
    return page.inner_text("#matched")


def test_there_is_no_such_page_without_samples(open_report, reports):
    assert "code" not in pages_of(open_report(reports("input")))


def test_the_lines_are_those_of_analyze(open_report, code_report, code_run, run_stepscope):
    done = run_checked(run_stepscope, "analyze", code_run, "--json", "--no-write")
    lines = json.loads(done.stdout)["loops"][0]["lines"]
    page = open_report(code_report, "code")
    rows = [row.split("\t") for row in page.locator("tbody").first.inner_text().split("\n")]
    assert [row[0] for row in rows[:2]] == [
        f"train.py:{DECODE_LINE} decode",
        f"train.py:{READ_FILE_LINE} read_file",
    ]
    for line in lines:
        low, high = (f"{100 * bound:.0f}" for bound in line["ci95"])
        wanted = [
            f"train.py:{line['line']} {line['function']}",
            f"{as_percent(line['share'])} ({low}–{high})",
            as_time(line["step_ns"]),
        ]
        assert wanted in [row[:3] for row in rows]
    assert "blocked in sleep" in rows[1][-1]


def test_it_begins_with_who_makes_the_batch(open_report, code_report):
    page = open_report(code_report, "code")
    assert page.input_value("#code-moment") == "awaited"
    drawn = frames(page)
    whole = STEPS * (DECODE + READ_FILE)
    assert drawn["all samples"][3] == whole
    assert drawn[f"decode train.py:{DECODE_LINE}"][3] == STEPS * DECODE
    assert drawn["blocked: sleep"][3] == STEPS * READ_FILE
    assert "main train.py:22" not in drawn  # the process that forked the worker


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("width", [1280, 400])
def test_widths_are_shares_and_add_up(open_report, code_report, width, folded):
    page = open_report(code_report, "code", width=width)
    if not folded:
        page.uncheck("#code-fold")
    drawn = frames(page)
    _, left, full, whole = drawn["all samples"]
    for text, (row, x, size, samples) in drawn.items():
        assert abs(size / full - samples / whole) < 0.01, text
        assert left - 1 <= x and x + size <= left + full + 1, text
        if row > 0:
            callers = [one for one in drawn.values() if one[0] == row - 1]
            assert any(c[1] - 1 <= x and x + size <= c[1] + c[2] + 1 for c in callers), text
    for row in range(1, max(one[0] for one in drawn.values()) + 1):
        assert sum(one[2] for one in drawn.values() if one[0] == row) <= full + 1
    assert ("_worker_loop torch/utils/data/_utils/worker.py" in drawn) != folded


def test_phases_and_states_are_chosen(open_report, code_report):
    page = open_report(code_report, "code")
    loop = page.locator("#code-thread option", has_text="training loop")
    page.select_option("#code-thread", loop.get_attribute("value"))

    def samples(moment, state="any"):
        page.select_option("#code-moment", moment)
        page.select_option("#code-state", state)
        return frames(page)["all samples"][3]

    assert samples("input") == samples("input", "blocked") == ANALYSED * INPUT
    assert samples("input", "running") == 0
    assert "No sample" in text_of(page)
    assert samples("forward") == ANALYSED * FORWARD
    assert samples("backward") == samples("backward", "running") == ANALYSED * BACKWARD
    assert samples("optimizer") == ANALYSED * OPTIMIZER
    assert samples("steps") == ANALYSED * (INPUT + FORWARD + BACKWARD + OPTIMIZER)
    assert samples("outside") == INPUT + FORWARD + BACKWARD + OPTIMIZER


def test_a_search_says_which_share_matches(open_report, code_report):
    page = open_report(code_report, "code")
    page.fill("#code-search", "READ_file")
    assert matched(page) == "33.3 % of the samples match"
    assert "match" in frame(page, "read_file train.py:10").get_attribute("class")
    assert "faded" in frame(page, "decode train.py:6").get_attribute("class")
    page.fill("#code-search", "train.py")  # callers and what they call count once
    assert matched(page) == "100.0 % of the samples match"
    page.fill("#code-search", "nowhere at all")
    assert matched(page) == "0.0 % of the samples match"
    page.fill("#code-search", "")
    assert matched(page) == "" and page.locator(".faded").count() == 0


def test_an_address_holds_what_is_searched_for(open_report, code_report):
    page = open_report(code_report, "code=read_file")
    assert page.input_value("#code-search") == "read_file"
    assert matched(page) == "33.3 % of the samples match"


def test_a_click_zooms_and_the_crumbs_lead_back(open_report, code_report):
    page = open_report(code_report, "code")
    _, _, full, _ = frames(page)["all samples"]
    frame(page, "read_file train.py:10").click()
    drawn = frames(page)
    assert drawn["read_file train.py:10"][2] == pytest.approx(full, abs=1)
    assert drawn["blocked: sleep"][2] == pytest.approx(full, abs=1)
    assert "decode train.py:6" not in drawn
    crumbs = page.locator(".crumbs")
    assert crumbs.inner_text() == (
        "all samples › Data.__getitem__ train.py:15 › read_file train.py:10"
    )
    crumbs.get_by_text("all samples").click()
    assert frames(page)["read_file train.py:10"][2] == pytest.approx(full / 3, abs=2)


def test_it_is_used_by_keyboard(open_report, code_report):
    page = open_report(code_report, "code")
    focused = lambda: page.evaluate("document.activeElement.title.split(' · ')[0]")
    assert page.locator(".flame .frame[tabindex='0']").count() == 1
    page.focus("#code-search")
    page.keyboard.press("Tab")
    assert focused() == "all samples"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert focused() == "decode train.py:6"
    page.keyboard.press("ArrowRight")
    assert focused() == "read_file train.py:10"
    page.keyboard.press("Enter")
    assert "read_file train.py:10" in page.inner_text(".crumbs strong")
    assert focused() == "read_file train.py:10"
    page.keyboard.press("ArrowUp")
    assert focused() == "Data.__getitem__ train.py:15"
    page.keyboard.press("Escape")
    assert page.inner_text(".crumbs strong") == "all samples"


def test_a_line_of_the_table_leads_to_its_frame(open_report, code_report):
    page = open_report(code_report, "code")
    page.get_by_role("button", name="train.py:25 main").click()
    assert page.input_value("#code-moment") == "backward"
    assert "marked" in frame(page, "main train.py:25").get_attribute("class")
    assert matched(page) == "100.0 % of the samples match"


def test_the_source_is_beside_the_frame(open_report, code_report):
    page = open_report(code_report, "code")
    frame(page, "decode train.py:6").click()
    here = page.locator(".source .here").inner_text()
    assert re.search(r"66\.7 %\s+▸ 6\s+line_6\('</script><b>'\)", here)
    assert page.locator(".source tr").count() == 3 + 8 + 1  # it begins at line 3
    assert "changed since" not in page.inner_text(".beside")
    page.uncheck("#code-fold")
    frame(page, "_worker_loop torch/utils/data/_utils/worker.py").click()
    assert "Its source is not in this report" in page.inner_text(".beside")


def test_a_file_that_changed_since_is_said(open_report, code_run, run_stepscope, tmp_path):
    done = run_stepscope("analyze", code_run, "--json", "--no-write")
    source = json.loads(done.stdout)["loops"][0]["lines"][0]["file"]
    before = os.stat(source).st_mtime
    os.utime(source, (4_000_000_000, 4_000_000_000))
    run_checked(run_stepscope, "report", code_run, "-o", tmp_path / "report.html")
    os.utime(source, (before, before))
    page = open_report(tmp_path / "report.html", "code")
    frame(page, "decode train.py:6").click()
    assert "This file has changed since" in page.inner_text(".beside")


def test_hostile_functions_are_text(open_report, code_report):
    page = open_report(code_report, "code")
    odd = page.locator("#code-thread option", has_text="odd </script>")
    page.select_option("#code-thread", odd.get_attribute("value"))
    drawn = frames(page)
    for name in (
        "<img src=x onerror=\"document.title='taken over'\">",
        "</script><script>document.title='taken over'</script>",
        "right-to-left \\u202e __proto__",
    ):
        assert any(text.startswith(name) for text in drawn), name
    page.locator(".flame .frame").nth(2).click()
    assert "…/run/<b>odd</b>.py" in page.inner_text(".beside")
    assert page.locator("main img, main b").count() == 0
    assert "taken over" not in page.title()


def test_own_code_differs_from_libraries_also_without_colour(open_report, code_report):
    page = open_report(code_report, "code")
    weight = lambda text: int(frame(page, text).evaluate("e => getComputedStyle(e).fontWeight"))
    assert weight("decode train.py:6") > weight("BaseProcess._bootstrap multiprocessing/process.py")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_at_any_width(open_report, code_report, width, scheme):
    page = open_report(code_report, "code", width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    frame(page, "decode train.py:6").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    go_to(page, "overview")
    go_to(page, "code")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
