"""A look at a page before it is watched: what a visit would find, and what of it would not count."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from comity.contract.watch_preview import (
    MAX_PREVIEW_CHARACTERS,
    MAX_PREVIEW_FIELDS_BYTES,
    MAX_PREVIEW_LINES,
    PagePreview,
    PreviewPage,
    PreviewProblem,
)
from comity.contract.watch_queue import Job, JobState, SiteVisit
from comity.polite.client import Fetched, FetchFailure
from comity.polite.rules.robots import authority_of
from comity.watch.asking import Asking, Forbidden, Outside
from comity.watch.errors import PageDropped
from comity.watch.ports import Clock
from comity.watch.reading import PageReading, TooCostly
from comity.watch.rules.checking import check_watch_settings
from comity.watch.rules.choosing import Choice, choice
from comity.watch.rules.judging import Version, hidden_lines, learn
from comity.watch.rules.reading import Answer, PageRead
from comity.watch.rules.text import NothingThere, Reader
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


async def preview(
    order: PreviewPage,
    turn: Turn,
    outside: Outside,
    reading: PageReading,
    *,
    reader: Reader | None = None,
    visits: VisitSettings = PREVIEW_VISITS,
) -> PagePreview:
    """What a visit would find; a problem is in the answer. Raises BadWatchSettings before anything is asked.

    The page's host is the caller's for the time, by `turn`. `reader`: the extractor, where its fields are watched.
    """
    settings = check_watch_settings(order.settings)
    hold = _Hold(_job(order, turn))
    asking = Asking(outside, hold, visits, PageTrace())
    found: dict[str, Any] = {"url": order.url}
    try:
        await asking.robots()
        found["crawl_delay_ms"] = asking.crawl_delay_ms
        look = _Look(outside, reading, choice(settings), reader)
        return await _looked(order, look, asking=asking, found=found)
    except Forbidden as reason:
        return _problem(found, "E_ROBOTS", str(reason))
    except PageDropped as reason:
        return _problem(found, "E_STOPPED", str(reason))
    finally:
        await asking.close()


@dataclass(slots=True)
class _Look:
    """How the page is read: the second time as the first."""

    outside: Outside
    reading: PageReading
    choice: Choice
    reader: Reader | None

    async def read(self, got: Fetched) -> tuple[PageRead, Version]:
        answer = Answer(got.body, got.headers.get("Content-Type"), got.final_url)
        page, settings = await self.reading.read_chosen(answer, self.choice, self.reader)
        self.choice = Choice(settings)
        return page, Version(page.lines, self.outside.clock.now(), page.truncated)


async def _looked(order: PreviewPage, look: _Look, *, asking: Asking, found: dict[str, Any]) -> PagePreview:
    got = await asking.get({})
    if isinstance(got, FetchFailure):
        return _problem(found, got.code, got.message)
    found |= {"final_url": got.final_url, "http_status": got.status}
    if not 200 <= got.status < 300:
        return _problem(found, "E_HTTP_STATUS", f"HTTP {got.status}")
    try:
        page, version = await look.read(got)
    except NothingThere as reason:
        return _problem(found, "E_CONTENT_MISSING", str(reason))
    except TooCostly as reason:
        return _problem(found, "E_CONTENT_COSTLY", str(reason))
    if order.again and asking.gap_ms <= PREVIEW_VISITS.max_wait_ms:
        found |= await _again(look, version, asking)
    return PagePreview(
        **found,
        kind=page.kind,
        title=page.title,
        encoding=page.encoding,
        undecodable=page.replaced,
        whole_instead=look.choice.settings.instead_of_main,
        fields=_shown_fields(page),
        lines=len(page.lines),
        text=version.text[:MAX_PREVIEW_CHARACTERS],
        truncated=page.truncated or got.truncated,
    )


async def _again(look: _Look, version: Version, asking: Asking) -> dict[str, Any]:
    """What a second fetch tells; nothing where it tells nothing."""
    again = await asking.get({}, not_before_ms=1_000)
    if not isinstance(again, Fetched) or not 200 <= again.status < 300:
        return {}
    try:
        _, later = await look.read(again)
    except (NothingThere, TooCostly):
        return {}
    hidden = hidden_lines(later, learn(version, later, look.choice.settings))
    return {"fetched_twice": True, "volatile_lines": hidden[:MAX_PREVIEW_LINES]}


def _shown_fields(page: PageRead) -> dict[str, Any] | None:
    """As plain JSON data, where they are not too many to be shown."""
    if page.fields is None:
        return None
    text = json.dumps(page.fields)
    shown: dict[str, Any] | None = json.loads(text) if len(text) <= MAX_PREVIEW_FIELDS_BYTES else None
    return shown


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
