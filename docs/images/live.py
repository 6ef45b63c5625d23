#!/usr/bin/env python3
"""Makes the pictures of docs/live.md from a run of the MNIST sample, while it is recorded.

usage: .venv/bin/python docs/images/live.py [BUILD_DIR]     (default: build/release)

Records the sample with all its ops, and meanwhile takes docs/images/live-top.webp, a frame of `stepscope top`, and
docs/images/live-view.webp, the overview that follows it.
"""

import base64
import contextlib
import html
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import viewers  # noqa: E402  (found through the line above)

RECORD_FOR_S = 8  # before the pictures are taken

# What the frame's escape sequences look like on a dark terminal.
COLOURS = {"1": "#e6e9ee", "1;31": "#ff6b6b", "1;33": "#f0a93b", "1;32": "#5fd38d", "2": "#8b949e"}
TERMINAL = """<meta charset=utf-8><body style="margin:0"><pre style="margin:0;padding:14px 18px;width:max-content;background:#12151a;
color:#c9d1d9;font:14px/1.35 'DejaVu Sans Mono',monospace">%s</pre>"""


def in_a_terminal(command, folder):
    """What a program writes to a terminal."""
    ours, its = pty.openpty()
    program = subprocess.Popen(command, cwd=folder, stdout=its)
    os.close(its)
    said = b""
    with contextlib.suppress(OSError):  # the terminal's end is an error of its other side
        while part := os.read(ours, 65536):
            said += part
    os.close(ours)
    program.wait()
    return said.decode()


def as_html(text):
    for code, colour in COLOURS.items():
        text = text.replace(f"\033[{code}m", f"\1{colour}\2")
    text = html.escape(text.replace("\r", "").rstrip("\n").replace("\033[0m", "\3"))
    return TERMINAL % re.sub("\1(.*?)\2", r'<span style="color:\1">', text).replace("\3", "</span>")


def save(page, png, name):
    page.goto("about:blank")
    written = page.evaluate(report.AS_WEBP, base64.b64encode(png).decode())
    (ROOT / "docs" / "images" / f"live-{name}.webp").write_bytes(base64.b64decode(written))


def take_top(page, stepscope, folder):
    page.set_content(as_html(in_a_terminal([stepscope, "top", "live.db", "--once"], folder)))
    save(page, page.locator("pre").screenshot(), "top")


def take_view(page, stepscope, folder):
    view = subprocess.Popen(
        [stepscope, "view", "live.db", "--live", "--no-browser"],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        page.goto(view.stdout.readline().strip())
        page.wait_for_selector("#live:not([hidden]) table")
        save(page, page.screenshot(), "view")
    finally:
        view.terminate()
        view.wait()


def main(arguments):
    build = pathlib.Path(arguments[0] if arguments else ROOT / "build" / "release").resolve()
    stepscope = build / "bin" / "stepscope"
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = pathlib.Path(temporary)
        (folder / "mnist").symlink_to(build / "samples" / "mnist")
        training = subprocess.Popen(
            ["./mnist", "--steps", "all", "--epochs", "1000", "--record", "live.db"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        browser = playwright.chromium.launch(
            executable_path=viewers.find_chromium(), args=["--no-sandbox"]
        )
        context = browser.new_context(viewport={"width": 1000, "height": 800}, color_scheme="light")
        try:
            time.sleep(RECORD_FOR_S)
            take_top(context.new_page(), stepscope, folder)
            take_view(context.new_page(), stepscope, folder)
        finally:
            training.kill()
            training.wait()
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
