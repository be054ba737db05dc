"""One host's round against scripted capture servers and a scripted ledger over real HTTP; budgets of milliseconds."""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from blocks.clients.capture import CaptureClient
from blocks.clients.ledger import LedgerClient
from comity.contract.compiler import CompileAnswer
from comity.contract.ledger import PageResult, WorkOrder
from flows.delivery import Delivery
from flows.host_lease import HostGate
from flows.host_round import HostRound, HostSummary
from flows.rules.facts import LevelFacts, level_facts
from flows.rules.pacing import Pacing
from flows.rules.plan import HostPlan, PageWork
from flows.rules.scripts import join
from flows.sink_grant import SinkGrant
from flows.stop import StopSignal, Stopwatch
from tests.fakes.endpoints import FakeEndpoint
from tests.fakes.ledger import TOKEN, FakeLedger, work_order

HOST = "a.test"
FAST = Pacing(
    capture_deadline_ms=1_500,
    connect_timeout_ms=500,
    busy_wait_min_ms=10,
    busy_wait_max_ms=30,
    busy_budget_ms=300,
    unreachable_wait_ms=60,
    result_budget_ms=600,
    result_retry_ms=20,
    gate_ask_ms=10,
    gate_budget_ms=400,
)


def facts(pacing: Pacing = FAST, *, max_host_delay_ms: int = 600_000) -> LevelFacts:
    """A level without scripts."""
    order = WorkOrder.model_validate(work_order([f"http://{HOST}/"], maxHostDelayMs=max_host_delay_ms))
    none = CompileAnswer(typescript="7", host_types="1", cached=False, scripts=[])
    return level_facts(order, join([], none), run_id="run", pacing=pacing)


@dataclass
class Round:
    """A host with so many pages, and everything around it."""

    ledger: FakeLedger
    urls: Sequence[str]
    pages: int = 1
    delay_ms: int = 0
    crawl_delay_ms: int | None = None
    place: int = 0
    ca: str = ""
    sitemaps: tuple[str, ...] = ()
    facts: LevelFacts = field(default_factory=facts)
    stop: StopSignal = field(default_factory=StopSignal)

    def run(self) -> HostSummary:
        """Visit all pages."""
        plan = HostPlan(
            host=HOST,
            place=self.place,
            pages=tuple(PageWork(f"p{number}", f"http://{HOST}/{number}") for number in range(self.pages)),
            delay_ms=self.delay_ms,
            initial_wait_ms=0,
            crawl_delay_ms=self.crawl_delay_ms,
            robots="",
            sitemaps=self.sitemaps,
        )
        log = logging.getLogger("test")
        clients = [CaptureClient(url, "", self.ca) for url in self.urls]
        with LedgerClient(self.ledger.url, TOKEN, "", timeout_ms=2_000) as ledger:
            delivery = Delivery(ledger, self.facts, self.stop, log)
            gate = HostGate(ledger, plan, self.facts, self.stop, log)
            host = HostRound(
                plan,
                self.facts,
                endpoints=clients,
                delivery=delivery,
                gate=gate,
                stop=self.stop,
                sink=SinkGrant(self.facts, ledger, log, Stopwatch()).current,
                log=log,
            )
            try:
                return host.run()
            finally:
                for client in clients:
                    client.close()

    @property
    def results(self) -> list[PageResult]:
        """What the ledger took, in order."""
        return self.ledger.results

    def outcomes(self) -> list[tuple[str, str | None]]:
        """Status and reason of each."""
        return [(one.status, one.skip_reason or one.reason) for one in self.results]


def gaps(*endpoints: FakeEndpoint) -> list[float]:
    """Seconds between the submissions."""
    at = sorted(one.at for endpoint in endpoints for one in endpoint.captures)
    return [later - earlier for earlier, later in itertools.pairwise(at)]


def after(look: Callable[[], object], then: Callable[[], None]) -> None:
    """In another thread: as soon as `look` finds something, `then`."""

    def wait() -> None:
        ends_at = time.monotonic() + 60
        while time.monotonic() < ends_at and not look():
            time.sleep(0.005)
        then()

    threading.Thread(target=wait, daemon=True).start()
