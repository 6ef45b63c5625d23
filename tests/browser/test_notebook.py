"""`%load_ext stepscope` in a notebook that is executed as Jupyter does, and its card in a browser."""

import json
import re
import subprocess

import pytest

SETUP = """
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 320
    def __getitem__(self, index):
        return sum(torch.ones(8) for _ in range(40))

loader = DataLoader(Slow(), batch_size=8)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
TRAINING = """%%stepscope -o "run <b>.db"
for batch in loader:
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
print("trained")
answer = 42
answer
"""


def execute(cells, folder, build_dir, monkeypatch):
    """The outputs of each cell. All of them run, whatever they raise."""
    nbclient = pytest.importorskip("nbclient", reason="pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="pip install nbclient ipykernel")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(build_dir / "lib/stepscope/python"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def of_kind(outputs, kind):
    return [output for output in outputs if output.output_type == kind]


def streamed(outputs, name):
    return "".join(output.text for output in of_kind(outputs, "stream") if output.name == name)


@pytest.fixture(scope="module")
def trained(build_dir, tmp_path_factory):
    pytest.importorskip("torch", reason="pip install torch")
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as monkeypatch:
        cells = ["%load_ext stepscope", SETUP, TRAINING, "print(answer + 1)"]
        return folder, execute(cells, folder, build_dir, monkeypatch)


def card_of(outputs):
    (card,) = of_kind(outputs, "display_data")
    return card.data


def test_a_cell_runs_as_it_would_and_a_card_says_what_bounds_it(stepscope, trained):
    folder, outputs = trained
    assert streamed(outputs[2], "stdout") == "trained\n"
    assert of_kind(outputs[2], "execute_result")[0].data["text/plain"] == "42"
    assert streamed(outputs[3], "stdout") == "43\n"
    assert not any(streamed(output, "stderr") for output in outputs)
    done = subprocess.run(
        [stepscope, "analyze", folder / "run <b>.db", "--json"], capture_output=True, check=True
    )
    document = json.loads(done.stdout)
    assert document["steps"]["count"] == 40
    verdict = document["verdict"]
    text = card_of(outputs[2])["text/plain"]
    assert text.startswith(f"{verdict['degree'] or ''} {verdict['kind']}: ".strip().upper())
    assert verdict["why"] in text


def test_the_card_in_a_browser(trained, page, tmp_path):
    html = card_of(trained[1][2])["text/html"]
    assert "run &lt;b&gt;.db" in html
    (tmp_path / "card.html").write_text(
        f"<!doctype html><meta charset=utf-8><body style='font:14px sans-serif;width:700px'>{html}"
    )
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    page.goto((tmp_path / "card.html").as_uri())
    bar = page.get_by_role("img", name="where the time of a step goes")
    widths = bar.evaluate("bar => [...bar.children].map(piece => piece.offsetWidth)")
    assert abs(sum(widths) - bar.bounding_box()["width"]) <= len(widths)
    assert page.locator("b").count() == 0  # names are text
    page.get_by_text("The whole report").click()
    report = page.frame_locator("iframe")
    report.get_by_text("step time", exact=False).first.wait_for()
    page.screenshot(path=tmp_path / "card.png", full_page=True)
    assert errors == []


def test_what_a_cell_raises_is_shown_once_and_as_its_own(build_dir, tmp_path, monkeypatch):
    raising = '%%stepscope\nkept = 1\nraise KeyError("mine")'
    outputs = execute(
        [
            "%load_ext stepscope",
            raising,
            "print(kept)",
            "%%stepscope\nx = = 1",
            "%%stepscope --bogus\nkept = 2",
            "%stepscope missing.db",
            "print(kept)",
        ],
        tmp_path,
        build_dir,
        monkeypatch,
    )
    (error,) = of_kind(outputs[1], "error")
    told = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    assert (error.ename, error.evalue) == ("KeyError", "'mine'")
    assert 'raise KeyError("mine")' in told
    assert "_notebook.py" not in told
    assert streamed(outputs[2], "stdout") == "1\n"
    (error,) = of_kind(outputs[3], "error")
    assert error.ename == "SyntaxError"
    assert "unrecognized arguments: --bogus" in streamed(outputs[4], "stderr")
    assert "missing.db" in streamed(outputs[5], "stderr")
    assert streamed(outputs[6], "stdout") == "1\n"  # a wrong option runs nothing


def test_a_cell_may_await(build_dir, tmp_path, monkeypatch):
    outputs = execute(
        [
            "%load_ext stepscope\nimport asyncio, stepscope",
            "%%stepscope -o a.db\nwith stepscope.scope('s'):\n    kept = await asyncio.sleep(0, 7)\nkept",
            "print(kept, stepscope.is_recording())",
            "%%stepscope -o b.db\nawait asyncio.sleep(0)\nraise KeyError('mine')",
            "%%stepscope -o c.db\nawait asyncio.sleep(0, 8);",
        ],
        tmp_path,
        build_dir,
        monkeypatch,
    )
    (value,) = of_kind(outputs[1], "execute_result")
    assert value.data["text/plain"] == "7"
    assert (tmp_path / "a.db").exists()
    assert streamed(outputs[2], "stdout") == "7 False\n"
    (error,) = of_kind(outputs[3], "error")
    told = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    assert "raise KeyError('mine')" in told
    assert "_notebook.py" not in told
    assert of_kind(outputs[4], "execute_result") + of_kind(outputs[4], "error") == []
