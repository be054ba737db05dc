"""`GET /api/crawls/{id}/events`: what happened to a crawl since the reader last looked."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from comity.contract.events import CrawlEnded, EventKind
from comity.contract.ledger import CrawlState, StopReason
from ledger.errors import StreamsFull, Unknown
from ledger.store import crawls, events
from ledger.store.database import Store
from ledger.store.models import Crawl

BATCH = 500
"""Events per look: a reader that comes late gets a long crawl in pieces, and no piece holds much memory."""


@dataclass(frozen=True)
class Told:
    """One event. `event_id` is None for an end that was never written down: the crawl is older than its events."""

    event_id: int | None
    kind: EventKind
    data: dict[str, Any]


class FollowService:
    """Tells readers what happened. It reads the database and nothing else, so any replica can answer for any crawl."""

    def __init__(self, store: Store, max_streams: int) -> None:
        self._store = store
        self._max_streams = max_streams
        self._streams = 0
        self._lock = threading.Lock()
        self.ending = False
        """True once the process is to end: streams look at it, for nothing else would end them."""

    @contextmanager
    def stream(self) -> Iterator[None]:
        """A place among the open streams. Raises StreamsFull."""
        with self._lock:
            if self._streams >= self._max_streams:
                raise StreamsFull(self._max_streams)
            self._streams += 1
        try:
            yield
        finally:
            with self._lock:
                self._streams -= 1

    def end_all(self) -> None:
        """Let every open stream end soon; their readers come back with `Last-Event-ID`."""
        self.ending = True

    def since(self, crawl_id: str, event_id: int, organizations: Sequence[str] | None = None) -> list[Told]:
        """The next events after that one, oldest first; empty where nothing happened. Raises Unknown.

        An `end` is the last. What is settled after the end is not told.
        """
        with self._store.reading() as tx:
            crawl = crawls.get(
                tx, crawl_id, organizations
            )  # before the events: those of its end are there if its end is
            if crawl is None:
                raise Unknown("crawl", crawl_id)
            rows = events.after(tx, crawl_id, event_id, BATCH)
        told: list[Told] = []
        for row in rows:
            told.append(Told(row.id, cast(EventKind, row.kind), row.data))
            if row.kind == "end":
                return told
        if not told and crawl.state != "running":
            return [_end_of(crawl)]
        return told


def _end_of(crawl: Crawl) -> Told:
    assert crawl.finished_at is not None
    ended = CrawlEnded(
        at=crawl.finished_at,
        state=cast(CrawlState, crawl.state),
        stop_reason=cast(StopReason | None, crawl.stop_reason),
        error=crawl.error,
    )
    return Told(None, "end", ended.to_wire())
