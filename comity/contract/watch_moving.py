"""Wire models of moving in from another system that watches the same pages, and of living beside it meanwhile.

`version` says who visits a page: 1 the other system, 2 this one; never both. Update times travel both ways, and the
newest wins.
"""

from typing import Annotated, Self

from pydantic import Field, StrictFloat, StrictInt, model_validator

from comity.contract.ledger import Labels
from comity.contract.watch import (
    MAX_CONTENT_BYTES,
    MAX_LISTS_OF_A_PAGE,
    ListId,
    PageId,
    Title,
    Version,
    WatchSettings,
)
from comity.contract.wire import Answer, Instant, Request

MAX_IMPORTED = 1_000
"""Pages in one call."""
MAX_UPDATES = 10_000


class ImportedPage(Request):
    """A page as the other system had it. `updatedAt` is when it found the last change, `content` the text that it kept.

    The first visit of ours compares its words with `content`, so that a change between two systems is told too.
    """

    url: str
    title: Title = ""
    labels: Labels = []
    lists: Annotated[list[ListId], Field(max_length=MAX_LISTS_OF_A_PAGE)] = []
    settings: WatchSettings = WatchSettings()
    updated_at: Instant | None = None
    content: Annotated[str, Field(max_length=MAX_CONTENT_BYTES)] | None = None


class ImportPages(Request):
    """`POST /api/watch/moving/pages`. One unreadable page adds none, and is named. Again: the same; newer times win.

    A page that is watched already keeps its settings, its version and what is known of it, but for the text: while the
    page is the other system's, or with a time that is later than ours, it is what our next visit is compared with.
    """

    pages: Annotated[list[ImportedPage], Field(min_length=1, max_length=MAX_IMPORTED)]
    version: Version = 1


class PagesImported(Answer):
    """In the order of the request. `newer`: times that were later than ours; `contents`: texts that were kept."""

    page_ids: list[str]
    added: int
    newer: int
    contents: int


class SwitchPages(Request):
    """`POST /api/watch/moving/switch`: who visits these pages from now on.

    `fromPage` and `toPage` bound their numbers, both included; `listId` takes a list's; `percent` takes that part of
    them, the same pages every time and all those of a smaller percentage. Nothing given: all pages. `after`: where the
    call before stopped.
    """

    version: Version
    from_page: PageId | None = None
    to_page: PageId | None = None
    list_id: ListId | None = None
    percent: Annotated[StrictFloat | StrictInt, Field(gt=0, le=100)] = 100
    after: PageId | None = None


class PagesSwitched(Answer):
    """`looked` pages were chosen, `switched` of them changed. With `next`, call again with it as `after`."""

    looked: int
    switched: int
    next: str | None = None


class MovingState(Answer):
    """`GET /api/watch/moving`: pages of each version, paused ones among them, and which one new pages get.

    `visitsPerDay`: how many visits a day has once all pages are ours: what the deployment says, or one for each page
    that is not paused.
    """

    old_system: int
    ours: int
    new_pages_version: int
    visits_per_day: int | None = None


class UpdateTime(Answer):
    """A change that a system found, by the page's URL or id."""

    page_id: str
    url: str
    updated_at: Instant
    version: int


class UpdateTimes(Answer):
    """`GET /api/watch/updates?after=`: changes that this system found, oldest first.

    `next` is to be given back as `after`; what was found in the last minute may come twice, and never not at all.
    """

    updates: list[UpdateTime]
    next: str


class SeenUpdate(Request):
    """A change that the other system found."""

    page_id: PageId | None = None
    url: str | None = None
    updated_at: Instant

    @model_validator(mode="after")
    def _one_page(self) -> Self:
        if (self.page_id is None) == (self.url is None):
            raise ValueError("give pageId or url, one of them")
        return self


class TakeUpdates(Request):
    """`POST /api/watch/updates`. They move pages up in their lists; whoever found them tells people of them."""

    updates: Annotated[list[SeenUpdate], Field(min_length=1, max_length=MAX_UPDATES)]


class UpdatesTaken(Answer):
    """`newer` were later than ours, `older` were not. `unknown` are places in the request whose page nobody watches."""

    newer: int
    older: int
    unknown: list[int]
