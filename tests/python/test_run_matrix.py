"""`stepscope run` around unchanged Python programs: what it says of them is what their own stopwatch says,
and they do what they do without it.
"""

import importlib.util
import pathlib
import shutil
import sqlite3

import pytest

import own_steps
import recorded
from pythons import PACKAGE, Python

pytestmark = pytest.mark.torch
shares = pytest.mark.shares  # of what `run` compares
pytest.importorskip("torch", reason="pip install torch")

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


@pytest.fixture
def run(tmp_path, stepscope):
    """Runs a program bare and wrapped, and analyzes what was recorded. With steps_of, a function that finds the
    steps in what the program saw (of each of the files `of`), steps and shares are compared as well."""

    def run(program, *options, launcher=(), path=(), environment=(), steps_of=None, of=("",)):
        command = [*launcher, str(PROGRAMS / program), *map(str, options), "--own", "own.json"]
        python = Python(tmp_path)
        python.environment |= dict(environment) | {
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
            "HF_HUB_OFFLINE": "1",
        }
        python.options, python.path = [], list(path)
        bare = run_in(python, tmp_path / "bare", command)
        assert bare.returncode == 0, bare.stderr
        return recorded.until_shares_agree(
            lambda attempt: record(
                stepscope, python, tmp_path / f"wrapped{attempt}", command, bare
            ),
            steps_of,
            of,
        )

    return run


def run_in(python, folder, command, wrapper=()):
    folder.mkdir()
    python.folder = folder
    return python.run_arguments(*command, wrapper=wrapper, check=False, timeout=300)


def record(stepscope, python, folder, command, bare):
    wrapped = run_in(python, folder, command, [stepscope, "run", "-o", "run.db", "--quiet", "--"])
    assert wrapped.returncode == bare.returncode, wrapped.stderr
    assert wrapped.stdout == bare.stdout
    return recorded.analyze(stepscope, folder)


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"pip install {' '.join(missing)}")


# --- a loader is seen ----------------------------------------------------------------------------


@shares
@pytest.mark.parametrize(
    "program, options",
    [
        ("loader.py", ["--workers", 0, "--kind", "sleep", "--stall-ms", 2]),
        ("loader.py", ["--workers", 0, "--kind", "busy", "--stall-ms", 2]),
        ("loader.py", ["--workers", 2, "--kind", "sleep", "--stall-ms", 16]),
        ("loader.py", ["--workers", 2, "--kind", "sleep", "--stall-ms", 0]),
        ("autocast.py", []),
        ("trainer_class.py", []),
        ("evaluation.py", []),
        ("inference.py", []),
        pytest.param("huggingface.py", [], marks=needs("transformers", "accelerate")),
        pytest.param("lightning_module.py", [], marks=needs("lightning")),
        pytest.param(
            "compiled.py",
            [],
            marks=pytest.mark.skipif(
                shutil.which("g++") is None, reason="torch.compile needs g++ (apt install g++)"
            ),
        ),
    ],
    ids=lambda value: value
    if isinstance(value, str)
    else "-".join(map(str, value)).replace("--", ""),
)
def test_a_loader_is_a_step_each_batch(run, program, options):
    done = run(program, *options, steps_of=own_steps.loader_steps)
    assert done.report["steps"]["marker"] == "loader"
    maker = "Trainer: " if program == "huggingface.py" else ""
    assert done.report["input"]["loader"].startswith(f"{maker}DataLoader(batch_size=")
    assert ("num_workers=2" in done.report["input"]["loader"]) == (options[:2] == ["--workers", 2])
    assert not any(process["died"] for process in done.report["run"]["processes"]), (
        "nor a loader's worker"
    )


@shares
def test_the_op_hooks_are_not_needed(run, tmp_path):
    """Where there are none for its torch, the marks from Python tell the same."""
    done = run(
        "loader.py",
        environment={"STEPSCOPE_HOOKS": str(tmp_path / "none")},
        steps_of=own_steps.loader_steps,
    )
    assert done.report["steps"]["marker"] == "loader"
    assert done.report["run"]["ops"] == 0
    assert done.report["phases"]["optimizer"] > 0


