"""`stepscope view` from its beginning to its end, and the overview that follows a recording."""

import gzip
import os
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import report_runs
from viewing import viewing

# --- from beginning to end ------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_0(stepscope, run_db, how):
    with viewing(stepscope, run_db, "--no-browser") as view:
        assert view.get("")[0] == 200
        assert view.end(how) == 0


def test_it_ends_while_a_trace_is_being_sent(stepscope, run_db):
    with viewing(stepscope, run_db, "--no-browser") as view:
        reader = socket.create_connection(("127.0.0.1", view.port))
        reader.sendall(
            f"GET {view.path}trace.json.gz HTTP/1.1\r\nHost: {view.host}\r\n\r\n".encode()
        )
        reader.recv(100)  # and takes no more
        assert view.end() == 0
        reader.close()


def test_what_replaces_the_store_is_shown(stepscope, make_store, tmp_path):
    """Not the verdict of the one with the ops of the other."""

    def shown(view):
        return view.get("")[2], gzip.decompress(view.get("trace.json.gz")[2])

    store, other = tmp_path / "run.db", tmp_path / "other.db"
    shutil.copy(make_store("served"), store)
    shutil.copy(make_store("code"), other)
    with viewing(stepscope, other, "--no-browser") as view:
        _, wanted_trace = shown(view)
    with viewing(stepscope, store, "--no-browser") as view:
        page, trace = shown(view)
        assert trace != wanted_trace
        os.replace(other, store)
        other_page, other_trace = shown(view)
        assert other_trace == wanted_trace
        assert other_page != page


class Hold:
    """Stops a view whenever it opens a file of this name (tests/viewer-export/testing/hold_open.cc)."""

    def __init__(self, build_dir, folder, name):
        self.flag = folder / "hold"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.environment = {
            "LD_PRELOAD": str(build_dir / "tests/viewer-export/libhold_open.so"),
            "HOLD": str(self.flag),
            "HOLD_NAME": name,
            "TMPDIR": str(self.temporary),
            "ASAN_OPTIONS": "verify_asan_link_order=0",
        }

    def ask_for(self, view, path):
        """Asks for a page that will never be made; returns once it is being made."""
        self.flag.touch()
        asking = socket.create_connection(("127.0.0.1", view.port))
        asking.sendall(f"GET {view.path}{path} HTTP/1.1\r\nHost: {view.host}\r\n\r\n".encode())
        self.wait_until_met()
        return asking

    def wait_until_met(self):
        for _ in range(600):
            if self.flag.with_name("hold.met").exists():
                return
            threading.Event().wait(0.1)
        pytest.fail("nothing was opened")


@pytest.mark.parametrize("path", ["", "trace.json.gz", "live.json"])
def test_it_ends_while_a_page_of_a_recording_is_being_made(stepscope, build_dir, tmp_path, path):
    """The page is in the making for ever; whoever waits for it would never end."""
    hold = Hold(build_dir, tmp_path, "live.db")
    recorder = Recorder(build_dir, tmp_path / "live.db")
    recorder.do("steps 5")
    with viewing(
        stepscope, tmp_path / "live.db", "--no-browser", "--live", environment=hold.environment
    ) as view:
        before = {entry.name for entry in tmp_path.iterdir()}
        with hold.ask_for(view, path):
            assert view.end(signal.SIGTERM) == 0
    assert list(hold.temporary.iterdir()) == []
    assert {entry.name for entry in tmp_path.iterdir()} - before == {"hold", "hold.met"}
    recorder.do("steps 5")  # and the recording does not mind
    recorder.do("finish")
    recorder.process.wait()


def test_an_imported_trace_is_gone_though_its_timeline_is_being_made(
    stepscope, build_dir, tmp_path
):
    hold = Hold(build_dir, tmp_path, "run.db")
    trace = report_runs.RUNS["device"]()[0].write(tmp_path / "trace.json")
    with viewing(stepscope, trace, "--no-browser", environment=hold.environment) as view:
        assert any((folder / "run.db").exists() for folder in hold.temporary.iterdir())
        with hold.ask_for(view, "trace.json.gz"):
            assert view.end(signal.SIGTERM) == 0
    assert list(hold.temporary.iterdir()) == []


