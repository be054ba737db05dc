"""A site for each test, one server for each module."""

from collections.abc import Iterator

import pytest

from tests.site import FixtureSite


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=3) as site:
        yield site


@pytest.fixture
def site(running: FixtureSite) -> FixtureSite:
    """With the pages that it begins with, and nothing in its log."""
    running.restore()
    running.clear_log()
    return running
