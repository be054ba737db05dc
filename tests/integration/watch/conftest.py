"""A worker on a queue in memory, in front of the fixture web."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from comity.polite.rules.addresses import egress_rules
from comity.watch.building import Plan, built
from comity.watch.tracing import Tracer
from comity.watch.visit_settings import VisitSettings
from comity.watch.worker import Worker, WorkerSettings
from tests.fakes.watch_queue import FakeQueue
from tests.site import FixtureSite

PLAN = Plan(
    name="worker-1",
    worker=WorkerSettings(concurrency=16, report_every_ms=20),
    visits=VisitSettings(learn_after_ms=0, connect_ms=5_000, first_byte_ms=20_000, total_ms=30_000),
)


@pytest.fixture
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=6, crawl_delay={}) as running:
        yield running


def plan_for(site: FixtureSite, plan: Plan = PLAN) -> Plan:
    """The plan, with the fixture web allowed."""
    return replace(plan, egress=egress_rules(",".join(site.hosts)))


@contextlib.asynccontextmanager
async def working(queue: FakeQueue, plan: Plan, *, tracer: Tracer | None = None) -> AsyncIterator[Worker]:
    """A worker at work; stopped, and its errors raised, at the end."""
    stop = asyncio.Event()
    async with built(plan, queue, tracer=tracer) as worker:
        running = asyncio.create_task(worker.run(stop))
        try:
            yield worker
        finally:
            stop.set()
            await running


async def visit_all(queue: FakeQueue, plan: Plan) -> None:
    """Every page that is due, once."""
    async with working(queue, plan):
        await queue.until_idle()
