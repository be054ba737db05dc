"""What was found on watched pages, and how the queue fares."""

from collections.abc import Sequence

from comity.contract.watch import OLD_SYSTEM, OURS, Counts, LaneCounts
from comity.contract.watch_found import History, PageContent, PageEventDetail, PageEvents
from ledger import watch_metrics
from ledger.artifacts.place import Away, NotRead
from ledger.clock import Clock
from ledger.errors import BadInput, ContentsAway, Unknown
from ledger.rules.watch_pages import EVENT_PREFIX, number_of, page_id
from ledger.rules.watch_tally import LaneFigures
from ledger.services.watch_contents import WatchContents
from ledger.services.watch_views import event_detail, event_view, visit_view
from ledger.store import watch_pages, watch_reports, watch_tally
from ledger.store.database import Store, Tx

Organizations = Sequence[str] | None
VISIT_PREFIX = "v"


class WatchLookService:
    """Reads. `organizations`: whose rows are in view, None everybody's."""

    def __init__(self, store: Store, contents: WatchContents, clock: Clock) -> None:
        self._store = store
        self._contents = contents
        self._clock = clock

    def history(self, name: str, organizations: Organizations, *, before: str | None, limit: int) -> History:
        """Visits of a page, newest first. Raises Unknown, BadInput."""
        begin = _before(before, VISIT_PREFIX)
        with self._store.reading() as tx:
            rows = watch_reports.history(tx, _page(tx, name, organizations), before=begin, limit=limit)
        following = f"{VISIT_PREFIX}{rows[-1].id}" if len(rows) == limit else None
        return History(visits=[visit_view(row) for row in rows], next=following)

    def events(self, name: str, organizations: Organizations, *, before: str | None, limit: int) -> PageEvents:
        """What is told of a page, newest first. Raises Unknown, BadInput."""
        begin = _before(before, EVENT_PREFIX)
        with self._store.reading() as tx:
            rows = watch_reports.events(tx, _page(tx, name, organizations), before=begin, limit=limit)
        following = f"{EVENT_PREFIX}{rows[-1].id}" if len(rows) == limit else None
        return PageEvents(events=[event_view(row) for row in rows], next=following)

    def event(self, name: str, event_id: str, organizations: Organizations) -> PageEventDetail:
        """An event with its diff. Raises Unknown."""
        with self._store.reading() as tx:
            number = number_of(event_id, EVENT_PREFIX)
            page = _page(tx, name, organizations)
            row = None if number is None else watch_reports.event(tx, page, number)
            if row is None:
                raise Unknown("event", event_id)
            return event_detail(row)

    def content(self, name: str, organizations: Organizations) -> PageContent:
        """What the page is compared with. Raises Unknown where there is none, ContentsAway."""
        with self._store.reading() as tx:
            number = _page(tx, name, organizations)
            state = watch_reports.states(tx, [number]).get(number)
        if state is None or state.content_location is None or state.content_sha256 is None or state.content_at is None:
            raise Unknown("content of page", name)
        try:
            found = self._contents.read(state.content_location)
        except Away as error:
            raise ContentsAway(str(error)) from None
        except NotRead:
            raise Unknown("content of page", name) from None
        return PageContent(
            page_id=page_id(number),
            sha256=state.content_sha256,
            text=found.text,
            fields=found.fields,
            seen_at=state.content_at,
        )

    def counts(self, organizations: Organizations) -> Counts:
        """Processing | Delayed | Queued, in the time of a few rows."""
        with self._store.reading() as tx:
            lanes = watch_tally.lane_figures(tx, organizations, now=self._clock(), lanes=(OURS, OLD_SYSTEM))
        return Counts(
            visits=_lane(lanes[OURS]),
            rehearsal=_lane(lanes[OLD_SYSTEM]),
            paused=lanes[OURS].paused + lanes[OLD_SYSTEM].paused,
        )

    def figures(self) -> watch_metrics.Figures:
        """What `/metrics` shows."""
        now = self._clock()
        with self._store.reading() as tx:
            return watch_metrics.Figures(
                lanes=watch_tally.lane_figures(tx, None, now=now, lanes=(OURS, OLD_SYSTEM)),
                ready=watch_tally.hosts_ready(tx, OURS, now=now),
                resting=watch_tally.hosts_resting(tx, OURS, now=now),
            )


def _lane(found: LaneFigures) -> LaneCounts:
    return LaneCounts(
        processing=found.processing,
        delayed=found.delayed,
        queued=found.queued,
        oldest_late_ms=found.oldest_late_ms,
    )


def _page(tx: Tx, name: str, organizations: Organizations) -> int:
    number = number_of(name)
    if number is None or watch_pages.get(tx, number, organizations) is None:
        raise Unknown("page", name)
    return number


def _before(text: str | None, prefix: str) -> int | None:
    if text is None:
        return None
    number = number_of(text, prefix)
    if number is None:
        raise BadInput.at("before", "is none of these; give what `next` said")
    return number
