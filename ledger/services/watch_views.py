"""Rows of watching as callers see them."""

import json
import zlib

from comity.contract.watch import ListedPage, NextVisit, PageCounters, WatchList, WatchPage
from comity.contract.watch_found import Diff, PageEvent, PageEventDetail, VisitSeen
from comity.watch.rules.choosing import is_instead_of_main
from comity.watch.rules.volatile import Volatile
from ledger.rules.scope import authority
from ledger.rules.watch_pages import EVENT_PREFIX, page_id, settings_of
from ledger.store.models_watch import WatchEvent, WatchState, WatchVisit
from ledger.store.models_watch import WatchList as ListRow
from ledger.store.models_watch import WatchPage as Row
from ledger.store.watch_pages import PageRow

NOT_VISITED_YET = "it was not visited yet"


def page_view(row: PageRow) -> WatchPage:
    """A page with all that is known of it."""
    page, state = row.page, row.state
    following = None
    if row.due_at is not None and not row.in_flight:
        because = NOT_VISITED_YET if state is None or state.because is None else state.because
        following = NextVisit(due_at=row.due_at, because=because, rate=None if state is None else state.rate_a_day)
    return WatchPage(
        page_id=page_id(page.id),
        url=page.url,
        host=authority(page.url),
        title=_title(page, state),
        organization=page.organization,
        labels=row.labels,
        lists=row.lists,
        settings=settings_of(page.settings),
        paused=page.paused,
        version=1 if page.version == 1 else 2,
        added_at=page.added_at,
        updated_at=page.updated_at,
        last_visit_at=None if state is None else state.last_visit_at,
        last_success_at=None if state is None else state.last_success_at,
        last_outcome=None if state is None else state.last_outcome,
        last_problem=None if state is None else state.last_problem,
        http_status=None if state is None else state.http_status,
        final_url=None if state is None else state.final_url,
        content_sha256=None if state is None else state.content_sha256,
        whole_instead=_is_whole_instead(state),
        in_progress=row.in_flight,
        next=following,
        counters=_counters(state),
    )


def _is_whole_instead(state: WatchState | None) -> bool:
    """Told by what workers keep of the page, of which the basis comes first."""
    lines = [] if state is None else (state.volatile_lines or [])[:1]
    return is_instead_of_main(Volatile.of_lines(lines).basis)


def list_view(row: ListRow) -> WatchList:
    """A list without its pages."""
    return WatchList(
        list_id=row.id,
        name=row.name,
        description=row.description,
        organization=row.organization,
        pages=row.pages,
        created_at=row.created_at,
    )


def listed_view(page: Row, state: WatchState | None) -> ListedPage:
    """A page as its lists show it."""
    return ListedPage(
        page_id=page_id(page.id),
        url=page.url,
        title=_title(page, state),
        updated_at=page.updated_at,
        last_visit_at=None if state is None else state.last_visit_at,
        failures=0 if state is None else state.failures,
        paused=page.paused,
    )


def visit_view(row: WatchVisit) -> VisitSeen:
    """One visit."""
    return VisitSeen.model_validate(
        {
            "at": row.at,
            "outcome": row.outcome,
            "http_status": row.http_status,
            "code": row.code,
            "problem": row.problem,
            "worker": row.worker,
            "took_ms": row.took_ms,
            "late_ms": row.late_ms,
            "event_id": None if row.event_id is None else f"{EVENT_PREFIX}{row.event_id}",
        }
    )


def event_view(row: WatchEvent) -> PageEvent:
    """An event without its diff."""
    return PageEvent.model_validate(_event(row))


def event_detail(row: WatchEvent) -> PageEventDetail:
    """An event with its diff."""
    diff = None if row.diff is None else Diff.model_validate(json.loads(zlib.decompress(row.diff)))
    return PageEventDetail.model_validate({**_event(row), "diff": diff})


def _event(row: WatchEvent) -> dict[str, object]:
    return {
        "event_id": f"{EVENT_PREFIX}{row.id}",
        "kind": row.kind,
        "page_id": page_id(row.page_id),
        "url": row.url,
        "title": row.title,
        "at": row.at,
        "before_sha256": row.before_sha256,
        "after_sha256": row.after_sha256,
        "removed_lines": row.removed_lines,
        "added_lines": row.added_lines,
        "problem": row.problem,
    }


def _title(page: Row, state: WatchState | None) -> str:
    return page.title or (state.title if state is not None and state.title else "")


def _counters(state: WatchState | None) -> PageCounters:
    if state is None:
        return PageCounters(visits=0, changes=0, not_modified=0, failed_visits=0, failures=0)
    return PageCounters(
        visits=state.visits,
        changes=state.changes,
        not_modified=state.not_modified,
        failed_visits=state.failed_visits,
        failures=state.failures,
    )
