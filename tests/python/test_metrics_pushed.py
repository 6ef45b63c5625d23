"""Live metrics that are pushed to an OpenTelemetry collector, and what a bad one does to a run: nothing."""

import re
import socket
import sys

import pytest

from scraping import PROGRAMS, Collector, free_port, metrics_in, wrap

pytest.importorskip("torch", reason="pip install torch")

PACED = PROGRAMS / "paced.py"


def test_a_collector_gets_the_metrics(stepscope, tmp_path):
    with Collector() as collector:
        done = wrap(
            stepscope,
            tmp_path,
            [sys.executable, PACED, "2"],
            "--no-analysis",
            "--metrics-interval=0.5",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_EXPORTER_OTLP_HEADERS="api-key=a%20secret",
            OTEL_RESOURCE_ATTRIBUTES="service.name=training",
            OTEL_METRIC_EXPORT_INTERVAL="500",
        )
    assert done.returncode == 7
    assert "stepscope: " not in done.stderr
    assert len(collector.requests) > 3
    path, headers, document = collector.requests[-1]
    assert path == "/v1/metrics"
    assert headers["api-key"] == "a secret"
    assert headers["Content-Type"] == "application/json"
    resource = document["resourceMetrics"][0]["resource"]
    assert resource["attributes"] == [{"key": "service.name", "value": {"stringValue": "training"}}]
    metrics = metrics_in(document)
    (steps,) = metrics["stepscope_steps"].values()
    header = (tmp_path / "run.db").read_bytes()[18:20]
    assert header == b"\1\1", "the store was left with a write-ahead log"
    assert steps == int(re.search(r"(\d+) steps", done.stderr)[1])


def assert_one_line_of(done, url):
    """About a collector that got nothing, and that the program is as it always is."""
    (said,) = [line for line in done.stderr.splitlines() if "metrics" in line]
    assert said.startswith(f"stepscope: metrics could not be sent to {url}/v1/metrics: ")


def test_what_a_collector_rejects_is_one_line_at_the_end(stepscope, tmp_path):
    answer = b'{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}'
    with Collector(answer=answer) as collector:
        done = wrap(
            stepscope,
            tmp_path,
            [sys.executable, PACED, "2"],
            "--no-analysis",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_METRIC_EXPORT_INTERVAL="500",
        )
    assert done.returncode == 7
    assert_one_line_of(done, collector.url)
    pushes = len(collector.requests)
    assert f"rejected 3 of the values (too old) ({pushes} of {pushes} pushes failed)" in done.stderr


def test_a_silent_collector_is_one_line_at_the_end(stepscope, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = wrap(
            stepscope,
            tmp_path,
            ["sh", "-c", "sleep 1; exit 7"],
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_EXPORTER_OTLP_TIMEOUT="3600000",
            OTEL_METRIC_EXPORT_INTERVAL="100",
        )
    assert done.returncode == 7
    assert_one_line_of(done, url)


@pytest.mark.parametrize("kind", ["dead", "refusing", "unresolvable"])
def test_a_bad_collector_is_one_line_at_the_end(stepscope, tmp_path, kind):
    with Collector(status=503) as refusing:
        url = {
            "dead": f"http://127.0.0.1:{free_port()}",
            "refusing": refusing.url,
            "unresolvable": "http://no-such-name.invalid:4318",
        }[kind]
        program = ["sh", "-c", "sleep 1; exit 7"]
        with_password = url.replace("http://", "http://user:s3cret@")
        done = wrap(stepscope, tmp_path, program, OTEL_EXPORTER_OTLP_ENDPOINT=with_password)
    assert done.returncode == 7
    assert_one_line_of(done, url)


def test_grpc_is_named_as_not_possible(stepscope, tmp_path):
    done = wrap(
        stepscope,
        tmp_path,
        ["true"],
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4317",
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
    )
    assert done.returncode == 0
    assert "stepscope: no metrics are sent: OTLP is sent over HTTP only" in done.stderr
