"""A libtorch under another name than libtorch_cpu.so, as repaired wheels have it: the run goes on and is recorded."""

import pathlib
import subprocess
import sys

import pytest

import hostile

PROGRAM = """
import ctypes
ctypes.CDLL({library!r}, mode=0)  # RTLD_LOCAL; `import torch` then finds it loaded, whatever its name
import torch
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    (weight * 2).sum().backward()
    optimizer.step()
print(round(weight.sum().item(), 3))
"""


@pytest.mark.torch
@pytest.mark.parametrize("name", ["libtorch_cpu-1a2b3c4d.so", "libmine.so"])
def test_training_with_a_renamed_libtorch(stepscope, python_ops, tmp_path, name):
    torch = pytest.importorskip("torch")
    libraries = tmp_path / "lib"
    libraries.mkdir()
    for file in (pathlib.Path(torch.__file__).parent / "lib").glob(
        "lib*"
    ):  # what it needs it finds beside it
        (libraries / (name if file.name == "libtorch_cpu.so" else file.name)).symlink_to(file)
    library = libraries / name
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.format(library=str(library)))
    store = tmp_path / "run.db"
    done = subprocess.run(
        [stepscope, "run", "--no-analysis", "-o", store, "--", sys.executable, program],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr
    phases = dict(
        hostile.query(
            store,
            "SELECT k.name, count(*) FROM phase JOIN phase_kind AS k ON k.id = kind GROUP BY 1",
        )
    )
    assert phases["backward"] == 5 and phases["optimizer"] == 5
    ops = dict(
        hostile.query(
            store, "SELECT text, count(*) FROM op JOIN string ON string.id = name_id GROUP BY 1"
        )
    )
    assert ops["aten::mul"] >= 5, "its op hooks were found by its version"
