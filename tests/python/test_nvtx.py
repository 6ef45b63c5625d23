"""NVTX ranges of a program under `stepscope run`, by NVIDIA's own package: none of it needs a GPU."""

import os
import sqlite3
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="pip install torch")

PROGRAM = """
import nvtx, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    with nvtx.annotate("prepare", domain="data"):
        batch = torch.randn(4, 8)
    nvtx.push_range("train")
    model(batch).sum().backward()
    optimizer.step()
    nvtx.pop_range()
"""


def record(stepscope, folder, *options, program=PROGRAM, environment=()):
    store = folder / "run.db"
    done = subprocess.run(
        [stepscope, "run", "--quiet", "-o", store, *options, "--", sys.executable, "-c", program],
        env={**os.environ, **dict(environment)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, store


def ranges(store):
    """How often each user scope was recorded, and how many ops lie in all of them on their thread."""
    with sqlite3.connect(store) as connection:
        return {
            name: (calls, ops)
            for name, calls, ops in connection.execute("""
            SELECT string.text, count(DISTINCT scope.id), count(op.id)
            FROM op AS scope JOIN string ON string.id = scope.name_id
            JOIN op ON op.thread_id = scope.thread_id AND op.id <> scope.id
              AND op.start_ns >= scope.start_ns AND op.start_ns + op.dur_ns <= scope.start_ns + scope.dur_ns
            WHERE string.text IN ('prepare', 'train') GROUP BY string.text""")
        }


def test_ranges_are_recorded_as_user_scopes_around_their_ops(stepscope, python_ops, tmp_path):
    pytest.importorskip("nvtx", reason="pip install nvtx")
    found = ranges(record(stepscope, tmp_path)[1])
    assert found["prepare"][0] == found["train"][0] == 5
    assert found["prepare"][1] >= 5 and found["train"][1] >= 20


def test_ranges_are_recorded_in_the_window_only(stepscope, python_ops, tmp_path):
    pytest.importorskip("nvtx", reason="pip install nvtx")
    found = ranges(record(stepscope, tmp_path, "--steps", "2-3")[1])
    assert found["train"][0] == 2


def test_another_tool_that_the_user_named_keeps_nvtx(stepscope, tmp_path):
    show = "import os, torch; torch.ones(1); print(os.environ['NVTX_INJECTION64_PATH'])"
    ours, _ = record(stepscope, tmp_path, program=show, environment={"NVTX_INJECTION64_PATH": ""})
    assert os.path.basename(ours.strip()).startswith("libstepscope.so")
    theirs, _ = record(
        stepscope, tmp_path, program=show, environment={"NVTX_INJECTION64_PATH": "/opt/tool.so"}
    )
    assert theirs.strip() == "/opt/tool.so"
