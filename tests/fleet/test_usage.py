"""Wrong usage is one line, and Ctrl-C ends the verbs as it ends other programs."""

import os
import signal
import subprocess
import sys

import pytest
from stores import make_store

# Python runs this when it starts: it stands for a disk that takes long to write.
SLOW_DISK = """\
import os, time
def fsync(file):
    os.write(2, b"writing\\n")
    time.sleep(60)
os.fsync = fsync
"""


COMPARE = ["fleet", "lake", "compare", "--run", "a", "b"]
ADD = ["lake", "add", "run.db", "--lake", "lake"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fleet", ""], "fleet: argument LAKE: an empty name"),
        (["fleet", "lake", "report"], "fleet: LAKE report and -o FILE go together"),
        (["fleet", "lake", "compare", "--run", "one"], "fleet: LAKE compare needs --run"),
        (["fleet", "lake", "--price", "nan"], "fleet: argument --price: nan is not a price"),
        (["fleet", "lake", "--since", "5y"], "fleet: argument --since: 5y is not a time"),
        (["fleet", "lake", "--since", "0d"], "fleet: argument --since: 0d is not a time"),
        (["fleet", "lake", "--master", "local"], "fleet: --master is for --engine spark"),
        (["fleet", "lake", "--run", ""], "fleet: argument --run: an empty name"),
        (
            ["fleet", "lake", "compare", "--run", "", "b"],
            "fleet: argument --run: an empty name",
        ),
        (COMPARE + ["--price", "0"], "fleet: LAKE compare does not use --price; omit one of them"),
        (COMPARE + ["--since", "7d"], "fleet: LAKE compare does not use --since; omit one of them"),
        (
            ["fleet", "lake", "report", "-o", "page.html", "--json"],
            "fleet: LAKE report does not use --json; omit one of them",
        ),
        (ADD + ["--run", "\udcff"], "lake: argument --run: ? is not UTF-8"),
        (ADD + ["--job", "\udcff"], "lake: argument --job: ? is not UTF-8"),
        (ADD + ["--groups", "tp=0"], "lake: argument --groups: tp=0 is no list of sizes such as"),
        (["lake", "add", "", "--lake", "lake"], "lake: argument STORE: an empty name"),
        (["lake", "add", "run.db", "--lake", ""], "lake: argument --lake: an empty name"),
        (ADD + ["--run", ""], "lake: argument --run: an empty name"),
        (ADD + ["--job", ""], "lake: argument --job: an empty name"),
        (["fleet", "lake", "--since", ""], "fleet: argument --since: (nothing) is not a time"),
        (["fleet", "lake", "--price", ""], "fleet: argument --price: (nothing) is not a price"),
        (["fleet", "lake", "report", "-o", ""], "fleet: argument -o/--output: an empty name"),
    ],
)
def test_wrong_usage_is_one_line(verb, words, says):
    done = verb(*words, expect=2)
    assert done.stderr.startswith(f"stepscope {says}") and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_run_without_a_name_is_none(stepscope, lake):
    (lake / "run/run=77").mkdir(parents=True)
    done = subprocess.run([stepscope, "analyze", f"{lake}/run="], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"stepscope analyze: {lake}/run=: no such file\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--run", "x"], "--run"),
        (["--since", "7d"], "--since"),
        (["--price", "3", "--json"], "--price"),
        (["--engine", "spark"], "--engine spark"),
        (["report", "-o", "page.html"], "report"),
        (["compare", "--run", "a", "b"], "compare"),
    ],
)
def test_what_a_file_of_operations_does_not_have_is_refused(verb, tmp_path, words, named):
    file = tmp_path / "ops.parquet"
    file.touch()
    done = verb("fleet", file, *words, expect=2)
    said = f"{file}: is a file of operations; omit {named}, which needs a lake\n"
    assert (done.stdout, done.stderr) == ("", f"stepscope fleet: {said}")


def test_a_name_that_is_too_long_is_one_line(verb, lake, tmp_path):
    name = "x" * 300
    add_it = ["lake", "add", make_store(tmp_path / "a.db", [0]), "--lake"]
    verb(*add_it, lake)
    for words in (
        ["fleet", name],
        ["fleet", lake, "report", "-o", name],
        [*add_it, name],
        ["lake", "add", name, "--lake", lake],
    ):
        done = verb(*words, expect=3)
        assert done.stderr.count("\n") == 1 and "File name too long" in done.stderr


def interrupt(words, said, environment):
    """Sends the signal of Ctrl-C when the program has said that. Returns its exit code and what else it said."""
    started = subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"STEPSCOPE_PYTHON": sys.executable} | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert started.stderr.readline().decode() == said
    started.send_signal(signal.SIGINT)
    output, errors = started.communicate(timeout=30)
    return started.returncode, output + errors


def test_ctrl_c_leaves_no_traceback_and_no_part(verb, stepscope, lake, tmp_path):
    store = make_store(tmp_path / "a.db", [0, 1])
    verb("lake", "add", store, "--lake", lake)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow/sitecustomize.py").write_text(SLOW_DISK)
    (tmp_path / "tmp").mkdir()
    slow = {"PYTHONPATH": str(tmp_path / "slow"), "TMPDIR": str(tmp_path / "tmp")}
    before = sorted(tmp_path.rglob("*"))
    for words in (
        ["lake", "add", store, "--lake", lake],
        ["fleet", lake, "report", "-o", tmp_path / "page.html"],
    ):
        code, said = interrupt([stepscope, *words], "writing\n", slow)
        assert (code, said) == (-signal.SIGINT, b"")
        assert [
            path for path in sorted(tmp_path.rglob("*")) if "__pycache__" not in str(path)
        ] == before


@pytest.mark.parametrize("where", ["query", "store"])
def test_ctrl_c_ends_a_query(lake, tmp_path, where):
    """SQLite and DuckDB both meet the signal before Python does."""
    fleet = os.path.join(os.path.dirname(__file__), "../../fleet")
    store = make_store(tmp_path / "a.db", [0])
    program = f"""
import pathlib, sys
sys.path.insert(0, {fleet!r})
from stepscope_fleet import console, engine, store_database
database = store_database.StoreDatabase(pathlib.Path({str(store)!r}))
store_database._LEAST_STEPS = 1 << 60
try:
    print("asking", file=sys.stderr, flush=True)
    if {where!r} == "store":
        database.rows("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r")
    else:
        with engine._changes():
            engine.duckdb.connect().execute("SELECT sum(a.range * b.range % 7) FROM range(1000000) a, range(1000000) b")
except KeyboardInterrupt:
    console.die_of_interrupt()
"""
    code, said = interrupt([sys.executable, "-c", program], "asking\n", {})
    assert (code, said) == (-signal.SIGINT, b"")
