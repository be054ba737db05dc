"""Captures that nobody reported: which file in the store is whose, where to look, and whether looking is worth it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.capture import CaptureReport

SKEW = timedelta(hours=1)
"""Capture servers name their day folders by their own clocks."""
MAX_FOLDERS = 62
SINK_FOLDER = "sink"
STRAGGLE = timedelta(seconds=300)
"""A capture under way when its run died has its manifest 140 s later at most; then no more can come."""
LAST_WORDS = timedelta(seconds=60)
"""A run holds a result for so long when the ledger does not answer."""

_CORRELATION = re.compile(r"([a-z][0-9a-z]{1,31})\.([a-z][0-9a-z]{1,31})\.([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


@dataclass(frozen=True, order=True)
class Correlation:
    """`{crawlId}.{pageId}.{attempt}.{try}`."""

    crawl_id: str
    page_id: str
    attempt: int
    number: int


def correlation_of(text: str) -> Correlation | None:
    """A correlation id of ours, or None."""
    found = _CORRELATION.fullmatch(text)
    return Correlation(found[1], found[2], int(found[3]), int(found[4])) if found else None


def correlation_of_name(name: str, ending: str) -> Correlation | None:
    """Whose capture a manifest's name says that it is: `{taskId}_{correlationId}[_{labels}]` and the ending."""
    parts = name.removesuffix(ending).split("_")
    return correlation_of(parts[1]) if name.endswith(ending) and len(parts) >= 2 else None


def carries(location: str, crawl_id: str) -> bool:
    """Whether a file is named as one of the crawl's. A manifest may claim any file below our root as its own."""
    return f"_{crawl_id}." in location.rpartition("/")[2]


def folders(crawl_id: str, began_at: datetime, now: datetime) -> list[str]:
    """Where a crawl's manifests can lie: what came by the ledger's sink; then `YYYY/MM/DD` of the days since it began.

    The newest day first, at most two months of them.
    """
    day, last = (began_at - SKEW).date(), (now + SKEW).date()
    days = min(MAX_FOLDERS, (last - day).days + 1)
    by_day = [(last - timedelta(days=back)).strftime("%Y/%m/%d") for back in range(days)]
    return [f"{SINK_FOLDER}/{crawl_id}", *by_day]


def mismatch(report: CaptureReport, correlation: Correlation, url: str) -> str | None:
    """Why a manifest is not the capture that its name says, or None: its own correlation id and URL must agree."""
    if correlation_of(report.correlation_id or "") != correlation:
        return f"its correlationId is {report.correlation_id}"
    return None if report.url == url else f"its url is {report.url}"


def worth_scanning(
    *,
    running: bool,
    finished_at: datetime | None,
    unproved_at: Iterable[datetime | None],
    now: datetime,
    window: timedelta,
) -> bool:
    """Whether a crawl may have captures in the store that nobody reported.

    `unproved_at`: when each page without a capture, which no capture server has vouched for, was settled; None for one
    that is pending. A running crawl's pending pages are its run's business; an ended crawl's are nobody's, once its run
    has had time for its last words.
    """
    if running:
        return any(at is not None and now - at < STRAGGLE for at in unproved_at)
    return finished_at is not None and LAST_WORDS < now - finished_at < window and bool(list(unproved_at))
