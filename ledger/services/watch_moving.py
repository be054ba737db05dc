"""`/api/watch/moving` and `/api/watch/updates`: pages come over from another system, a few at first, and may go back.

What is kept in any case: a page is visited by one system, and the newest time of a change wins, whoever found it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.ledger import ErrorField
from comity.contract.watch import MAX_CONTENT_BYTES, OLD_SYSTEM, OURS, AddPages, NewPage
from comity.contract.watch_moving import (
    ImportedPage,
    ImportPages,
    MovingState,
    PagesImported,
    PagesSwitched,
    SwitchPages,
    TakeUpdates,
    UpdatesTaken,
    UpdateTime,
    UpdateTimes,
)
from comity.contract.watch_queue import Content
from comity.watch.rules.imported import BASIS
from comity.watch.rules.volatile import Volatile
from ledger import log
from ledger.artifacts.place import NotRead
from ledger.clock import Clock
from ledger.errors import BadInput, ContentsAway
from ledger.principal import Principal
from ledger.rules.scope import authority, frontier_url
from ledger.rules.watch_moving import is_in_part
from ledger.rules.watch_pages import EVENT_PREFIX, number_of, page_id, url_digest
from ledger.rules.watch_tally import TallyChange
from ledger.services.watch_contents import WatchContents, Written
from ledger.services.watch_pages import WatchPageService
from ledger.services.watch_report import NOTHING_YET
from ledger.services.watch_terms import WatchTerms
from ledger.store import hosts, watch_lists, watch_moving, watch_pages, watch_queue, watch_reports, watch_tally
from ledger.store.database import Store, Tx
from ledger.store.models_watch import WatchPage, WatchState
from ledger.store.types import EPOCH, from_millis, to_millis

AT_ONCE = 500
LOOKED_AT_ONCE = 5_000
"""In one call: well under a second."""
SETTLING = timedelta(seconds=60)
"""Transactions commit in another order than they took their numbers in; none takes this long."""


_IMPORTED = Volatile(basis=BASIS).as_lines()


@dataclass
class _Kept:
    page: int
    content: Content
    updated_at: datetime | None
    written: Written


class MovingService:
    """Takes pages over, and gives them back."""

    def __init__(
        self, store: Store, pages: WatchPageService, contents: WatchContents, clock: Clock, terms: WatchTerms
    ) -> None:
        self._store = store
        self._pages = pages
        self._contents = contents
        self._clock = clock
        self._terms = terms

    def take_in(self, order: ImportPages, *, by: Principal) -> PagesImported:
        """Pages of the other system. Raises BadInput, ContentsAway."""
        self._check_times(order)
        new = [
            NewPage(url=one.url, title=one.title, labels=one.labels, lists=one.lists, settings=one.settings)
            for one in order.pages
        ]
        added = self._pages.add(AddPages(pages=new, version=order.version), by.home)
        numbers = [number_of(name) or 0 for name in added.page_ids]
        kept = self._write(numbers, order.pages)
        dropped: list[Written] = []
        try:
            with self._store.writing() as tx:
                pages = watch_moving.locked(tx, set(numbers))
                known = watch_reports.states(tx, [one.page for one in kept])
                wanted: list[_Kept] = []
                for one in kept:
                    if _is_wanted(pages.get(one.page), known.get(one.page), one.content.sha256, one.updated_at):
                        wanted.append(one)
                    else:
                        dropped.append(one.written)
                gone = self._keep(tx, wanted, known)
                newer = _newer(tx, _newest(zip(numbers, (one.updated_at for one in order.pages), strict=True)))
        except BaseException:
            for one in kept:
                self._contents.take_back(one.written)
            raise
        for written in dropped:
            self._contents.take_back(written)
        for location in gone:
            self._contents.remove(location)
        log.event("watch_pages_imported", pages=len(numbers), added=added.added, by=by.subject)
        return PagesImported(page_ids=added.page_ids, added=added.added, newer=newer, contents=len(kept) - len(dropped))

    def switch(self, order: SwitchPages, *, by: Principal) -> PagesSwitched:
        """The next pages of those that were chosen. Raises BadInput for a list that is none."""
        begin = (number_of(order.from_page) or 1) - 1 if order.from_page is not None else 0
        after = max(begin, number_of(order.after) or 0) if order.after is not None else begin
        until = None if order.to_page is None else number_of(order.to_page)
        looked = switched = 0
        while looked < LOOKED_AT_ONCE:
            with self._store.writing() as tx:
                if order.list_id is not None and watch_lists.get(tx, order.list_id, by.sees) is None:
                    raise BadInput.at("listId", f"there is no list {order.list_id}")
                found = watch_moving.chosen(tx, by.sees, after=after, until=until, list_id=order.list_id, limit=AT_ONCE)
                part = [page for page in found if is_in_part(page.id, order.percent)]
                moving = [page for page in part if page.version != order.version]
                self._move(tx, moving, order.version)
            looked += len(part)
            switched += len(moving)
            if len(found) < AT_ONCE:
                after = 0
                break
            after = found[-1].id
        if switched:
            log.event("watch_pages_switched", version=order.version, pages=switched, by=by.subject)
        return PagesSwitched(looked=looked, switched=switched, next=page_id(after) if after else None)

    def state(self, *, by: Principal) -> MovingState:
        """How many pages each system visits."""
        with self._store.reading() as tx:
            lanes = watch_tally.lane_figures(tx, by.sees, now=self._clock(), lanes=(OLD_SYSTEM, OURS))
        counts = {lane: one.processing + one.delayed + one.queued + one.paused for lane, one in lanes.items()}
        unpaused = sum(counts.values()) - sum(one.paused for one in lanes.values())
        return MovingState(
            old_system=counts[OLD_SYSTEM],
            ours=counts[OURS],
            new_pages_version=self._terms.new_pages_version,
            visits_per_day=unpaused if self._terms.visits_a_day is None else round(self._terms.visits_a_day),
        )

    def updates(self, *, after: str | None, limit: int, by: Principal) -> UpdateTimes:
        """Changes that we found. Raises BadInput."""
        begin = 0
        if after is not None:
            number = number_of(after, EVENT_PREFIX)
            if number is None:
                raise BadInput.at("after", "give back what the answer before had as `next`")
            begin = number
        with self._store.reading() as tx:
            rows = watch_moving.changes(tx, by.sees, after=begin, limit=limit)
            upper = rows[-1][0].id if rows else begin
            settled = watch_moving.newest_before(tx, self._clock() - SETTLING, upper=upper)
        found = [
            UpdateTime(page_id=page_id(event.page_id), url=event.url, updated_at=event.at, version=version)
            for event, version in rows
        ]
        following = max(begin, settled)
        return UpdateTimes(updates=found, next=f"{EVENT_PREFIX}{following}")

    def take_updates(self, order: TakeUpdates, *, by: Principal) -> UpdatesTaken:
        """Changes that the other system found: the newest time of each page wins. Raises BadInput."""
        now = self._clock()
        for place, one in enumerate(order.updates):
            if one.updated_at > now + SETTLING:
                raise BadInput.at(f"updates.{place}.updatedAt", "lies in the future; look at that system's clock")
        with self._store.writing() as tx:
            digests = [self._digest(one.url, by) for one in order.updates]
            known = watch_pages.by_digest(tx, [digest for digest in digests if digest is not None])
            numbers = [
                known.get(digest or b"") if one.page_id is None else number_of(one.page_id)
                for one, digest in zip(order.updates, digests, strict=True)
            ]
            ours = watch_pages.those(tx, {number for number in numbers if number is not None}, by.sees)
            wanted = [
                (number, one.updated_at)
                for number, one in zip(numbers, order.updates, strict=True)
                if number is not None and number in ours
            ]
            newer = _newer(tx, _newest(wanted))
        unknown = [place for place, number in enumerate(numbers) if number is None or number not in ours]
        return UpdatesTaken(newer=newer, older=len(order.updates) - len(unknown) - newer, unknown=unknown)

    def _digest(self, url: str | None, by: Principal) -> bytes | None:
        if url is None:
            return None
        try:
            return url_digest(by.home, frontier_url(url))
        except ValueError:
            return None

    def _check_times(self, order: ImportPages) -> None:
        late = self._clock() + SETTLING
        problems = [
            ErrorField(field=f"pages.{place}.updatedAt", message="lies in the future; look at that system's clock")
            for place, one in enumerate(order.pages)
            if one.updated_at is not None and one.updated_at > late
        ]
        if problems:
            raise BadInput(problems)

    def _write(self, numbers: Sequence[int], pages: Sequence[ImportedPage]) -> list[_Kept]:
        """The other system's texts, in the artifact store, where they are wanted."""
        with self._store.reading() as tx:
            known = watch_reports.states(tx, numbers)
            rows = watch_moving.these(tx, numbers)
        kept: dict[int, _Kept] = {}
        try:
            for number, page in zip(numbers, pages, strict=True):
                if page.content is None or number in kept:
                    continue
                encoded = page.content.encode("utf-8", "replace")[:MAX_CONTENT_BYTES]
                text = encoded.decode("utf-8", "ignore")
                content = Content(text=text, sha256=hashlib.sha256(text.encode()).hexdigest())
                if _is_wanted(rows.get(number), known.get(number), content.sha256, page.updated_at):
                    written = self._contents.write(number, content)
                    kept[number] = _Kept(number, content, page.updated_at, written)
        except NotRead as error:
            for one in kept.values():
                self._contents.take_back(one.written)
            raise ContentsAway(str(error)) from None
        return list(kept.values())

    def _keep(self, tx: Tx, texts: Sequence[_Kept], known: Mapping[int, WatchState]) -> list[str]:
        """They are what our next visits are compared with; returns where contents lie that nothing names any more."""
        now = self._clock()
        watch_reports.keep_states(tx, [_state(one, known.get(one.page), now) for one in texts])
        watch_reports.add_contents(tx, [_content_row(one, now) for one in texts])
        gone: list[str] = []
        for one in texts:
            if one.page in known:
                gone += watch_reports.forget_old_contents(tx, one.page, self._terms.contents_kept)
        return gone

    def _move(self, tx: Tx, pages: Sequence[WatchPage], version: int) -> None:
        """Out of one lane, into the other: due one after the other, at the pace of all visits."""
        if not pages:
            return
        now = self._clock()
        tally = TallyChange()
        dues = watch_queue.dues(tx, [page.id for page in pages])
        touched = {due.host_id for due in dues.values()}
        waiting: list[WatchPage] = []
        for page in pages:
            due = dues.get(page.id)
            in_flight = watch_queue.orphan(tx, page.id)
            if page.paused:
                tally.pauses(page.version, page.organization, -1)
                tally.pauses(version, page.organization)
            if due is not None:
                tally.leaves(page.version, page.organization, due.due_at, in_flight=in_flight)
                waiting.append(page)
        watch_queue.leave(tx, [page.id for page in waiting])
        watch_moving.set_version(tx, [page.id for page in pages], version)
        names = {page.id: authority(page.url) for page in waiting}
        hosts.know(tx, sorted(set(names.values())))
        host_ids = watch_queue.host_ids(tx, names.values(), version)
        rows = []
        for place, page in enumerate(waiting):
            due_at = max(dues[page.id].due_at, now + timedelta(seconds=place / self._terms.visits_a_second))
            rows.append((page.id, host_ids[names[page.id]], due_at))
            tally.joins(version, page.organization, due_at)
        watch_queue.join(tx, rows)
        touched.update(host_ids.values())
        watch_queue.lock_hosts(tx, touched)
        watch_queue.refresh(tx, touched)
        watch_tally.apply(tx, tally)


