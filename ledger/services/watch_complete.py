"""`POST /api/watch/queue/complete`: what came of visits. Each report stands for itself.

Contents are written before the transaction, and taken back where their report turns out not to count. Evidence is kept
in any case: the site saw the visit, whoever the page belongs to by now.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from comity.contract.ledger import ErrorField
from comity.contract.watch import OLD_SYSTEM
from comity.contract.watch_queue import CompleteJobs, JobCompleted, JobDone, JobsCompleted, Rehearsed
from ledger import watch_metrics
from ledger.artifacts.place import NotRead
from ledger.clock import Clock
from ledger.errors import BadInput, ContentsAway
from ledger.rules import watch_token
from ledger.rules.scope import authority
from ledger.rules.watch_due import USUAL, Prices
from ledger.rules.watch_pages import EVENT_PREFIX
from ledger.rules.watch_tally import TallyChange
from ledger.services.watch_contents import WatchContents, Written
from ledger.services.watch_evidence import Evidence
from ledger.services.watch_report import Applied, PageReport, WholeAnswer
from ledger.services.watch_terms import WatchTerms
from ledger.store import hosts_at_once, watch_lists, watch_queue, watch_reports, watch_tally
from ledger.store.database import Store, Tx
from ledger.store.models_watch import WatchPage, WatchState
from ledger.store.watch_queue import NO_PAGE, JobRow

Reports = Mapping[str, JobDone]
Spread = Callable[[], float]
"""Random numbers below 1."""
PricesNow = Callable[[], Prices]
"""What was fitted last."""


@dataclass(frozen=True)
class _Call:
    """What was sent, and what was claimed of it."""

    worker: str
    reports: Reports
    written: Mapping[str, Written]
    jobs: Mapping[str, JobRow]
    numbers: Mapping[str, int]
    pages: Mapping[int, WatchPage]


@dataclass
class _Outcome:
    """What a transaction came to. `dropped` are locations of contents that nothing names any more."""

    answers: dict[str, JobCompleted] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


class CompleteService:
    """Takes reports."""

    def __init__(
        self,
        store: Store,
        contents: WatchContents,
        clock: Clock,
        *,
        terms: WatchTerms,
        spread: Spread,
        prices: PricesNow = lambda: USUAL,
    ) -> None:
        self._store = store
        self._contents = contents
        self._clock = clock
        self._terms = terms
        self._spread = spread
        self._prices = prices

    def complete(self, order: CompleteJobs) -> JobsCompleted:
        """What became of each report. Raises BadInput for visits of no host, ContentsAway; then nothing was done."""
        _check(order)
        reports = {job.token: job for job in order.jobs}
        self._prices()  # read now, not while the hosts are locked
        with self._store.reading() as tx:
            live = watch_queue.live(tx, reports)
        written = self._write({token: report for token, report in reports.items() if token in live})
        came = _Outcome()
        try:
            with self._store.writing() as tx:
                came = self._settle(tx, order.worker, reports, written)
        finally:
            kept = {one.token for one in came.applied if one.content is not None}
            for token, content in written.items():
                if token not in kept:
                    self._contents.take_back(content)
        for location in came.dropped:
            self._contents.remove(location)
        _count(came)
        return JobsCompleted(jobs=[came.answers[job.token] for job in order.jobs])

    def _write(self, reports: Reports) -> dict[str, Written]:
        written: dict[str, Written] = {}
        try:
            for token, report in reports.items():
                page = watch_token.page_of(token)
                if isinstance(report, WholeAnswer) and report.content is not None and page is not None:
                    written[token] = self._contents.write(page, report.content)
        except NotRead as error:
            for content in written.values():
                self._contents.take_back(content)
            raise ContentsAway(str(error)) from None
        return written

    def _settle(self, tx: Tx, worker: str, reports: Reports, written: Mapping[str, Written]) -> _Outcome:
        numbers = {token: watch_token.page_of(token) or NO_PAGE for token in reports}
        pages = watch_reports.pages_to_report(tx, set(numbers.values()))
        jobs = watch_queue.jobs(tx, reports)
        _check_lanes(reports, jobs)
        leases = hosts_at_once.leases(tx, [*reports, *_side_leases(reports)])
        gate = hosts_at_once.several_to_change(
            tx, [leases[token].host for token in reports if token in leases], wait=True
        )
        now = self._clock()
        evidence = Evidence(worker, leases, gate, now=now, least_gap_ms=self._terms.host_delay_ms)
        watch_queue.lock_hosts(tx, [job.host_id for job in jobs.values()])
        tally = TallyChange()
        came = self._judge(tx, _Call(worker, reports, written, jobs, numbers, pages), evidence, tally, now)
        self._write_rows(tx, came)
        evidence.write(tx)
        watch_queue.set_dues(tx, [(one.page, one.due_at, 0) for one in came.applied if one.due_at is not None])
        watch_queue.end_jobs(tx, jobs)
        watch_queue.rest(tx, evidence.rests(jobs))
        watch_queue.refresh(tx, [job.host_id for job in jobs.values()])
        watch_tally.apply(tx, tally)
        return came

    def _judge(self, tx: Tx, call: _Call, evidence: Evidence, tally: TallyChange, now: datetime) -> _Outcome:
        numbers, pages = call.numbers, call.pages
        every = set(numbers.values())
        states, dues = watch_reports.states(tx, every), watch_queue.dues(tx, every)
        lists = watch_lists.counts(tx, every)
        came = _Outcome()
        for token, report in call.reports.items():
            number = numbers[token]
            job, page, due, state = call.jobs.get(token), pages.get(number), dues.get(number), states.get(number)
            held = job is not None and (job.lane == OLD_SYSTEM or evidence.holds(token))
            evidence.add(token, report, page)
            if job is not None and held and page is not None and job.page_id == number:
                said = PageReport(
                    job=job,
                    report=report,
                    page=page,
                    state=state,
                    in_queue=due is not None,
                    written=call.written.get(token),
                    worker=call.worker,
                    lists=lists.get(number, 0),
                )
                one = said.apply(now=now, terms=self._terms, spread=self._spread(), prices=self._prices())
                tally.landed(job.lane, job.organization, one.due_at)
                came.applied.append(one)
                continue
            due_at = None if due is None else due.due_at
            came.answers[token] = _not_counted(token, state, due_at, gone=held)
            if job is not None:
                tally.landed(job.lane, job.organization, due_at if job.page_id == number else None)
        return came

    def _write_rows(self, tx: Tx, came: _Outcome) -> None:
        for one in came.applied:
            number = None if one.event is None else watch_reports.add_event(tx, one.event)
            for row in (one.state, one.visit):
                if row is not None:
                    row["last_event_id" if row is one.state else "event_id"] = number
            if one.content is not None:
                watch_reports.add_content(tx, one.content)
                came.dropped += watch_reports.forget_old_contents(tx, one.page, self._terms.contents_kept)
            came.answers[one.token] = JobCompleted(
                token=one.token, accepted=True, outcome=one.outcome, due_at=one.due_at, event_id=_event_id(number)
            )
        watch_reports.keep_states(tx, [one.state for one in came.applied if one.state is not None])
        watch_reports.add_visits(tx, [one.visit for one in came.applied if one.visit is not None])
        watch_lists.updated(tx, {one.page: one.updated_at for one in came.applied if one.updated_at is not None})


def _event_id(number: int | None) -> str | None:
    return None if number is None else f"{EVENT_PREFIX}{number}"


def _not_counted(token: str, state: WatchState | None, due_at: datetime | None, *, gone: bool) -> JobCompleted:
    """A repeat gets the answer that the first one got; the others count no more."""
    if state is not None and state.last_token == token:
        return JobCompleted(
            token=token,
            accepted=True,
            outcome=state.last_outcome,
            due_at=due_at,
            event_id=_event_id(state.last_event_id),
        )
    return JobCompleted(token=token, accepted=False, why="gone" if gone else "stale")


def _side_leases(reports: Reports) -> Iterator[str]:
    for report in reports.values():
        if not isinstance(report, Rehearsed):
            yield from (visit.lease_id for visit in report.visits if visit.lease_id is not None)


def _check(order: CompleteJobs) -> None:
    """Raises BadInput for a job that is reported twice, and for a visit to no host."""
    seen: set[str] = set()
    for place, job in enumerate(order.jobs):
        if job.token in seen:
            raise BadInput.at(f"jobs.{place}.token", "is reported twice in one call; send what is true")
        seen.add(job.token)
        if isinstance(job, Rehearsed):
            continue
        for number, visit in enumerate(job.visits):
            try:
                host = authority(visit.url)
            except ValueError as error:
                raise BadInput.at(f"jobs.{place}.visits.{number}.url", str(error)) from None
            if not host:
                raise BadInput.at(f"jobs.{place}.visits.{number}.url", "has no host")


def _check_lanes(reports: Reports, jobs: Mapping[str, JobRow]) -> None:
    """Raises BadInput where a rehearsal is reported as a visit, or the other way round."""
    problems = [
        ErrorField(
            field=f"jobs.{place}.outcome",
            message="is not what the job was claimed for: a dry run is rehearsed, and nothing else is",
        )
        for place, (token, report) in enumerate(reports.items())
        if token in jobs and isinstance(report, Rehearsed) != (jobs[token].lane == OLD_SYSTEM)
    ]
    if problems:
        raise BadInput(problems)


def _count(came: _Outcome) -> None:
    for one in came.applied:
        if one.state is not None:
            watch_metrics.reported(one.outcome, code=one.code, late_s=one.late_s)
        if one.updated_at is not None:
            watch_metrics.detected(one.unknown_for_s)
    for answer in came.answers.values():
        if answer.why is not None:
            watch_metrics.refused(answer.why)
