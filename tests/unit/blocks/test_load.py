"""A Block that is not there is told from a Prefect that does not say."""

import httpx
import pytest

from blocks.errors import BlockUnreadable
from blocks.ledger_connection import LedgerConnection
from blocks.load import load_ledger
from flows.doctor_links import look_at_blocks

ASKED = httpx.Request("GET", "http://127.0.0.1:4200/api/block_types/slug/ledger-connection")


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (ValueError("Unable to find block document named comity"), "create or repair it with: comity blocks init"),
        (httpx.ConnectError("Connection refused"), "see Prefect's log, and try again"),
        (
            httpx.HTTPStatusError("503 Service Unavailable", request=ASKED, response=httpx.Response(503)),
            "see Prefect's log, and try again",
        ),
    ],
)
def test_a_block_that_cannot_be_read_is_not_called_missing_unless_prefect_says_so(
    error: Exception, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(LedgerConnection, "load", load)
    with pytest.raises(BlockUnreadable) as refused:
        load_ledger()
    assert str(refused.value) == f"Block ledger-connection/comity cannot be read: {error}; {fix}"
    blocks, [link] = look_at_blocks()
    assert (blocks, link.ok, link.fix) == (None, False, fix)
