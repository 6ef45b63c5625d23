"""`stepscope run` around unchanged Python programs: what it says of them is what their own stopwatch says,
and they do what they do without it.
"""

import dataclasses
import importlib.util
import json
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

import own_steps
from pythons import PACKAGE, Python

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="pip install torch")

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
POINT = 0.01  # the promise: the input share is within one point of the program's own


@dataclasses.dataclass
class Run:
    """A program without and with the wrapper."""

    bare: subprocess.CompletedProcess
    wrapped: subprocess.CompletedProcess
    report: dict  # stepscope analyze --json
    folder: pathlib.Path

    def own(self, suffix=""):
        return own_steps.read(self.folder / f"own.json{suffix}")

    def loop_of(self, pid):
        """What the report says of the training loop of a process."""
        loops = [loop for loop in self.report["loops"] if loop["process"] == pid]
        assert len(loops) == 1, f"{len(loops)} loops of process {pid}"
        return loops[0]

    def steady_steps(self, pid):
        """The numbers of the steps that the report of a process rests on."""
        with sqlite3.connect(self.folder / "run.db") as store:
            rows = store.execute(
                "SELECT number FROM step JOIN thread ON thread.id = thread_id JOIN process ON process.id = process_id"
                " WHERE pid = ? AND steady ORDER BY number", [pid])
            return [number for (number,) in rows]


@pytest.fixture
def run(tmp_path, stepscope):
    """Runs a program bare and wrapped, and analyzes what was recorded."""

    def run(program, *options, launcher=(), recorder_options=(), path=(), environment=()):
        folder = tmp_path / "wrapped"
        (tmp_path / "bare").mkdir()
        folder.mkdir()
        command = [*launcher, str(PROGRAMS / program), *map(str, options), "--own", "own.json"]
        python = Python(tmp_path / "bare")
        python.environment["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "inductor")
        python.environment["HF_HUB_OFFLINE"] = "1"
        del python.environment["PYTHONDONTWRITEBYTECODE"]
        python.environment |= dict(environment)
        python.options, python.path = [], list(path)
        bare = python.run_arguments(*command, check=False, timeout=300)
        assert bare.returncode == 0, bare.stderr
        python.folder = folder
        wrapper = [stepscope, "run", "-o", folder / "run.db", "--quiet", *recorder_options, "--"]
        wrapped = python.run_arguments(*command, wrapper=wrapper, check=False, timeout=300)
        assert wrapped.returncode == bare.returncode, wrapped.stderr
        assert wrapped.stdout == bare.stdout
        analyzed = subprocess.run([stepscope, "analyze", "--json", folder / "run.db"], capture_output=True, text=True)
        assert analyzed.returncode == 0, analyzed.stderr
        return Run(bare, wrapped, json.loads(analyzed.stdout), folder)

    return run


def assert_share_is_its_own(run, own, steps):
    assert len(steps) >= 60 or own["rank"] >= 0
    loop = run.loop_of(own["pid"])
    assert loop["steps"]["count"] == len(steps)
    steady = run.steady_steps(own["pid"])
    assert len(steady) >= len(steps) // 2
    assert loop["shares"]["input"] == pytest.approx(own_steps.input_share(own, steps, steady), abs=POINT)


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"pip install {' '.join(missing)}")


# --- a loader is seen ----------------------------------------------------------------------------


@pytest.mark.parametrize("program, options", [
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
    pytest.param("compiled.py", [], marks=pytest.mark.skipif(
        shutil.which("g++") is None, reason="torch.compile needs g++ (apt install g++)")),
], ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value)).replace("--", ""))
def test_a_loader_is_a_step_each_batch(run, program, options):
    done = run(program, *options)
    own = done.own()
    assert done.report["steps"]["marker"] == "loader"
    assert_share_is_its_own(done, own, own_steps.loader_steps(own))


