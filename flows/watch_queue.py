"""The ledger's queue of watched pages for a worker on an event loop: typed calls in threads, and their errors."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from blocks.clients.errors import HostTakenError, ServiceError, ServiceRefused
from blocks.clients.watch import WatchClient
from comity.contract.hosts import HostLease, LeaseHost, ReleaseLease, WatchHolder
from comity.contract.watch_found import PageContent
from comity.contract.watch_queue import JobCompleted, JobDone, JobRenewed, JobsClaimed
from comity.watch.errors import QueueUnavailable, WorkerHalted

T = TypeVar("T")
THREADS = 16
_log = logging.getLogger(__name__)


class LedgerQueue:
    """Close it when the worker is over; the client is its own owner's."""

    def __init__(self, client: WatchClient, worker: str) -> None:
        self._client = client
        self._worker = worker
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="queue")

    def close(self) -> None:
        """Calls under way come to their end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def claim(self, *, most: int, lease_ms: int, dry_run: bool) -> JobsClaimed:
        call = partial(self._client.claim, self._worker, most=most, lease_ms=lease_ms, dry_run=dry_run)
        try:
            return await self._ask(call)
        except _RefusedError as error:  # no right to claim, or no queue there: neither mends itself
            raise WorkerHalted(str(error)) from error

    async def complete(self, jobs: Sequence[JobDone]) -> list[JobCompleted]:
        """A report that the ledger cannot take is told in the log and given up: the others count."""
        try:
            return await self._ask(partial(self._client.complete, self._worker, jobs))
        except _RefusedError as error:
            if len(jobs) == 1:
                _log.error("the report of %s was refused and is lost: %s", jobs[0].token, error)
                return [JobCompleted(token=jobs[0].token, accepted=False)]
        middle = len(jobs) // 2
        return [*await self.complete(jobs[:middle]), *await self.complete(jobs[middle:])]

    async def give_back(self, tokens: Sequence[str], *, timeout_ms: int) -> None:
        await self._ask(partial(self._client.return_jobs, tokens, timeout_ms=timeout_ms))

    async def renew(self, tokens: Sequence[str], *, lease_ms: int) -> list[JobRenewed]:
        return await self._ask(partial(self._client.renew, tokens, lease_ms=lease_ms))

    async def content(self, page_id: str) -> PageContent | None:
        try:
            return await self._ask(partial(self._client.content, page_id))
        except _RefusedError as error:
            if error.status == 404:
                return None
            raise

    async def lease_host(self, host: str, token: str, *, delay_ms: int) -> HostLease | None:
        wanted = LeaseHost(host=host, holder=WatchHolder(kind="watch", token=token), delay_ms=delay_ms)
        try:
            return await self._ask(partial(self._client.lease_host, wanted))
        except _RefusedError as error:
            if isinstance(error.__cause__, HostTakenError):
                return None
            raise

    async def release_host(self, lease_id: str, *, visited: bool) -> None:
        await self._ask(partial(self._client.release_host, ReleaseLease(lease_id=lease_id, visited=visited)))

    async def _ask(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except ServiceRefused as error:
            if error.status in (401, 403):
                raise WorkerHalted(str(error)) from error
            if 400 <= error.status < 500 and error.status != 429:
                raise _RefusedError(error.status, str(error)) from error
            raise QueueUnavailable(str(error)) from error
        except ServiceError as error:
            raise QueueUnavailable(str(error)) from error


class _RefusedError(QueueUnavailable):
    """4xx: asking again would not help."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
