"""`/api/watch/feeds` and `/feeds/{name}`: what was found, for feed readers, which can show no token."""

import hashlib
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from comity.contract.watch_telling import FeedLink, FeedLinks, FeedMade, NewFeed
from comity.watch.feeds import Entry, Feed, atom, json_feed, rss
from comity.watch.feeds.atom import CONTENT_TYPE as ATOM
from comity.watch.feeds.json_feed import CONTENT_TYPE as JSON
from comity.watch.feeds.rss import CONTENT_TYPE as RSS
from comity.watch.rules.rendering import as_html, as_text
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, NoFeedHere, StoreBusy, Unknown
from ledger.ids import new_id
from ledger.principal import Principal
from ledger.rules.watch_diffs import unpacked
from ledger.rules.watch_pages import number_of, page_id
from ledger.store import watch_feeds, watch_lists, watch_pages
from ledger.store.database import Store, Tx
from ledger.store.models_telling import WatchFeed
from ledger.store.models_watch import WatchEvent

PATH = "/feeds"
ENTRIES = 50
SECRET_BYTES = 24
READ_NOTED_EVERY = timedelta(minutes=10)
TEXT_CHARACTERS = 4_000
NAMES = uuid.UUID("6e1cf6b2-0d0b-5e0d-9f3a-5d8b6f1b7c11")
"""Of everything that feeds name by a UUID (RFC 9562, 5.5)."""
FORMS: dict[str, tuple[Callable[[Feed], bytes], str]] = {
    "atom": (atom, ATOM),
    "rss": (rss, RSS),
    "json": (json_feed, JSON),
}
SAID = {"changed": "changed", "failing": "cannot be read", "recovered": "can be read again"}


@dataclass(frozen=True)
class FeedAnswer:
    """A feed as it is sent. `etag` is quoted already."""

    body: bytes
    content_type: str
    etag: str
    updated_at: datetime


class FeedService:
    """Gives addresses of feeds away, takes them back, and answers under them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, order: NewFeed, *, base_url: str, by: Principal) -> FeedMade:
        """Addresses that are told this once. Raises BadInput."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        with self._store.writing() as tx:
            row = WatchFeed(
                id=new_id("f"),
                digest=_digest(secret),
                organization=by.home,
                list_id=order.list_id,
                page_id=_page(tx, order, by),
                created_at=self._clock(),
                created_by=by.subject,
            )
            watch_feeds.add(tx, row)
            view = _view(row)
        log.event("watch_feed_created", feed=view.feed_id, by=by.subject)
        base = f"{base_url.rstrip('/')}{PATH}/{secret}"
        return FeedMade(feed=view, atom=f"{base}.atom", rss=f"{base}.rss", json_feed=f"{base}.json")

    def listed(self, *, by: Principal) -> FeedLinks:
        """The caller's feeds, without their addresses."""
        with self._store.reading() as tx:
            return FeedLinks(feeds=[_view(row) for row in watch_feeds.every(tx, by.sees)])

    def remove(self, ident: str, *, by: Principal) -> None:
        """Its addresses lead nowhere from now on. Raises Unknown."""
        with self._store.writing() as tx:
            row = watch_feeds.get(tx, ident, by.sees)
            if row is None:
                raise Unknown("feed", ident)
            watch_feeds.remove(tx, row)
        log.event("watch_feed_removed", feed=ident, by=by.subject)

    def read(self, name: str, *, base_url: str) -> FeedAnswer:
        """The feed of that address. Raises NoFeedHere."""
        secret, _, form = name.rpartition(".")
        if form not in FORMS:
            raise NoFeedHere
        with self._store.reading() as tx:
            row = watch_feeds.by_digest(tx, _digest(secret))
            if row is None:
                raise NoFeedHere
            title, description, home_url = _about(tx, row)
            events = watch_feeds.newest(tx, row, ENTRIES)
        self._note_read(row)
        updated_at = events[0].at if events else row.created_at
        feed = Feed(
            id=_urn(row.id),
            title=title,
            home_url=home_url,
            feed_url=f"{base_url.rstrip('/')}{PATH}/{name}",
            updated_at=updated_at,
            entries=tuple(_entry(row.id, event) for event in events),
            description=description,
        )
        write, content_type = FORMS[form]
        body = write(feed)
        return FeedAnswer(body, content_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"', updated_at)

    def _note_read(self, row: WatchFeed) -> None:
        now = self._clock()
        if row.last_read_at is not None and now - row.last_read_at < READ_NOTED_EVERY:
            return
        try:
            with self._store.writing() as tx:
                watch_feeds.was_read(tx, row.id, at=now)
        except StoreBusy:
            log.warning("feed_read_not_noted", feed=row.id)  # the reader matters more than the note


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _page(tx: Tx, order: NewFeed, by: Principal) -> int | None:
    if order.list_id is not None:
        if not watch_lists.known(tx, [order.list_id], by.home):
            raise BadInput.at("listId", f"there is no list {order.list_id}")
        return None
    number = number_of(order.page_id or "")
    if number is None or watch_pages.get(tx, number, [by.home]) is None:
        raise BadInput.at("pageId", f"there is no page {order.page_id}")
    return number


def _about(tx: Tx, row: WatchFeed) -> tuple[str, str, str]:
    """Title, description, and the page that it is about. A list has no page of its own on the web: empty."""
    if row.list_id is not None:
        found = watch_lists.get(tx, row.list_id, None)
        return ("", "", "") if found is None else (found.name, found.description, "")
    page = None if row.page_id is None else watch_pages.get(tx, row.page_id, None)
    return ("", "", "") if page is None else (page.title or page.url, page.url, page.url)


def _entry(feed: str, event: WatchEvent) -> Entry:
    title = event.title or event.url
    if event.kind != "changed":
        title = f"{title} {SAID.get(event.kind, event.kind)}"
    diff = None if event.diff is None else unpacked(event.diff)
    text = as_text(diff) if diff is not None else (event.problem or title)
    html = as_html(diff) if diff is not None else f"<p>{escape(event.problem or title)}</p>"
    if len(text) > TEXT_CHARACTERS:
        text = text[: TEXT_CHARACTERS - 1] + "…"
    return Entry(_urn(f"{feed}/{event.id}"), title, event.url, event.at, text, html)


def _urn(name: str) -> str:
    return uuid.uuid5(NAMES, name).urn


def _view(row: WatchFeed) -> FeedLink:
    return FeedLink(
        feed_id=row.id,
        list_id=row.list_id,
        page_id=None if row.page_id is None else page_id(row.page_id),
        organization=row.organization,
        created_at=row.created_at,
        created_by=row.created_by,
        last_read_at=row.last_read_at,
    )