def test_hooks_for_another_build_of_this_torch_are_refused(
    stepscope, build_dir, python_ops, tmp_path
):
    """RecordFunction differs between builds of one version: one line says so, and phases are recorded."""
    python = Python(tmp_path)
    python.options = []
    python.environment["STEPSCOPE_HOOKS"] = str(build_dir / "tests/profiler/layout/hooks")
    command = [str(PROGRAMS / "loader.py"), "--own", "own.json"]
    wrapper = [stepscope, "run", "-o", "run.db", "--quiet", "--ops", "all", "--"]
    done = run_in(python, tmp_path / "wrapped", command, wrapper)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "they do not fit this build of libtorch" in line
    assert "phases are recorded, ops are not" in line
    report = recorded.analyze(stepscope, tmp_path / "wrapped").report
    assert (report["run"]["ops"], report["steps"]["marker"]) == (0, "loader")
    assert report["phases"]["optimizer"] > 0


@shares
@pytest.mark.parametrize("mistake", ["none", "training"])
def test_inference_in_training_mode_is_told(run, mistake):
    done = run("inference.py", "--mistake", mistake, steps_of=own_steps.loader_steps)
    rules = {advice["rule"] for advice in done.report["advice"]}
    assert ("evaluation-mode" in rules) == (mistake == "training")


# --- other signs of a step -----------------------------------------------------------------------


@shares
@pytest.mark.parametrize("kind", ["sleep", "busy"])
def test_a_generator_is_inferred(run, kind):
    done = run("generator.py", "--kind", kind, steps_of=own_steps.update_steps)
    assert done.report["steps"]["marker"] == "optimizer"
    assert done.report["input"]["inferred"]


def test_a_closure(run):
    done = run("closure.py")
    assert done.report["steps"]["marker"] == "closure"
    assert done.report["steps"]["count"] == len(done.own()["updates"]) == 60
    assert done.report["verdict"]["kind"] != "input-bound"


@shares
def test_the_programs_own_marks_are_believed(run):
    done = run("marked.py", path=[PACKAGE], steps_of=own_steps.wait_steps)
    assert done.report["steps"]["marker"] == "user"
    assert done.report["steps"]["count"] == 100
    assert done.report["input"]["loader"] == "reader"
    assert not done.report["input"]["inferred"]
    with sqlite3.connect(done.folder / "run.db") as store:
        scopes = store.execute(
            "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind JOIN string ON"
            " string.id = name_id WHERE k.name = 'scope' AND text = 'evaluation'"
        ).fetchone()
    assert scopes == (5,)


def test_the_memory_of_tensors_is_sampled(python, stepscope):
    program = python.folder / "program.py"
    program.write_text(
        "import time, torch\nheld = [torch.zeros(1 << 20) for _ in range(10)]\ntime.sleep(0.4)\n"
        "del held[:5]\ntime.sleep(0.4)\n"
    )
    wrapper = [stepscope, "run", "-o", python.folder / "run.db", "--quiet", "--"]
    python.run_arguments(program, wrapper=wrapper)
    with sqlite3.connect(python.folder / "run.db") as store:
        held = [
            value
            for (value,) in store.execute(
                "SELECT value FROM counter WHERE counter = 'cpu_tensor_bytes' ORDER BY at_ns"
            )
        ]
    assert max(held) == 10 * (4 << 20)
    assert 5 * (4 << 20) in held[held.index(max(held)) :]


