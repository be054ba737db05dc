"""What a worker needs from outside: the queue, and what tells its time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from comity.contract.hosts import HostLease
from comity.contract.watch import ByExtractor
from comity.contract.watch_found import PageContent
from comity.contract.watch_queue import Job, JobCompleted, JobDone, JobRenewed, JobsClaimed, SiteVisit
from comity.watch.rules.text import Reader


class Queue(Protocol):
    """The ledger's queue. Everything raises QueueUnavailable where it cannot be asked; each call may be repeated."""

    async def claim(self, *, most: int, lease_ms: int, dry_run: bool) -> JobsClaimed:
        """Pages to visit."""

    async def complete(self, jobs: Sequence[JobDone]) -> list[JobCompleted]:
        """What came of them."""

    async def give_back(self, tokens: Sequence[str], *, timeout_ms: int) -> None:
        """Their sites were not asked for anything."""

    async def renew(self, tokens: Sequence[str], *, lease_ms: int) -> list[JobRenewed]:
        """More time."""

    async def content(self, page_id: str) -> PageContent | None:
        """What the page is compared with."""

    async def lease_host(self, host: str, token: str, *, delay_ms: int) -> HostLease | None:
        """Another host than the job's own, for one request; None: somebody else is there."""

    async def release_host(self, lease_id: str, *, visited: bool) -> None:
        """The request is over, or was not made."""


class Readers(Protocol):
    """Where extractors come from."""

    async def reader(self, watched: ByExtractor, organization: str) -> Reader:
        """Raises ValueError saying why where there is none."""


class NoReaders:
    """A worker that runs no extractors."""

    async def reader(self, watched: ByExtractor, organization: str) -> Reader:
        raise ValueError(f"this worker runs no extractors, and {organization} wants {watched.id}")


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time without jumps, and seconds that only grow."""

    wall: datetime = field(default_factory=lambda: datetime.now(UTC))
    steady: float = field(default_factory=time.monotonic)

    def now(self) -> datetime:
        """Aware, UTC."""
        return self.wall + timedelta(seconds=self.now_s() - self.steady)

    @staticmethod
    def now_s() -> float:
        """Monotonic."""
        return time.monotonic()


class Hold(Protocol):
    """A job that a worker has, for as long as its lease lasts. `visits` is the evidence of what its sites saw."""

    job: Job
    visits: list[SiteVisit]
    asked: bool
    """A request went out, or may have: the job can no longer be given back as if nothing had been."""

    def since_claim_ms(self) -> int:
        """Since the claim was answered."""

    async def outlast(self, needs_ms: int) -> None:
        """The lease lasts at least so long from now, renewed if need be. Raises PageDropped where it does not."""

    async def rest(self, until_ms: int) -> None:
        """Wait until so long after the claim."""