@pytest.mark.parametrize("verb", ["view", "analyze"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_imported_trace_is_gone_though_it_is_still_being_opened(
    stepscope, build_dir, tmp_path, verb, how
):
    hold = Hold(build_dir, tmp_path, "run.db")
    trace = report_runs.RUNS["device"]()[0].write(tmp_path / "trace.json")
    hold.flag.touch()
    # Tests may run under nohup, whose children ignore SIGHUP; these are to end by it.
    running = subprocess.Popen(
        [stepscope, verb, trace],
        env={**os.environ, **hold.environment},
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(how, signal.SIG_DFL),
    )
    try:
        hold.wait_until_met()
        assert any((folder / "run.db").exists() for folder in hold.temporary.iterdir())
        running.send_signal(how)
        assert running.wait(timeout=60) == -how
    finally:
        running.kill()
    assert list(hold.temporary.iterdir()) == []


def test_a_trace_of_another_profiler_is_viewed_too(stepscope, tmp_path):
    trace = report_runs.RUNS["device"]()[0].write(tmp_path / "trace.json")
    temporary = tmp_path / "temporary"  # of its own: others make folders in /tmp meanwhile
    temporary.mkdir()
    with viewing(stepscope, trace, "--no-browser", environment={"TMPDIR": str(temporary)}) as view:
        assert b"void gemm" in view.get("")[2]
        assert list(temporary.iterdir()) != []
        assert view.end() == 0
    assert list(temporary.iterdir()) == []


def test_the_browser_is_opened_by_a_private_file(stepscope, run_db, tmp_path):
    """What programs are started with can be read by every user of the machine; the address must not be."""
    told = tmp_path / "told"
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\nstat -c "%a $1" "$1" > {told}.new\ncat "$1" >> {told}.new\nmv {told}.new {told}\n'
    )
    opener.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":0"}
    with viewing(stepscope, run_db, environment=environment) as view:
        for _ in range(600):
            if told.exists():
                break
            threading.Event().wait(0.1)
        first, page = told.read_text().split("\n", 1)
        assert first.startswith("600 ")
        assert view.path.strip("/") not in first
        assert f"url={view.address}" in page
        assert view.end() == 0


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["none.db"], 3, "none.db"),
        (["{run}", "--ui", "/nowhere"], 2, "index.html"),
        (["{run}", "--ui", "ftp://host"], 2, "address"),
        (["{run}", "--port", "70000"], 2, "--port"),
    ],
)
def test_it_says_what_is_wrong(run_stepscope, run_db, arguments, code, said):
    done = run_stepscope(
        "view", *(argument.format(run=run_db) for argument in arguments), "--no-browser"
    )
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == ""


# --- live -----------------------------------------------------------------------------------------


class Recorder:
    """A program that records a training loop step by step, on demand."""

    def __init__(self, build_dir, path):
        self.process = subprocess.Popen(
            [build_dir / "tests/viewer-export/record_steps", path],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.answer()

    def answer(self):
        assert self.process.stdout.readline() == "ok\n"

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.answer()


def test_the_overview_follows_a_recording(stepscope, build_dir, page, tmp_path):
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    recorder = Recorder(build_dir, tmp_path / "live.db")
    recorder.do("steps 20")
    with viewing(stepscope, tmp_path / "live.db", "--no-browser", "--live") as view:
        page.goto(view.address)
        page.wait_for_selector("#live:not([hidden]) h2")
        assert "step 19" in page.inner_text(
            "#live"
        )  # the end of the 20th is known by the next wait
        assert page.locator("#live .bar").count() == 1
        recorder.do("steps 22")
        page.wait_for_function(
            "() => document.getElementById('live').textContent.includes('step 41')"
        )
        page.evaluate("location.hash = 'steps'")
        page.wait_for_function("() => document.getElementById('live').hidden")
        page.evaluate("location.hash = 'overview'")
        page.wait_for_function("() => !document.getElementById('live').hidden")
        # Its end brings the report of the whole run.
        recorder.do("steps 8")
        recorder.do("finish")
        page.wait_for_function(
            "() => document.getElementById('live')?.hidden && document.body.textContent.includes('of 50 steps')"
        )
        assert wrong == []
        assert view.end() == 0
    recorder.process.stdin.close()
    recorder.process.wait()


def test_a_run_without_a_step_yet_is_followed_too(stepscope, build_dir, page, tmp_path):
    recorder = Recorder(build_dir, tmp_path / "live.db")
    with viewing(stepscope, tmp_path / "live.db", "--no-browser", "--live") as view:
        page.goto(view.address)
        page.wait_for_function(
            "() => document.getElementById('live')?.textContent.includes('No step yet')"
        )
        recorder.do("steps 5")
        page.wait_for_function(
            "() => document.getElementById('live').textContent.includes('step 4')"
        )
    recorder.process.kill()
    recorder.process.wait()
