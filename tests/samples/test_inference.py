"""The samples of inference end to end: they compute the same however they are called, and Stepscope sees their calls."""

import json
import re
import resource
import subprocess

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.shares]

SENTENCES = ["--sentences", "96", "--width", "64", "--layers", "2", "--threads", "1"]


def output_of(program, *options):
    done = subprocess.run([program, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def figure(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return float(found.group(1))


@pytest.fixture(scope="module")
def classified(encoder):
    """The sample's output by how its sentences were grouped."""
    ways = {
        "single": ["--mode", "single"],
        "batch": ["--batch", "16"],
        "sorted": ["--batch", "16", "--sort"],
        "full": ["--mode", "full"],
    }
    return {name: output_of(encoder, *SENTENCES, *options) for name, options in ways.items()}


def test_a_sentence_is_scored_alike_alone_and_in_company(classified):
    scores = {
        name: figure(r"scores sum to (-?[0-9.]+)\)", text) for name, text in classified.items()
    }
    assert abs(scores["single"]) > 1
    assert all(score == pytest.approx(scores["single"], rel=1e-3) for score in scores.values()), (
        scores
    )


def test_padding_is_none_alone_and_least_when_sorted(classified):
    waste = {name: figure(r"padding +([0-9.]+) %", text) for name, text in classified.items()}
    assert waste["single"] == 0
    assert 0 < waste["sorted"] < waste["batch"] < waste["full"], waste


def test_calls_are_as_many_as_asked_for(classified):
    calls = {name: figure(r"in (\d+) calls", text) for name, text in classified.items()}
    assert calls == {"single": 96, "batch": 6, "sorted": 6, "full": 1}


def test_tokenizing_is_the_input_that_the_program_measured(encoder, stepscope, tmp_path):
    # What else runs on the machine may fall into what one of the two saw and the other did not: some tries.
    for attempt in range(5):
        store = tmp_path / f"run{attempt}.db"
        text = output_of(
            stepscope, "run", "--quiet", "-o", store, "--", encoder, *SENTENCES, "--mode", "single"
        )
        report = json.loads(output_of(stepscope, "analyze", "--json", store))
        assert report["steps"]["count"] == 96
        own = figure(r"tokenizing +([0-9.]+) %", text) / 100
        if report["shares"]["input"] == pytest.approx(own, abs=0.01):
            return
    pytest.fail(f"{report['shares']['input']} is not {own}")


def test_out_of_memory_is_one_line(encoder):
    limit = 3 << 30
    done = subprocess.run(
        [encoder, "--mode", "full", "--sentences", "20000"],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "memory" in done.stderr


@pytest.mark.parametrize(
    "shape", [["--batch", "1", "--length", "8"], ["--batch", "3", "--length", "17"]]
)
def test_formats_agree(serve, shape):
    texts = {
        name: output_of(
            serve, "--calls", "20", "--width", "32", "--layers", "2", "--format", name, *shape
        )
        for name in ("eager", "torchscript")
    }
    sums = {name: figure(r"outputs sum to (-?[0-9.]+)\)", text) for name, text in texts.items()}
    assert sums["eager"] != 0
    assert sums["eager"] == pytest.approx(sums["torchscript"], rel=1e-3)


@pytest.mark.parametrize(
    "options", [["--batch", "0"], ["--width", "30"], ["--format", "onnx"], ["--what"]]
)
def test_wrong_options_are_one_line(serve, options):
    done = subprocess.run([serve, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and done.stderr.strip(), done.stderr
