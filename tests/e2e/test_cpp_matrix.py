"""`stepscope run` around unchanged C++ programs (tests/cpp_programs): what it says of them is what their own
stopwatch says, and they do what they do without it. The C++ half of tests/python/test_run_matrix.py.
"""

import sqlite3
import subprocess

import pytest

import own_steps
import recorded

pytestmark = [pytest.mark.torch, pytest.mark.shares]


@pytest.fixture
def run(tmp_path, stepscope, cpp_programs):
    """Runs a program bare and wrapped, and analyzes what was recorded. With steps_of, a function that finds the
    steps in what the program saw (of each of the files `of`), steps and shares are compared as well."""

    def run(
        program, *options, steps_of=None, of=("",), code=0, analyze=recorded.analyze, ops="auto"
    ):
        command = [cpp_programs, program, *map(str, options), "--own", "own.json"]
        bare = run_in(tmp_path / "bare", command)
        assert bare.returncode in (code, 128 - code), bare.stderr

        def record(attempt):
            folder = tmp_path / f"wrapped{attempt}"
            wrapper = [stepscope, "run", "-o", "run.db", "--quiet", "--ops", ops, "--"]
            wrapped = run_in(folder, [*wrapper, *command])
            assert wrapped.returncode == code, wrapped.stderr
            assert (wrapped.stdout, wrapped.stderr) == (bare.stdout, bare.stderr)
            return analyze(stepscope, folder)

        return recorded.until_shares_agree(record, steps_of, of)

    return run


def run_in(folder, command):
    folder.mkdir()
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def count(done, query):
    with sqlite3.connect(done.folder / "run.db") as store:
        return store.execute(query).fetchone()[0]


@pytest.mark.parametrize(
    "options",
    [
        ["--workers", 0, "--kind", "sleep"],
        ["--workers", 0, "--kind", "busy"],
        ["--workers", 2, "--kind", "sleep", "--stall-ms", 30],
        ["--workers", 1, "--kind", "busy", "--stall-ms", 30],  # two cores are enough
        ["--workers", 2, "--stall-ms", 0],
    ],
    ids=lambda options: "-".join(map(str, options)).replace("--", ""),
)
def test_the_loader_of_libtorch(run, options):
    done = run("loader", *options, steps_of=own_steps.update_steps)
    assert done.report["steps"]["marker"] == "optimizer"
    assert done.report["input"]["inferred"]


@pytest.mark.parametrize("kind", ["sleep", "busy"])
def test_a_reader_that_nobody_knows(run, kind):
    done = run("reader", "--kind", kind, steps_of=own_steps.update_steps)
    assert done.report["steps"]["marker"] == "optimizer"


def test_gradient_accumulation(run):
    """Four waits, four backward passes, one step."""
    done = run("accumulation", "--batches", 280, "--stall-ms", 4, steps_of=own_steps.update_steps)
    assert done.report["steps"]["marker"] == "optimizer"
    assert done.report["steps"]["batches_per_step"] == 4
    assert (
        count(
            done,
            "SELECT count(*) FROM phase JOIN phase_kind AS k ON k.id = kind WHERE k.name = 'backward'",
        )
        == 280
    )


def test_a_closure(run):
    done = run("lbfgs", steps_of=own_steps.update_steps)
    assert done.report["steps"]["marker"] == "closure"
    # The closure is marked: its forward pass is not the optimizer's.
    phases = "SELECT count(*) FROM op JOIN string ON string.id = name_id JOIN phase_kind AS k ON k.id = phase WHERE text"
    assert count(done, f"{phases} = 'aten::addmm' AND k.name = 'forward'") > 0
    assert count(done, f"{phases} = 'aten::addmm' AND k.name != 'forward'") == 0
    assert count(done, f"{phases} = 'aten::dot' AND k.name = 'optimizer'") > 0


def test_evaluation_and_checkpoints(run):
    done = run("evaluation", "--batches", 110, steps_of=own_steps.update_steps, ops="all")
    assert done.report["steps"]["marker"] == "optimizer"
    told = {segment["kind"]: segment for segment in done.report["segments"]}
    own = own_steps.segments(done.own())
    for kind in "evaluation", "checkpoint":
        assert told[kind]["count"] == len(own[kind]) == 4
        error = told[kind]["total_ns"] - own_steps.length_of(own[kind])
        assert abs(error) <= recorded.POINT * done.report["goodput"]["run_ns"]


