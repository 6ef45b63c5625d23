"""What the tests of `stepscope sweep` share."""

import pytest

from sweeping import Sweep


@pytest.fixture(scope="session")
def settings(build_dir):
    """A program whose steps cost and hold what its arguments say."""
    found = build_dir / "tests/sweep/settings"
    if not found.exists():
        pytest.fail(f"{found} is not there: build it first")
    return found


@pytest.fixture
def sweep(stepscope, settings, tmp_path):
    return Sweep(stepscope, settings, tmp_path)
