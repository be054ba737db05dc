"""Rows of pages, their visits, their links, and the hosts that they touched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import object_session

from comity.contract.events import PageSettled
from comity.contract.ledger import PageResult
from ledger.rules.outcome import Settled
from ledger.store import dialect, events
from ledger.store.database import Tx
from ledger.store.models import Host, Page, PageLinks, Visit
from ledger.store.models_artifacts import LateManifest

IDS_PER_QUERY = 500
LOST_BY_US = ("artifact_sink", "lost")
"""Kinds of failure that say nothing about the page: the way from the browser to us was broken."""


def _chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    every = list(ids)
    for start in range(0, len(every), IDS_PER_QUERY):
        yield every[start : start + IDS_PER_QUERY]


def insert_frontier(
    tx: Tx, *, crawl_id: str, depth: int, pages: Sequence[tuple[str, str, str]]
) -> Sequence[tuple[str, str]]:
    """Insert (page id, URL, host) in order, as pending pages of a level. The unique index drops what the crawl has.

    Returns (URL, host) of the rows that went in, in order: they are the frontier.
    """
    first = tx.scalar(select(func.coalesce(func.max(Page.position), -1)).where(Page.crawl_id == crawl_id))
    assert first is not None
    rows = [
        {
            "id": page_id,
            "crawl_id": crawl_id,
            "depth": depth,
            "position": first + place,
            "url": url,
            "host": host,
            "state": "pending",
        }
        for place, (page_id, url, host) in enumerate(pages, start=1)
    ]
    dialect.insert_new(tx, Page, rows, ["crawl_id", "url"])
    inserted = tx.scalar(select(func.count()).where(Page.crawl_id == crawl_id, Page.depth == depth))
    if inserted == len(rows):  # as good as always: the crawl has no page twice, so nothing needs to be read back
        return [(url, host) for _, url, host in pages]
    return frontier(tx, crawl_id, depth)


def frontier(tx: Tx, crawl_id: str, depth: int) -> list[tuple[str, str]]:
    """(URL, host) of every page of a level, in order, whatever became of it."""
    query = select(Page.url, Page.host).where(Page.crawl_id == crawl_id, Page.depth == depth).order_by(Page.position)
    return [(url, host) for url, host in tx.execute(query)]


def urls(tx: Tx, crawl_id: str) -> list[str]:
    """Every URL of the crawl."""
    return list(tx.scalars(select(Page.url).where(Page.crawl_id == crawl_id)))


def final_urls(tx: Tx, crawl_id: str, depth: int) -> list[str]:
    """Where each page of a level really was, or its URL where that is not known, in frontier order."""
    query = (
        select(func.coalesce(Page.final_url, Page.url))
        .where(Page.crawl_id == crawl_id, Page.depth == depth)
        .order_by(Page.position)
    )
    return list(tx.scalars(query))


def pending(tx: Tx, crawl_id: str, depth: int) -> Sequence[Page]:
    """What of a level has no outcome yet, in frontier order."""
    query = (
        select(Page)
        .where(Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "pending")
        .order_by(Page.position)
    )
    return tx.scalars(query).all()


def without_capture(tx: Tx, crawl_id: str) -> Sequence[Page]:
    """Every page of the crawl that is not captured."""
    return tx.scalars(select(Page).where(Page.crawl_id == crawl_id, Page.state != "captured")).all()


def unproved_at(tx: Tx, crawl_id: str) -> list[datetime | None]:
    """When each page that is pending, or failed without a capture server's word, was settled."""
    query = select(Page.settled_at).where(
        Page.crawl_id == crawl_id, Page.state.in_(("pending", "failed")), Page.task_id.is_(None)
    )
    return list(tx.scalars(query))


def pending_ids(tx: Tx, crawl_id: str, depth: int) -> list[str]:
    """The same, ids alone."""
    query = (
        select(Page.id)
        .where(Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "pending")
        .order_by(Page.position)
    )
    return list(tx.scalars(query))


def unstored(tx: Tx, crawl_id: str, depth: int) -> list[str]:
    """Ids of a level's pages that failed on our side of the capture: its artifacts or its answer got lost."""
    query = select(Page.id).where(
        Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "failed", Page.failure.in_(LOST_BY_US)
    )
    return list(tx.scalars(query.order_by(Page.position)))


def any_captured(tx: Tx, crawl_id: str, depth: int) -> bool:
    """Whether a page of the level is captured."""
    query = select(Page.id).where(Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "captured")
    return tx.scalar(query.limit(1)) is not None


def visit_again(tx: Tx, page_ids: Iterable[str]) -> None:
    """The pages wait for a visit as if they had had none. The visits that they had stay, as evidence."""
    outcome = ("reason", "failure", "http_status", "final_url", "task_id", "artifacts")
    nothing = dict.fromkeys((*outcome, "manifest_location", "manifest_error", "links_location", "settled_at"))
    for chunk in _chunks(page_ids):
        tx.execute(delete(LateManifest).where(LateManifest.page_id.in_(chunk)))
        tx.execute(update(Page).where(Page.id.in_(chunk)).values(state="pending", **nothing))


def pending_hosts(tx: Tx, crawl_id: str, depth: int) -> list[str]:
    """Hosts of a level that may be having a visit right now."""
    query = select(Page.host).where(Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "pending").distinct()
    return list(tx.scalars(query))


def led_to(tx: Tx, crawl_id: str, hosts: Iterable[str]) -> list[str]:
    """Final URLs of the crawl's pages on these hosts that were redirected."""
    found: list[str] = []
    for chunk in _chunks(dict.fromkeys(hosts)):
        query = select(Page.final_url).where(
            Page.crawl_id == crawl_id, Page.host.in_(chunk), Page.final_url.is_not(None), Page.final_url != Page.url
        )
        found += [url for url in tx.scalars(query.distinct()) if url]
    return found


