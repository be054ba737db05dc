"""What a page's capture asks for: a row for each extractor that the crawl pinned for it, in the same transaction."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from comity.contract.extraction import PAGE_HTML_MISSING
from ledger import metrics
from ledger.rules import adoption
from ledger.rules.extractors import Pin, PinnedPatterns
from ledger.store import extractions, extractors
from ledger.store.database import Tx
from ledger.store.models import Page

NO_HTML = "the capture kept no HTML of this page"


def want(tx: Tx, crawl_id: str, captured: Iterable[Page], *, at: datetime) -> None:
    """Note what is to be extracted from pages that were captured and proved just now; again changes nothing.

    A page without HTML of its own gets its code at once.
    """
    pages = list(captured)
    pins = extractors.pinned(tx, [crawl_id]).get(crawl_id, []) if pages else []
    if not pins:
        return
    patterns = PinnedPatterns([Pin(pin.place, pin.url_pattern) for pin in pins])
    rows = [row for page in pages for row in _rows(page, patterns.places(page.url, page.final_url), at)]
    metrics.extractions("failed", sum(row["state"] == extractions.FAILED for row in rows))
    extractions.want(tx, rows)


def html_of(page: Page) -> str | None:
    """Where the page's HTML lies, if it has some of its own: a manifest may claim any file below our root."""
    place = (page.artifacts or {}).get("html")
    return place if isinstance(place, str) and adoption.carries(place, page.crawl_id) else None


def _rows(page: Page, places: list[int], at: datetime) -> Iterable[dict[str, Any]]:
    there = html_of(page) is not None
    for place in places:
        yield {
            "crawl_id": page.crawl_id,
            "position": page.position,
            "place": place,
            "page_id": page.id,
            "state": extractions.PENDING if there else extractions.FAILED,
            "partial": False,
            "error_code": None if there else PAGE_HTML_MISSING,
            "error_message": None if there else NO_HTML,
            "extracted_at": None if there else at,
        }
