"""The report, opened from disk in a real browser: each page of runs of each kind, its figures against
`stepscope analyze --json`, names that try to be markup, narrow and wide, dark, by keyboard."""

import contextlib
import functools
import json
import pathlib
import re
import sqlite3
import subprocess

import pytest

import report_runs
from report_looks import contrast, go_to, luminance, pages_of, text_of

HAND_MADE = ("killed", "served", "tensors")  # of make_trace_store
KINDS = [*report_runs.RUNS, *HAND_MADE, "trace"]
WIDTHS = (1280, 400)
REAL_TRACE = (
    pathlib.Path(__file__).parents[3] / "shared/traces/resnet50_v100_workers0.pt.trace.json.gz"
)


def run_checked(run_stepscope, *arguments):
    done = run_stepscope(*arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="session")
def stores(run_stepscope, make_store, tmp_path_factory):
    """Makes the store of a kind of run, once."""

    @functools.cache
    def make(kind):
        if kind in HAND_MADE:
            return make_store(kind)
        folder = tmp_path_factory.mktemp(kind)
        if kind == "trace":
            traces = [REAL_TRACE]
        else:
            traces = [
                trace.write(folder / f"rank{trace.rank}.pt.trace.json")
                for trace in report_runs.RUNS[kind]()
            ]
        if not traces[0].exists():
            pytest.skip(f"{traces[0]} is not there")
        run_checked(run_stepscope, "import", *traces, "-o", folder / "run.db")
        return folder / "run.db"

    return make


@pytest.fixture(scope="session")
def reports(run_stepscope, stores):
    """Makes the report of a kind of run, once."""

    @functools.cache
    def make(kind, *options):
        path = stores(kind).parent / f"report-{len(options)}.html"
        run_checked(run_stepscope, "report", stores(kind), "-o", path, *options)
        return path

    return make


# --- every page of every kind --------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_page_has_its_content_and_no_width_of_its_own(open_report, reports, kind, width):
    page = open_report(reports(kind), width=width)
    for name in pages_of(page):
        go_to(page, name)
        assert page.locator("main h1").count() == 1, name
        assert len(text_of(page)) > 80, name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.locator("main canvas").count() == page.evaluate(
            "[...document.querySelectorAll('main canvas')].filter((c) => Chart.getChart(c)).length"
        ), name


@pytest.mark.parametrize(
    "kind, pages",
    [
        ("input", ["overview", "input", "ops", "steps"]),
        ("device", ["overview", "input", "ops", "kernels", "copies", "steps"]),
        ("ranks", ["overview", "input", "ops", "kernels", "copies", "steps", "ranks"]),
        ("killed", ["overview", "input", "ops", "memory", "steps"]),
        ("served", ["overview", "input", "ops", "steps"]),
    ],
)
def test_only_pages_with_something_on_them_are_offered(open_report, reports, kind, pages):
    assert pages_of(open_report(reports(kind))) == pages


def test_a_link_to_a_page_that_the_run_has_not_leads_to_the_overview(open_report, reports):
    page = open_report(reports("input"), "kernels")
    assert page.get_attribute("nav a[aria-current]", "href") == "#overview"


@pytest.mark.parametrize(
    "address",
    [
        "ops=%",
        "ops=%E0%A4%A",
        "ops=%ff",
        "ops=a=b%",
        "ops=",
        "=",
        "=%",
        "%",
        "steps=%",
        "steps=1e9999",
        "steps=-1",
        "steps=1.5",
        "steps=0x10",
        "steps=%00",
        "__proto__",
        "constructor=%",
        "input=%",
        "memory=%",
        "ops=%F0%9F%94%A5%",
        pytest.param("steps=" + "9" * 400, id="steps=9…"),
    ],
)
def test_any_address_leads_to_a_page(open_report, reports, address):
    """Links are mailed, cut off and typed; what has no meaning is a page with its content all the same."""
    page = open_report(reports("input"), address)
    assert page.locator("nav a[aria-current]").count() == 1
    assert page.inner_text("main h1") != ""
    go_to(page, "overview")
    page.evaluate("address => { location.hash = address; }", address)
    assert page.inner_text("main h1") != ""


