"""One report of a visit, applied to its page: what is known of it from now on, and when it is due."""

import json
import zlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from comity.contract.watch import Outcome
from comity.contract.watch_queue import Changed, Content, Failed, FirstContent, JobDone, Rehearsed, Skipped, Unchanged
from ledger.rules import watch_due, watch_outcome, watch_skip
from ledger.rules.watch_due import Due, DueFacts, Prices
from ledger.rules.watch_outcome import Known, Meaning
from ledger.rules.watch_pages import settings_of
from ledger.services.watch_contents import Written
from ledger.services.watch_terms import WatchTerms
from ledger.store.models_watch import WatchContent, WatchEvent, WatchPage, WatchState
from ledger.store.watch_queue import JobRow
from ledger.store.watch_reports import STATE_COLUMNS

WholeAnswer = FirstContent | Unchanged | Changed
NOTHING_YET: dict[str, Any] = {
    **dict.fromkeys(STATE_COLUMNS),
    **dict.fromkeys(("visits", "changes", "not_modified", "failed_visits", "failures"), 0),
    "failing_told": False,
}


@dataclass(frozen=True)
class Applied:
    """Rows to write. `due_at` is None for a page that has left the queue meanwhile."""

    token: str
    page: int
    outcome: str
    due_at: datetime | None
    state: dict[str, Any] | None = None
    visit: dict[str, Any] | None = None
    event: WatchEvent | None = None
    content: WatchContent | None = None
    updated_at: datetime | None = None
    code: str | None = None
    late_s: float = 0
    unknown_for_s: float | None = None
    """For a change: how long ago the page was visited before."""


