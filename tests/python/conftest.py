"""What the tests of the Python side share."""

import pytest

import pythons


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory):
    return pythons.compile_fake(tmp_path_factory.mktemp("fake"))


@pytest.fixture
def python(tmp_path):
    return pythons.Python(tmp_path)
