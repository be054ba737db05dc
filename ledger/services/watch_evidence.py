"""Evidence of visits: what sites saw, and what the host gate is told of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from comity.contract.watch_queue import JobDone, Rehearsed, SiteVisit
from ledger.rules import host_gate
from ledger.rules.scope import authority
from ledger.store import hosts_at_once, watch_reports
from ledger.store.database import Tx
from ledger.store.models import DEFAULT_ORGANIZATION, Host
from ledger.store.models_gate import HostLease
from ledger.store.models_watch import WatchPage
from ledger.store.watch_queue import JobRow


class Evidence:
    """What one call says of visits. `gate` are the locked hosts of its jobs, `leases` those that it names."""

    def __init__(
        self,
        worker: str,
        leases: Mapping[str, HostLease],
        gate: Mapping[str, Host],
        *,
        now: datetime,
        least_gap_ms: int,
    ) -> None:
        self._worker = worker
        self._leases = leases
        self._gate = gate
        self._now = now
        self._least_gap_ms = least_gap_ms
        self._rows: list[dict[str, Any]] = []

    def holds(self, token: str) -> bool:
        """Whether the job still has its host: nobody else was there meanwhile."""
        held = self._leases.get(token)
        return held is not None and self._gate[held.host].lease_id == token

    def add(self, token: str, report: JobDone, page: WatchPage | None) -> None:
        """The report's visits; its host is free again, and rests as long as it asked.

        One that comes after its lease's end is true all the same: the visits took until now.
        """
        if isinstance(report, Rehearsed):
            return
        self._rows += [self._row(token, visit, page) for visit in report.visits]
        held = self._leases.get(token)
        if held is None or held.released_at is not None:
            return
        host = self._gate[held.host]
        visited = any(visit.lease_id in (None, token) for visit in report.visits)
        if report.crawl_delay_ms is not None:
            hosts_at_once.hear(host, report.crawl_delay_ms, at=self._now)
        rests_until = host_gate.rest_until(hosts_at_once.facts(host, None), report.retry_after_ms, now=self._now)
        if visited:
            hosts_at_once.touch(host, at=self._now, rests_until=rests_until)
        else:
            host.rests_until = rests_until
        hosts_at_once.give_back(host, held, how="released" if visited else "unused", at=self._now)

    def rests(self, jobs: Mapping[str, JobRow]) -> dict[int, datetime]:
        """Until when the hosts of these jobs rest, by their numbers."""
        return {
            job.host_id: until
            for token, job in jobs.items()
            if token in self._leases and (until := self._rests_until(self._gate[job.authority])) is not None
        }

    def write(self, tx: Tx) -> None:
        """Keep it."""
        watch_reports.add_requests(tx, self._rows)

    def _rests_until(self, host: Host) -> datetime | None:
        gap = timedelta(milliseconds=max(self._least_gap_ms, host.crawl_delay_ms or 0))
        own = None if host.last_touched_at is None else host.last_touched_at + gap
        return max((at for at in (own, host.rests_until) if at is not None), default=None)

    def _row(self, token: str, visit: SiteVisit, page: WatchPage | None) -> dict[str, Any]:
        lease_id = visit.lease_id or token
        held = self._leases.get(lease_id)
        return {
            "host": authority(visit.url),
            "page_id": None if page is None else page.id,
            "organization": DEFAULT_ORGANIZATION if page is None else page.organization,
            "url": None if page is not None and page.url == visit.url else visit.url,
            "lease_id": lease_id if held is not None else None,
            "worker": self._worker,
            "submitted_at": visit.submitted_at,
            "finished_at": visit.finished_at,
            "received_at": self._now,
            "waited_ms": visit.waited_ms,
            "promised_gap_ms": self._least_gap_ms if held is None else held.gap_ms,
            "outcome": visit.outcome,
        }
