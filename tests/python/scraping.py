"""Programs that are recorded with live metrics, and what receives these."""

import contextlib
import dataclasses
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

PROGRAMS = pathlib.Path(__file__).parent / "programs"
WAIT_S = 120  # for what must come; a test never waits that long if all is well


def environment(**more):
    """Without variables of this process that ask for metrics, or for a way around this machine."""
    asking = ("OTEL_", "WANDB_", "STEPSCOPE_METRICS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(asking)}
    return {**kept, "no_proxy": "127.0.0.1,localhost", **more}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(get):
    """What get() returns once that is true."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        got = get()
        if got:
            return got
        time.sleep(0.2)
    raise AssertionError(f"waited {WAIT_S} s in vain")


@dataclasses.dataclass
class Scraped:
    """A run that is being recorded, and where its metrics are."""

    process: subprocess.Popen
    store: pathlib.Path
    url: str

    def scrape(self, accept=""):
        """The page of metrics, "" if there is none yet."""
        request = urllib.request.Request(self.url, headers={"Accept": accept})
        with contextlib.suppress(OSError), urllib.request.urlopen(request) as answer:
            return answer.read().decode()
        return ""

    def scrape_steps(self, accept=""):
        """A page on which steps are counted."""

        def page():
            assert self.process.poll() is None, "the program ended before its steps were counted"
            text = self.scrape(accept)
            return text if "stepscope_steps_total{" in text else ""

        return until(page)


@contextlib.contextmanager
def recorded(stepscope, folder, program, **variables):
    """A run of a program with metrics at a port of its own; what is left of it is ended."""
    port = free_port()
    store = folder / "run.db"
    command = [stepscope, "run", "-o", store, "--metrics", str(port), "--metrics-interval", "0.5"]
    process = subprocess.Popen(
        [*command, "--no-analysis", "--", *program],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group, which can be ended as a whole
    )
    try:
        yield Scraped(process, store, f"http://127.0.0.1:{port}/metrics")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


def wrap(stepscope, folder, program, *options, **variables):
    """Records a program to its end."""
    return subprocess.run(
        [stepscope, "run", "-o", folder / "run.db", *options, "--", *program],
        env=environment(**variables),
        capture_output=True,
        text=True,
    )


def value(page, name, **labels):
    """Of the only line of a page with this name and these labels."""
    lines = [line for line in page.splitlines() if re.match(name + r"[{ ]", line)]
    wanted = [f'{label}="{text}"' for label, text in labels.items()]
    found = [line for line in lines if all(one in line for one in wanted)]
    assert len(found) == 1, f"{name} {labels}: {found or page}"
    return float(found[0].rpartition(" ")[2])


class Collector:
    """Receives OTLP over HTTP; keeps the paths, headers and documents of all requests."""

    def __init__(self, status=200, answer=b"{}"):
        self.requests = []
        kept = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def metrics_in(document):
    """{name: {labels as a frozenset: value}} of an OTLP request."""
    found = {}
    for metric in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        for point in metric.get("sum", metric.get("gauge"))["dataPoints"]:
            labels = {one["key"]: one["value"]["stringValue"] for one in point["attributes"]}
            found.setdefault(metric["name"], {})[frozenset(labels.items())] = point["asDouble"]
    return found
