"""The report of a sweep, opened from disk in a real browser: its pages, its figures against `stepscope sweep show --json`."""

import json

import pytest

from report_looks import contrast, go_to, luminance, pages_of, text_of

PAGES = ["overview", "map", "settings"]


def count(value):
    return f"{round(value):,}"


def rate(value):
    return count(value) if value >= 99.95 else f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


class MadeSweep:
    """A sweep of a real program, and what is said of it."""

    def __init__(self, run_stepscope, folder, *arguments):
        self.store = folder / "sweep.db"
        done = run_stepscope("sweep", "-o", self.store, *arguments)
        assert done.returncode == 0, done.stderr
        self.result = json.loads(run_stepscope("sweep", "show", self.store, "--json").stdout)
        self.page = folder / "sweep.html"
        done = run_stepscope("report", self.store, "-o", self.page)
        assert done.returncode == 0, done.stderr
        self.said = done.stdout


@pytest.fixture(scope="session")
def settings(build_dir):
    program = build_dir / "tests/sweep/settings"
    if not program.exists():
        pytest.fail(f"{program} is not there: build the tests first")
    return program


@pytest.fixture(scope="session")
def grid(run_stepscope, settings, tmp_path_factory):
    """Two formats, a setting of one of them out of memory."""
    return MadeSweep(
        run_stepscope,
        tmp_path_factory.mktemp("sweep"),
        "--repeats",
        2,
        "-p",
        "batch=1..4*2,40",
        "-p",
        "format=fast,slow",
        "-p",
        "hold=1,16",
        "--memory-limit",
        "600M",
        "--",
        settings,
        "--batch",
        "{batch}",
        "--format",
        "{format}",
        "--hold-mib",
        "{hold}",
        "--steps",
        60,
    )


@pytest.fixture(scope="session")
def hostile_names(run_stepscope, settings, tmp_path_factory):
    return MadeSweep(
        run_stepscope,
        tmp_path_factory.mktemp("names"),
        "--repeats",
        1,
        "--warmup",
        1,
        "-p",
        "format=</script><script>document.title='taken over'</script>,<img src=x onerror=alert(1)>",
        "--",
        settings,
        "--format",
        "{format}",
        "--steps",
        10,
    )


@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_has_its_content_and_no_width_of_its_own(open_report, grid, width):
    page = open_report(grid.page, width=width)
    assert pages_of(page) == PAGES
    for name in PAGES:
        go_to(page, name)
        assert page.locator("main h1").count() == 1, name
        assert len(text_of(page)) > 80, name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.locator("main canvas").count() == page.evaluate(
            "[...document.querySelectorAll('main canvas')].filter((c) => Chart.getChart(c)).length"
        ), name


def test_the_best_of_each_is_told_first(open_report, grid):
    shown = text_of(open_report(grid.page))
    for scan in grid.result["scans"]:
        best = grid.result["cells"][scan["best"]]
        assert scan["title"] in shown
        assert f"{rate(best['figures']['samples_per_second'])} samples/s" in shown
    assert "Best batch" in shown and shown.index("Best batch") < shown.index("What was run")


def test_the_map_has_every_setting(open_report, grid):
    page = open_report(grid.page, "map")
    cells = grid.result["cells"]
    shown = {
        int(index): text
        for index, text in page.evaluate(
            "[...document.querySelectorAll('[data-cell]')].map((e) => [e.dataset.cell, e.textContent])"
        )
    }
    assert shown.keys() == {i for i, cell in enumerate(cells) if cell["figures"]}
    for i, text in shown.items():
        assert text.removeprefix("★ ").removeprefix("≈ ") == rate(
            cells[i]["figures"]["samples_per_second"]
        )
    assert {i for i, text in shown.items() if text.startswith("★")} == {
        scan["best"] for scan in grid.result["scans"]
    }
    assert page.locator("td.missing").all_inner_texts() == ["N/A: memory"] * 2


def test_what_is_not_available_is_told_with_its_cause(open_report, grid):
    shown = text_of(open_report(grid.page))
    missing = [cell for cell in grid.result["cells"] if cell["figures"] is None]
    assert len(missing) == 2
    for cell in missing:
        assert cell["title"] in shown and cell["cause"] in shown
    (comparison,) = grid.result["comparisons"]
    assert all(setting in shown for setting in comparison["left_out"])


def test_all_settings_can_be_sorted(open_report, grid):
    page = open_report(grid.page, "settings")
    assert page.locator("tbody tr").count() == len(grid.result["cells"])
    page.get_by_role("button", name="samples/s").click()
    column = page.locator("thead th").all_inner_texts().index("samples/s")
    values = [
        float(text.replace(",", ""))
        for text in page.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
        if text != "–"
    ]
    assert values == sorted(values, reverse=True) and len(values) == len(grid.result["cells"]) - 2


def test_pages_are_reached_by_keyboard(open_report, grid):
    page = open_report(grid.page)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#map'")
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_every_field_of_the_map(open_report, grid, scheme):
    page = open_report(grid.page, "map", color_scheme=scheme)
    back = page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert (luminance(back) > 0.5) == (scheme == "light")
    # What a field looks like: its colour over that of the section, as a canvas mixes them.
    fields = page.evaluate(
        """(back) => [...document.querySelectorAll('[data-cell]')].map((cell) => {
        const context = document.createElement('canvas').getContext('2d');
        for (const colour of [back, getComputedStyle(cell).backgroundColor]) {
          context.fillStyle = colour;
          context.fillRect(0, 0, 1, 1);
        }
        return [getComputedStyle(cell).color, `rgb(${[...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(',')})`];
    })""",
        back,
    )
    assert len({field for _, field in fields}) > 1, "faster is darker"
    for ink, field in fields:
        assert contrast(ink, field) >= 4.5, (ink, field)


def test_hostile_names_are_text(open_report, hostile_names):
    page = open_report(hostile_names.page)
    for name in pages_of(page):
        go_to(page, name)
        assert page.locator("main img").count() == 0
        assert "taken over" not in page.title()
    assert "<img src=x onerror=alert(1)>" in text_of(page)


def test_a_sweep_without_numbers_has_no_map(open_report, hostile_names):
    assert pages_of(open_report(hostile_names.page)) == ["overview", "settings"]


def test_the_size_is_told_and_a_baseline_is_refused(grid, run_stepscope):
    assert "opens in any browser" in grid.said
    done = run_stepscope("report", grid.store, "--baseline", grid.store)
    assert done.returncode == 2 and "is a sweep" in done.stderr


def test_paper_has_the_map(open_report, grid):
    page = open_report(grid.page, "map", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.is_visible("table.heat")
    assert len(page.pdf()) > 10_000
