"""Optimizer steps of unchanged Python programs: of several batches, and with the forward and backward pass in a closure, in
every order that frameworks use. Held to what the programs timed themselves.
"""

import importlib.util
import pathlib
import sqlite3

import pytest

import own_steps
import recorded
from pythons import Python

pytestmark = [pytest.mark.torch, pytest.mark.shares, pytest.mark.usefixtures("python_ops")]
pytest.importorskip("torch", reason="pip install torch")

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
PHASE_ERROR = 0.04  # of the step: between a program's timers lie calls that its step has and its phases have not


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"pip install {' '.join(missing)}")


@pytest.fixture
def run(tmp_path, stepscope):
    """Runs a program wrapped and analyzes it; again where what() finds a difference, because other programs may have had
    the processor."""

    def run(program, *options, ops, what, timers="--own"):
        recording = ["--tier", "phases"] if ops == "none" else ["--ops", ops]
        wrong, starved = {}, True
        for attempt in range(recorded.ATTEMPTS):
            folder = tmp_path / str(attempt)
            folder.mkdir()
            python = Python(folder)
            python.options = []
            python.environment["HF_HUB_OFFLINE"] = "1"
            wrapper = [stepscope, "run", "-o", "run.db", "--quiet", *recording, "--"]
            command = [PROGRAMS / program, *options, timers, "own.json"]
            python.run_arguments(*command, wrapper=wrapper, check=False, timeout=300)
            done = recorded.analyze(stepscope, folder)
            wrong = {key: value for key, value in what(done).items() if value}
            if not wrong:
                return done
            starved &= recorded.is_starved(done.loop_of(done.own()["pid"]))
        if starved:
            pytest.skip(f"no cores for the program: {wrong}")
        pytest.fail(f"{recorded.ATTEMPTS} times: {wrong}")

    return run


def input_error(done, steps):
    error = done.share_error(done.own(), steps)
    return f"input share off by {error:.4f}" if abs(error) > recorded.POINT else ""


def phase_errors(done, steps):
    """By phase, where the reported mean is not the program's own."""
    own = done.own()
    numbers = done.steady_steps(own["pid"])
    means = own_steps.phase_means(own, steps, numbers)
    means["optimizer"] += means.pop("zero_grad", 0)  # as the report counts it
    told = done.report["phases"]
    step = done.report["steps"]["wall_ns"]["mean"]
    return {
        name: f"{told[name] / 1e6:.2f} ms, own {mean / 1e6:.2f} of {step / 1e6:.2f}"
        for name, mean in means.items()
        if abs(told[name] - mean) > PHASE_ERROR * step
    }


# --- several batches to an update ----------------------------------------------------------------


ACCUMULATIONS = [
    *[
        pytest.param("accumulation.py", ["--way", way], ops, id=f"{way}-{ops}")
        for way, ops in [
            ("plain", "auto"),
            ("clearing", "none"),
            ("scaler", "none"),
            ("no-sync", "none"),
            ("evaluation", "none"),
            ("gan", "auto"),
        ]
    ],
    pytest.param(
        "accumulation.py",
        ["--way", "accelerate"],
        "none",
        id="accelerate-none",
        marks=needs("accelerate"),
    ),
    pytest.param(
        "lightning_module.py",
        ["--accumulate", "4", "--batches", "280"],
        "auto",
        id="lightning-auto",
        marks=needs("lightning"),
    ),
    pytest.param(
        "huggingface.py",
        ["--accumulate", "4", "--batches", "280"],
        "auto",
        id="trainer-auto",
        marks=needs("transformers", "accelerate"),
    ),
]


@pytest.mark.parametrize("program, options, ops", ACCUMULATIONS)
def test_several_batches_make_one_step(run, program, options, ops):
    def what(done):
        steps = own_steps.accumulated_steps(done.own())
        told = done.report["steps"]
        assert (told["count"], told["batches_per_step"], told["marker"]) == (70, 4, "optimizer")
        assert len(steps) == 70
        return {"input": input_error(done, steps)}

    done = run(program, *options, ops=ops, what=what)
    if ops == "auto":
        assert whole_blocks(done.folder / "run.db") > 0


