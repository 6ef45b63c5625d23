"""What the tests of hostile surroundings and of deaths share."""

import pathlib

import pytest

import hostile


@pytest.fixture(scope="session")
def programs(build_dir):
    """The folder of the programs that are run."""
    folder = build_dir / "tests/hostile"
    if not (folder / "hostile").exists():
        pytest.fail(f"{folder}/hostile is not there: build it first")
    return folder


@pytest.fixture(scope="session")
def program(programs):
    return programs / "hostile"


@pytest.fixture
def wrapper(stepscope, tmp_path):
    return hostile.Wrapper(stepscope, tmp_path)


@pytest.fixture(scope="session")
def library(build_dir):
    """libstepscope.so, as the wrapper finds it."""
    (found,) = [
        path for path in build_dir.glob("lib*/**/libstepscope.so") if "torch" not in str(path)
    ][:1]
    return pathlib.Path(found)
