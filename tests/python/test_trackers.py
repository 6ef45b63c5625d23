"""MLflow and TensorBoard show the live metrics of a program that says nothing of Stepscope."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from scraping import PROGRAMS, free_port, wrap

pytest.importorskip("torch", reason="pip install torch")

PACED = PROGRAMS / "paced.py"
SHARE = "stepscope/input_ratio"
DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.fixture
def train(stepscope, tmp_path):
    """Runs paced.py between lines of Python, with live metrics twice a second."""

    def run(before, after="", seconds=4, metrics=("--metrics", "0"), **variables):
        program = tmp_path / "train.py"
        program.write_text(
            f"import sys\n{before}\ntry:\n    exec(open({str(PACED)!r}).read())\n"
            f"except SystemExit:\n    {after or 'pass'}\n    raise\n"
        )
        return wrap(
            stepscope,
            tmp_path,
            [sys.executable, program, str(seconds)],
            *["--quiet", "--no-analysis", *metrics, "--metrics-interval", "0.5"],
            MLFLOW_TRACKING_URI=f"file://{tmp_path}/mlruns",
            MLFLOW_ALLOW_FILE_STORE="true",
            GIT_PYTHON_REFRESH="quiet",
            **variables,
        )

    return run


def assert_it_trained(done):
    assert (done.returncode, done.stdout) == (7, "trained\n"), done.stderr
    assert "stepscope" not in done.stderr, "nothing is printed"


# --- MLflow --------------------------------------------------------------------------------------


@pytest.fixture
def mlflow_client(tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="pip install mlflow-skinny")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow import MlflowClient

    return MlflowClient(f"file://{tmp_path}/mlruns")


def only_run(client):
    (run,) = client.search_runs(["0"])
    return run


MAKE_RUN = {
    "start_run": ("import torch, mlflow; mlflow.start_run()", "mlflow.end_run()"),
    "imported first": ("import mlflow, torch; mlflow.start_run()", "mlflow.end_run()"),
    "left open": ("import torch, mlflow; mlflow.start_run()", ""),
    "client": (  # as the loggers of training libraries do
        "import torch\nfrom mlflow import MlflowClient\nclient = MlflowClient()\n"
        "run = client.create_run('0').info.run_id",
        "client.set_terminated(run_id=run)",
    ),
}


@pytest.mark.parametrize("before, after", MAKE_RUN.values(), ids=MAKE_RUN.keys())
def test_a_run_of_mlflow_gets_the_figures(train, mlflow_client, before, after):
    assert_it_trained(train(before, after))
    run = only_run(mlflow_client)
    assert run.info.status == "FINISHED" if after else run.info.status != "RUNNING"
    assert 0.3 < run.data.metrics[SHARE] < 1
    assert run.data.metrics["stepscope/step_p50_seconds"] > 0.01, "a batch takes 10 ms"
    shares = [value for name, value in run.data.metrics.items() if re.search("_ratio$", name)]
    assert len(shares) > 9 and all(0 <= share <= 1 for share in shares)
    assert run.data.tags["stepscope/verdict"] == "input-bound"
    steps = [point.step for point in mlflow_client.get_metric_history(run.info.run_id, SHARE)]
    assert steps and steps == sorted(set(steps)), "each time of new steps"


def test_a_run_that_existed_is_continued(train, mlflow_client):
    before = mlflow_client.create_run("0")
    mlflow_client.log_metric(before.info.run_id, "loss", 1.0)
    done = train(
        "import torch, mlflow; mlflow.start_run()",
        "mlflow.end_run()",
        MLFLOW_RUN_ID=before.info.run_id,
    )
    assert_it_trained(done)
    metrics = only_run(mlflow_client).data.metrics
    assert metrics["loss"] == 1.0 and 0.3 < metrics[SHARE] < 1


@pytest.mark.parametrize(
    "metrics, variables",
    [(("--metrics", "0"), {"STEPSCOPE_TRACKERS": "off"}), ((), {"STEPSCOPE_METRICS": "off"})],
    ids=["switched off", "without metrics"],
)
def test_nothing_is_logged(train, mlflow_client, metrics, variables):
    before = "import torch, mlflow; mlflow.start_run()"
    assert_it_trained(train(before, "mlflow.end_run()", metrics=metrics, **variables))
    run = only_run(mlflow_client)
    assert run.data.metrics == {}
    assert not [name for name in run.data.tags if name.startswith("stepscope")]


# A server that answers until the run exists, and then no more.
LOST_SERVER = """
import http.server, json, threading
import torch, mlflow
from mlflow.utils import rest_utils

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        info = dict(run_id="1f", run_uuid="1f", experiment_id="0", status="RUNNING", artifact_uri="x:")
        body = json.dumps({"run": {"info": info, "data": {}}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass

server = http.server.HTTPServer(("127.0.0.1", PORT), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
mlflow.set_tracking_uri("http://127.0.0.1:PORT")
from mlflow import MlflowClient
assert MlflowClient().create_run("0").info.run_id == "1f"
server.shutdown()
server.server_close()
"""


def test_a_server_that_is_gone_changes_nothing(train, mlflow_client):
    before = LOST_SERVER.replace("PORT", str(free_port()))
    assert_it_trained(train(before, MLFLOW_HTTP_REQUEST_MAX_RETRIES="0"))


# --- TensorBoard ---------------------------------------------------------------------------------


def scalars(folder):
    """{tag: [(step, value)]} of an event folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


@pytest.mark.parametrize("after", ["writer.close()", ""], ids=["closed", "left open"])
def test_a_folder_of_tensorboard_gets_the_figures(train, tmp_path, after):
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    before = (
        "from torch.utils.tensorboard import SummaryWriter\n"
        f"writer = SummaryWriter({str(tmp_path / 'logs')!r})\nwriter.add_scalar('loss', 1.0, 0)"
    )
    assert_it_trained(train(before, after))
    assert scalars(tmp_path / "logs") == {"loss": [(0, 1.0)]}
    points = scalars(tmp_path / "logs/stepscope")[SHARE]
    steps = [step for step, _ in points]
    assert steps and steps == sorted(set(steps))
    assert 0.3 < points[-1][1] < 1


# --- without live metrics ------------------------------------------------------------------------


def test_the_lines_of_the_docs_log_an_analysis(stepscope, mlflow_client, tmp_path, monkeypatch):
    wrap(stepscope, tmp_path, [sys.executable, PACED, "2"], "--no-analysis")
    (block,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "metrics.md").read_text(encoding="utf-8"), re.DOTALL
    )
    run_id = mlflow_client.create_run("0").info.run_id
    monkeypatch.setenv("PATH", f"{stepscope.parent}:/usr/bin:/bin")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    program = f"RUN_ID = {run_id!r}\n{block}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    analyzed = subprocess.run(
        [stepscope, "analyze", "--json", tmp_path / "run.db"], capture_output=True, text=True
    )
    shares = json.loads(analyzed.stdout)["shares"]
    run = only_run(mlflow_client)
    assert run.data.metrics[SHARE] == pytest.approx(shares["input"])
    assert run.data.tags["stepscope/verdict"] == "input-bound"
