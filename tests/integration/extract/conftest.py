"""A web for each test."""

from collections.abc import Iterator

import pytest

from tests.integration.extract.web import Web, serving


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as started:
        yield started


@pytest.fixture
def other_web() -> Iterator[Web]:
    """Another host, by its address."""
    with serving("127.0.0.2") as started:
        yield started
