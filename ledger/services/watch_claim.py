"""`POST /api/watch/queue/claim|renew|return`: pages to visit, one of a host at a time.

The host gate is asked in the transaction that takes the page, so that a crawl and a watcher keep one gap between them.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.watch import OLD_SYSTEM, OURS
from comity.contract.watch_queue import (
    MAX_WAIT_MS,
    ClaimJobs,
    Job,
    JobRenewed,
    JobReturned,
    JobsClaimed,
    JobsRenewed,
    JobsReturned,
    JobState,
    RenewJobs,
    ReturnJobs,
)
from ledger import watch_metrics
from ledger.clock import Clock
from ledger.rules import host_gate, watch_pace, watch_token
from ledger.rules.host_gate import Ask, Grant, Holder, Refusal
from ledger.rules.watch_pages import page_id, settings_of
from ledger.rules.watch_tally import TallyChange
from ledger.services.host_gate import QUEUE_KEY, WATCH
from ledger.services.watch_lost import end_lost
from ledger.services.watch_terms import WatchTerms
from ledger.store import hosts_at_once, watch_queue, watch_reports, watch_tally
from ledger.store.database import Store, Tx
from ledger.store.models import Host
from ledger.store.models_gate import HostLease
from ledger.store.models_watch import WatchState
from ledger.store.watch_queue import FirstPage, Postponed, ReadyHost

QUEUE = Holder(WATCH, QUEUE_KEY, 1)
"""Who holds a host whose page is claimed, and who waits at the gate for one."""
SOONEST_AGAIN_MS, LATEST_AGAIN_MS = 200, 5_000
"""A worker that was told that there is nothing asks again within this: somebody may want a page visited at once."""


@dataclass(frozen=True)
class _Claimed:
    token: str
    host: ReadyHost
    page: FirstPage
    wait_ms: int
    gap_ms: int
    crawl_delay_ms: int | None


class ClaimService:
    """Hands out pages, and takes them back unvisited."""

    def __init__(self, store: Store, clock: Clock, terms: WatchTerms) -> None:
        self._store = store
        self._clock = clock
        self._terms = terms

    def claim(self, order: ClaimJobs) -> JobsClaimed:
        """Pages whose hosts may be visited now, or within MAX_WAIT_MS."""
        lane = OLD_SYSTEM if order.dry_run else OURS
        with self._store.reading() as tx:  # workers ask all the time: one that gets nothing writes nothing
            now = self._clock()
            worth_at = watch_queue.next_change_at(tx, lane)
        if worth_at is None or worth_at > now:
            return JobsClaimed(jobs=[], ask_again_ms=_again_ms(False, 0, worth_at, now))
        allowed = self._allowed(lane, order.max)
        if allowed.count == 0:
            return JobsClaimed(jobs=[], ask_again_ms=max(allowed.again_ms, SOONEST_AGAIN_MS))
        with self._store.writing() as tx:
            lost = end_lost(tx, lane, now=self._clock())
            tally = lost.tally
            claimed, now = self._take(tx, lane, allowed.count, order)
            for one in claimed:
                tally.claimed(lane, one.page.organization, one.page.due_at)
            states = watch_reports.states(tx, [one.page.page_id for one in claimed])
            watch_tally.give_back(tx, lane, allowed.count - len(claimed))
            ready_at = watch_queue.next_ready_at(tx, lane)
            watch_tally.apply(tx, tally)
        watch_metrics.leases_expired(lost.count)
        jobs = [self._job(one, states.get(one.page.page_id), order, now) for one in claimed]
        paced_ms = allowed.again_ms if len(claimed) == allowed.count else 0
        return JobsClaimed(jobs=jobs, ask_again_ms=_again_ms(len(jobs) == order.max, paced_ms, ready_at, now))

    def renew(self, order: RenewJobs) -> JobsRenewed:
        """Jobs last for `leaseMs` from now, or from when they may begin. One that is lost has no end."""
        until: dict[str, datetime] = {}
        with self._store.writing() as tx:
            jobs = watch_queue.jobs(tx, order.tokens)
            live = [job for job in jobs.values() if job.lane == OURS]
            gate = hosts_at_once.several_to_change(tx, [job.authority for job in live], wait=True)
            leases = hosts_at_once.leases(tx, [job.token for job in live])
            now = self._clock()
            for job in jobs.values():
                held = leases.get(job.token)
                if job.lane == OURS and (held is None or gate[job.authority].lease_id != job.token):
                    continue
                until[job.token] = max(now, job.usable_at) + timedelta(milliseconds=order.lease_ms)
                if held is not None:
                    held.expires_at = until[job.token]
            watch_queue.extend(tx, until)
        return JobsRenewed(
            jobs=[
                JobRenewed(token=token, expires_in_ms=_ms(until[token] - now) if token in until else None)
                for token in order.tokens
            ]
        )

    def give_back(self, order: ReturnJobs) -> JobsReturned:
        """Jobs whose sites were not asked for anything: nobody was there, and the pages are due as they were."""
        tally = TallyChange()
        with self._store.writing() as tx:
            jobs = watch_queue.jobs(tx, order.tokens)
            live = [job for job in jobs.values() if job.lane == OURS]
            gate = hosts_at_once.several_to_change(tx, [job.authority for job in live], wait=True)
            leases = hosts_at_once.leases(tx, [job.token for job in live])
            now = self._clock()
            for token, held in leases.items():
                hosts_at_once.give_back(gate[jobs[token].authority], held, how="unused", at=now)
            watch_queue.lock_hosts(tx, [job.host_id for job in jobs.values()])
            dues = watch_queue.dues(tx, [job.page_id for job in jobs.values()])
            for job in jobs.values():
                due = dues.get(job.page_id)
                tally.landed(job.lane, job.organization, None if due is None else due.due_at)
            watch_queue.end_jobs(tx, jobs)
            watch_queue.refresh(tx, [job.host_id for job in jobs.values()])
            for lane in (OLD_SYSTEM, OURS):
                watch_tally.give_back(tx, lane, sum(job.lane == lane for job in jobs.values()))
            watch_tally.apply(tx, tally)
        watch_metrics.returned(len(jobs))
        return JobsReturned(jobs=[JobReturned(token=token, accepted=token in jobs) for token in order.tokens])

    def _allowed(self, lane: int, wanted: int) -> watch_pace.Allowed:
        with self._store.writing() as tx:
            now = self._clock()
            pace = watch_tally.pace_to_change(tx, lane, now=now)
            allowed = watch_pace.take(pace, wanted, a_second=self._terms.visits_a_second, now=now)
            watch_tally.set_pace(tx, lane, allowed.pace)
        return allowed

    def _take(self, tx: Tx, lane: int, limit: int, order: ClaimJobs) -> tuple[list[_Claimed], datetime]:
        ready = watch_queue.ready_hosts(tx, lane, limit, now=self._clock())
        pages = watch_queue.first_pages(tx, [host.id for host in ready])
        with_pages = [host for host in ready if host.id in pages]
        watch_queue.refresh(tx, [host.id for host in ready if host.id not in pages])
        if lane == OURS:
            claimed, now = self._through_the_gate(tx, with_pages, pages, order)
        else:
            now = self._clock()
            claimed = [_Claimed(_token(pages[one.id]), one, pages[one.id], 0, 0, None) for one in with_pages]
        watch_queue.begin_jobs(tx, [_row(one, order, now) for one in claimed])
        return claimed, now

    def _through_the_gate(
        self, tx: Tx, ready: list[ReadyHost], pages: dict[int, FirstPage], order: ClaimJobs
    ) -> tuple[list[_Claimed], datetime]:
        """Those of the hosts that the gate gives; the others are looked at again when it says so."""
        gate = hosts_at_once.several_to_change(tx, [host.authority for host in ready], wait=False)
        leases = hosts_at_once.live_leases(tx, gate.values())
        now = self._clock()  # after the locks, as whoever asks the gate does
        claimed: list[_Claimed] = []
        later: list[Postponed] = []
        for host in ready:
            row = gate.get(host.authority)
            if row is None:
                continue  # somebody is at the gate for it this very moment
            held = leases.get(host.authority)
            verdict = self._judge(row, held, order, now)
            if isinstance(verdict, Refusal):
                hosts_at_once.wait_in_line(row, verdict.waiting)
                later.append(Postponed(host.id, now + timedelta(milliseconds=verdict.retry_after_ms), ahead=True))
            elif verdict.wait_ms > MAX_WAIT_MS:
                hosts_at_once.wait_in_line(row, verdict.facts.waiting)
                later.append(Postponed(host.id, now + timedelta(milliseconds=verdict.wait_ms), ahead=False))
            else:
                token = _token(pages[host.id])
                hosts_at_once.grant(tx, row, held, verdict, holder=QUEUE, ident=token, at=now)
                crawl_delay_ms = verdict.facts.crawl_delay_ms
                claimed.append(_Claimed(token, host, pages[host.id], verdict.wait_ms, verdict.gap_ms, crawl_delay_ms))
        watch_queue.postpone(tx, later)
        return claimed, now

    def _judge(self, row: Host, held: HostLease | None, order: ClaimJobs, now: datetime) -> Grant | Refusal:
        facts = hosts_at_once.facts(row, held)
        if facts.lease is not None and facts.lease.holder.same_work(QUEUE) and now < facts.lease.expires_at:
            # The page in flight there is not in this lane's sight any more; the gate would take it for our own lease.
            return Refusal("a page of the host is in flight", host_gate.ASK_AGAIN_MS, False, facts.waiting)
        ask = Ask(QUEUE, self._terms.host_delay_ms, lease_ms=order.lease_ms)
        return host_gate.judge(facts, ask, now=now)

    def _job(self, one: _Claimed, state: WatchState | None, order: ClaimJobs, now: datetime) -> Job:
        settings = settings_of(one.page.settings, self._terms.canaries)
        return Job(
            token=one.token,
            page_id=page_id(one.page.page_id),
            organization=one.page.organization,
            url=one.page.url,
            host=one.host.authority,
            wait_ms=one.wait_ms,
            gap_ms=one.gap_ms,
            expires_in_ms=one.wait_ms + order.lease_ms,
            late_ms=_ms(now - one.page.due_at),
            crawl_delay_ms=one.crawl_delay_ms,
            settings=settings,
            visit=self._terms.canary_visits.get(settings.canary or ""),
            state=_state(state, one.page.updated_at),
            dry_run=order.dry_run,
        )


def _token(page: FirstPage) -> str:
    return watch_token.token(page.page_id, secrets.token_hex(8))


def _row(one: _Claimed, order: ClaimJobs, now: datetime) -> dict[str, object]:
    usable_at = now + timedelta(milliseconds=one.wait_ms)
    return {
        "token": one.token,
        "host_id": one.host.id,
        "page_id": one.page.page_id,
        "organization": one.page.organization,
        "worker": order.worker,
        "due_at": one.page.due_at,
        "claimed_at": now,
        "usable_at": usable_at,
        "lease_until": usable_at + timedelta(milliseconds=order.lease_ms),
        "gap_ms": one.gap_ms,
    }


def _state(state: WatchState | None, updated_at: datetime | None) -> JobState:
    if state is None:
        return JobState(last_change_at=updated_at)
    return JobState(
        etag=state.etag,
        last_modified=state.last_modified,
        content_sha256=state.content_sha256,
        content_location=state.content_location,
        volatile_lines=state.volatile_lines or [],
        final_url=state.final_url,
        last_visit_at=state.last_visit_at,
        last_change_at=updated_at,
        visits=state.visits,
        failures=state.failures,
    )


def _again_ms(full: bool, paced_ms: int, ready_at: datetime | None, now: datetime) -> int:
    """When it is worth to ask again: at once where there was more, else when a host is ready or the pace allows."""
    if paced_ms:
        return max(paced_ms, SOONEST_AGAIN_MS)
    if full:
        return 0
    if ready_at is None:
        return LATEST_AGAIN_MS
    return min(max(_ms(ready_at - now), SOONEST_AGAIN_MS), LATEST_AGAIN_MS)


def _ms(span: timedelta) -> int:
    return max(0, span // timedelta(milliseconds=1))
