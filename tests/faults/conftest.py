"""A test that needs a program says which is missing, where it is."""

import shutil

import pytest

from tests.workspace.conftest import resolver as resolver


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose `needs` mark names a program that is not here."""
    missing = [what for mark in item.iter_markers("needs") for what in mark.args if shutil.which(what) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}, which this machine lacks")
