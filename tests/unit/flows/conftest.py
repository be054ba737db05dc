"""Parts around a level, for its unit tests."""

from collections.abc import Iterator

import pytest

from tests.fakes.ledger import FakeLedger


@pytest.fixture
def ledger() -> Iterator[FakeLedger]:
    """Takes results, and gives hosts."""
    with FakeLedger() as fake:
        yield fake
