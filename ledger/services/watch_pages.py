"""`/api/watch/pages`: which pages are watched, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.ledger import ErrorField
from comity.contract.watch import AddPages, ChangePage, NewPage, PagesAdded, VisitNow, WatchPage, WatchPageList
from ledger.clock import Clock
from ledger.errors import BadInput, Unknown, WrongState
from ledger.rules.scope import authority, frontier_url
from ledger.rules.watch_due import because_of_bounds, bounds_of, due_within
from ledger.rules.watch_pages import kept_settings, number_of, page_id, settings_of, url_digest
from ledger.rules.watch_tally import TallyChange
from ledger.services.watch_contents import WatchContents
from ledger.services.watch_settings import SettingsCheck
from ledger.services.watch_terms import WatchTerms
from ledger.services.watch_views import page_view
from ledger.store import hosts, watch_lists, watch_pages, watch_price, watch_queue, watch_reports, watch_tally
from ledger.store.database import Store, Tx
from ledger.store.models_watch import WatchPage as Row
from ledger.store.models_watch import WatchState

Organizations = Sequence[str] | None
MAX_LABELS = 20


@dataclass(frozen=True)
class _Wanted:
    url: str
    digest: bytes
    page: NewPage


class WatchPageService:
    """Adds, shows, changes and removes pages. `organizations`: whose rows are in view, None everybody's."""

    def __init__(self, store: Store, contents: WatchContents, clock: Clock, terms: WatchTerms) -> None:
        self._store = store
        self._contents = contents
        self._clock = clock
        self._terms = terms
        self._check = SettingsCheck(store)

    def add(self, order: AddPages, organization: str) -> PagesAdded:
        """Watch these pages. New ones are due one after the other, at the pace of all visits. Raises BadInput."""
        wanted = _wanted(order, organization, self._check)
        version = order.version or self._terms.new_pages_version
        with self._store.writing() as tx:
            _check_lists(tx, order, organization)
            now = self._clock()
            known = watch_pages.by_digest(tx, [one.digest for one in wanted])
            new = list({one.digest: one for one in wanted if one.digest not in known}.values())
            watch_pages.add(tx, [_row(one, organization, version, now) for one in new])
            numbers = watch_pages.by_digest(tx, [one.digest for one in wanted])
            self._enqueue(tx, [(numbers[one.digest], one) for one in new], organization, version, now)
            labels: dict[int, list[str]] = {}
            for one in wanted:
                labels.setdefault(numbers[one.digest], []).extend(one.page.labels)
            watch_pages.label(tx, labels)
            members = [(ident, numbers[one.digest]) for one in wanted for ident in one.page.lists]
            watch_lists.enter(tx, members)
        return PagesAdded(
            page_ids=[page_id(numbers[one.digest]) for one in wanted],
            added=len(new),
            known=[page_id(number) for number in dict.fromkeys(known.values())],
        )

    def several(
        self, organizations: Organizations, *, after: str | None, limit: int, label: str | None, url: str | None
    ) -> WatchPageList:
        """Pages in view, oldest first. Raises BadInput."""
        begin = 0
        if after is not None:
            begin = number_of(after) or -1
            if begin < 0:
                raise BadInput.at("after", "is no page; give what `next` said")
        with self._store.reading() as tx:
            digests = None
            if url is not None:
                digests = [url_digest(one, _as_watched("url", url)) for one in self._organizations(tx, organizations)]
            rows = watch_pages.several(tx, organizations, after=begin, limit=limit, label=label, digests=digests)
        following = page_id(rows[-1].page.id) if len(rows) == limit else None
        return WatchPageList(pages=[page_view(row) for row in rows], next=following)

    def one(self, name: str, organizations: Organizations) -> WatchPage:
        """One page. Raises Unknown."""
        with self._store.reading() as tx:
            row = _find(tx, name, organizations)
            return page_view(watch_pages.rows_of(tx, [row])[0])

    def change(self, name: str, order: ChangePage, organizations: Organizations) -> WatchPage:
        """Set what is given. Raises Unknown, BadInput; WrongState for a URL that is watched already."""
        if order.settings is not None and (problems := self._check.problems([("settings", order.settings)])):
            raise BadInput(problems)
        url = None if order.url is None else _as_watched("url", order.url)
        with self._store.writing() as tx:
            row = _find(tx, name, organizations, lock=True)
            now = self._clock()
            forgets = self._change_row(tx, row, order, url)
            if order.labels is not None:
                watch_pages.unlabel(tx, row.id)
                watch_pages.label(tx, {row.id: order.labels})
            if order.lists is not None:
                _check_known(tx, order.lists, row.organization, "lists")
                watch_lists.leave_all(tx, row.id)
                watch_lists.enter(tx, [(ident, row.id) for ident in order.lists])
            tx.flush()
            self._requeue(tx, row, order, moved=url is not None, forgets=forgets, now=now)
            if order.settings is not None:
                self._bring_forward(tx, row, now)
            dropped = watch_reports.forget_content(tx, row.id) if forgets else []
            view = page_view(watch_pages.rows_of(tx, [row])[0])
        for location in dropped:
            self._contents.remove(location)
        return view

    def remove(self, name: str, organizations: Organizations) -> None:
        """Forget the page and what was found. A visit in flight keeps its host to its end. Raises Unknown."""
        with self._store.writing() as tx:
            row = _find(tx, name, organizations, lock=True)
            contents = [content.location for content in watch_reports.contents_of(tx, row.id)]
            tally = TallyChange()
            _, host_ids = _out_of_the_queue(tx, row, tally)
            if row.paused:
                tally.pauses(row.version, row.organization, -1)
            watch_lists.leave_all(tx, row.id)
            watch_pages.remove(tx, row)
            watch_queue.refresh(tx, host_ids)
            watch_tally.apply(tx, tally)
        for location in contents:
            self._contents.remove(location)

    def visit_now(self, name: str, organizations: Organizations) -> VisitNow:
        """The page is the next of its host, and its host among the first. Raises Unknown, WrongState."""
        with self._store.writing() as tx:
            row = _find(tx, name, organizations)
            due = watch_queue.due_to_change(tx, row.id)
            if due is None:
                raise WrongState(f"page {name} is paused; set paused to false first")
            if watch_queue.pages_in_flight(tx, [row.id]):
                return VisitNow(page_id=name, in_progress=True)
            now = self._clock()
            first_at = watch_queue.first_due_at(tx, due.host_id)
            at = now if first_at is None or first_at > now else first_at - timedelta(milliseconds=1)
            if due.due_at == first_at:
                at = min(due.due_at, now)
            tally = TallyChange()
            tally.moves(row.version, row.organization, due.due_at, at)
            watch_queue.set_dues(tx, [(row.id, at, 0)])
            watch_queue.go_ahead(tx, due.host_id)
            watch_queue.refresh(tx, [due.host_id])
            watch_tally.apply(tx, tally)
        return VisitNow(page_id=name, in_progress=False, due_at=now)

    def _organizations(self, tx: Tx, organizations: Organizations) -> Sequence[str]:
        return watch_pages.organizations(tx) if organizations is None else organizations

    def _enqueue(self, tx: Tx, new: list[tuple[int, _Wanted]], organization: str, version: int, now: datetime) -> None:
        tally = TallyChange()
        waiting = [(number, one) for number, one in new if not one.page.paused]
        tally.pauses(version, organization, len(new) - len(waiting))
        authorities = [authority(one.url) for _, one in waiting]
        hosts.know(tx, authorities)
        host_ids = watch_queue.host_ids(tx, authorities, version)
        rows = []
        for place, (number, one) in enumerate(waiting):
            due_at = now + timedelta(seconds=place / self._terms.visits_a_second)
            rows.append((number, host_ids[authority(one.url)], due_at))
            tally.joins(version, organization, due_at)
        watch_queue.lock_hosts(tx, host_ids.values())
        watch_queue.join(tx, rows)
        watch_queue.refresh(tx, host_ids.values())
        watch_tally.apply(tx, tally)

    def _change_row(self, tx: Tx, row: Row, order: ChangePage, url: str | None) -> bool:
        """Whether what is known of the content does not hold any more."""
        before = kept_watched(row)
        if url is not None and url != row.url:
            digest = url_digest(row.organization, url)
            if watch_pages.by_digest(tx, [digest]):
                raise WrongState(f"{url} is watched already by {row.organization}; change that page instead")
            row.url, row.url_digest = url, digest
            forgets = True
        else:
            forgets = False
        if order.title is not None:
            row.title = order.title
        if order.settings is not None:
            row.settings = kept_settings(order.settings)
        return forgets or kept_watched(row) != before

    def _requeue(self, tx: Tx, row: Row, order: ChangePage, *, moved: bool, forgets: bool, now: datetime) -> None:
        """The page's place in the queue follows what it is now."""
        version = order.version or row.version
        paused = row.paused if order.paused is None else order.paused
        if not forgets and not moved and version == row.version and paused == row.paused:
            return
        tally = TallyChange()
        was_due_at, host_ids = _out_of_the_queue(tx, row, tally)
        due_at = now if was_due_at is None or forgets else was_due_at
        if row.paused:
            tally.pauses(row.version, row.organization, -1)
        row.version, row.paused = version, paused
        tx.flush()
        if paused:
            tally.pauses(version, row.organization)
        else:
            name = authority(row.url)
            hosts.know(tx, [name])
            host_id = watch_queue.host_ids(tx, [name], version)[name]
            host_ids.append(host_id)
            watch_queue.lock_hosts(tx, host_ids)
            watch_queue.join(tx, [(row.id, host_id, due_at)])
            tally.joins(version, row.organization, due_at)
        watch_queue.refresh(tx, host_ids)
        watch_tally.apply(tx, tally)

    def _bring_forward(self, tx: Tx, row: Row, now: datetime) -> None:
        """A page whose longest interval is shorter now does not wait for the old one to be over."""
        due, state = watch_queue.due_to_change(tx, row.id), tx.get(WatchState, row.id)
        if due is None or state is None:
            return
        bounds = bounds_of(settings_of(row.settings, self._terms.canaries), self._terms.bounds)
        at = due_within(due.due_at, bounds, last_outcome=state.last_outcome, last_visit_at=state.last_visit_at, now=now)
        if at == due.due_at or watch_queue.pages_in_flight(tx, [row.id]):
            return
        tally = TallyChange()
        tally.moves(row.version, row.organization, due.due_at, at)
        watch_queue.set_dues(tx, [(row.id, at, 0)])
        watch_price.explain(tx, [(row.id, because_of_bounds(bounds))])
        watch_queue.refresh(tx, [due.host_id])
        watch_tally.apply(tx, tally)