def test_the_op_hooks_are_not_needed(run, tmp_path):
    """Where there are none for its torch, the marks from Python tell the same."""
    done = run("loader.py", environment={"STEPSCOPE_HOOKS": str(tmp_path / "none")})
    own = done.own()
    assert done.report["steps"]["marker"] == "loader"
    assert done.report["run"]["ops"] == 0
    assert_share_is_its_own(done, own, own_steps.loader_steps(own))


def test_gradient_accumulation(run):
    """Each batch is a step by the loader; a fourth of them updates."""
    done = run("accumulation.py")
    own = done.own()
    assert done.report["steps"]["marker"] == "loader"
    assert_share_is_its_own(done, own, own_steps.loader_steps(own, micro_batches=True))
    assert len(own["updates"]) * 4 == done.report["steps"]["count"]


# --- other signs of a step -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sleep", "busy"])
def test_a_generator_is_inferred(run, kind):
    done = run("generator.py", "--kind", kind)
    own = done.own()
    assert done.report["steps"]["marker"] == "optimizer"
    assert done.report["input"]["inferred"]
    assert_share_is_its_own(done, own, own_steps.update_steps(own))


def test_a_closure(run):
    done = run("closure.py")
    assert done.report["steps"]["marker"] == "closure"
    assert done.report["steps"]["count"] == len(done.own()["updates"]) == 60
    assert done.report["shares"]["input"] < POINT


def test_the_programs_own_marks_are_believed(run):
    done = run("marked.py", path=[PACKAGE])
    own = done.own()
    assert done.report["steps"]["marker"] == "user"
    assert done.report["steps"]["count"] == 100
    assert done.report["input"]["loader"] == "reader"
    assert not done.report["input"]["inferred"]
    # step() comes right after what the program sees as the end of a step: the wait for the next batch begins.
    begins = [begin for begin, _ in own["waits"]]
    steps = list(zip(begins, begins[1:] + [own["exhausted"][0][0]]))
    assert_share_is_its_own(done, own, steps)
    with sqlite3.connect(done.folder / "run.db") as store:
        scopes = store.execute("SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind JOIN string ON"
                               " string.id = name_id WHERE k.name = 'scope' AND text = 'evaluation'").fetchone()
    assert scopes == (5,)


# --- several processes ---------------------------------------------------------------------------


def test_torchrun_two_ranks_and_the_straggler(run):
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = run("ddp.py", launcher=torchrun)
    shares = {}
    for rank in range(2):
        own = done.own(f".{rank}")
        assert_share_is_its_own(done, own, own_steps.loader_steps(own))
        shares[own["rank"]] = done.loop_of(own["pid"])["shares"]["input"]
    ranks = {process["rank"]: process["pid"] for process in done.report["run"]["processes"]
             if process["rank"] is not None}
    assert ranks == {rank: done.own(f".{rank}")["pid"] for rank in range(2)}
    assert shares[1] > shares[0] + 0.2, "rank 1 is the one that waits for its batches"


@pytest.mark.parametrize("how, suffixes", [("fork", [".parent", ".child"]), ("spawn", [".child"]), ("exec", [""])])
def test_programs_that_start_others(run, how, suffixes):
    done = run("processes.py", "--how", how)
    assert len(done.report["loops"]) == len(suffixes)
    for suffix in suffixes:
        own = done.own(suffix)
        assert_share_is_its_own(done, own, own_steps.loader_steps(own))


# --- how a program ends --------------------------------------------------------------------------


@pytest.mark.parametrize("end, code", [
    ("sys.exit(7)", 7), ("raise ValueError('mine')", 1), ("os._exit(9)", 9),
    ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9), ("os.kill(os.getpid(), signal.SIGTERM)", 128 + 15),
])
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
    program.write_text("import sys\nprint(sys.path, 'sitecustomize' in sys.modules, sorted(sys.modules))\n")
    wrapper = [stepscope, "run", "-o", python.folder / "run.db", "--quiet", "--"]
    bare = python.run_arguments(program)
    assert python.run_arguments(program, wrapper=wrapper, check=False).stdout == bare.stdout
