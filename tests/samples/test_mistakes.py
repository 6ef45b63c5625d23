"""The rules' matrix: each production mistake of samples/{python,cpp}/mistakes, and the program mended, against each rule.

A rule fires where its mistake is, nowhere else, and not on a healthy training run.
"""

import dataclasses
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.shares]

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What each sample must be told, and nothing else of RULES.
EXPECTED = {
    "grad": {"gradients-in-inference"},
    "train": {"evaluation-mode"},
    "single": {"single-samples"},
    "eager": {"torchscript"},
    "lengths": {"sort-by-length"},
    "item": {"read-at-once"},
}
# tests/gpu has these where there is a GPU. Then all of the others are told that it is idle, and rightly.
ON_A_GPU = {
    "pageable": "pinned-copies",
    "sync": "blocking-sync",
    "host": "ops-on-cpu",
    "cudnn": "cudnn-benchmark",
    "idle": "idle-gpu",
}
# True as well where Python is slow beside ops as small as these, mended or not: it has a fifth of the call or more.
MAY_FIRE_TOO = {"grad": {"torchscript"}, "single": {"torchscript"}, "item": {"torchscript"}}
RULES = set.union(set(ON_A_GPU.values()) - {"idle-gpu"}, *EXPECTED.values())
IN_CPP = sorted(set(EXPECTED) - {"eager"})  # between the ops of C++ there is next to nothing


@dataclasses.dataclass
class Run:
    report: dict
    store: pathlib.Path

    def fired(self):
        return {advice["rule"] for advice in self.report["advice"]} & RULES

    def advice(self, rule):
        return next(advice for advice in self.report["advice"] if advice["rule"] == rule)


def assert_fired(run, expected, may_fire_too=frozenset()):
    """Of one of three recordings, as run() makes them: other programs on the machine can take the processor for so long
    that a call is something else than it was made to be."""
    for _ in range(3):
        fired = run().fired()
        if fired - may_fire_too == expected:
            return
    assert fired - may_fire_too == expected


