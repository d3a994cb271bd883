"""Nothing has run before a test."""

import pytest

from tests.pipeline.calls import ran


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()
