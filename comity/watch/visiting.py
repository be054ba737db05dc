"""One page's visit: is it allowed, what does it say, is that news. Whatever happens is an outcome for the queue."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from comity.contract.hosts import MAX_REST_MS
from comity.contract.ledger import MAX_HOST_DELAY_MS
from comity.contract.watch import ByExtractor
from comity.contract.watch_queue import Changed as ChangedDone
from comity.contract.watch_queue import Content, Failed, FirstContent, JobDone, NotModified, Skipped
from comity.contract.watch_queue import Unchanged as UnchangedDone
from comity.polite.client import Fetched, FetchFailure
from comity.polite.rules.retry_after import retry_after_ms
from comity.watch.asking import Asking, Forbidden, Outside
from comity.watch.errors import BadWatchSettings
from comity.watch.ports import Hold, Readers
from comity.watch.reading import PageReading, TooCostly
from comity.watch.rules.choosing import Choice, choice
from comity.watch.rules.judging import Changed, Version, judge, learn
from comity.watch.rules.reading import Answer, PageRead
from comity.watch.rules.settings import ContentSettings, content_settings
from comity.watch.rules.text import NothingThere, Reader
from comity.watch.rules.volatile import Volatile, learnt_from_visit
from comity.watch.tracing import PageTrace, Tracer, Value
from comity.watch.visit_settings import VisitSettings

MAX_REASON_CHARACTERS = 2_000
MAX_VALIDATOR_CHARACTERS = 1_000
BUSY = frozenset({429, 503})
"""The host asks to be left alone, for as long as its Retry-After says."""


@dataclass(frozen=True, slots=True)
class Visiting:
    """Visits pages. Never raises but PageDropped, QueueUnavailable and cancellation."""

    outside: Outside
    reading: PageReading
    readers: Readers
    settings: VisitSettings
    tracer: Tracer

    async def visit(self, hold: Hold) -> JobDone:
        """What came of the job."""
        settings = self.settings.overridden(hold.job.visit)
        trace = PageTrace()
        asking = Asking(self.outside, hold, settings, trace)
        done: JobDone | None = None
        try:
            done = await _Visit(self, hold, settings, trace, asking).run()
            return done
        finally:
            self.tracer.finish(
                trace,
                _facts(hold, done),
                failed=done is None or done.outcome == "failed",
                canary=hold.job.settings.canary is not None,
                waited_ms=asking.waited_ms,
            )


def _facts(hold: Hold, done: JobDone | None) -> dict[str, Value]:
    job = hold.job
    facts: dict[str, Value] = {
        "comity.page": job.page_id,
        "url.full": job.url,
        "server.address": job.host,
        "comity.outcome": done.outcome if done is not None else "dropped",
        "comity.late_ms": job.late_ms,
    }
    if job.settings.canary is not None:
        facts["comity.canary"] = job.settings.canary
    if isinstance(done, Failed):
        facts |= {"error.type": done.code, "comity.reason": done.reason}
    return facts


class _Visit:
    def __init__(self, of: Visiting, hold: Hold, settings: VisitSettings, trace: PageTrace, asking: Asking) -> None:
        self._of = of
        self._hold = hold
        self._settings = settings
        self._trace = trace
        self._asking = asking
        self._choice = Choice(ContentSettings())
        self._reader: Reader | None = None

    async def run(self) -> JobDone:
        try:
            await self._prepare()
            await self._asking.robots()
            return await self._page()
        except Forbidden as reason:
            return self._done(Skipped, outcome="skipped", reason=str(reason)[:MAX_REASON_CHARACTERS])
        except (BadWatchSettings, ValueError) as error:
            return self._failed("E_WATCH_SETTINGS", str(error))
        finally:
            await self._asking.close()

    async def _prepare(self) -> None:
        wire = self._hold.job.settings
        state = self._hold.job.state
        basis = "" if state.content_sha256 is None else Volatile.of_lines(state.volatile_lines).basis
        self._choice = choice(content_settings(wire, kept_bytes=self._settings.kept_bytes), basis)
        if isinstance(wire.watched, ByExtractor):
            self._reader = await self._of.readers.reader(wire.watched, self._hold.job.organization)

    @property
    def _content(self) -> ContentSettings:
        return self._choice.settings

    async def _page(self) -> JobDone:
        state = self._hold.job.state
        conditions = self._conditions()
        got = await self._asking.get(conditions)
        if isinstance(got, FetchFailure):
            return self._failed(got.code, got.message, status=got.status)
        if got.status == 304 and conditions:
            return self._done(NotModified, outcome="not-modified", http_status=304)
        problem = self._problem_of(got)
        if problem is not None:
            return problem
        fetched_at = self._of.outside.clock.now()
        page = await self._read(got)
        if isinstance(page, Failed):
            return page
        version = Version(page.lines, fetched_at, page.truncated)
        if state.content_sha256 is None:
            return await self._first(got, page, version)
        return await self._compared(got, page, version)

    # --- asking

    def _conditions(self) -> dict[str, str]:
        """Only where there is something to compare with, and of what we watch now."""
        state = self._hold.job.state
        if not self._settings.conditional or state.content_sha256 is None:
            return {}
        if Volatile.of_lines(state.volatile_lines).basis != self._content.basis:
            return {}
        found = {"If-None-Match": state.etag, "If-Modified-Since": state.last_modified}
        return {name: value for name, value in found.items() if value}

    def _problem_of(self, got: Fetched) -> Failed | None:
        if 200 <= got.status < 300:
            return None
        rest_ms = None
        if got.status in BUSY:
            rest_ms = retry_after_ms(got.headers.get("Retry-After"), datetime.now(UTC)) or 0
        return self._failed("E_HTTP_STATUS", f"HTTP {got.status}", status=got.status, retry_after_ms=rest_ms)

    async def _read(self, got: Fetched) -> PageRead | Failed:
        answer = Answer(got.body, got.headers.get("Content-Type"), got.final_url)
        with self._trace.step("read") as facts:
            facts["http.response.body.size"] = len(got.body)
            try:
                page, content = await self._of.reading.read_chosen(answer, self._choice, self._reader)
            except NothingThere as reason:
                return self._failed("E_CONTENT_MISSING", str(reason), status=got.status)
            except TooCostly as reason:
                return self._failed("E_CONTENT_COSTLY", str(reason), status=got.status)
            self._choice = Choice(content)
            facts |= {"comity.encoding": page.encoding or page.kind, "comity.replaced": page.replaced}
        return page

    # --- what it says

    async def _first(self, got: Fetched, page: PageRead, version: Version) -> JobDone:
        volatile = Volatile(basis=self._content.basis)
        again = await self._again()
        if again is not None:
            got, page, later = again
            volatile = learn(version, later, self._content)
            version = later
        return self._read_done(
            FirstContent,
            got,
            page,
            outcome="first",
            content=_content(page, version),
            volatile_lines=volatile.as_lines(),
        )

    async def _again(self) -> tuple[Fetched, PageRead, Version] | None:
        """The page moments later, to tell from one another what it says and what it only shows."""
        if not self._settings.learn_fetches or self._asking.gap_ms > self._settings.max_wait_ms:
            return None
        got = await self._asking.get({}, not_before_ms=self._settings.learn_after_ms)
        if not isinstance(got, Fetched) or not 200 <= got.status < 300:
            return None
        page = await self._read(got)
        if isinstance(page, Failed):
            return None
        return got, page, Version(page.lines, self._of.outside.clock.now(), page.truncated)

    async def _compared(self, got: Fetched, page: PageRead, version: Version) -> JobDone:
        state = self._hold.job.state
        known = Volatile.of_lines(state.volatile_lines)
        sha256 = version.sha256
        if sha256 == state.content_sha256 and known.basis == self._content.basis:
            calm = learnt_from_visit(known, ()).as_lines() if known.streaks else None
            return self._read_done(UnchangedDone, got, page, outcome="unchanged", volatile_lines=calm)
        with self._trace.step("content"):
            kept = await self._of.outside.queue.content(self._hold.job.page_id)
        if kept is None:
            return self._read_done(
                FirstContent,
                got,
                page,
                outcome="first",
                content=_content(page, version),
                volatile_lines=Volatile(basis=self._content.basis).as_lines(),
            )
        before = Version.of_text(kept.text, kept.seen_at, kept_bytes=self._content.kept_bytes)
        with self._trace.step("diff"):
            said_itself = bool(state.etag or state.last_modified)
            verdict = judge(before, version, self._content, known, from_history=not said_itself)
        again = await self._again() if isinstance(verdict, Changed) else None
        if again is not None:
            got, page, later = again
            with self._trace.step("diff"):
                known = learn(version, later, self._content, known)
                verdict = judge(before, later, self._content, known, from_history=not said_itself)
            version = later
        learnt = verdict.volatile.as_lines()
        volatile_lines = learnt if learnt != state.volatile_lines else None
        content = _content(page, version)
        if isinstance(verdict, Changed):
            return self._read_done(
                ChangedDone,
                got,
                page,
                outcome="changed",
                before_sha256=kept.sha256,
                content=content,
                diff=verdict.diff,
                volatile_lines=volatile_lines,
            )
        return self._read_done(
            UnchangedDone,
            got,
            page,
            outcome="unchanged",
            content=None if verdict.same else content,
            volatile_lines=volatile_lines,
        )

    # --- reports

    def _read_done(self, kind: type[Any], got: Fetched, page: PageRead, **what: Any) -> JobDone:
        return self._done(
            kind,
            http_status=got.status,
            etag=_validator(got, "ETag"),
            last_modified=_validator(got, "Last-Modified"),
            final_url=got.final_url[:2048],
            title=page.title,
            **what,
        )

    def _failed(
        self, code: str, reason: str, *, status: int | None = None, retry_after_ms: int | None = None
    ) -> Failed:
        failed = self._done(
            Failed,
            outcome="failed",
            code=code,
            reason=reason[:MAX_REASON_CHARACTERS] or code,
            http_status=status,
            retry_after_ms=None if retry_after_ms is None else min(retry_after_ms, MAX_REST_MS),
        )
        assert isinstance(failed, Failed)
        return failed

    def _done(self, kind: type[Any], **what: Any) -> JobDone:
        delay_ms = self._asking.crawl_delay_ms
        done: JobDone = kind(
            token=self._hold.job.token,
            visits=self._hold.visits,
            crawl_delay_ms=None if delay_ms is None else min(delay_ms, MAX_HOST_DELAY_MS),
            **what,
        )
        return done


def _content(page: PageRead, version: Version) -> Content:
    text = version.text
    return Content(text=text, sha256=version.sha256, fields=_json(page.fields))


def _json(fields: Any) -> dict[str, Any] | None:
    """The fields as plain JSON data."""
    return None if fields is None else json.loads(json.dumps(fields))


def _validator(got: Fetched, name: str) -> str | None:
    value = got.headers.get(name)
    return value if value and len(value) <= MAX_VALIDATOR_CHARACTERS and value.isprintable() else None