def record(stepscope, store, command, *options):
    wrapped = [stepscope, "run", "--quiet", "--no-analysis", *options, "-o", store, "--", *command]
    done = subprocess.run(wrapped, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return analyzed(stepscope, store)


def analyzed(stepscope, store):
    done = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Run(json.loads(done.stdout), store)


@pytest.fixture(scope="module")
def python_sample(stepscope, python_ops, tmp_path_factory):
    """A function that records a sample, once unless it is told to do it again."""
    folder, runs = tmp_path_factory.mktemp("python"), {}

    def run(mistake, *options, shapes=(), again=False):
        name = " ".join([mistake, *options, *shapes])
        if again or name not in runs:
            script = [
                sys.executable,
                ROOT / "samples/python/mistakes/mistakes.py",
                "--mistake",
                mistake,
                *options,
            ]
            runs[name] = record(stepscope, folder / f"{name}.db", script, *shapes)
        return runs[name]

    return run


@pytest.fixture(scope="module")
def cpp_sample(stepscope, mistakes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cpp")
    return lambda mistake, *options: record(
        stepscope,
        folder / " ".join([mistake, *options, ".db"]),
        [mistakes, "--mistake", mistake, *options],
    )


@pytest.mark.parametrize("mistake", EXPECTED)
def test_python(python_sample, mistake):
    assert_fired(
        lambda: python_sample(mistake, again=True),
        EXPECTED[mistake],
        MAY_FIRE_TOO.get(mistake, set()),
    )
    assert_fired(
        lambda: python_sample(mistake, "--fixed", again=True),
        set(),
        MAY_FIRE_TOO.get(mistake, set()),
    )
    mistaken = python_sample(mistake)
    assert mistaken.report["steps"]["unit"] == "call"
    assert mistaken.report["steps"]["count"] == 320
    assert mistaken.report["steps"]["wall_ns"]["p99"] >= mistaken.report["steps"]["wall_ns"]["p90"]


@pytest.mark.parametrize("mistake", IN_CPP)
def test_cpp(cpp_sample, mistake):
    assert_fired(lambda: cpp_sample(mistake), EXPECTED[mistake])
    assert_fired(lambda: cpp_sample(mistake, "--fixed"), set())


@pytest.mark.parametrize("mistake", ON_A_GPU)
@pytest.mark.parametrize("language", ["python", "c++"])
def test_what_needs_a_gpu_says_so(request, language, mistake):
    if pytest.importorskip("torch", reason="pip install torch").cuda.is_available():
        pytest.skip("there is a GPU: tests/gpu runs them")
    sample = ROOT / "samples/python/mistakes/mistakes.py"
    command = (
        [sys.executable, sample] if language == "python" else [request.getfixturevalue("mistakes")]
    )
    done = subprocess.run(
        [*command, "--mistake", mistake], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and f"--mistake {mistake} needs a GPU" in done.stderr


def test_single_samples_are_seen_by_shapes_too(stepscope, python_sample, tmp_path):
    """Of a program that marks no lengths."""
    run = python_sample("single", shapes=("--shapes",))
    with sqlite3.connect(run.store) as store:
        store.execute(
            "DELETE FROM phase WHERE name_id IN (SELECT id FROM string WHERE text LIKE 'lengths%')"
        )
    assert analyzed(stepscope, run.store).fired() - MAY_FIRE_TOO["single"] == EXPECTED["single"]


@pytest.mark.parametrize("mistake", EXPECTED)
def test_the_evidence_can_be_asked_for(python_sample, mistake):
    run = python_sample(mistake)
    for rule in EXPECTED[mistake]:
        with sqlite3.connect(run.store) as store:
            assert store.execute(run.advice(rule)["evidence"]["query"]).fetchone() is not None


def test_memory_that_malloc_gives_back(cpp_sample, monkeypatch):
    """Whether it does is glibc's doing, and where pages are huge, or the kernel is quick, there is little to say."""

    def kernel_share_and_advice():
        run = cpp_sample("train", "--fixed")
        advice = [
            advice for advice in run.report["advice"] if advice["rule"] == "keep-freed-memory"
        ]
        with sqlite3.connect(run.store) as store:
            used = dict(
                store.execute(
                    "SELECT counter, max(value) - min(value) FROM counter GROUP BY counter"
                )
            )
            if advice:
                assert len(store.execute(advice[0]["evidence"]["query"]).fetchall()) > 3
        return used["cpu_system_ns"] / (used["cpu_system_ns"] + used["cpu_user_ns"]), bool(advice)

    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", str(1 << 34))
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(1 << 25))
    kept, advised = kernel_share_and_advice()
    assert not advised
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "0")  # gives back whatever it can
    given_back, advised = kernel_share_and_advice()
    if given_back < kept + 0.1:
        pytest.skip(
            f"faults cost little here: {given_back:.1%} of the CPU time is the kernel's, and {kept:.1%}"
        )
    assert advised


def test_what_a_call_computes_for_padding(python_sample):
    padding = python_sample("lengths").report["padding"]
    assert padding["samples"] == 16 * padding["batches"]
    assert 0.3 < padding["share"] < 0.8
    assert padding["sorted_elements_share"] < padding["bucketed_elements_share"] < 1
    assert python_sample("lengths", "--fixed").report["padding"]["share"] < 0.05


def test_the_page_speaks_of_calls(stepscope, python_sample):
    store = python_sample("lengths").store
    page = subprocess.run(
        [stepscope, "analyze", store], capture_output=True, text=True, check=True
    ).stdout
    assert "  call time " in page and "   p99 " in page
    assert "of what is computed is padding" in page
    assert "· model " in page
    assert "step time" not in page and "a step" not in page


def test_a_healthy_training_run_is_told_nothing_of_this(stepscope, mnist, tmp_path):
    store = tmp_path / "mnist.db"
    options = [
        "--train-images",
        "20000",
        "--test-images",
        "500",
        "--epochs",
        "1",
        "--steps",
        "40-140",
    ]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [mnist, "--record", store, *options],
        env=environment,
        check=True,
        capture_output=True,
        timeout=300,
    )
    run = analyzed(stepscope, store)
    assert run.fired() == set()
    assert run.report["steps"]["unit"] == "step"
    assert run.report["call"] is None
