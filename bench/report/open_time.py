#!/usr/bin/env python3
"""Measures how long a browser takes to open the report of a long run, and the size of the report.

usage: .venv/bin/python bench/report/open_time.py [BUILD_DIR] [--steps N] [--times N]   (default: build/release)

Makes a run of 10,000 steps with 102 ops each, writes its report, and opens it from disk in a new
Chromium, several times. Measures from the start of the navigation until the first frame with the
graphs is drawn, and for each other page of the report from the click until it is drawn. Prints one
JSON document; times are medians, in ms.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import viewers  # noqa: E402  (found through the line above)

# Two frames: the second begins once the first is drawn.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
GO = """name => new Promise(done => { const start = performance.now(); location.hash = name;
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))); })"""


def open_once(chromium, report):
    """Milliseconds until the overview is drawn, and until each other page is drawn."""
    browser = chromium.launch(executable_path=viewers.find_chromium(), args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report.as_uri())
    times = {"overview": page.evaluate(DRAWN)}
    for link in page.query_selector_all("nav a:not([aria-current])"):
        name = link.get_attribute("href")[1:]
        times[name] = page.evaluate(GO, name)
    browser.close()
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=ROOT / "build" / "release", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        store, report = pathlib.Path(temporary) / "run.db", pathlib.Path(temporary) / "report.html"
        subprocess.run(
            [build / "tests/viewer-export/make_trace_store", "steps", store, str(arguments.steps)],
            check=True,
        )
        start = time.monotonic()
        subprocess.run(
            [build / "bin/stepscope", "report", store, "-o", report],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.monotonic() - start
        with sync_playwright() as playwright:
            rounds = [open_once(playwright.chromium, report) for _ in range(arguments.times)]
        result = {
            "steps": arguments.steps,
            "ops": arguments.steps * 102,
            "report_s": round(seconds, 2),
            "megabytes": round(report.stat().st_size / 1e6, 2),
            "drawn_ms": {
                name: round(statistics.median(times[name] for times in rounds))
                for name in rounds[0]
            },
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
