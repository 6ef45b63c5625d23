#!/usr/bin/env python3
"""Makes the pictures of docs/report.md from real runs of the MNIST sample.

usage: .venv/bin/python docs/images/report.py [BUILD_DIR]     (default: build/release)

Records the sample with its naive input pipeline and with its fixed one, writes the report of each, and takes
docs/images/report-*.webp.
"""

import base64
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import viewers  # noqa: E402  (found through the line above)

# Every step with its ops: the samples record a window by themselves.
ALL_STEPS = ("--steps", "all")

# Picture: report, page, width and height, colours.
PICTURES = {
    "overview": ("naive", "overview", 1000, 960, "light"),
    "input": ("naive", "input", 1000, 800, "light"),
    "steps": ("naive", "steps", 1000, 560, "light"),
    "compare": ("fixed", "compare", 1000, 760, "light"),
    "phone": ("naive", "overview", 400, 760, "dark"),
}


# Chromium takes pictures as PNG only, but its canvases write WebP, a fifth as large.
AS_WEBP = """async (png) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + png;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height});
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.8).split(',')[1];
}"""


def take(browser, report, picture, page, width, height, colours):
    """Writes a picture of one page of a report, as WebP. Ends the program where the page's script fails: it is empty then."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
    opened = context.new_page()
    wrong = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(f"{report.as_uri()}#{page}")
    if wrong:
        sys.exit(f"{report.name}: {wrong[0]}")
    png = base64.b64encode(opened.screenshot()).decode()
    opened.goto("about:blank")
    picture.parent.mkdir(exist_ok=True)
    picture.write_bytes(base64.b64decode(opened.evaluate(AS_WEBP, png)))
    context.close()


def main(arguments):
    build = pathlib.Path(arguments[0] if arguments else ROOT / "build" / "release").resolve()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = pathlib.Path(temporary)
        # Run where the stores are, so that the reports name them, and the program, without a folder of this machine.
        (folder / "mnist").symlink_to(build / "samples" / "mnist")
        for command in (
            ["./mnist", *ALL_STEPS, "--record", "naive.db"],
            ["./mnist", *ALL_STEPS, "--cache", "--prefetch", "1", "--record", "fixed.db"],
            [build / "bin" / "stepscope", "report", "naive.db", "-o", "naive.html"],
            [
                build / "bin" / "stepscope",
                "report",
                "fixed.db",
                "--baseline",
                "naive.db",
                "-o",
                "fixed.html",
            ],
        ):
            subprocess.run(command, cwd=folder, check=True)
        browser = playwright.chromium.launch(
            executable_path=viewers.find_chromium(), args=["--no-sandbox"]
        )
        for name, (report, *what) in PICTURES.items():
            take(
                browser,
                folder / f"{report}.html",
                ROOT / "docs" / "images" / f"report-{name}.webp",
                *what,
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
