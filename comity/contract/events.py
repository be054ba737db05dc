"""What a crawl's event stream tells: `GET /api/crawls/{id}/events`, server-sent events (HTML Standard, 9.2).

The `event` of a message is one of `EventKind`, its `data` the JSON of the model beside it. `id` only grows within one
crawl; `Last-Event-ID` goes on after it. `end` is the last one.
"""

from typing import Literal

from comity.contract.ledger import CrawlState, PageState, StopReason
from comity.contract.wire import Answer, Instant

EventKind = Literal["level-opened", "page", "level-closed", "end"]


class LevelOpened(Answer):
    """`level-opened`: a level waits for its run, with so many pages to visit. A further attempt opens it once more."""

    at: Instant
    depth: int
    attempt: int
    pages: int


class PageSettled(Answer):
    """`page`: a page got its outcome. The same page may get another one later: captured beats failed."""

    at: Instant
    page_id: str
    url: str
    host: str
    depth: int
    state: PageState
    reason: str | None = None
    http_status: int | None = None
    final_url: str | None = None


class LevelClosed(Answer):
    """`level-closed`: nothing more is expected from this attempt at the level; its pages by state."""

    at: Instant
    depth: int
    attempt: int
    captured: int
    failed: int
    skipped: int
    pending: int


class CrawlEnded(Answer):
    """`end`: the crawl is over."""

    at: Instant
    state: CrawlState
    stop_reason: StopReason | None = None
    error: str | None = None
