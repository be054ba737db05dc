"""A host's lease from the ledger's gate: asked for, kept alive, given back."""

import contextvars
import threading
from types import TracebackType
from typing import Protocol, Self

from blocks.clients.errors import HostTakenError, ServiceError
from comity.contract.hosts import (
    MAX_REST_MS,
    CrawlHolder,
    HostLease,
    LeaseHost,
    LeaseReleased,
    LeaseRenewed,
    ReleaseLease,
    RenewLease,
)
from flows.clock import steady_s
from flows.delivery import Log, insist
from flows.errors import HostNotFree, LeaseLost, Stopped
from flows.rules.facts import LevelFacts
from flows.rules.plan import HostPlan
from flows.stop import StopSignal, Stopwatch


class GateLedger(Protocol):
    """What a host needs of the ledger's client."""

    def lease_host(self, wanted: LeaseHost) -> HostLease:
        """See `blocks.clients.ledger.LedgerClient.lease_host`."""

    def renew_host(self, lease: RenewLease) -> LeaseRenewed:
        """See `blocks.clients.ledger.LedgerClient.renew_host`."""

    def release_host(self, lease: ReleaseLease) -> LeaseReleased:
        """See `blocks.clients.ledger.LedgerClient.release_host`."""


class HostGate:
    """The gate as one host of a level meets it."""

    def __init__(self, ledger: GateLedger, plan: HostPlan, facts: LevelFacts, stop: StopSignal, log: Log) -> None:
        self._ledger = ledger
        self._facts = facts
        self._stop = stop
        self._log = log
        holder = CrawlHolder(crawl_id=facts.crawl_id, depth=facts.depth, attempt=facts.attempt, run_id=facts.run_id)
        self._wanted = LeaseHost(
            host=plan.host, holder=holder, delay_ms=plan.delay_ms, crawl_delay_ms=plan.crawl_delay_ms
        )
        self._owed: ReleaseLease | None = None

    def lease(self) -> "HeldLease":
        """The host, once it is our turn. Others that want it are alive or lose it, so this is worth waiting for.

        Raises HostNotFree where it was not our turn within the budget, Stopped where the level ends, LedgerUnavailable,
        and any other refusal as it came.
        """
        self.pay()
        pacing, waiting, told = self._facts.pacing, Stopwatch(), False
        while True:
            try:
                asked_s = steady_s()
                given = insist(
                    lambda: self._ledger.lease_host(self._wanted),
                    f"the question for {self._wanted.host} was",
                    stop=self._stop,
                    budget_ms=pacing.result_budget_ms,
                    retry_ms=pacing.result_retry_ms,
                )
            except HostTakenError as refusal:
                if refusal.stop:
                    self.obey(refusal)
                    raise Stopped(self._stop.reason) from refusal
                if waiting.elapsed_ms + refusal.retry_after_ms > pacing.gate_budget_ms:
                    waited_s = pacing.gate_budget_ms // 1000
                    raise HostNotFree(
                        f"{self._wanted.host} was not free for {waited_s} s: {refusal.message}"
                    ) from refusal
                if not told:
                    self._log.info("waits for its turn: %s", refusal.message)
                told = True
                self._stop.sleep(max(refusal.retry_after_ms, pacing.gate_ask_ms))
            else:
                return HeldLease(self, given, asked_s=asked_s)

    def renew(self, lease_id: str) -> LeaseRenewed:
        """One call. Raises HostTakenError where the host is not ours any more, ServiceError."""
        return self._ledger.renew_host(RenewLease(lease_id=lease_id))

    def give_back(self, lease_id: str, *, visited: bool, retry_after_ms: int | None) -> None:
        """One call; where it fails, another one later. The lease ends by itself if none succeeds."""
        rest_ms = None if retry_after_ms is None else min(retry_after_ms, MAX_REST_MS)
        self._owed = ReleaseLease(lease_id=lease_id, visited=visited, retry_after_ms=rest_ms)
        self.pay()

    def pay(self) -> None:
        """Try again to give back what could not be given back before."""
        if self._owed is None:
            return
        try:
            self._ledger.release_host(self._owed)
        except ServiceError as error:
            self._log.warning("%s was not given back: %s", self._wanted.host, error)
        else:
            self._owed = None

    def obey(self, refusal: HostTakenError) -> None:
        """The gate says that this run's work is over."""
        if not self._stop.is_set:
            self._log.warning("the ledger says stop: %s", refusal.message)
        self._stop.set(refusal.message, hang_up=True)

    @property
    def renew_every_s(self) -> float:
        return self._facts.pacing.lease_renew_ms / 1000

    def warn(self, what: str, error: ServiceError) -> None:
        self._log.warning("%s: %s: %s", self._wanted.host, what, error)


class HeldLease:
    """A lease in hand, renewed in the background while its `with` block runs, given back at the end.

    Set `visited` before anything is sent to the host, and `retry_after_ms` where it asked for rest.
    """

    def __init__(self, gate: HostGate, given: HostLease, *, asked_s: float) -> None:
        self.lease_id = given.lease_id
        self.gap_ms = given.gap_ms
        self.visited = False
        self.retry_after_ms: int | None = None
        self._gate = gate
        self._given = given
        self._arrived = Stopwatch()
        self._good_until_s = asked_s + given.expires_in_ms / 1000
        self._lost = False
        self._over = threading.Event()
        # With the flow's context, or its log lines would not find their run.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._keep,), name="host-lease", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._gate.give_back(self.lease_id, visited=self.visited, retry_after_ms=self.retry_after_ms)

    @property
    def waited_ms(self) -> int:
        """Since the lease arrived."""
        return self._arrived.elapsed_ms

    @property
    def wait_ms(self) -> int:
        """What is left of the wait that the gate asked for."""
        return max(0, self._given.wait_ms - self.waited_ms)

    def assure(self) -> None:
        """Return only while the host is ours. Raises LeaseLost where it may be another's."""
        if not self._lost and steady_s() >= self._good_until_s:  # this machine slept, or the ledger was away
            try:
                self._renew()
            except ServiceError as error:
                raise LeaseLost(f"the lease ran out and could not be renewed: {error}") from error
        if self._lost:
            raise LeaseLost("the host was given to others")

    def _keep(self) -> None:
        while not self._lost and not self._over.wait(self._gate.renew_every_s):
            try:
                self._renew()
            except ServiceError as error:
                if not self._over.is_set():
                    self._gate.warn("lease not renewed", error)

    def _renew(self) -> None:
        asked_s = steady_s()
        try:
            renewed = self._gate.renew(self.lease_id)
        except HostTakenError as refusal:
            if self._over.is_set():
                return
            self._lost = True
            if refusal.stop:
                self._gate.obey(refusal)
            else:
                self._gate.warn("lease lost", refusal)
        else:
            self._good_until_s = asked_s + renewed.expires_in_ms / 1000