def whole_blocks(store):
    """How many blocks of steps had ops, of which none began or ended within a step, but the first."""
    with sqlite3.connect(store) as database:
        switches = [
            at
            for (at,) in database.execute(
                "SELECT start_ns FROM phase JOIN phase_kind AS k ON k.id = kind"
                " WHERE k.name IN ('ops_begin', 'ops_end') ORDER BY start_ns"
            )
        ]
        steps = database.execute("SELECT start_ns, dur_ns FROM step ORDER BY start_ns").fetchall()
    inside = [
        (number, at - begin, length)
        for number, (begin, length) in enumerate(steps[1:], 2)
        for at in switches
        if 1e6 < at - begin < length - 1e6
    ]
    assert not inside, "(step, ns from its start, its length)"
    return len([at for at in switches if at > steps[1][0]])


# --- closures, and where gradients are cleared ---------------------------------------------------


# What is optimized how, where gradients are cleared, and whether ops are recorded.
ORDERS = [
    ("plain-middle", "all"),
    ("closure-first", "all"),
    ("closure-middle", "all"),
    ("closure-last", "all"),
    ("lbfgs-middle", "all"),
    ("closure-middle", "none"),
    ("lbfgs-first", "none"),
    ("gan-first", "none"),
    ("gan-middle", "none"),
]


@pytest.mark.parametrize("order, ops", ORDERS)
def test_phases_in_any_order(run, order, ops):
    def what(done):
        steps = own_steps.loader_steps(done.own())
        assert done.report["steps"]["count"] == len(steps) == 70
        assert done.report["steps"]["batches_per_step"] == 1
        return {"input": input_error(done, steps), **phase_errors(done, steps)}

    done = run("orders.py", "--order", order, ops=ops, what=what)
    if ops == "all":
        assert phases_of_op(done.folder / "run.db", "aten::linear") == {"forward"}


FRAMEWORKS = [
    *[
        pytest.param(
            "lightning_module.py",
            ["--optimizer", optimizer, "--width", "768", "--rows", "8"],
            ops,
            id=f"lightning-{optimizer}-{ops}",
            marks=needs("lightning"),
        )
        for optimizer, ops in [("adam", "all"), ("lbfgs", "none"), ("gan", "none")]
    ],
    pytest.param(
        "huggingface.py", [], "all", id="trainer-all", marks=needs("transformers", "accelerate")
    ),
]


@pytest.mark.parametrize("program, options, ops", FRAMEWORKS)
def test_phases_of_frameworks(run, program, options, ops):
    def what(done):
        steps = own_steps.loader_steps(done.own())
        assert done.report["steps"]["count"] == len(steps) == 80
        return {"input": input_error(done, steps), **phase_errors(done, steps)}

    done = run(program, *options, ops=ops, what=what)
    if ops == "all":
        assert phases_of_op(done.folder / "run.db", "aten::linear") == {"forward"}


def phases_of_op(store, name):
    """The phases that the calls of an op lie in, after the first steps."""
    with sqlite3.connect(store) as database:
        rows = database.execute(
            "SELECT DISTINCT k.name FROM op JOIN string ON string.id = name_id JOIN phase_kind AS k ON k.id = phase"
            " WHERE text = ? AND start_ns > (SELECT start_ns FROM step WHERE number = 5)",
            [name],
        )
        return {name for (name,) in rows}


def test_the_memory_of_a_closure_is_not_the_optimizers(tmp_path, stepscope):
    """Of 4 MiB blocks: a closure holds three activations when it clears the gradients; Adam holds two blocks of state."""
    python = Python(tmp_path)
    program = tmp_path / "program.py"
    program.write_text("""
import time, torch
weight = torch.zeros(1 << 20, requires_grad=True)
optimizer = torch.optim.Adam([weight])
def closure():
    held = [weight * 2, weight * 3, weight * 4]
    time.sleep(0.4)
    optimizer.zero_grad()
    sum(map(torch.sum, held)).backward()
    return held[0].sum()
for batch in torch.utils.data.DataLoader(range(3)):
    optimizer.step(closure)
""")
    for tier in ("phases", "ops"):
        store = tmp_path / f"{tier}.db"
        python.run_arguments(
            program, wrapper=[stepscope, "run", "-o", store, "--quiet", "--tier", tier, "--"]
        )
        with sqlite3.connect(store) as database:
            # The most frequent: for a moment, the optimizer holds a third block.
            usual = dict(
                database.execute(
                    "SELECT counter, value / (4 << 20) FROM counter WHERE counter LIKE"
                    " 'cpu_tensor_bytes_%' AND value > 0 GROUP BY 1, 2 ORDER BY count(*)"
                )
            )
        assert usual["cpu_tensor_bytes_forward"] == 3, (tier, usual)
        assert usual["cpu_tensor_bytes_optimizer"] == 2, (tier, usual)
