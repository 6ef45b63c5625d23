"""What the single pages of the report show and do, opened from disk in a real browser, by mouse and keyboard."""

import contextlib
import json
import re
import sqlite3

from report_looks import as_percent, as_time, go_to, pages_of, text_of
from report_runs import run_checked


def test_a_click_on_a_bar_opens_its_step(open_report, reports):
    page = open_report(reports("input"))
    box = page.locator("main canvas").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.75)
    page.wait_for_function("() => location.hash.startsWith('#steps=')")
    number = int(page.evaluate("location.hash").split("=")[1])
    assert page.inner_text("main h2 >> nth=0").startswith(f"Step {number}")
    assert 15 <= number <= 30  # of 40, at six tenths of the width


def test_the_graph_is_used_by_keyboard(open_report, reports):
    page = open_report(reports("input"))
    canvas = page.locator("main canvas").first
    canvas.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    said = page.inner_text("main p[aria-live] >> nth=0")
    number = re.match(r"Step (\d+): ", said)[1]
    page.keyboard.press("Enter")
    page.wait_for_function("number => location.hash === '#steps=' + number", arg=number)


def test_pages_are_reached_by_keyboard(open_report, reports):
    page = open_report(reports("device"))
    page.keyboard.press("Tab")  # the link that skips the navigation
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#ops'")
    assert page.evaluate("document.activeElement.id") == "content"


