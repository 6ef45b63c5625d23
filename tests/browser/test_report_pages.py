"""The report, opened from disk in a real browser: each page of runs of each kind, its figures against
`stepscope analyze --json`, names that try to be markup, narrow and wide, dark."""

import json
import pathlib
import re
import subprocess

import pytest

import report_runs
from report_looks import as_percent, as_time, contrast, go_to, luminance, pages_of, text_of
from report_runs import KINDS, run_checked

WIDTHS = (1280, 400)

# How many rows of text the tabs take, with the choice of a loop.
ROWS_OF_TABS = """() => document.querySelector('nav').getBoundingClientRect().height /
    document.querySelector('nav a').getBoundingClientRect().height"""

# How far the first columns of tables that are wider than the page go when these are scrolled.
FIRST_COLUMNS = """() => [...document.querySelectorAll('main .scroll')]
    .filter((scroll) => scroll.scrollWidth > scroll.clientWidth + 1)
    .map((scroll) => {
        scroll.scrollLeft = 60;
        const edge = scroll.getBoundingClientRect().left;
        const moved = [...scroll.querySelectorAll('tr > :first-child')]
            .map((cell) => Math.abs(cell.getBoundingClientRect().left - edge));
        scroll.scrollLeft = 0;
        return Math.max(...moved);
    })"""

# A path as long as those of programs are, in every text of a page.
LONG_PATHS = """() => document.querySelectorAll('main p:not(.controls), main li > div:first-child, main dd, main h2')
    .forEach((element) => element.append(' ' + '/a_folder_with_a_long_name'.repeat(8)))"""

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
        rows = page.evaluate(ROWS_OF_TABS)
        assert rows < (1.5 if width == 1280 else 2.5), name
        assert all(moved <= 1 for moved in page.evaluate(FIRST_COLUMNS)), name
        assert page.locator("main canvas").count() == page.evaluate(
            "[...document.querySelectorAll('main canvas')].filter((c) => Chart.getChart(c)).length"
        ), name


def test_a_wide_table_scrolls_below_its_caption(open_report, reports):
    page = open_report(reports("device"), "kernels", width=400)
    assert len(page.evaluate(FIRST_COLUMNS)) == 1
    page = open_report(reports("code"), "code", width=400)
    caption = page.locator(".caption").first.bounding_box()
    assert caption["x"] >= 0 and caption["x"] + caption["width"] <= 400


def test_ticks_of_time_do_not_run_into_one_another(open_report, reports):
    page = open_report(reports("killed"), "memory", width=400)
    for ticks in page.evaluate("""() => [...document.querySelectorAll('main canvas')]
        .map((canvas) => Chart.getChart(canvas).scales.x.ticks.map((tick) => tick.value))"""):
        steps = [b - a for a, b in zip(ticks, ticks[1:], strict=False)]
        assert min(steps) >= 0.7 * max(steps)


def test_the_tab_of_a_page_is_in_sight(open_report, reports):
    page = open_report(reports("ranks"), width=400)
    for name in pages_of(page):
        go_to(page, name)
        tab = page.locator("nav a[aria-current]").bounding_box()
        assert tab["x"] >= 0 and tab["x"] + tab["width"] <= 400, name


@pytest.mark.parametrize("kind", ["input", "ranks", "code"])
def test_long_paths_do_not_make_a_page_wider(open_report, reports, kind):
    page = open_report(reports(kind), width=400)
    for name in pages_of(page):
        go_to(page, name)
        page.evaluate(LONG_PATHS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name


@pytest.mark.parametrize(
    "kind, pages",
    [
        ("input", ["overview", "input", "ops", "steps"]),
        ("device", ["overview", "input", "ops", "kernels", "copies", "steps"]),
        ("ranks", ["overview", "input", "ops", "kernels", "copies", "steps", "ranks"]),
        ("killed", ["overview", "input", "code", "ops", "memory", "steps"]),
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


def test_an_evaluation_is_told_and_drawn_apart_from_the_steps(open_report, reports):
    page = open_report(reports("evaluating"))
    text = text_of(page)
    assert "The time of the run" in text
    assert "evaluation: 4 times, 12 batches" in text
    assert "Evaluation is highly input-bound" in text
    assert "Not all steps are alike" not in text
    assert "evaluation" in page.locator(".legend").nth(1).inner_text()
    bars = page.evaluate("""() => {
        const {data} = Chart.getChart(document.querySelector('main canvas'));
        const drawn = data.datasets.find((set) => set.label === 'evaluation').data;
        return drawn.map((ns, i) => ns === null ? null : [data.labels[i], ns]).filter(Boolean); }""")
    assert [step for step, _ in bars] == [10, 20, 30, 40]
    assert all(ns == pytest.approx(6e6, rel=0.1) for _, ns in bars)
    assert "evaluation after step 10" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_that_are_clipped_say_so(open_report, reports, width):
    page = open_report(reports("evaluating"), width=width)
    marks = page.locator(".graph").first.locator(".mark")
    assert marks.count() == 4 and all(mark.startswith("↑") for mark in marks.all_inner_texts())
    assert "↑ 6.00 ms" in marks.first.inner_text()
    assert "4 bars are higher than the graph and marked ↑: evaluation after step 10" in text_of(
        page
    )
    for mark in marks.all():
        box = mark.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert open_report(reports("input"), width=width).locator(".mark").count() == 0


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