def test_what_made_the_memory_of_tensors_is_told(python, stepscope):
    """Of a block of 4 MiB each: one as parameter, batch, product and gradient, two as Adam's state."""
    program = python.folder / "program.py"
    program.write_text("""
import time, torch
class Blocks(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.ones(1 << 20)] * 3)
weight = torch.zeros(1 << 20, requires_grad=True)
optimizer = torch.optim.Adam([weight])
for batch in torch.utils.data.DataLoader(Blocks(), batch_size=None):
    batch = None
for batch in torch.utils.data.DataLoader(Blocks(), batch_size=1):
    product = weight * batch[0]
    product.sum().backward()
    optimizer.step()
    time.sleep(0.4)
""")
    for tier in ("phases", "ops"):
        store = python.folder / f"{tier}.db"
        python.run_arguments(
            program, wrapper=[stepscope, "run", "-o", store, "--quiet", "--tier", tier, "--"]
        )
        with sqlite3.connect(store) as database:
            last = dict(
                database.execute(
                    "SELECT counter, value / (4 << 20) FROM counter WHERE counter LIKE"
                    " 'cpu_tensor_bytes%' AND at_ns = (SELECT max(at_ns) FROM counter WHERE"
                    " counter = 'cpu_tensor_bytes_optimizer' AND value > 0) ORDER BY at_ns"
                )
            )
        made = {name.removeprefix("cpu_tensor_bytes_"): blocks for name, blocks in last.items()}
        assert (
            made["input"] == 1
            and made["forward"] == 1
            and made["backward"] == 1
            and made["optimizer"] == 2
        ), made
        assert made.pop("cpu_tensor_bytes") == sum(made.values())


# --- several processes ---------------------------------------------------------------------------


@shares
def test_torchrun_two_ranks_and_the_straggler(run):
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = run("ddp.py", launcher=torchrun, steps_of=own_steps.loader_steps, of=[".0", ".1"])
    pids = {rank: done.own(f".{rank}")["pid"] for rank in range(2)}
    assert {
        process["rank"]: process["pid"]
        for process in done.report["run"]["processes"]
        if process["rank"] is not None
    } == pids
    shares = {rank: done.loop_of(pid)["shares"]["input"] for rank, pid in pids.items()}
    assert shares[1] > shares[0] + 0.2, "rank 1 is the one that waits for its batches"
    ranks = done.report["ranks"]
    assert ranks["straggler"] == 1 and done.report["loops"][0]["rank"] == 1
    counts = ("held_up", "even", "warm_up", "missing", "unmeasured")
    assert sum(ranks["steps"][key] for key in counts) == ranks["steps"]["count"] == 80
    waits = done.loop_of(pids[0])["rank_wait"]
    assert (waits["rank"], waits["excess"]["category"]) == (1, "input")
    assert waits["excess"]["line"].startswith("small.py:")


@shares
@pytest.mark.parametrize(
    "how, suffixes", [("fork", [".parent", ".child"]), ("spawn", [".child"]), ("exec", [""])]
)
def test_programs_that_start_others(run, how, suffixes):
    done = run("processes.py", "--how", how, steps_of=own_steps.loader_steps, of=suffixes)
    assert len(done.report["loops"]) == len(suffixes)


# --- how a program ends --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end, code",
    [
        ("sys.exit(7)", 7),
        ("raise ValueError('mine')", 1),
        ("os._exit(9)", 9),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
        ("os.kill(os.getpid(), signal.SIGTERM)", 128 + 15),
    ],
)
def test_exit_code_and_output_are_the_programs(python, stepscope, end, code):
    program = python.folder / "program.py"
    program.write_text(f"import os, signal, sys, torch\nprint(input(), flush=True)\n{end}\n")
    python.options = []
    wrapper = [stepscope, "run", "-o", python.folder / "run.db", "--quiet", "--"]
    bare = python.run_arguments(program, check=False, stdin="hello\n")
    wrapped = python.run_arguments(program, wrapper=wrapper, check=False, stdin="hello\n")
    assert wrapped.returncode == code
    assert bare.returncode in (code, 128 - code)
    assert wrapped.stdout == bare.stdout == "hello\n"
    assert bare.stderr in wrapped.stderr


def test_a_program_sees_nothing_of_it_on_its_path(python, stepscope):
    program = python.folder / "program.py"
    program.write_text(
        "import sys\nprint(sys.path, 'sitecustomize' in sys.modules, sorted(sys.modules))\n"
    )
    wrapper = [stepscope, "run", "-o", python.folder / "run.db", "--quiet", "--"]
    bare = python.run_arguments(program)
    assert python.run_arguments(program, wrapper=wrapper, check=False).stdout == bare.stdout