def test_two_loops_in_one_process(run):
    done = run("threads", steps_of=own_steps.update_steps, of=[".0", ".1"])
    shares = [
        done.loop_of(own["pid"], own["tid"])["shares"]["input"]
        for own in (done.own(".0"), done.own(".1"))
    ]
    assert shares[1] > shares[0] + 0.05, "the second one waits twice as long"


@pytest.mark.parametrize("workers", [0, 2])
def test_inference(run, workers):
    """The sampler's marks tell the batches; with workers nothing ends the last one."""
    done = run("inference", "--workers", workers, "--stall-ms", 30 if workers else 8, ops="all")
    assert (
        count(
            done,
            "SELECT count(*) FROM op JOIN string ON string.id = name_id WHERE text = 'aten::argmax'",
        )
        == 80
    )
    assert done.report["steps"]["marker"] == "inferred"
    assert done.report["steps"]["count"] == (79 if workers else 80)
    assert done.report["input"]["inferred"]
    own = done.own()
    (begin, _), *_, (_, end) = own["waits"]
    waited = sum(end - begin for begin, end in own["waits"]) / (end - begin)
    assert done.report["shares"]["input"] == pytest.approx(waited, abs=0.05 if workers else 0.02)


def test_inference_with_samples_made_by_ops(run):
    """The forward pass begins with the model, not with the first op."""
    done = run("inference", "--kind", "ops", "--stall-ms", 4, ops="all")
    own = done.own()
    (begin, _), *_, (_, end) = own["waits"]
    waited = sum(end - begin for begin, end in own["waits"]) / (end - begin)
    assert waited > 0.1
    assert done.report["shares"]["input"] == pytest.approx(waited, abs=0.02)


def test_a_log_is_not_called_input(run):
    """Nothing tells a log that is written between the optimizer step and the forward pass from a reader."""
    done = run("log", "--kind", "busy")
    verdict = done.report["verdict"]
    assert verdict["kind"] != "input-bound" or verdict["confidence"] == "low", verdict


def test_a_log_before_a_sampler_draws_is_no_input(run):
    """The sampler's marks say where the fetch of a batch begins."""
    done = run("loader_and_log", "--kind", "busy", "--stall-ms", 2, steps_of=own_steps.update_steps)
    assert done.report["shares"]["host"] > 0.02


def test_an_exception_that_nobody_catches(run):
    done = run("throws", code=128 + 6)
    (process,) = done.report["run"]["processes"]
    assert process["died"]["how"] == "SIGABRT (6)"
    assert process["died"]["step"] == 41
    assert done.report["steps"]["count"] == 40


def test_the_memory_of_devices_is_what_their_allocators_say(run):
    done = run("devices", "--stall-ms", 10)
    allocated, reserved = ("device_allocated_bytes", "device_reserved_bytes")
    with sqlite3.connect(done.folder / "run.db") as store:
        samples = {
            name: store.execute(
                "SELECT value, gpu FROM sample JOIN string ON string.id = name_id"
                " WHERE text = ? ORDER BY at_ns",
                [name],
            ).fetchall()
            for name in (allocated, reserved)
        }
        (made,) = store.execute(
            "SELECT sum(value) FROM sample JOIN string ON string.id = name_id WHERE text LIKE"
            " 'device_tensor_bytes_%' AND at_ns = (SELECT max(at_ns) FROM sample WHERE gpu = 1)"
        ).fetchone()
    assert {gpu for values in samples.values() for _, gpu in values} == {1}
    held = [value for value, _ in samples[allocated]]
    assert held == sorted(held) and held[0] < held[-1]
    assert all(value % (1 << 20) == 0 for value in held) and held[-1] <= 80 << 20
    assert {value for value, _ in samples[reserved]} == {1 << 30}
    assert made == held[-1]  # whatever made it


def test_the_exit_code_is_the_programs(run):
    done = run("exits", "--stall-ms", 1, code=42)
    (process,) = done.report["run"]["processes"]
    assert process["exit"] == 42