@dataclass(frozen=True)
class PageReport:
    """A report that counts, with what is known of its page. `lists` hold it; `in_queue`: it is due again."""

    job: JobRow
    report: JobDone
    page: WatchPage
    state: WatchState | None
    in_queue: bool
    written: Written | None
    worker: str
    lists: int

    def apply(self, *, now: datetime, terms: WatchTerms, spread: float, prices: Prices) -> Applied:
        """What follows from it."""
        if isinstance(self.report, Rehearsed):
            due = self._next_due("unchanged", 0, now=now, terms=terms, spread=spread, prices=prices)
            return Applied(self.job.token, self.page.id, "rehearsed", due.at if self.in_queue else None)
        settings = settings_of(self.page.settings, terms.canaries)
        content = self._content()
        known = Known(
            None if self.state is None else self.state.content_sha256,
            0 if self.state is None else self.state.failures,
            self.state is not None and self.state.failing_told,
        )
        meaning = watch_outcome.judge(
            known,
            self.report.outcome,
            None if content is None else content.sha256,
            tell_after_failures=settings.tell_after_failures,
        )
        due = self._next_due(meaning.outcome, meaning.failures, now=now, terms=terms, spread=spread, prices=prices)
        before_at = None if self.state is None else self.state.last_success_at
        changed = meaning.event == "changed"
        return Applied(
            token=self.job.token,
            page=self.page.id,
            outcome=meaning.outcome,
            due_at=due.at if self.in_queue else None,
            state=self._next_state(meaning, due, now),
            visit=self._visit(meaning.outcome, now),
            event=self._event(meaning, now),
            content=self._content_row(content, now) if meaning.keep else None,
            updated_at=now if changed else None,
            code=self.report.code if isinstance(self.report, Failed) else None,
            late_s=max(0.0, (self.job.claimed_at - self.job.due_at).total_seconds()),
            unknown_for_s=(now - before_at).total_seconds() if changed and before_at is not None else None,
        )

    def _content(self) -> Content | None:
        return self.report.content if isinstance(self.report, WholeAnswer) else None

    def _problem(self) -> str | None:
        return self.report.reason if isinstance(self.report, Failed | Skipped) else None

    def _next_due(
        self, outcome: Outcome, failures: int, *, now: datetime, terms: WatchTerms, spread: float, prices: Prices
    ) -> Due:
        state, report = self.state, self.report
        facts = DueFacts(
            now=now,
            settings=settings_of(self.page.settings, terms.canaries),
            bounds=terms.bounds,
            outcome=outcome,
            failures=failures,
            rate=None if state is None or state.rate is None else tuple(state.rate),
            last_success_at=None if state is None else state.last_success_at,
            lists=self.lists,
            retry_after_ms=None if isinstance(report, Rehearsed) else report.retry_after_ms,
            spread=spread,
            prices=prices,
            problem=self._problem(),
        )
        due = watch_due.next_due(facts)
        because = watch_skip.because_of_us(report.reason) if isinstance(report, Skipped) else None
        return due if because is None else replace(due, because=because)

    def _next_state(self, meaning: Meaning, due: Due, now: datetime) -> dict[str, Any]:
        report, outcome = self.report, meaning.outcome
        assert not isinstance(report, Rehearsed)
        row = dict(NOTHING_YET)
        if self.state is not None:
            row |= {name: getattr(self.state, name) for name in STATE_COLUMNS}
        row |= {
            "page_id": self.page.id,
            "last_visit_at": now,
            "last_outcome": outcome,
            "last_problem": self._problem(),
            "last_token": self.job.token,
            "http_status": report.http_status,
            "failures": meaning.failures,
            "failing_told": meaning.failing_told,
            "failed_visits": row["failed_visits"] + (outcome == "failed"),
            "not_modified": row["not_modified"] + (outcome == "not-modified"),
            "changes": row["changes"] + (outcome == "changed"),
            "rate": None if due.rate is None else list(due.rate),
            "rate_a_day": due.rate_a_day,
            "because": due.because,
        }
        if outcome not in ("failed", "skipped"):
            row |= {"visits": row["visits"] + 1, "last_success_at": now}
        if isinstance(report, WholeAnswer):
            row |= {
                "etag": report.etag,
                "last_modified": report.last_modified,
                "final_url": report.final_url,
                "title": report.title,
            }
            if report.volatile_lines is not None:
                row["volatile_lines"] = report.volatile_lines
        if meaning.keep and self.written is not None:
            assert isinstance(report, WholeAnswer)
            assert report.content is not None
            row |= {
                "content_sha256": report.content.sha256,
                "content_location": self.written.location,
                "content_at": now,
            }
        return row

    def _visit(self, outcome: Outcome, now: datetime) -> dict[str, Any]:
        report = self.report
        assert not isinstance(report, Rehearsed)
        began = min((visit.submitted_at for visit in report.visits), default=None)
        ended = max((visit.finished_at for visit in report.visits), default=None)
        took_ms = 0 if began is None or ended is None else max(0, round((ended - began).total_seconds() * 1000))
        return {
            "page_id": self.page.id,
            "at": now,
            "outcome": outcome,
            "http_status": report.http_status,
            "code": report.code if isinstance(report, Failed) else None,
            "problem": self._problem(),
            "worker": self.worker,
            "took_ms": min(took_ms, 2**31 - 1),
            "late_ms": max(0, round((self.job.claimed_at - self.job.due_at).total_seconds() * 1000)),
            "event_id": None,
        }

    def _event(self, meaning: Meaning, now: datetime) -> WatchEvent | None:
        if meaning.event is None:
            return None
        report = self.report
        told = report.title if isinstance(report, WholeAnswer) else None
        title = self.page.title or told or (self.state.title if self.state else None) or self.page.url
        event = WatchEvent(
            page_id=self.page.id,
            organization=self.page.organization,
            kind=meaning.event,
            at=now,
            url=self.page.url,
            title=title,
            problem=self._problem(),
        )
        if isinstance(report, Changed) and meaning.event == "changed":
            event.before_sha256, event.after_sha256 = report.before_sha256, report.content.sha256
            event.removed_lines, event.added_lines = report.diff.removed_lines, report.diff.added_lines
            event.diff = zlib.compress(json.dumps(report.diff.to_wire(), ensure_ascii=False).encode())
        return event

    def _content_row(self, content: Content | None, now: datetime) -> WatchContent | None:
        if content is None or self.written is None:
            return None
        return WatchContent(
            page_id=self.page.id,
            sha256=content.sha256,
            location=self.written.location,
            size_bytes=self.written.size_bytes,
            at=now,
        )
