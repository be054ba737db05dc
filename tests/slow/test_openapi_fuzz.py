"""The fuzz of `tests/integration/ledger/test_openapi_fuzz.py`, drawn deeper, each run elsewhere."""

from collections.abc import Iterator

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import ledger_at
from tests.integration.ledger.fuzzing import FUZZED, Range, fuzz, prepared

EXAMPLES = 200

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    folder = tmp_path_factory.mktemp("fuzzed")
    with FakePrefect() as fake, ledger_at(folder / "data", folder / "store", fake, max_running_crawls=2) as desk:
        yield prepared(desk)


@pytest.mark.parametrize(("method", "path"), FUZZED)
def test_whatever_is_sent_is_answered_and_a_refusal_writes_nothing(field: Range, method: str, path: str) -> None:
    fuzz(field, method, path, EXAMPLES)
