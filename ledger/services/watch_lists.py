"""`/api/watch/lists`: antennas, whose pages show by the time of their last update."""

from collections.abc import Sequence
from datetime import datetime

from comity.contract.watch import ChangeList, Freshness, ListedPages, NewList, WatchList, WatchLists
from ledger.clock import Clock
from ledger.errors import BadInput, Unknown
from ledger.ids import new_id
from ledger.rules.watch_freshness import freshness
from ledger.rules.watch_pages import number_of, page_id
from ledger.services.watch_views import list_view, listed_view
from ledger.store import watch_lists, watch_pages
from ledger.store.database import Store, Tx
from ledger.store.models_watch import WatchList as Row
from ledger.store.types import from_millis, to_millis

Organizations = Sequence[str] | None


class WatchListService:
    """Makes, shows and changes lists. `organizations`: whose rows are in view, None everybody's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self, order: NewList, organization: str) -> WatchList:
        """A list without pages."""
        row = Row(
            id=new_id("a"),
            organization=organization,
            name=order.name,
            description=order.description,
            pages=0,
            created_at=self._clock(),
        )
        with self._store.writing() as tx:
            watch_lists.add(tx, row)
        return list_view(row)

    def every(self, organizations: Organizations) -> WatchLists:
        """The lists in view, oldest first."""
        with self._store.reading() as tx:
            return WatchLists(lists=[list_view(row) for row in watch_lists.every(tx, organizations)])

    def change(self, ident: str, order: ChangeList, organizations: Organizations) -> WatchList:
        """Set what is given, and let pages in and out. Raises Unknown; BadInput for a page that is not in view."""
        with self._store.writing() as tx:
            row = _find(tx, ident, organizations, lock=True)
            added = _numbers(tx, order.add, row.organization, "add")
            removed = _numbers(tx, order.remove, row.organization, "remove")
            if order.name is not None:
                row.name = order.name
            if order.description is not None:
                row.description = order.description
            tx.flush()
            if added:
                watch_lists.enter(tx, [(row.id, page) for page in added])
            if removed:
                watch_lists.drop(tx, row.id, removed)
            tx.refresh(row)
            return list_view(row)

    def remove(self, ident: str, organizations: Organizations) -> None:
        """The list goes, its pages stay. Raises Unknown."""
        with self._store.writing() as tx:
            watch_lists.remove(tx, _find(tx, ident, organizations, lock=True))

    def pages(self, ident: str, organizations: Organizations, *, after: str | None, limit: int) -> ListedPages:
        """Its pages, the newest update first. Raises Unknown, BadInput."""
        begin = None if after is None else _cursor(after)
        with self._store.reading() as tx:
            row = _find(tx, ident, organizations)
            found = watch_lists.listed(tx, row.id, after=begin, limit=limit)
        following = None
        if len(found) == limit:
            page, at, _ = found[-1]
            following = f"{to_millis(at)}.{page_id(page.id)}"
        return ListedPages(
            watch_list=list_view(row), pages=[listed_view(page, state) for page, _, state in found], next=following
        )

    def freshness(self, ident: str, organizations: Organizations) -> Freshness:
        """How old what the list shows is. Raises Unknown."""
        with self._store.reading() as tx:
            row = _find(tx, ident, organizations)
            return freshness(watch_lists.freshness_facts(tx, row.id), now=self._clock())


def _find(tx: Tx, ident: str, organizations: Organizations, *, lock: bool = False) -> Row:
    row = watch_lists.get(tx, ident, organizations, lock=lock)
    if row is None:
        raise Unknown("list", ident)
    return row


def _numbers(tx: Tx, names: Sequence[str], organization: str, field: str) -> list[int]:
    numbers = [number_of(name) or 0 for name in names]
    known = watch_pages.those(tx, numbers, [organization])
    for place, number in enumerate(numbers):
        if number not in known:
            raise BadInput.at(f"{field}.{place}", f"no page {names[place]} of {organization}")
    return numbers


def _cursor(after: str) -> tuple[datetime, int]:
    millis, _, page = after.partition(".")
    number = number_of(page)
    if number is None or not millis.isascii() or not millis.isdigit() or len(millis) > 14:
        raise BadInput.at("after", "is no place in a list; give what `next` said")
    return from_millis(int(millis)), number
