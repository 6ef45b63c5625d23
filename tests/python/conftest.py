"""What the tests of the Python side share."""

import pytest

import pythons


@pytest.fixture(scope="session", params=["ctypes", "functions"])
def fake_library(tmp_path_factory, request):
    """Its marks are called through ctypes, or as functions of CPython's own."""
    folder = tmp_path_factory.mktemp("fake")
    more = (
        [pythons.compile_python_functions(folder), "-lstdc++"]
        if request.param == "functions"
        else []
    )
    return pythons.compile_fake(folder, *more)


@pytest.fixture
def python(tmp_path):
    return pythons.Python(tmp_path)


@pytest.fixture
def wrapped(python, fake_library):
    return python.wrapped(fake_library)


@pytest.fixture
def marked(python, fake_library):
    """Runs code with the package and a library that is in the process already; returns its calls."""
    python.with_package()
    python.environment["LD_PRELOAD"] = str(fake_library)

    def run(code):
        python.run(code)
        return python.calls()

    return run
