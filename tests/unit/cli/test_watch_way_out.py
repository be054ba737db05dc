"""Where a worker beside a stack may connect to."""

import pytest

from comity.cli.errors import BadInput
from comity.cli.stack.state import StackState
from comity.cli.watching.way_out import way_out

LEDGER = "http://127.0.0.1:21001"
ADDRESSES = {"ledger": LEDGER, "captures": ["http://127.0.0.1:21002"], "prefectApi": "http://127.0.0.1:21003/api"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMITY_ALLOW_PRIVATE", raising=False)
    monkeypatch.delenv("COMITY_DENY", raising=False)


def stack(allow_private: str) -> StackState:
    return StackState(0, "", "/data", ready=True, addresses=ADDRESSES, allow_private=allow_private)


def test_worker_may_visit_what_its_stack_may_and_never_the_stack() -> None:
    out = way_out(["127.0.0.2:80"], LEDGER, stack("10.0.0.0/8,127.0.0.2:80"))
    assert out.allow == "127.0.0.2:80,10.0.0.0/8"
    assert out.deny == "127.0.0.1:21001,127.0.0.1:21002,127.0.0.1:21003"
    assert out.told() == "of the public web and 127.0.0.2:80,10.0.0.0/8"
    assert way_out(None, LEDGER, stack("10.0.0.0/8")).allow == "10.0.0.0/8"


def test_worker_of_a_ledger_elsewhere_says_what_is_closed_to_it() -> None:
    out = way_out(None, "https://ledger.example:8765", None)
    assert (out.allow, out.deny) == ("", "")
    assert "public web alone" in out.told()
    assert "--allow-private HOST:PORT" in out.told()
    assert way_out(["127.0.0.2:80"], LEDGER, None).deny == "127.0.0.1:21001"


def test_allowance_that_cannot_be_understood_is_refused() -> None:
    with pytest.raises(BadInput, match="--allow-private"):
        way_out(["example.org"], LEDGER, stack(""))
