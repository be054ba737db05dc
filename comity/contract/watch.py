"""Wire models of watching: pages, how they are watched, the lists that hold them, and how fresh it all is.

What visits found is `comity.contract.watch_found`; the queue that workers live by, `comity.contract.watch_queue`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, model_validator

from comity.contract.ledger import Labels
from comity.contract.wire import Answer, Instant, Request

MINUTE_MS = 60_000
DAY_MS = 86_400_000
MIN_INTERVAL_MS = MINUTE_MS
MAX_INTERVAL_MS = 366 * DAY_MS

MAX_PAGES_AT_ONCE = 10_000
MAX_LISTS_OF_A_PAGE = 100
MAX_CONTENT_BYTES = 512 * 1024
"""Of the UTF-8 text of a page that is kept: its head. Workers cut to less by a setting of theirs."""
MAX_VOLATILE_LINES = 200
MAX_FIELDS_BYTES = MAX_CONTENT_BYTES

OLD_SYSTEM, OURS = 1, 2
"""Versions of a page: who visits it. Those of version 1 are in the queue too, for rehearsals alone."""

PageId = Annotated[str, Field(pattern=r"^w[1-9][0-9]{0,17}$")]
"""`w` and a number that grows with every page: ranges of pages can be named by it."""
ListId = Annotated[str, Field(pattern=r"^a[0-9a-f]{16}$")]
Title = Annotated[str, Field(max_length=1000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
IntervalMs = Annotated[StrictInt, Field(ge=MIN_INTERVAL_MS, le=MAX_INTERVAL_MS)]
Version = Literal[1, 2]

Outcome = Literal["first", "not-modified", "unchanged", "changed", "failed", "skipped"]
"""What came of a visit. `first`: there was nothing to compare with. `not-modified`: a 304, which is never a change.
`skipped`: the site was not asked, because robots.txt forbids it or asks for more rest than a visit may wait."""
EventKind = Literal["changed", "failing", "recovered"]
"""What is told. `failing`: as many failures in a row as the page's `tellAfterFailures`; told once, then `recovered`."""


# --- what is watched, and how


class MainContent(Request):
    """The main content of the page, without navigation and advertisements; the whole page where it has none when it is
    first read (`wholeInstead`), which stays so until `watched` or the URL is set anew."""

    kind: Literal["main"] = "main"


class WholePage(Request):
    """All text of the page."""

    kind: Literal["whole"] = "whole"


class BySelector(Request):
    """The text of the elements that a CSS selector matches, in document order."""

    kind: Literal["selector"] = "selector"
    selector: Annotated[str, Field(min_length=1, max_length=1000)]


class ByExtractor(Request):
    """What an extractor makes of the page: `fields` of its result, all of them where none is named."""

    kind: Literal["extractor"] = "extractor"
    id: Annotated[str, Field(min_length=1, max_length=64)]
    version: Annotated[StrictInt, Field(ge=1)]
    fields: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)] = []


Watched = Annotated[MainContent | WholePage | BySelector | ByExtractor, Field(discriminator="kind")]


class WatchSettings(Request):
    """How a page is watched. What is left out is the deployment's.

    `fixedIntervalMs` is the time from visit to visit and leaves nothing to be learnt; the bounds hold what is learnt.
    `ignore`: lines that one of these RE2 patterns matches do not count. `orderCounts`: whether lines that only change
    places are a change. `maskDigits`: numbers do not count. `proxy` names a proxy rule of the workers. `canary` names
    a set of overrides: settings of this model that the deployment lays over the page's own, and what else workers try
    out under that name.
    """

    watched: Watched = MainContent()
    fixed_interval_ms: IntervalMs | None = None
    min_interval_ms: IntervalMs | None = None
    max_interval_ms: IntervalMs | None = None
    ignore: Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=50)] = []
    order_counts: StrictBool = True
    mask_digits: StrictBool = False
    tell_after_failures: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    proxy: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")] | None = None
    canary: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")] | None = None

    @model_validator(mode="after")
    def _interval_or_bounds(self) -> Self:
        least, most = self.min_interval_ms, self.max_interval_ms
        if self.fixed_interval_ms is not None and (least is not None or most is not None):
            raise ValueError("fixedIntervalMs leaves nothing between bounds; give it, or minIntervalMs, maxIntervalMs")
        if least is not None and most is not None and least > most:
            raise ValueError("minIntervalMs is over maxIntervalMs")
        return self


# --- pages


class NewPage(Request):
    """A page to be watched. `title` is the name that people gave it; without one the page's own is shown."""

    url: str
    title: Title = ""
    labels: Labels = []
    lists: Annotated[list[ListId], Field(max_length=MAX_LISTS_OF_A_PAGE)] = []
    settings: WatchSettings = WatchSettings()
    paused: StrictBool = False