def by_id(tx: Tx, crawl_id: str, page_ids: Iterable[str]) -> dict[str, Page]:
    """Pages of the crawl among these ids."""
    found: dict[str, Page] = {}
    for chunk in _chunks(page_ids):
        for page in tx.scalars(select(Page).where(Page.crawl_id == crawl_id, Page.id.in_(chunk))):
            found[page.id] = page
    return found


def listed(tx: Tx, crawl_id: str, *, depth: int | None, state: str | None) -> Sequence[Page]:
    """Pages in frontier order, filtered."""
    query = select(Page).where(Page.crawl_id == crawl_id).order_by(Page.position)
    if depth is not None:
        query = query.where(Page.depth == depth)
    if state is not None:
        query = query.where(Page.state == state)
    return tx.scalars(query).all()


def last_troubles(tx: Tx, crawl_id: str, limit: int) -> Sequence[Page]:
    """The newest failed pages; skipped ones after them."""
    found: list[Page] = []
    for state in ("failed", "skipped"):  # one after the other, each is a walk along the index
        query = (
            select(Page)
            .where(Page.crawl_id == crawl_id, Page.state == state)
            .order_by(Page.settled_at.desc(), Page.position.desc())
            .limit(limit - len(found))
        )
        if len(found) < limit:
            found += tx.scalars(query)
    return found


def locations(tx: Tx, crawl_id: str) -> Iterator[str]:
    """Where everything lies that pages of the crawl left, as it was reported."""
    query = select(Page.artifacts, Page.manifest_location, Page.links_location).where(Page.crawl_id == crawl_id)
    for artifacts, manifest, links in tx.execute(query):
        named = [*(artifacts or {}).values(), manifest, links]
        yield from (place for place in named if isinstance(place, str))


def visits(tx: Tx, page_ids: Iterable[str]) -> dict[str, list[Visit]]:
    """Visits of each page, oldest first."""
    found: dict[str, list[Visit]] = {}
    for chunk in _chunks(page_ids):
        query = select(Visit).where(Visit.page_id.in_(chunk)).order_by(Visit.attempt, Visit.try_number)
        for visit in tx.scalars(query):
            found.setdefault(visit.page_id, []).append(visit)
    return found


def add_visits(tx: Tx, rows: Sequence[dict[str, Any]]) -> None:
    """Keep every try that is not known yet."""
    dialect.insert_new(tx, Visit, rows, ["page_id", "attempt", "try_number"])


def settle(page: Page, result: PageResult, settled: Settled, *, at: datetime) -> None:
    """Set a page's outcome, and where the report said that things lie; written when the transaction ends."""
    page.state, page.reason, page.failure = settled.state, settled.reason, settled.failure
    page.http_status, page.final_url = settled.http_status, settled.final_url
    page.artifacts = dict(settled.artifacts)
    page.task_id, page.links_location = result.task_id, settled.links_location
    page.manifest_location, page.manifest_error = result.manifest_location, result.manifest_error
    page.settled_at = at
    tx = object_session(page)
    assert tx is not None  # a page that was read in a transaction which is over cannot be changed
    told = PageSettled(
        at=at,
        page_id=page.id,
        url=page.url,
        host=page.host,
        depth=page.depth,
        state=settled.state,
        reason=settled.reason,
        http_status=settled.http_status,
        final_url=settled.final_url,
    )
    events.tell(tx, page.crawl_id, told)


def keep_links(tx: Tx, by_page: Mapping[str, list[str]]) -> None:
    """What captured pages link to, by page id, until their level closes."""
    rows = [{"page_id": page_id, "links": links} for page_id, links in by_page.items()]
    dialect.upsert(tx, PageLinks, rows, ["page_id"], ["links"])


@contextmanager
def links_of_level(tx: Tx, crawl_id: str, depth: int) -> Iterator[Iterator[list[str]]]:
    """Links of the level's captured pages, pages in frontier order, read a few at a time, as far as they are wanted."""
    query = (
        select(PageLinks.links)
        .join(Page, Page.id == PageLinks.page_id)
        .where(Page.crawl_id == crawl_id, Page.depth == depth, Page.state == "captured")
        .order_by(Page.position)
    )
    with tx.scalars(query.execution_options(yield_per=50)) as rows:
        yield iter(rows)


def drop_links(tx: Tx, crawl_id: str, depth: int) -> None:
    """The level is closed: its links have become the frontier, and the files still have them."""
    pages = select(Page.id).where(Page.crawl_id == crawl_id, Page.depth == depth)
    tx.execute(delete(PageLinks).where(PageLinks.page_id.in_(pages)))


def touch_hosts(tx: Tx, hosts: Iterable[str], *, at: datetime) -> None:
    """Somebody was at these hosts just now."""
    # In order: two transactions that touch the same hosts must not wait for each other.
    rows = [{"authority": host, "last_touched_at": at} for host in sorted(set(hosts))]
    dialect.upsert(tx, Host, rows, ["authority"], ["last_touched_at"])


def last_touched(tx: Tx, hosts: Iterable[str]) -> dict[str, datetime]:
    """When each host was last touched, where it ever was."""
    found: dict[str, datetime] = {}
    for chunk in _chunks(dict.fromkeys(hosts)):
        query = select(Host.authority, Host.last_touched_at).where(Host.authority.in_(chunk))
        for authority, at in tx.execute(query):
            if at is not None:  # a host may have a lease and no touch yet
                found[authority] = at
    return found