def _newest(times: Iterable[tuple[int, datetime | None]]) -> dict[int, datetime]:
    """The latest time of each page."""
    found: dict[int, datetime] = {}
    for number, at in times:
        if at is None:
            continue
        kept = from_millis(to_millis(at))  # as it will be stored, or the same time again would be a newer one
        if number not in found or found[number] < kept:
            found[number] = kept
    return found


def _content_row(one: _Kept, now: datetime) -> dict[str, object]:
    return {
        "page_id": one.page,
        "sha256": one.content.sha256,
        "location": one.written.location,
        "size_bytes": one.written.size_bytes,
        "at": now,
    }


def _state(one: _Kept, known: WatchState | None, now: datetime) -> dict[str, object]:
    """What is known of the page, with this text as its content."""
    row = dict(NOTHING_YET)
    if known is not None:
        row |= {name: getattr(known, name) for name in watch_reports.STATE_COLUMNS}
    return row | {
        "page_id": one.page,
        "etag": None,  # a 304 would speak of a content that we do not compare with any more
        "last_modified": None,
        "content_sha256": one.content.sha256,
        "content_location": one.written.location,
        "content_at": now,
        "volatile_lines": _IMPORTED,
    }


def _is_wanted(page: WatchPage | None, known: WatchState | None, sha256: str, updated_at: datetime | None) -> bool:
    """Whether a text of the other system is what we compare with: while the page is that system's, its newest one is,
    and so is the text of a change that it found after ours.

    What it told before a page came over would otherwise be told again after.
    """
    if page is None:
        return False
    if known is None or known.content_sha256 is None:
        return True
    if known.content_sha256 == sha256:
        return False
    if page.version == OLD_SYSTEM:
        return True
    if updated_at is None:
        return False
    theirs, ours = from_millis(to_millis(updated_at)), page.updated_at or EPOCH
    # Before our first visit all times are theirs, and this one may have come by itself before its text.
    return theirs > ours or (theirs == ours and known.volatile_lines == _IMPORTED)


def _newer(tx: Tx, times: dict[int, datetime]) -> int:
    """Write those that are later than what is known; returns how many."""
    count = 0
    ordered = sorted(times)
    for start in range(0, len(ordered), AT_ONCE):
        part = ordered[start : start + AT_ONCE]
        known = watch_moving.locked(tx, part)
        later = {
            number: times[number]
            for number in part
            if number in known and (known[number].updated_at or EPOCH) < times[number]
        }
        watch_lists.updated(tx, later)
        count += len(later)
    return count
