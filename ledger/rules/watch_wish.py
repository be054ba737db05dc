"""Which events a channel wants to tell."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Wish:
    """Kinds of events, since when, of one page or of a list's pages; of all where neither is named."""

    kinds: frozenset[str]
    since: datetime
    page: int | None = None
    list_id: str | None = None


def wants(wish: Wish, kind: str, page: int, at: datetime, lists: Set[tuple[str, int]]) -> bool:
    """Whether an event of `page` is to be told. `lists`: (list, page) of the lists that hold it."""
    if kind not in wish.kinds or at < wish.since:
        return False
    if wish.page is not None:
        return wish.page == page
    return wish.list_id is None or (wish.list_id, page) in lists
