"""Hosts' rounds of several crawls against a real ledger: gaps as the other end saw them."""

import itertools
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from blocks.clients.capture import CaptureClient
from blocks.clients.ledger import LedgerClient
from comity.contract.compiler import CompileAnswer
from comity.contract.ledger import WorkOrder
from flows.delivery import Delivery
from flows.host_lease import HostGate
from flows.host_round import HostRound, HostSummary
from flows.rules.facts import level_facts
from flows.rules.pacing import Pacing
from flows.rules.plan import plan_level
from flows.rules.scripts import join
from flows.stop import StopSignal
from tests.fakes.endpoints import FakeEndpoint, answer
from tests.fakes.http_server import Asked, Reply
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, ShiftedClock, ledger_at

HOST = "127.0.0.2:8000"
DELAY_MS = 300
CAPTURE_S = 0.1
FAST = Pacing(busy_wait_min_ms=10, busy_wait_max_ms=30, lease_renew_ms=50)


def capturing(asked: Asked) -> Reply:
    return Reply(body=answer(asked), wait=CAPTURE_S)


@pytest.fixture
def clock() -> ShiftedClock:
    """Ten minutes ahead of the machine that the flows run on."""
    return ShiftedClock(timedelta(minutes=10))


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, clock: ShiftedClock) -> Iterator[Desk]:
    settings: dict[str, Any] = {"max_running_crawls": 3, "clock": clock}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as running:
        yield running


@pytest.fixture
def prefect() -> Iterator[FakePrefect]:
    with FakePrefect() as fake:
        yield fake


def crawl_of(desk: Desk, pages: int, hosts: Sequence[str] = (HOST,)) -> str:
    seeds = [f"http://{host}/{number}" for host in hosts for number in range(pages)]
    return desk.start(*seeds, maxDepth=0, perHostDelayMs=DELAY_MS)


def run_level(
    desk: Desk,
    crawl_id: str,
    endpoints: Sequence[FakeEndpoint],
    *,
    parallelism: int = 1,
    ready: threading.Barrier | None = None,
) -> list[HostSummary]:
    """The hosts of a crawl's first level, as its flow run does them, once all are `ready`."""
    run_id = desk.run_id(crawl_id, 0)
    log = logging.getLogger("test")
    stop = StopSignal()
    with ExitStack() as stack:
        ledger = stack.enter_context(LedgerClient(desk.url, desk.flows_token, ""))
        order: WorkOrder = ledger.work_order(crawl_id, 0, attempt=1, run_id=run_id)
        none = CompileAnswer(typescript="7", host_types="1", cached=False, scripts=[])
        facts = level_facts(order, join([], none), run_id=run_id, pacing=FAST)
        plan = plan_level(
            order.frontier,
            (),
            per_host_delay_ms=order.per_host_delay_ms,
            max_host_delay_ms=order.max_host_delay_ms,
            host_parallelism=parallelism,
            slots=parallelism,
        )
        clients = [CaptureClient(endpoint.url, "", "") for endpoint in endpoints]
        for client in clients:
            stack.callback(client.close)
        rounds = [
            HostRound(
                host,
                facts,
                endpoints=clients,
                delivery=Delivery(ledger, facts, stop, log),
                gate=HostGate(ledger, host, facts, stop, log),
                stop=stop,
                sink=lambda: None,
                log=log,
            )
            for host in plan.hosts
        ]
        if ready is not None:
            ready.wait(30)
        with ThreadPoolExecutor(plan.parallelism) as pool:
            return [done.result(60) for done in [pool.submit(one.run) for one in rounds]]


def spans(endpoints: Sequence[FakeEndpoint]) -> list[tuple[str, float]]:
    """Whose capture began when, in order."""
    asked = sorted((one for endpoint in endpoints for one in endpoint.captures), key=lambda one: one.at)
    return [(one.body["correlationId"].split(".")[0], one.at) for one in asked]


def test_three_crawls_keep_the_gap_of_a_host_between_them_and_go_in_turns(desk: Desk) -> None:
    with FakeEndpoint([capturing]) as one, FakeEndpoint([capturing]) as two, FakeEndpoint([capturing]) as three:
        endpoints = [one, two, three]
        crawls = [crawl_of(desk, 3) for _ in range(3)]
        ready = threading.Barrier(3)
        with ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(run_level, desk, crawl, endpoints, ready=ready) for crawl in crawls]:
                [summary] = done.result(60)
                assert summary.pending == 0
        visits = spans(endpoints)
    gaps = [later - earlier - CAPTURE_S for (_, earlier), (_, later) in itertools.pairwise(visits)]
    assert len(visits) == 9
    assert min(gaps) >= DELAY_MS / 1000
    for turn in (visits[:3], visits[3:6], visits[6:]):
        assert {crawl for crawl, _ in turn} == set(crawls)
    page = desk.parts.audits.page(crawl_id=None, after="", limit=10)
    [host] = page.hosts
    assert (host.visits, host.crawls, host.kept) == (9, 3, True)
    assert host.smallest_gap_ms is not None
    assert host.smallest_gap_ms >= DELAY_MS


def test_next_crawl_waits_though_the_clocks_of_flows_and_ledger_are_ten_minutes_apart(
    desk: Desk, clock: ShiftedClock
) -> None:
    with FakeEndpoint([capturing]) as one:
        run_level(desk, crawl_of(desk, 1), [one])
        clock.ahead = timedelta(minutes=10)
        run_level(desk, crawl_of(desk, 1), [one])
        (_, first), (_, second) = spans([one])
    assert second - first - CAPTURE_S >= DELAY_MS / 1000
    assert desk.parts.audits.page(crawl_id=None, after="", limit=10).hosts[0].kept


def test_rest_that_a_host_asked_for_on_a_levels_last_page_holds_for_the_next_crawl(desk: Desk) -> None:
    def asks_for_rest(asked: Asked) -> Reply:
        body = answer(asked, "http_error", error="http", message="HTTP 429", http_status=429, retry_after_ms=900)
        return Reply(body=body)

    with FakeEndpoint([asks_for_rest, capturing]) as one:
        run_level(desk, crawl_of(desk, 1), [one])
        run_level(desk, crawl_of(desk, 1), [one])
        (_, first), (_, second) = spans([one])
    assert second - first >= 0.9


def test_hosts_share_a_browser_and_it_never_has_two_captures(desk: Desk) -> None:
    hosts = [f"127.0.0.{number}:8000" for number in range(2, 6)]
    inside: list[int] = [0, 0]

    def one_at_a_time(asked: Asked) -> Reply:
        if inside[0]:
            return Reply(429, {"message": "at another page"}, {"x-amzn-errortype": "Busy"})
        inside[0] += 1
        inside[1] = max(inside)
        try:
            return slowly(asked)
        finally:
            inside[0] -= 1

    def slowly(asked: Asked) -> Reply:
        time.sleep(CAPTURE_S)
        return Reply(body=answer(asked))

    with FakeEndpoint([one_at_a_time]) as one:
        summaries = run_level(desk, crawl_of(desk, 2, hosts), [one], parallelism=4)
    assert sum(summary.pending for summary in summaries) == 0
    assert inside[1] == 1
    page = desk.parts.audits.page(crawl_id=None, after="", limit=10)
    assert [(host.visits, host.kept) for host in page.hosts] == [(2, True)] * 4
