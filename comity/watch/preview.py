"""A look at a page before it is watched: what a visit would find, and what of it would not count."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from comity.contract.watch import ByExtractor, WatchSettings
from comity.contract.watch_preview import (
    MAX_PREVIEW_CHARACTERS,
    MAX_PREVIEW_LINES,
    PagePreview,
    PreviewPage,
    PreviewProblem,
)
from comity.contract.watch_queue import Job, JobState, SiteVisit
from comity.polite.client import Fetched, FetchFailure
from comity.polite.rules.robots import authority_of
from comity.watch.asking import Asking, Forbidden, Outside
from comity.watch.errors import BadWatchSettings, PageDropped
from comity.watch.ports import Clock
from comity.watch.reading import PageReading, TooCostly
from comity.watch.rules.judging import Version, hidden_lines, learn
from comity.watch.rules.reading import Answer, PageRead
from comity.watch.rules.settings import ContentSettings, check, content_settings
from comity.watch.rules.text import NothingThere, check_selector
from comity.watch.tracing import PageTrace
from comity.watch.visit_settings import VisitSettings

PREVIEW_VISITS = VisitSettings(connect_ms=4_000, first_byte_ms=8_000, total_ms=12_000, max_wait_ms=8_000)
"""Somebody sits there and waits."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to visit the page's host now: `wait_ms` from now on, `gap_ms` between two requests."""

    wait_ms: int
    gap_ms: int


@dataclass(slots=True)
class _Hold:
    job: Job
    began_s: float = field(default_factory=Clock.now_s)
    visits: list[SiteVisit] = field(default_factory=list)
    asked: bool = False

    def since_claim_ms(self) -> int:
        return int((Clock.now_s() - self.began_s) * 1000)

    async def outlast(self, needs_ms: int) -> None:
        """A preview is over long before its lease."""

    async def rest(self, until_ms: int) -> None:
        await asyncio.sleep(max(0.0, (until_ms + 1) / 1000 - (Clock.now_s() - self.began_s)))


def check_watch_settings(wire: WatchSettings) -> ContentSettings:
    """The settings of a page's content. Raises BadWatchSettings naming the field that cannot work."""
    settings = content_settings(wire)
    check(settings)
    if settings.part == "selector":
        check_selector(settings.selector)
    return settings


async def preview(
    order: PreviewPage,
    turn: Turn,
    outside: Outside,
    reading: PageReading,
    visits: VisitSettings = PREVIEW_VISITS,
) -> PagePreview:
    """What a visit would find; a problem is in the answer. Raises BadWatchSettings before anything is asked.

    The page's host is the caller's for the time, by `turn`.
    """
    settings = check_watch_settings(order.settings)
    if isinstance(order.settings.watched, ByExtractor):
        raise BadWatchSettings(
            "settings.watched", "pages are previewed without extractors; try main, whole or selector"
        )
    hold = _Hold(_job(order, turn))
    asking = Asking(outside, hold, visits, PageTrace())
    found: dict[str, Any] = {"url": order.url}
    try:
        await asking.robots()
        found["crawl_delay_ms"] = asking.crawl_delay_ms
        return await _looked(order, settings, asking=asking, outside=outside, reading=reading, found=found)
    except Forbidden as reason:
        return _problem(found, "E_ROBOTS", str(reason))
    except PageDropped as reason:
        return _problem(found, "E_STOPPED", str(reason))
    finally:
        await asking.close()


async def _looked(
    order: PreviewPage,
    settings: ContentSettings,
    *,
    asking: Asking,
    outside: Outside,
    reading: PageReading,
    found: dict[str, Any],
) -> PagePreview:
    got = await asking.get({})
    if isinstance(got, FetchFailure):
        return _problem(found, got.code, got.message)
    found |= {"final_url": got.final_url, "http_status": got.status}
    if not 200 <= got.status < 300:
        return _problem(found, "E_HTTP_STATUS", f"HTTP {got.status}")
    try:
        page, version = await _read(got, settings, outside, reading)
    except NothingThere as reason:
        return _problem(found, "E_CONTENT_MISSING", str(reason))
    except TooCostly as reason:
        return _problem(found, "E_CONTENT_COSTLY", str(reason))
    if order.again and asking.gap_ms <= PREVIEW_VISITS.max_wait_ms:
        again = await asking.get({}, not_before_ms=1_000)
        if isinstance(again, Fetched) and 200 <= again.status < 300:
            try:
                _, later = await _read(again, settings, outside, reading)
            except (NothingThere, TooCostly):
                pass
            else:
                hidden = hidden_lines(later, learn(version, later, settings))
                found |= {"fetched_twice": True, "volatile_lines": hidden[:MAX_PREVIEW_LINES]}
    return PagePreview(
        **found,
        kind=page.kind,
        title=page.title,
        encoding=page.encoding,
        undecodable=page.replaced,
        lines=len(page.lines),
        text=version.text[:MAX_PREVIEW_CHARACTERS],
        truncated=page.truncated or got.truncated,
    )


async def _read(
    got: Fetched, settings: ContentSettings, outside: Outside, reading: PageReading
) -> tuple[PageRead, Version]:
    answer = Answer(got.body, got.headers.get("Content-Type"), got.final_url)
    page = await reading.read(answer, settings)
    return page, Version(page.lines, outside.clock.now(), page.truncated)


def _problem(found: dict[str, Any], code: str, reason: str) -> PagePreview:
    return PagePreview(**found, problem=PreviewProblem(code=code, reason=reason))


def _job(order: PreviewPage, turn: Turn) -> Job:
    return Job(
        token="preview",  # noqa: S106 - names no secret
        page_id="preview",
        organization="",
        url=order.url,
        host=authority_of(order.url),
        wait_ms=turn.wait_ms,
        gap_ms=turn.gap_ms,
        expires_in_ms=60_000,
        late_ms=0,
        settings=order.settings,
        state=JobState(),
    )