def kept_watched(row: Row) -> object:
    """What is watched of the page, as it is stored."""
    return (row.settings or {}).get("watched")


def _out_of_the_queue(tx: Tx, row: Row, tally: TallyChange) -> tuple[datetime | None, list[int]]:
    """The page leaves the queue; returns when it was due, and its host, for `refresh`.

    What is in flight is not about it any more.
    """
    in_flight = watch_queue.orphan(tx, row.id)
    due = watch_queue.due_to_change(tx, row.id)
    if due is None:
        return None, []
    tally.leaves(row.version, row.organization, due.due_at, in_flight=in_flight)
    watch_queue.leave(tx, [row.id])
    return due.due_at, [due.host_id]


def _find(tx: Tx, name: str, organizations: Organizations, *, lock: bool = False) -> Row:
    number = number_of(name)
    row = None if number is None else watch_pages.get(tx, number, organizations, lock=lock)
    if row is None:
        raise Unknown("page", name)
    return row


def _as_watched(field: str, url: str) -> str:
    try:
        return frontier_url(url)
    except ValueError as error:
        raise BadInput.at(field, str(error)) from None


def _wanted(order: AddPages, organization: str, check: SettingsCheck) -> list[_Wanted]:
    """The pages with their URLs as they are kept. Raises BadInput that names every one that cannot be watched."""
    found: list[_Wanted] = []
    problems: list[ErrorField] = []
    for place, page in enumerate(order.pages):
        try:
            url = frontier_url(page.url)
        except ValueError as error:
            problems.append(ErrorField(field=f"pages.{place}.url", message=str(error)))
            continue
        found.append(_Wanted(url, url_digest(organization, url), page))
    problems += check.problems((f"pages.{place}.settings", page.settings) for place, page in enumerate(order.pages))
    if problems:
        raise BadInput(sorted(problems, key=_place))
    return found


