"""A program recorded again gets the same verdict. The short form of bench/verdict/run.py."""

import json
import subprocess

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.shares]

ROUNDS = 4
# Where one of these is said, another recording may get another verdict: docs/attribution.md.
ALLOWED_DOUBTS = ("threads had no core", "close to a threshold")


@pytest.fixture
def verdict_of(stepscope, mnist, tmp_path):
    """A function that records the MNIST sample under `stepscope run` and returns the report."""

    def record(*options):
        store = tmp_path / "run.db"
        sample = [mnist, "--no-record", "--train-images", "12800", *options]
        command = [stepscope, "run", "-o", store, "--quiet", "--", *sample]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        analyzed = subprocess.run(
            [stepscope, "analyze", "--json", store], capture_output=True, text=True
        )
        assert analyzed.returncode == 0, analyzed.stderr
        return json.loads(analyzed.stdout)

    return record


def is_sure(report):
    if report["verdict"]["kind"] == "cpu-starved":
        return False  # other programs had the cores
    return not any(doubt in ALLOWED_DOUBTS for doubt in report["verdict"]["doubts"])


@pytest.mark.parametrize(
    "options, kind",
    [
        ([], "highly input-bound"),
        (["--cache", "--prefetch", "1"], "compute-bound"),
    ],
    ids=["before", "after"],
)
def test_each_recording_gets_the_same_verdict(verdict_of, options, kind):
    reports = [verdict_of(*options) for _ in range(ROUNDS)]
    sure = [report["verdict"] for report in reports if is_sure(report)]
    if not sure:
        pytest.skip("other programs had the cores in every round")
    named = {" ".join(filter(None, (verdict["degree"], verdict["kind"]))) for verdict in sure}
    assert named == {kind}, [report["shares"] for report in reports]
