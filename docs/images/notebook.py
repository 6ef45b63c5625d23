#!/usr/bin/env python3
"""Makes docs/images/notebook.webp: the card of a notebook's cell, from a real run.

usage: .venv/bin/python docs/images/notebook.py [BUILD_DIR]     (default: build/release)
"""

import base64
import os
import pathlib
import sys
import tempfile

import nbclient
import nbformat
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "docs" / "images")]

import report  # noqa: E402  (found through the line above)
import viewers  # noqa: E402  (the same)

SETUP = """
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 12_800

    def __getitem__(self, index):
        image = torch.randint(0, 256, (3, 32, 32), dtype=torch.uint8)
        return image.float().div(255).sub(0.5).flip(-1), index % 10

loader = DataLoader(Images(), batch_size=64)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
torch.set_num_threads(1)
"""
TRAINING = """%%stepscope -o run.db
for images, labels in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
"""


def card(build, folder):
    """The HTML that the cell shows."""
    os.environ["PYTHONPATH"] = str(build / "lib" / "stepscope" / "python")
    cells = [nbformat.v4.new_code_cell(text) for text in ("%load_ext stepscope", SETUP, TRAINING)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    (shown,) = [output for output in cells[2].outputs if output.output_type == "display_data"]
    return shown.data["text/html"]


def main(arguments):
    build = pathlib.Path(arguments[0] if arguments else ROOT / "build" / "release").resolve()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        page_file = pathlib.Path(temporary) / "card.html"
        page_file.write_text(
            "<!doctype html><meta charset=utf-8><body style='font:14px system-ui,sans-serif;margin:12px'>"
            + card(build, pathlib.Path(temporary))
        )
        browser = playwright.chromium.launch(
            executable_path=viewers.find_chromium(), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 860, "height": 400}, device_scale_factor=1.5)
        page.goto(page_file.as_uri())
        png = base64.b64encode(page.locator("body > div").screenshot()).decode()
        page.goto("about:blank")
        picture = ROOT / "docs" / "images" / "notebook.webp"
        picture.write_bytes(base64.b64decode(page.evaluate(report.AS_WEBP, png)))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
