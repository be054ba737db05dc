"""Every call that the ledger's OpenAPI describes, fuzzed from it: never a failure, never half a write.

`tests/slow/test_openapi_fuzz.py` draws deeper.
"""

import pytest

from tests.integration.ledger.desk import Desk
from tests.integration.ledger.fuzzing import FUZZED, Range, fuzz, prepared

EXAMPLES = 8


@pytest.fixture(scope="module")
def field(shared_desk: Desk) -> Range:
    return prepared(shared_desk)


@pytest.mark.one_database
@pytest.mark.parametrize(("method", "path"), FUZZED)
def test_whatever_is_sent_is_answered_and_a_refusal_writes_nothing(field: Range, method: str, path: str) -> None:
    fuzz(field, method, path, EXAMPLES)


@pytest.mark.one_database
def test_every_call_that_is_described_is_fuzzed(field: Range) -> None:
    described = {
        (method.upper(), path)
        for path, methods in field.desk.get("/api/openapi.json")["paths"].items()
        for method in methods
    }
    assert described == set(FUZZED)
