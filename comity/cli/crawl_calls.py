"""What `comity crawl` asks of the ledger, each with the patience that the moment needs."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from blocks.clients.errors import (
    ConnectionLost,
    CrawlInTheWayError,
    DeadlinePassed,
    ServiceRefused,
    ServiceUnreachable,
)
from blocks.clients.ledger import LedgerClient
from comity.cli.crawl_request import WIRE_OPTIONS
from comity.cli.errors import BadInput, CliError, StackError
from comity.contract.ledger import CrawlInTheWay, CrawlView, PageView, StartCrawl

POLL_S = 1.0
LEDGER_AWAY_BUDGET_S = 60.0
"""The supervisor starts a ledger that died again; longer than this it is not coming back."""
COMMANDS = {
    "GET /api/scripts lists them": "`comity scripts list` shows them",
    "GET /api/extractors lists them": "`comity extractors list` shows them",
}
"""The next step of a refusal, as the command line has it."""
CANCEL_BUDGET_S = 20.0
"""A cancelled level ends its captures within 5 s and its run a few seconds later."""


def start(ledger: LedgerClient, request: StartCrawl, stack_since: datetime, say: Callable[[str], None]) -> str:
    """The crawl's id. A crawl that an earlier stack left unfinished is resumed by this one, and waited for.

    It ends by itself, for the ledger gives no level for ever. Raises CliError naming another crawl in the way, and
    BadInput for what the ledger refuses.
    """
    told = ""
    while True:
        try:
            return ledger.start_crawl(request).crawl_id
        except CrawlInTheWayError as refusal:
            left = refusal.crawl.crawl_id
            if refusal.crawl.started_at >= stack_since:
                raise CliError(_in_the_way(refusal.crawl)) from None
            if told != left:
                told = left
                say(f"crawl {left}, which an earlier stack left unfinished, goes on first (or `comity cancel {left}`)")
            time.sleep(POLL_S)
        except ServiceRefused as refusal:
            if refusal.status == 400:
                raise BadInput(_named(refusal)) from None
            raise


def _in_the_way(crawl: CrawlInTheWay) -> str:
    return (
        f"crawl {crawl.crawl_id} runs already (since {crawl.started_at:%Y-%m-%d %H:%M} UTC): "
        f"wait for it, or `comity cancel {crawl.crawl_id}`"
    )


def _named(refusal: ServiceRefused) -> str:
    """What the ledger refused, by the names of the options."""
    named = [f"{WIRE_OPTIONS.get(one.field.split('.')[0], one.field)}: {one.message}" for one in refusal.fields]
    said = "; ".join(named) or refusal.message
    for route, command in COMMANDS.items():
        said = said.replace(route, command)
    return said


def look(ledger: LedgerClient, crawl_id: str, *, stack_lives: Callable[[], bool]) -> tuple[CrawlView, list[PageView]]:
    """The crawl and its pages; over an absence of the ledger that a living supervisor mends."""
    deadline_s = time.monotonic() + LEDGER_AWAY_BUDGET_S
    while True:
        try:
            return ledger.crawl(crawl_id), ledger.pages(crawl_id).pages
        except (ServiceUnreachable, ConnectionLost, DeadlinePassed):
            if not stack_lives():
                raise StackError(
                    f"the stack ended while crawl {crawl_id} ran: what was captured is kept; `comity up` resumes it"
                ) from None
            if time.monotonic() > deadline_s:
                raise
        except ServiceRefused as refusal:
            if refusal.status < 500 or time.monotonic() > deadline_s:
                raise
        time.sleep(POLL_S)


def cancel(ledger: LedgerClient, crawl_id: str) -> CrawlView:
    """Cancels the crawl and waits a little for its end; the crawl as it is then."""
    try:
        ledger.cancel(crawl_id)
    except ServiceRefused as refusal:
        if refusal.status != 409:  # it ended by itself meanwhile
            raise
    deadline_s = time.monotonic() + CANCEL_BUDGET_S
    with suppress(KeyboardInterrupt):
        while time.monotonic() < deadline_s and ledger.crawl(crawl_id).state == "running":
            time.sleep(0.3)
    return ledger.crawl(crawl_id)