def test_an_address_finds_the_op_it_names(open_report, reports):
    page = open_report(reports("hostile"), "overview")
    for name in ("a=b&c#d%25 100 %", "100 %"):
        page.evaluate("name => { location.hash = '#ops=' + encodeURIComponent(name); }", name)
        assert page.input_value("input[type=search]") == name
    page.evaluate("location.hash = '#ops=100 %'")  # typed, not encoded
    assert page.input_value("input[type=search]") == "100 %"


# --- figures --------------------------------------------------------------------------------------


def three_digits(value):
    return (
        f"{value:.2f}"
        if abs(value) < 9.995
        else f"{value:.1f}"
        if abs(value) < 99.95
        else f"{value:.0f}"
    )


def as_time(ns):
    for limit, unit, name in ((999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if abs(ns) < 999.5:
            return f"{ns:.0f} ns"
        if abs(ns) < limit:
            return f"{three_digits(ns / unit)} {name}"


def as_percent(share):
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


FORMATS = {"time": as_time, "percent": as_percent, "count": lambda value: f"{value:,.0f}"}


def look_up(document, path):
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def product(document, place, of):
    """The figure at `place`; times another of the same loop."""
    value = look_up(document, place)
    if of is None or value is None:
        return value
    loop = re.match(r"loops\.\d+\.", place)
    return value * look_up(document, (loop[0] if loop else "") + of)


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_is_that_of_analyze(open_report, reports, stores, run_stepscope, kind):
    document = json.loads(
        run_checked(run_stepscope, "analyze", stores(kind), "--json", "--no-write").stdout
    )
    page = open_report(reports(kind))
    seen = set()
    for name in pages_of(page):
        go_to(page, name)
        for place, of, form, shown in page.evaluate(
            "[...document.querySelectorAll('[data-json]')].map(e => [e.dataset.json, e.dataset.of ?? null,"
            " e.dataset.format ?? null, e.textContent])"
        ):
            value = product(document, place, of)
            assert shown == ("not known" if value is None else FORMATS[form](value)), (name, place)
            seen.add(place.removeprefix("loops.0."))
    assert {
        "verdict.share",
        "verdict.ci95.0",
        "steps.analysed",
        "steps.wall_ns.mean",
        "run.ops",
    } <= seen
    trained = (
        {"phases.optimizer"}
        if document["steps"]["unit"] == "step"
        else {"call.model", "steps.wall_ns.p99", "padding.share"}
    )
    assert trained <= seen


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_is_the_first_thing_one_reads(
    open_report, reports, stores, run_stepscope, kind
):
    document = json.loads(
        run_checked(run_stepscope, "analyze", stores(kind), "--json", "--no-write").stdout
    )
    verdict = document["verdict"]
    page = open_report(reports(kind), width=400)
    wanted = " ".join(filter(None, (verdict["degree"], verdict["kind"])))
    assert page.inner_text("main h1").lower() == wanted
    assert page.locator("main h1").bounding_box()["y"] < 400
    assert verdict["why"].lower() in text_of(page).lower()
    assert f"confidence {verdict['confidence']}" in text_of(page)
    titles = page.locator("ol.advice strong").all_inner_texts()
    assert [advice["title"].lower() for advice in document["advice"]] == [
        title.lower() for title in titles if not re.match(r"^[\d.]+ (ns|µs|ms|s)$", title)
    ]


def test_the_parts_of_the_average_step_are_those_it_has(open_report, reports):
    page = open_report(reports("input"))
    legend = page.locator(".legend").first.inner_text().split()
    assert "input" in legend and "copy" not in legend
    assert "None in" in text_of(page)


# --- names from the run ---------------------------------------------------------------------------


def test_hostile_names_are_text(open_report, reports):
    page = open_report(reports("hostile"), "ops")
    page.select_option("#grouping", "op")
    shown = text_of(page)
    for name in report_runs.HOSTILE_NAMES:
        for unseen, escape in (
            ("\t", "\\t"),
            ("\n", "\\n"),
            ("\x07", "\\u0007"),
            ("\u202e", "\\u202e"),
            ("\u200f", "\\u200f"),
            ("\u2028", "\\u2028"),
            ("\u2029", "\\u2029"),
            ("\x9b", "\\u009b"),
            ("\u2066", "\\u2066"),
            ("\U000e0041", "\\u{e0041}"),
            ("\u3164", "\\u3164"),
        ):
            name = name.replace(unseen, escape)
        assert name in shown
    for name in pages_of(page):
        go_to(page, name)
        assert page.locator("main img").count() == 0
    assert "taken over" not in page.title()


def test_scripts_that_are_not_the_pages_own_do_not_run(browser, reports):
    """The policy names each script by its hash: one that got into the page would be refused."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(reports("input").as_uri())
    page.evaluate("""() => { const script = document.createElement('script');
        script.textContent = 'window.ran = true'; document.body.append(script); }""")
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in refused)
    context.close()


# --- single pages ---------------------------------------------------------------------------------


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
    assert page.locator("tbody tr").count() == 3
    straggler = document["ranks"]["straggler"]
    assert straggler == 1 and "1 (slowest)" in text_of(page)


def test_each_loop_can_be_chosen(open_report, reports):
    page = open_report(reports("ranks"))
    assert page.locator("#loop option").count() == 3
    mean = page.locator("[data-json$='steps.wall_ns.mean']").first
    before = mean.get_attribute("data-json")
    page.select_option("#loop", "2")
    assert mean.get_attribute("data-json") != before


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


# --- how it looks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_colours_stand_out(open_report, reports, scheme):
    page = open_report(reports("device"), color_scheme=scheme)
    style = lambda selector, what: page.evaluate(
        "([s, w]) => getComputedStyle(document.querySelector(s))[w]", [selector, what]
    )
    back = style("section", "backgroundColor")
    assert (luminance(back) > 0.5) == (scheme == "light")
    for selector in ("h1", "p.lead", ".soft", "summary", "nav a"):
        assert contrast(style(selector, "color"), back) >= 4.5, selector
    for swatch in page.evaluate(
        "[...document.querySelectorAll('.swatch')].map(e => getComputedStyle(e).backgroundColor)"
    ):
        assert contrast(swatch, back) >= 3, swatch  # WCAG 1.4.11


def test_paper_is_white_and_has_no_buttons(open_report, reports):
    page = open_report(reports("device"), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("nav") and page.is_visible("main canvas")
    assert len(page.pdf()) > 20_000


def test_a_screen_reader_has_names_for_everything(open_report, reports):
    page = open_report(reports("device"))
    for name in pages_of(page):
        go_to(page, name)
        nameless = page.evaluate("""[...document.querySelectorAll('[role=img], canvas, input, select, button')]
            .filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)""")
        assert nameless == []
        assert page.evaluate("[...document.querySelectorAll('th')].every(e => e.scope)")


# --- a build without Chart.js ---------------------------------------------------------------------


def test_without_the_chart_library_the_tables_stay(open_report, reports, tmp_path):
    """The page that such a build would have, around the data of a report."""
    root = pathlib.Path(__file__).parents[2]
    made = tmp_path / "page.cc"
    subprocess.run(
        [
            "cmake",
            f"-DPAGE={root}/viewer-export/report/page",
            "-DCHARTS=",
            f"-DOUTPUT={made}",
            "-P",
            root / "viewer-export/report/embed.cmake",
        ],
        check=True,
    )
    head, before, after = re.findall(r'R"stepscope\((.*?)\)stepscope"', made.read_text(), re.DOTALL)
    data = re.findall(
        r'<script type="application/json".*?</script>\n', reports("device").read_text(), re.DOTALL
    )
    (tmp_path / "report.html").write_text(head + before + "".join(data) + after)
    page = open_report(tmp_path / "report.html")
    assert "built without Chart.js" in text_of(page)
    for name in pages_of(page):
        go_to(page, name)
        assert page.locator("main h1").count() == 1
    assert page.locator("tbody tr").count() > 0
