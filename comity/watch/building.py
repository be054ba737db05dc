"""A worker with everything that it stands on, from its settings."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from comity.polite.answers import GetLimits
from comity.polite.client import DEFAULT_USER_AGENT, GuardedClient
from comity.polite.egress import Egress
from comity.polite.robots import fetch_robots
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.trust import TlsTrust, system_trust
from comity.watch.asking import Outside, Route
from comity.watch.ports import Clock, NoReaders, Queue, Readers
from comity.watch.reading import PageReading
from comity.watch.robots_book import RobotsBook
from comity.watch.tracing import Tracer, TraceSettings, tracer_of
from comity.watch.visit_settings import VisitSettings
from comity.watch.visiting import Visiting
from comity.watch.worker import Worker, WorkerSettings


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is to be."""

    name: str
    egress: EgressRules = field(default_factory=EgressRules)
    proxies: ProxyRules = field(default_factory=ProxyRules)
    named_proxies: Mapping[str, ProxyRules] = field(default_factory=dict)
    """Those that pages may name."""
    trust: TlsTrust | None = None
    user_agent: str = DEFAULT_USER_AGENT
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    visits: VisitSettings = field(default_factory=VisitSettings)
    tracing: TraceSettings = field(default_factory=TraceSettings)


@contextlib.asynccontextmanager
async def built(
    plan: Plan, queue: Queue, *, readers: Readers | None = None, tracer: Tracer | None = None
) -> AsyncIterator[Worker]:
    """The worker, ready to run; its connections, its child and its traces are ended after it."""
    egress = Egress(plan.egress)
    trust = plan.trust or system_trust()
    tracer = tracer or tracer_of(plan.tracing, worker=plan.name)
    reading = PageReading()
    budget = GetLimits(plan.visits.connect_ms, plan.visits.first_byte_ms, plan.visits.total_ms)

    def route(proxies: ProxyRules) -> Route:
        client = GuardedClient(
            egress,
            user_agent=plan.user_agent,
            trust=trust,
            proxies=proxies,
            max_connections=plan.worker.concurrency,
        )
        robots = partial(
            fetch_robots, user_agent=plan.user_agent, budget=budget, egress=egress, trust=trust, proxies=proxies
        )
        return Route(client, robots)

    usual, named = route(plan.proxies), {name: route(rules) for name, rules in plan.named_proxies.items()}
    try:
        async with contextlib.AsyncExitStack() as opened:
            for one in (usual, *named.values()):
                await opened.enter_async_context(one.client)
            outside = Outside(usual.client, RobotsBook(), usual.fetch_robots, queue, Clock(), named)
            visiting = Visiting(outside, reading, readers or NoReaders(), plan.visits, tracer)
            yield Worker(queue, visiting, plan.worker)
    finally:
        await reading.close()
        tracer.close()
