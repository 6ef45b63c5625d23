"""Live metrics of a real training, as Prometheus, W&B and OpenTelemetry collectors get them."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest

from scraping import (
    PROGRAMS,
    Collector,
    environment,
    free_port,
    metrics_in,
    recorded,
    until,
    value,
    wrap,
)

pytest.importorskip("torch", reason="pip install torch")

PACED = PROGRAMS / "paced.py"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
DOCS = pathlib.Path(__file__).parents[2] / "docs"


def analysis_of(stepscope, store):
    done = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- the endpoint --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live(stepscope, tmp_path_factory):
    """A run of two ranks that goes on, and what a collector got of it."""
    both = f"RANK=0 {sys.executable} {PACED} 300 & RANK=1 {sys.executable} {PACED} 300"
    with (
        Collector() as collector,
        recorded(
            stepscope,
            tmp_path_factory.mktemp("live"),
            ["sh", "-c", f"{both} & wait"],
            SLURM_JOB_ID="4711",
            SLURM_JOB_NAME="nightly",
            OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=collector.url + "/anywhere",
            OTEL_METRIC_EXPORT_INTERVAL="500",
        ) as run,
    ):
        until(lambda: run.scrape().count("stepscope_steps_total{") == 2)
        yield run, collector


@pytest.fixture(scope="module")
def pages(live):
    """A page of metrics in both dialects, once both ranks have taken steps."""
    run, _ = live

    def is_whole(page):
        steps = re.findall(r"^stepscope_steps_total\{.* ([0-9.e+]+)$", page, re.MULTILINE)
        taken = [count for count in steps if float(count) > 0]
        return len(taken) == 2 and page.count("stepscope_resident_memory_bytes{") == 2

    until(lambda: is_whole(run.scrape()))
    return {accept: run.scrape(accept) for accept in ("", OPENMETRICS)}


def test_prometheus_own_parsers_read_both_dialects(pages):
    parser = pytest.importorskip("prometheus_client.parser", reason="pip install prometheus-client")
    from prometheus_client.openmetrics import parser as open_parser

    plain = {
        (sample.name, frozenset(sample.labels.items()))
        for family in parser.text_string_to_metric_families(pages[""])
        for sample in family.samples
    }
    families = list(open_parser.text_string_to_metric_families(pages[OPENMETRICS]))
    opened = {
        (sample.name, frozenset(sample.labels.items()))
        for family in families
        for sample in family.samples
        if sample.labels.get("kind") is None  # the verdict may change in between
    }
    assert opened <= plain
    assert {family.name: (family.type, family.unit) for family in families}.items() >= {
        "stepscope_steps": ("counter", ""),
        "stepscope_category_seconds": ("counter", "seconds"),
        "stepscope_input_ratio": ("gauge", "ratio"),
        "stepscope_resident_memory_bytes": ("gauge", "bytes"),
    }.items()


def test_promtool_finds_nothing_wrong(pages):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=pages[""], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_each_metric_is_documented(pages):
    documented = (DOCS / "metrics.md").read_text()
    names = set(re.findall(r"^# TYPE (\S+)", pages[""], re.MULTILINE))
    assert len(names) > 25
    category = re.compile(
        "_(compute|input|copy|communication|sync|launch|allocation|host|other)_ratio"
    )
    undocumented = [
        name
        for name in names
        if f"`{name}`" not in documented
        and f"`{category.sub('_CATEGORY_ratio', name)}`" not in documented
    ]
    assert undocumented == []


def test_every_series_says_whose_it_is(pages):
    for line in pages[""].splitlines():
        if not line.startswith("#"):
            assert 'job="nightly",run="4711",host="' in line, line


@pytest.mark.shares
def test_the_input_share_is_that_of_analyze(stepscope, tmp_path):
    with (
        Collector() as collector,
        recorded(
            stepscope,
            tmp_path,
            [sys.executable, PACED, "6", "4"],
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_METRIC_EXPORT_INTERVAL="1000",
        ) as run,
    ):
        page = run.scrape_steps()
        assert 0 < value(page, "stepscope_input_ratio") < 1
        run.process.wait()
        assert run.process.returncode == 7
        last = metrics_in(collector.requests[-1][2])
    loop = analysis_of(stepscope, tmp_path / "run.db")["loops"][0]
    (time_s,) = last["stepscope_step_time_seconds"].values()
    (input_s,) = last["stepscope_input_wait_seconds"].values()
    (steps,) = last["stepscope_steps"].values()
    assert steps == loop["steps"]["count"]
    assert input_s / time_s == pytest.approx(loop["shares"]["input"], abs=0.05)
    assert time_s / steps == pytest.approx(loop["steps"]["wall_ns"]["mean"] / 1e9, rel=0.2)


def test_ranks_are_told_apart(pages):
    for rank in "01":
        assert value(pages[""], "stepscope_steps_total", rank=rank) > 0
        assert value(pages[""], "stepscope_resident_memory_bytes", rank=rank) > 1e6


# --- nothing changes for the program -------------------------------------------------------------


def test_output_and_exit_code_are_the_programs(stepscope, tmp_path):
    program = [sys.executable, PACED, "2"]
    options = ["--quiet", "--no-analysis", "--metrics", "0", "--metrics-interval", "0.5"]
    done = wrap(stepscope, tmp_path, program, *options)
    assert (done.returncode, done.stdout) == (7, "trained\n")
    assert re.fullmatch(r"\d+ steps\n", done.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.db"]
    assert (tmp_path / "run.db").read_bytes()[18:20] == b"\1\1", "it has a write-ahead log"


def test_a_taken_port_is_one_line_and_the_run_goes_on(stepscope, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        program = ["sh", "-c", "echo ran; exit 7"]
        done = wrap(stepscope, tmp_path, program, "--metrics", port)
    assert (done.returncode, done.stdout) == (7, "ran\n")
    assert done.stderr.splitlines()[0] == (
        f"stepscope: no metrics are served: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "--metrics 0 takes any free port"
    )


def test_it_says_where_the_metrics_are(stepscope, tmp_path):
    done = wrap(stepscope, tmp_path, ["true"], "--metrics", "0")
    assert re.search(r"^stepscope: metrics at http://127.0.0.1:\d+/metrics$", done.stderr, re.M)


@pytest.mark.parametrize("text", ["python", "1.2.3.4", "99999"])
def test_an_address_that_is_none_is_wrong_usage(stepscope, tmp_path, text):
    done = wrap(stepscope, tmp_path, ["true"], f"--metrics={text}")
    assert done.returncode == 2
    assert f'--metrics: "{text}" is not an address for metrics' in done.stderr


def test_a_program_is_not_taken_for_the_address(stepscope, tmp_path):
    done = subprocess.run(
        [stepscope, "run", "-o", tmp_path / "run.db", "--metrics", "python", "train.py"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "put -- before the program" in done.stderr


def test_without_a_value_it_is_the_usual_port(stepscope, tmp_path):
    done = wrap(stepscope, tmp_path, ["true"], "--metrics")
    assert done.returncode == 0
    assert "9478" in done.stderr.splitlines()[0]  # or that it is taken


def test_the_environment_can_ask_for_metrics(stepscope, tmp_path):
    port = free_port()
    done = wrap(stepscope, tmp_path, ["true"], STEPSCOPE_METRICS=f"127.0.0.1:{port}")
    assert f"metrics at http://127.0.0.1:{port}/metrics" in done.stderr
    assert "metrics" not in wrap(stepscope, tmp_path, ["true"], STEPSCOPE_METRICS="off").stderr
    odd = wrap(stepscope, tmp_path, ["true"], STEPSCOPE_METRICS="odd")
    assert odd.returncode == 0 and 'STEPSCOPE_METRICS: "odd" is not an address' in odd.stderr


# --- W&B -----------------------------------------------------------------------------------------

WANDB = "WANDB_X_STATS_OPEN_METRICS_ENDPOINTS"


def endpoints_of_the_program(stepscope, folder, *options, **variables):
    program = [sys.executable, "-c", f"import os; print(os.environ.get('{WANDB}'))"]
    done = wrap(stepscope, folder, program, *options, **variables)
    assert done.returncode == 0
    return done.stdout.strip(), done.stderr


def test_wandb_is_told_where_the_metrics_are(stepscope, tmp_path):
    own = '{"dcgm": "http://127.0.0.1:9400/metrics"}'
    said, _ = endpoints_of_the_program(stepscope, tmp_path, "--metrics", "0", **{WANDB: own})
    endpoints = json.loads(said)
    assert endpoints["dcgm"] == "http://127.0.0.1:9400/metrics"
    assert re.fullmatch(r"http://127.0.0.1:\d+/metrics", endpoints["stepscope"])


def test_without_metrics_wandb_is_told_nothing(stepscope, tmp_path):
    assert endpoints_of_the_program(stepscope, tmp_path)[0] == "None"
    assert endpoints_of_the_program(stepscope, tmp_path, **{WANDB: "{}"})[0] == "{}"


def test_endpoints_that_cannot_be_merged_stay(stepscope, tmp_path):
    said, lines = endpoints_of_the_program(
        stepscope, tmp_path, "--metrics", "0", **{WANDB: "no JSON"}
    )
    assert said == "no JSON"
    assert f"stepscope: {WANDB} is not a JSON object" in lines


def test_wandb_stores_the_input_share(stepscope, tmp_path):
    pytest.importorskip("wandb", reason="pip install wandb")
    program = tmp_path / "with_wandb.py"
    program.write_text(
        "import wandb\n"
        f"wandb.init(mode='offline', dir={str(tmp_path)!r},"
        " settings=wandb.Settings(x_stats_sampling_interval=0.5))\n"
        f"exec(open({str(PACED)!r}).read())\n"
    )
    with recorded(
        stepscope,
        tmp_path,
        [sys.executable, program, "4"],
        WANDB_ERROR_REPORTING="false",
        WANDB_SILENT="true",
    ) as run:
        run.process.communicate()
    (stored,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    found = re.search(
        rb"openmetrics\.stepscope\.stepscope_input_ratio\.0.{1,4}?(0\.\d+)",
        stored.read_bytes(),
        re.DOTALL,
    )
    assert found and 0.3 < float(found[1]) < 1


# --- Grafana -------------------------------------------------------------------------------------


def start_prometheus(folder, target):
    """Prometheus, scraping `target` each second; the process and its address."""
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        "scrape_configs:\n"
        f"- {{job_name: stepscope, honor_labels: true, static_configs: [{{targets: ['{target}']}}]}}\n"
    )
    address = f"127.0.0.1:{free_port()}"
    options = [f"--config.file={config}", f"--web.listen-address={address}"]
    process = subprocess.Popen(
        ["prometheus", *options, f"--storage.tsdb.path={folder}/data", "--log.level=error"],
        env=environment(),
    )
    return process, address


def query(address, expression):
    """The series that an expression has now, without those that are 0 / 0 yet; None while Prometheus
    does not answer."""
    asked = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{asked}") as answer:
            document = json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{expression}: {error.read().decode()}") from error
    except OSError:
        return None
    return [one for one in document["data"]["result"] if one["value"][1] != "NaN"]


def dashboard_queries():
    """(panel, query) of all panels, as for a dashboard that shows all runs and ranks."""
    dashboard = json.loads((DOCS / "grafana" / "stepscope.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for variable, text in {"$run": ".*", "$rank": ".*", "$__rate_interval": "10s"}.items():
                expression = expression.replace(variable, text)
            yield panel["title"], expression


def test_each_panel_of_the_dashboard_shows_a_real_run(live, tmp_path):
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed (Debian: prometheus)")
    run, _ = live
    prometheus, address = start_prometheus(tmp_path, urllib.parse.urlsplit(run.url).netloc)
    try:
        shown = {}
        for panel, expression in dashboard_queries():
            if panel == "Devices":  # there is no GPU
                assert until(lambda e=expression: query(address, e) is not None)
            else:
                shown[panel] = until(lambda e=expression: query(address, e))
    finally:
        prometheus.terminate()
        prometheus.wait()
    shares = [float(one["value"][1]) for one in shown["Where the time of the steps goes"]]
    assert len(shares) == 9
    assert sum(shares) == pytest.approx(1, abs=0.01)


# --- OpenTelemetry (more in test_metrics_pushed.py) ---------------------------------------------


def test_a_push_is_what_the_protocol_defines(live):
    """By the protocol's own definition, which refuses unknown fields and wrong types."""
    service = pytest.importorskip(
        "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2",
        reason="pip install opentelemetry-proto",
    )
    from google.protobuf import json_format

    _, collector = live
    count = len(collector.requests)
    (path, _, document) = until(lambda: len(collector.requests) > count and collector.requests[-1])
    assert path == "/anywhere"
    request = json_format.ParseDict(document, service.ExportMetricsServiceRequest())
    (scope,) = request.resource_metrics[0].scope_metrics
    metrics = {metric.name: metric for metric in scope.metrics}
    assert metrics["stepscope_steps"].sum.is_monotonic
    assert metrics["stepscope_steps"].sum.data_points[0].as_double > 0
    assert metrics["stepscope_input_ratio"].unit == "1"