def test_tables_sort_and_search(open_report, reports):
    page = open_report(reports("device"), "ops")
    page.get_by_role("button", name="calls a step").click()
    head = page.locator("th[aria-sort]")
    assert head.get_attribute("aria-sort") == "descending"
    calls = [float(text) for text in page.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert calls == sorted(calls, reverse=True) and len(set(calls)) > 1
    searched = open_report(reports("hostile"), "ops=emoji")
    assert all(
        "emoji" in row for row in searched.locator("tbody").first.locator("tr").all_inner_texts()
    )


def test_shapes_are_shown_when_recorded(open_report, reports):
    assert "[[64,784],[128,784]]" in text_of(open_report(reports("compute"), "ops")).replace(
        " ", ""
    )
    assert "Shapes were not recorded" in text_of(open_report(reports("input"), "ops"))


def test_kinds_of_step_stand_side_by_side(open_report, reports):
    page = open_report(reports("kinds"), "steps")
    shown = text_of(page)
    assert "Every 20th step (20, 40, …)" in shown
    assert re.search(r"\b189 steps of", shown) and re.search(
        r"\b10 steps of", shown
    )  # the first is warm-up
    assert page.locator("main h3").count() == 2


def test_a_step_has_its_timeline(open_report, reports):
    page = open_report(reports("device"), "steps")
    titles = page.locator(".row-title").all_inner_texts()
    assert any("training loop" in title for title in titles) and "GPU 0, stream 7" in titles
    page.locator("rect.slice").last.click()
    assert re.search(r"\S+ · .*into the step", page.inner_text(".timeline p[aria-live]"))
    # One colour for one category: copies in the timeline as in the legend.
    legend = page.evaluate(
        "getComputedStyle([...document.querySelectorAll('.legend li')]"
        ".find(e => e.textContent.startsWith('copy')).querySelector('.swatch')).backgroundColor"
    )
    drawn = page.evaluate(
        "[...document.querySelectorAll('rect.slice')].map(e => getComputedStyle(e).fill)"
    )
    assert legend in drawn


def test_a_step_that_is_not_there_is_said_to_be_missing(open_report, reports):
    assert "The run has no step 999" in text_of(open_report(reports("input"), "steps=999"))


def test_a_step_without_a_timeline_says_how_to_get_it(open_report, reports):
    drawn = open_report(reports("kinds"), "steps").locator(".controls a").all_inner_texts()
    other = next(n for n in range(50, 90) if not any(f"({n})" in text for text in drawn))
    assert f"--steps {other}" in text_of(open_report(reports("kinds"), f"steps={other}"))


def test_ranks_name_the_straggler(open_report, reports, stores, run_stepscope):
    document = json.loads(
        run_checked(run_stepscope, "analyze", stores("ranks"), "--json", "--no-write").stdout
    )
    page = open_report(reports("ranks"), "ranks")
    assert document["ranks"]["why"] in text_of(page)
    assert page.locator("tbody").first.locator("tr").count() == 3
    assert document["ranks"]["steps"]["why"] in text_of(page)
    straggler = document["ranks"]["straggler"]
    assert straggler == 1 and "1 (slowest)" in text_of(page)


def test_one_page_is_of_all_ranks_and_the_details_of_one(open_report, reports):
    page = open_report(reports("ranks"))
    assert page.locator("#loop").count() == 0 and "3 ranks" in page.inner_text("#run-title")
    assert "Rank 1 of 3, the straggler" in text_of(page)
    ranks = page.locator("section", has=page.get_by_role("heading", name="The ranks"))
    rows = ranks.locator("tbody tr").all_inner_texts()
    assert len(rows) == 3 and "24 of 24" in rows[1] and "compute +" in rows[1]
    assert "waits for rank 1" in rows[0] and "0 of 24" in rows[0]
    assert "--rank 0" in ranks.inner_text()
    go_to(page, "ops")
    assert page.locator("[data-json*='loops.1.']").count() == 0


def test_rank_makes_the_page_of_one_rank(open_report, reports):
    page = open_report(reports("ranks", "--rank", "2"))
    assert "rank 2 of 3" in page.inner_text("#run-title")
    assert page.inner_text("main h1") == "Highly straggler-bound"
    assert "of the step waits for rank 1" in text_of(page)
    assert page.get_by_role("heading", name="The ranks").count() == 0


def test_a_baseline_is_compared(open_report, reports, stores, run_stepscope):
    compared = json.loads(
        run_checked(run_stepscope, "compare", stores("input"), stores("compute"), "--json").stdout
    )
    page = open_report(reports("compute", "--baseline", stores("input")), "compare")
    assert compared["answer"] in text_of(page)
    assert all(line in text_of(page) for line in compared["why"])


# Whatever a person or a screen reader is told on a page; commands and SQL are what they are.
SAID = """() => {
    const page = document.body.cloneNode(true);
    page.querySelectorAll('code, pre, script').forEach((element) => element.remove());
    const elements = [...page.querySelectorAll('*')];
    const charts = [...document.querySelectorAll('canvas')].map((canvas) => Chart.getChart(canvas));
    const hint = (chart) => {
        const {title, label, footer} = chart.options.plugins.tooltip.callbacks;
        const items = [{datasetIndex: 0, dataIndex: 0, raw: 1, label: '', dataset: chart.data.datasets[0], parsed: {x: 1, y: 1}}];
        return [title?.(items), label?.(items[0]), footer?.(items)];
    };
    return [document.title, page.textContent, ...elements.map((element) => element.getAttribute('aria-label')),
        ...elements.map((element) => element.getAttribute('title')),
        ...charts.flatMap((chart) => [...Object.values(chart.options.scales).map((scale) => scale.title?.text), ...hint(chart)])]
        .filter(Boolean);
}"""


def test_a_loop_that_never_trains_is_told_in_calls_on_every_page(open_report, reports):
    page = open_report(reports("served"))
    for name in [*pages_of(page), "steps=7", "steps=999"]:
        go_to(page, name)
        said = page.evaluate(SAID)
        assert [
            text for text in said if re.search(r"\bsteps?\b|training", text, re.IGNORECASE)
        ] == [], name
        assert any(re.search(r"\bcalls?\b", text) for text in said), name
    assert page.locator("nav a[href='#steps']").inner_text() == "Calls"


def test_a_loop_that_trains_is_told_in_steps(open_report, reports):
    page = open_report(reports("killed"))
    said = " ".join(page.evaluate(SAID))
    assert "Step times" in said and "time of a step" in said and "parts of a call" not in said


def test_the_parts_of_a_call_and_its_padding_are_told(open_report, reports, stores, run_stepscope):
    document = json.loads(
        run_checked(run_stepscope, "analyze", stores("served"), "--json", "--no-write").stdout
    )
    page = open_report(reports("served"))
    parts = page.locator(
        "section", has=page.get_by_role("heading", name="The parts of a call")
    ).inner_text()
    assert (
        min(
            document["call"]["input"],
            document["call"]["model"],
            document["call"]["scopes"]["tokenize"],
        )
        > 0
    )
    for name, ns in (
        ("input", document["call"]["input"]),
        ("model", document["call"]["model"]),
        ("tokenize", document["call"]["scopes"]["tokenize"]),
        ("the rest", document["call"]["other"]),
    ):
        if ns > 0:
            assert re.search(rf"{name}\s+{re.escape(as_time(ns))}", parts), name
    assert (
        f"{as_percent(document['padding']['share'])} of the computed elements are padding" in parts
    )
    go_to(page, "input")
    assert "sorted within 16 batches" in text_of(page)


def test_what_held_the_memory_of_tensors_at_the_peak(open_report, reports):
    page = open_report(reports("tensors"), "memory")
    section = page.locator("section", has=page.get_by_role("heading", name="Tensors on the CPU"))
    assert "At the peak, in step 20 (" in section.inner_text()
    assert (
        "tensors held 144 MB. The largest part, 48.6 %, was allocated by the forward pass"
        in section.inner_text()
    )
    rows = [row.split("\t") for row in section.locator("tbody").inner_text().split("\n")]
    assert [(row[0].split(" (")[0], *row[1:]) for row in rows] == [
        ("by the forward pass", "70.0 MB", "48.6 %", "5.00 MB"),
        ("outside any phase", "40.0 MB", "27.8 %", "40.0 MB"),
        ("by the optimizer", "20.0 MB", "13.9 %", "20.0 MB"),
        ("by the backward pass", "10.0 MB", "6.9 %", "10.0 MB"),
        ("while waiting for input", "4.00 MB", "2.8 %", "4.00 MB"),
    ]
    assert "when it died" in section.inner_text()
    stacked = page.evaluate(
        "Chart.getChart([...document.querySelectorAll('canvas')].at(1)).data.datasets.map((set) => [set.label, set.data.at(0).y])"
    )
    assert stacked == [
        ["outside any phase", 40e6],
        ["optimizer", 0],
        ["backward", 10e6],
        ["forward", 32e6],
        ["input", 4e6],
    ]


def test_a_run_whose_tensors_were_not_told_apart_shows_what_they_held(open_report, reports):
    page = open_report(reports("killed"), "memory")
    assert "Peak held by the process" in text_of(
        page
    ) and "by the phase that allocated them" not in text_of(page)


def test_a_death_comes_before_all_else(open_report, reports):
    page = open_report(reports("killed"))
    alert = page.locator("[role=alert]")
    assert "SIGKILL" in alert.inner_text()
    assert alert.bounding_box()["y"] < page.locator("h1").bounding_box()["y"]
    go_to(page, "memory")
    assert "When it died" in text_of(page) and "a step" in text_of(page)


def test_what_was_lost_is_said_in_the_words_of_analyze(
    open_report, make_store, run_stepscope, tmp_path
):
    store = make_store("killed")
    lost = "47,649 events that could not be written"
    with contextlib.closing(sqlite3.connect(store)) as rows:
        rows.execute("INSERT INTO loss VALUES (NULL, 'unwritten', 47649)")
        rows.commit()
    run_checked(run_stepscope, "report", store, "-o", tmp_path / "report.html")
    assert lost in text_of(open_report(tmp_path / "report.html"))
    assert "lost: " + lost in run_stepscope("analyze", store).stdout
