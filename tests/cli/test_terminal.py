"""Nothing that is recorded, named or written by others reaches a terminal as anything but plain text.

Every verb is run on a terminal with stores whose texts, paths and messages hold what terminals obey (C0 and C1
controls) and what turns or hides text (bidirectional controls, characters without a picture).
"""

import contextlib
import json
import os
import pty
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import threading

import pytest

MARK = "HOSTILE"
END_OF_OUTPUT = b"\x00end of output\x00"
UNFIT = (
    "\x1b]0;title\x07\x1b[31m\x1b[2J\x9b31m\x85\x90\x7f\b\r\u202e\u2066\u200f\u061c\u2028\u2029\ufeff\u200b\u00ad\u180e"
    "\u2060\ufff9\U000e0041"
)
PAYLOAD = MARK + UNFIT
SHOWN = re.compile(MARK + r"\?\]0;title\?")  # how a terminal is to see it

# What our own pages, progress lines and screens consist of besides text.
OWN = re.compile(r"\x1b\[(?:[012]|1;3[123])m|\x1b\[\?(?:1049|25)[hl]|\x1b\[[HKJ]")
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
)

# Texts of a run that are free: whatever the program, its libraries and the machine call themselves.
FREE = {"string": ["text"], "process": ["name", "command"], "thread": ["name"], "device": ["name"]}
FREE_META = ("command", "torch_version", "hostname", "window", "imported_from", "stepscope_version")


def assert_plain(output):
    """Of bytes as a terminal gets them: valid UTF-8, and nothing in it that is not ours."""
    text = OWN.sub("", output.decode("utf-8")).replace("\r\n", "\n").replace("\r", "")
    found = OBEYED.search(text)
    assert found is None, (hex(ord(found[0])), text[max(0, found.start() - 60) : found.end() + 20])
    return text