class AddPages(Request):
    """`POST /api/watch/pages`. One unreadable URL, setting or list adds none, and is named.

    A URL that the organisation watches already is not added again: its page joins the lists, gets the labels, and
    stays as it is otherwise. `version`: left out, the one that the deployment gives to new pages.
    """

    pages: Annotated[list[NewPage], Field(min_length=1, max_length=MAX_PAGES_AT_ONCE)]
    version: Version | None = None


class PagesAdded(Answer):
    """In the order of the request, a page that came twice named twice; `added` of them are new.

    `known` are those that were watched before, whose settings stay as they were.
    """

    page_ids: list[str]
    added: int
    known: list[str] = []


class ChangePage(Request):
    """`PATCH /api/watch/pages/{id}`. What is left out stays; what is given replaces the old value whole.

    A new URL, or a new `watched`, forgets what is known of the content: the next visit is a first one. Times stay.
    """

    url: str | None = None
    title: Title | None = None
    labels: Labels | None = None
    lists: Annotated[list[ListId], Field(max_length=MAX_LISTS_OF_A_PAGE)] | None = None
    settings: WatchSettings | None = None
    paused: StrictBool | None = None
    version: Version | None = None


class PageCounters(Answer):
    """Since the page was added. `failures` are those in a row, up to now."""

    visits: int
    changes: int
    not_modified: int
    failed_visits: int
    failures: int


class NextVisit(Answer):
    """When the page is due, and why then: a sentence for people. `rate` is what was learnt, changes a day."""

    due_at: Instant
    because: str
    rate: StrictFloat | None = None


class WatchPage(Answer):
    """A watched page. Times are by the ledger's clock; `updatedAt` is when it changed last, as lists sort it.

    `next` is absent while the page is paused or being visited. `wholeInstead`: main content is to be watched, and the
    page had none when it was first read, so the whole page is watched, from then on.
    """

    page_id: str
    url: str
    host: str
    title: str
    organization: str
    labels: list[str]
    lists: list[str]
    settings: WatchSettings
    paused: bool
    version: Version
    added_at: Instant
    updated_at: Instant | None = None
    last_visit_at: Instant | None = None
    last_success_at: Instant | None = None
    last_outcome: Outcome | None = None
    last_problem: str | None = None
    http_status: int | None = None
    final_url: str | None = None
    content_sha256: str | None = None
    whole_instead: bool = False
    in_progress: bool = False
    next: NextVisit | None = None
    counters: PageCounters


class WatchPageList(Answer):
    """`next`: give it back as `after` for the pages that follow; absent at the end."""

    pages: list[WatchPage]
    next: str | None = None


class VisitNow(Answer):
    """`POST /api/watch/pages/{id}/visit`: the page is the next of its host, and its host among the first.

    `inProgress`: it is being visited just now, and is not visited again for it.
    """

    page_id: str
    in_progress: bool
    due_at: Instant | None = None


# --- lists


class NewList(Request):
    """`POST /api/watch/lists`: an antenna, which shows its pages by the time of their last update."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2000)] = ""


class ChangeList(Request):
    """`PATCH /api/watch/lists/{id}`. `add` and `remove` are pages; one that is unknown changes nothing."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Field(max_length=2000)] | None = None
    add: Annotated[list[PageId], Field(max_length=MAX_PAGES_AT_ONCE)] = []
    remove: Annotated[list[PageId], Field(max_length=MAX_PAGES_AT_ONCE)] = []


class WatchList(Answer):
    list_id: str
    name: str
    description: str
    organization: str
    pages: int
    created_at: Instant


class WatchLists(Answer):
    lists: list[WatchList]


class ListedPage(Answer):
    """A page of a list. `updatedAt` is absent where no change was seen yet; those come last."""

    page_id: str
    url: str
    title: str
    updated_at: Instant | None = None
    last_visit_at: Instant | None = None
    failures: int
    paused: bool


class ListedPages(Answer):
    """`GET /api/watch/lists/{id}/pages`: the newest update first. `next`: give it back as `after`."""

    watch_list: WatchList
    pages: list[ListedPage]
    next: str | None = None


class Freshness(Answer):
    """`GET /api/watch/lists/{id}/freshness`: how old what a list shows is.

    `late` pages are due and were not visited; `never` were not visited yet; the last visit of `failing` ones failed.
    `visitedWithinHour` and `…Day` count pages, ages are those of their last visits that came to something.
    """

    pages: int
    paused: int
    never: int
    late: int
    failing: int
    visited_within_hour: int
    visited_within_day: int
    mean_age_ms: int | None = None
    oldest_age_ms: int | None = None
    oldest_late_ms: int | None = None


class LaneCounts(Answer):
    """Processing | Delayed | Queued. `delayed` were due in a minute that is over, and are not in progress."""

    processing: int
    delayed: int
    queued: int
    oldest_late_ms: int


class Counts(Answer):
    """`GET /api/watch/counts`: kept as pages move, so that asking costs nothing however many there are.

    `rehearsal` are the pages of version 1, which only rehearsals (`dryRun`) claim.
    """

    visits: LaneCounts
    rehearsal: LaneCounts
    paused: int
