"""What the Python tests share: where the binaries under test are.

STEPSCOPE_BUILD_DIR names the build folder; without it the newest of build/*/ that has a `stepscope`.
"""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def build_dir():
    """The build folder under test."""
    named = os.environ.get("STEPSCOPE_BUILD_DIR")
    if named:
        return pathlib.Path(named).resolve()
    built = sorted(ROOT.glob("build/*/bin/stepscope"), key=lambda binary: binary.stat().st_mtime)
    if not built:
        pytest.fail("there is no build/*/bin/stepscope: build first, or set STEPSCOPE_BUILD_DIR")
    return built[-1].parent.parent


def binary(build_dir, path):
    """A program of the build; its absence is a failure, not a skip: an untested tree must not pass."""
    program = build_dir / path
    if not program.exists():
        pytest.fail(f"{program} is not there: build it first")
    return program


@pytest.fixture(scope="session")
def stepscope(build_dir):
    """The command-line program."""
    return binary(build_dir, "bin/stepscope")


@pytest.fixture(scope="session")
def mnist(build_dir):
    """The sample program that trains on MNIST."""
    return binary(build_dir, "samples/mnist")


@pytest.fixture(scope="session")
def encoder(build_dir):
    """The sample program that classifies sentences."""
    return binary(build_dir, "samples/encoder")


@pytest.fixture(scope="session")
def serve(build_dir):
    """The sample program that calls one encoder in several formats."""
    return binary(build_dir, "samples/serve")


@pytest.fixture(scope="session")
def mistakes(build_dir):
    """The sample program that makes one production mistake at a time."""
    return binary(build_dir, "samples/mistakes")


@pytest.fixture(scope="session")
def python_ops(build_dir):
    """That the ops of Python programs are recorded: skips where the build has hooks for another libtorch only."""
    version = pytest.importorskip("torch", reason="pip install torch").__version__.partition("+")[0]
    if not (build_dir / "lib" / "stepscope" / f"torch-{version}").exists():
        pytest.skip(f"this build has no op hooks for the torch {version} of Python")


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process: Playwright runs once in each."""
    import viewers  # of tests/browser

    chromium = viewers.find_chromium()
    if chromium is None:
        pytest.skip("no chromium: install it (apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cpp_programs(build_dir):
    """The C++ programs that know nothing of Stepscope."""
    return binary(build_dir, "tests/cpp_programs/cpp_programs")
