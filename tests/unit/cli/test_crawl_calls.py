"""Starting beside a crawl that an earlier stack left."""

from datetime import timedelta
from typing import cast

import pytest

from blocks.clients.errors import CrawlInTheWayError
from blocks.clients.ledger import LedgerClient
from comity.cli import crawl_calls
from comity.cli.errors import CliError
from comity.contract.ledger import CrawlInTheWay, CrawlStarted, StartCrawl
from tests.unit.cli.facts import BEGAN_AT

REQUEST = StartCrawl(seeds=["http://a.test/"])


class BusyLedger:
    """Refuses so many starts for the sake of a crawl that was started at BEGAN_AT."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    def start_crawl(self, _: StartCrawl) -> CrawlStarted:
        if not self.refusals:
            return CrawlStarted(crawl_id="c2")
        self.refusals -= 1
        crawl = CrawlInTheWay(error="busy", crawl_id="c1", started_at=BEGAN_AT)
        raise CrawlInTheWayError("ledger", "http://l", call="POST", message="busy", crawl=crawl, body=None)


def _start(ledger: BusyLedger, stack_after_s: float) -> tuple[str, list[str]]:
    said: list[str] = []
    since = BEGAN_AT + timedelta(seconds=stack_after_s)
    return crawl_calls.start(cast(LedgerClient, ledger), REQUEST, since, said.append), said


@pytest.mark.parametrize("refusals", [0, 3])
def test_a_crawl_that_an_earlier_stack_left_goes_on_first(monkeypatch: pytest.MonkeyPatch, refusals: int) -> None:
    monkeypatch.setattr(crawl_calls, "POLL_S", 0)
    crawl_id, said = _start(BusyLedger(refusals), stack_after_s=60)
    assert crawl_id == "c2"
    assert len(said) == (1 if refusals else 0)  # once, and it names the crawl and the way out
    assert all("c1" in line and "comity cancel c1" in line for line in said)


def test_a_crawl_of_this_stack_is_in_the_way() -> None:
    with pytest.raises(CliError, match="c1 runs already"):
        _start(BusyLedger(1), stack_after_s=-60)
