"""End a running crawl's current attempt before it closed its level, by whoever's verdict, and do what follows."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from comity.contract.ledger import MAX_REASON_CHARACTERS, AttemptEnd
from ledger import log
from ledger.rules import resume
from ledger.rules.resume import CloseCrawl, Ended
from ledger.rules.scope import authority
from ledger.rules.stop_reason import Ending
from ledger.services.host_gate import end_level_leases
from ledger.store import crawls, levels, pages
from ledger.store.database import Tx
from ledger.store.models import Crawl, Level


@dataclass(frozen=True)
class Followed:
    """What came of it. `next_attempt` waits for its run; None: the crawl has ended."""

    next_attempt: int | None

    @property
    def closed(self) -> bool:
        """The crawl has ended."""
        return self.next_attempt is None


def end_attempt(tx: Tx, crawl: Crawl, level: Level, *, how: AttemptEnd, reason: str, at: datetime) -> Followed:
    """End the attempt inside `tx`: the next one is opened, or the crawl closed. Captured pages stay captured.

    Pages that have no outcome stay pending: they are the next attempt's frontier. After the commit the caller asks for
    the dispatch of the next attempt, or for the end of the run.
    """
    if level.first_seen_at is not None:
        pages.touch_hosts(tx, hosts_in_flight(tx, crawl), at=at)
    levels.end(tx, level, how=how, reason=reason[:MAX_REASON_CHARACTERS], at=at)
    # A run that crashed, failed or was told to end is over; one that was cancelled or silent may still be at a page.
    end_level_leases(tx, crawl, at=at, in_flight=how not in ("crashed", "stopped", "unstored", "failed"))
    what = resume.after_attempt(crawl.depth, _ended(tx, crawl))
    if isinstance(what, CloseCrawl):
        crawls.end(tx, crawl, Ending(what.outcome, what.outcome, what.reason), at=at)
        log.event("crawl_ended", crawl_id=crawl.id, depth=level.depth, attempt=level.attempt, state=what.outcome,
                  reason=what.reason)  # fmt: skip
        return Followed(None)
    crawls.try_again(tx, crawl, attempt=what.attempt)
    levels.open_level(tx, crawl_id=crawl.id, depth=crawl.depth, attempt=what.attempt, at=at)
    log.warning("level_resumed", crawl_id=crawl.id, depth=level.depth, attempt=what.attempt, after=how, reason=reason)
    return Followed(what.attempt)


def end_by_limit(tx: Tx, crawl: Crawl, level: Level, ending: Ending, *, at: datetime) -> None:
    """End a running crawl because of a limit: no attempt follows. Captured pages stay captured."""
    if level.first_seen_at is not None:
        pages.touch_hosts(tx, hosts_in_flight(tx, crawl), at=at)
    end_level_leases(tx, crawl, at=at, in_flight=True)
    levels.end(tx, level, how="closed", reason=ending.error, at=at)
    crawls.end(tx, crawl, ending, at=at)
    log.event("crawl_ended", crawl_id=crawl.id, depth=level.depth, attempt=level.attempt, state=ending.state,
              stop_reason=ending.stop_reason, reason=ending.error)  # fmt: skip


def hosts_in_flight(tx: Tx, crawl: Crawl) -> list[str]:
    """Hosts that may be having a visit right now, so that whoever comes next keeps the gap from here.

    Those of the pending pages; and where redirects from them led before, for a page in flight may be there by now.
    """
    pending = pages.pending_hosts(tx, crawl.id, crawl.depth)
    return [*pending, *(authority(url) for url in pages.led_to(tx, crawl.id, pending))]


def _ended(tx: Tx, crawl: Crawl) -> list[Ended]:
    return [
        Ended(one.attempt, cast(AttemptEnd, one.ended_as), one.ended_reason or "no reason given")
        for one in levels.attempts(tx, crawl.id, crawl.depth)
        if one.ended_as is not None
    ]