def on_terminal(*command, keys=b"", environment=None):
    """Runs a command with a terminal for all its input and output; its exit code and what the terminal got."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "NO_COLOR": "", "TERM": "xterm", **(environment or {})},
    )
    if keys:
        os.write(parent, keys)

    # A terminal whose last descriptor is closed may lose what nobody has read yet. This one stays open, and its own
    # last word tells that all has been read.
    def end():
        process.wait()
        os.write(child, END_OF_OUTPUT)

    ending = threading.Thread(target=end)
    ending.start()
    output = b""
    while not output.endswith(END_OF_OUTPUT):
        output += os.read(parent, 65536)
    ending.join()
    os.close(child)
    os.close(parent)
    return process.returncode, output.removesuffix(END_OF_OUTPUT)


def make(build_dir, kind, path):
    subprocess.run([build_dir / "tests/viewer-export/make_trace_store", kind, path], check=True)
    return path


def edit(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.execute(statement, values)
        store.commit()


def text_columns(path):
    with contextlib.closing(sqlite3.connect(path)) as store:
        tables = [
            name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return [
            (table, row[1])
            for table in tables
            for row in store.execute(f"PRAGMA table_info({table})")
            if row[2] == "TEXT"
        ]


@pytest.fixture(scope="module", params=["killed", "tensors"])
def store(request, build_dir, tmp_path_factory):
    path = make(build_dir, request.param, tmp_path_factory.mktemp("terminal") / "run.db")
    for table, columns in FREE.items():
        for column in columns:
            edit(path, f"UPDATE {table} SET {column} = {column} || ?", PAYLOAD)
    for key in FREE_META:
        edit(path, "UPDATE meta SET value = value || ? WHERE key = ?", PAYLOAD, key)
    edit(path, "INSERT INTO loss SELECT NULL, ?, 3", PAYLOAD)
    return path


PAGES = {
    "analyze": ["analyze", "{}", "--no-write", "--top", "50"],
    "compare": ["compare", "{}", "{}"],
    "what-if": ["what-if", "{}", "--op", MARK + "=0"],
    "top": ["top", "{}", "--once", "--top", "50"],
}


@pytest.mark.parametrize("page", PAGES)
def test_names_of_a_run_are_plain_text_on_every_page(stepscope, store, page):
    _, output = on_terminal(stepscope, *(part.format(store) for part in PAGES[page]))
    text = assert_plain(output)
    assert SHOWN.search(text), text


@pytest.mark.parametrize("page", ["analyze", "top"])
def test_json_escapes_them_and_keeps_their_values(stepscope, store, page):
    command = [stepscope, *(part.format(store) for part in PAGES[page]), "--json"]
    code, output = on_terminal(*command)
    document = json.loads(assert_plain(output))
    assert code == 0
    assert any(op["name"].endswith(PAYLOAD) for loop in document["loops"] for op in loop["ops"])


def test_the_screen_of_top_is_plain_text(stepscope, store):
    code, output = on_terminal(stepscope, "top", store, keys=b"q")
    assert code == 0
    assert_plain(output)


def test_a_broken_store_is_told_of_in_plain_text(stepscope, store, tmp_path):
    """One text after the other is what it cannot be: the analysis fails, or goes on without it."""
    broken = tmp_path / "run.db"
    for table, column in text_columns(store):
        broken.write_bytes(store.read_bytes())
        with contextlib.suppress(sqlite3.IntegrityError):  # a check of the store's own
            edit(broken, f"UPDATE {table} SET {column} = {column} || ?", PAYLOAD)
        for verb in ("analyze", "top", "export"):
            more = {"export": ["-o", tmp_path / "trace.json"], "top": ["--once"]}.get(verb, [])
            assert_plain(on_terminal(stepscope, verb, broken, *more)[1])


def test_text_that_is_no_utf8_is_replaced(stepscope, store, tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(store.read_bytes())
    edit(path, "UPDATE thread SET name = CAST(x'486f9b333120c29b20e0809b20f0' AS TEXT)")
    edit(path, "UPDATE process SET name = CAST(x'486f9b333120c29b20e0809b20f0' AS TEXT)")
    for verb in ("analyze", "top"):
        assert "Ho\ufffd31 ? " in assert_plain(
            on_terminal(stepscope, verb, path, *(["--once"] if verb == "top" else []))[1]
        )


@pytest.mark.parametrize(
    "command",
    [
        ["analyze", "{}"],
        ["compare", "{}", "{}"],
        ["top", "{}"],
        ["view", "{}", "--no-browser"],
        ["export", "{}", "-o", "{}.json"],
        ["report", "{}", "-o", "{}.html"],
        ["import", "{}", "-o", "{}.db"],
        ["control", "{}", "status"],
        ["run", "-o", "{}.db", "--", "{}"],
        ["run", "--steps", "{}", "--", "true"],
        ["run", "--schedule", "{}", "--", "true"],
        ["sweep", "show", "{}"],
        ["sweep", "-p", "{}", "--", "true"],
        ["analyze", "run.db", "--steps", "{}"],
        ["analyze", "run.db", "{}"],
        ["analyze", "run.db", "--no-such-option={}"],
    ],
    ids=" ".join,
)
def test_errors_name_paths_and_words_in_plain_text(stepscope, tmp_path, command):
    name = PAYLOAD.replace("/", "")
    code, output = on_terminal(
        stepscope, *(part.replace("{}", str(tmp_path / name)) for part in command)
    )
    assert code != 0
    assert MARK in assert_plain(output)


@pytest.mark.parametrize("verb", ["analyze", "export", "report", "import"])
def test_a_trace_that_is_none_is_told_of_in_plain_text(stepscope, tmp_path, verb):
    trace = tmp_path / (PAYLOAD + ".json")
    trace.write_text('{"traceEvents": [{"ph": "X", "name": "' + PAYLOAD + '", "ts": ' + PAYLOAD)
    output = [] if verb == "analyze" else ["-o", tmp_path / (PAYLOAD + ".db")]
    code, text = on_terminal(stepscope, verb, trace, *output)
    assert code == 3
    assert_plain(text)


def test_what_is_written_is_named_in_plain_text(stepscope, build_dir, tmp_path):
    path = make(build_dir, "killed", tmp_path / (PAYLOAD + ".db"))
    for verb, end in (("export", ".json"), ("report", ".html")):
        code, output = on_terminal(stepscope, verb, path, "-o", tmp_path / (PAYLOAD + end))
        assert code == 0
        assert SHOWN.search(assert_plain(output))


def test_what_a_program_of_a_sweep_says_is_plain_text(stepscope, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nprintf '%s' \"$1\" >&2\nexit 3\n")
    program.chmod(0o755)
    sweep = tmp_path / "sweep.db"
    code, output = on_terminal(
        stepscope,
        "sweep",
        "-o",
        sweep,
        "-p",
        "name=" + PAYLOAD.replace(",", ""),
        "--",
        program,
        "{name}",
    )
    assert code == 3
    assert SHOWN.search(assert_plain(output))
    assert SHOWN.search(assert_plain(on_terminal(stepscope, "sweep", "show", sweep)[1]))


def test_the_address_of_a_view_is_told_in_plain_text(stepscope, build_dir, tmp_path):
    path = make(build_dir, "killed", tmp_path / (PAYLOAD + ".db"))
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [stepscope, "view", path, "--no-browser"], stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    output = b""
    while b"Ctrl-C" not in output:
        output += os.read(parent, 4096)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    os.close(parent)
    assert SHOWN.search(assert_plain(output))


def test_a_recorder_answers_in_plain_text(stepscope, build_dir, tmp_path):
    """The store says which socket is asked: whoever made it may sit there."""
    store = tmp_path / "live.db"
    recorder = subprocess.Popen(
        [build_dir / "tests/viewer-export/record_steps", store],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert recorder.stdout.readline() == "ok\n"
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()

        def answer():
            with listener.accept()[0] as connection:
                connection.recv(4096)
                connection.send(
                    struct.pack("<II248s", 0x54435353, 1, PAYLOAD.encode())
                )  # ControlReply of channel_format.h

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        edit(store, "INSERT OR REPLACE INTO meta VALUES ('control_socket', ?)", path)
        _, output = on_terminal(stepscope, "control", store, "status")
        assert SHOWN.search(assert_plain(output))
    recorder.kill()
    recorder.communicate()


@pytest.mark.parametrize("name", ["dumb", ""])
def test_a_terminal_without_control_codes_gets_none(stepscope, store, name):
    for command in [["top", store], ["analyze", store]]:
        code, output = on_terminal(stepscope, *command, environment={"TERM": name})
        assert code == 0
        assert b"\x1b" not in output