def _place(problem: ErrorField) -> int:
    return int(problem.field.split(".")[1])


def _check_lists(tx: Tx, order: AddPages, organization: str) -> None:
    """Raises BadInput that names the lists that the organisation has not."""
    wanted = {ident for page in order.pages for ident in page.lists}
    known = watch_lists.known(tx, wanted, organization) if wanted else set()
    problems = [
        ErrorField(field=f"pages.{place}.lists.{number}", message=f"no list {ident} of {organization}")
        for place, page in enumerate(order.pages)
        for number, ident in enumerate(page.lists)
        if ident not in known
    ]
    if problems:
        raise BadInput(problems)


def _check_known(tx: Tx, lists: Sequence[str], organization: str, field: str) -> None:
    known = watch_lists.known(tx, lists, organization)
    for place, ident in enumerate(lists):
        if ident not in known:
            raise BadInput.at(f"{field}.{place}", f"no list {ident} of {organization}")


def _row(one: _Wanted, organization: str, version: int, now: datetime) -> dict[str, object]:
    return {
        "organization": organization,
        "url": one.url,
        "url_digest": one.digest,
        "title": one.page.title,
        "settings": kept_settings(one.page.settings),
        "version": version,
        "paused": one.page.paused,
        "added_at": now,
        "updated_at": None,
    }
