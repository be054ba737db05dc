"""The worker's own life: leases that run out, a queue that is away, a stop in the middle of everything."""

import asyncio
import time
from dataclasses import replace

from comity.contract.watch import WatchSettings, WholePage
from comity.contract.watch_queue import Skipped
from comity.watch.building import built
from tests.fakes.watch_queue import FakeQueue
from tests.integration.watch.conftest import plan_for, working
from tests.site import FixtureSite
from tests.site.changing import ChangingPage
from tests.site.wire import Request, Response

WHOLE = WatchSettings(watched=WholePage())
LINES = ("A page", "of two lines")


async def hanging(request: Request) -> Response:
    await asyncio.sleep(600)
    return Response(body=b"never")


async def test_stop_gives_everything_back_within_its_budget(site: FixtureSite) -> None:
    site.set_below("/hang/", hanging)
    queue = FakeQueue()
    asked = [queue.add(site.url(host, f"/hang/{host}"), WHOLE) for host in range(6)]
    waiting = [queue.add(f"http://127.0.0.{host}:1/", WHOLE) for host in range(100, 104)]
    queue.host_ready_s = {page.host: time.monotonic() + 600 for page in waiting}
    stop = asyncio.Event()
    async with built(plan_for(site), queue) as worker:
        running = asyncio.create_task(worker.run(stop))
        await asyncio.to_thread(site.wait_until, lambda log: sum(one.path.startswith("/hang/") for one in log) == 6, 60)
        await queue.until(lambda: len(queue.leases) == 10)
        began_s = time.monotonic()
        stop.set()
        await running
        took_s = time.monotonic() - began_s

    assert not queue.leases
    assert sorted(queue.given_back) == sorted(page.page_id for page in waiting)
    assert all(isinstance(page.reports[0], Skipped) for page in asked), "their sites were asked, and get their rest"
    assert took_s < 60, "what hangs was waited for"


async def test_fetch_begins_only_under_a_lease_that_outlasts_it(site: FixtureSite) -> None:
    site.set("/page", ChangingPage(LINES))
    queue = FakeQueue()
    queue.lease_ms = 1_000
    page = queue.add(site.url(0, "/page"), WHOLE)
    queue.refuse_renewal = True
    async with working(queue, plan_for(site)) as worker:
        await queue.until(lambda: worker.tally.dropped == 1)
        assert not site.requests(0)
        queue.refuse_renewal = False
        queue.leases.clear()
        queue.due_again(page)
        await queue.until(lambda: page.outcomes == ["first"])


async def test_queue_that_comes_back_gets_every_report(site: FixtureSite) -> None:
    queue = FakeQueue()
    pages = []
    for host in range(6):
        site.set("/page", ChangingPage(LINES), host=host)
        pages.append(queue.add(site.url(host, "/page"), WHOLE))
    plan = plan_for(site)
    plan = replace(plan, worker=replace(plan.worker, report_every_ms=300))
    async with working(queue, plan):
        await queue.until(lambda: bool(site.page_requests()))
        queue.away = True
        await asyncio.to_thread(site.wait_until, lambda log: len([e for e in log if e.path == "/page"]) >= 12, 60)
        queue.away = False
        await queue.until(lambda: all(page.outcomes == ["first"] for page in pages))

    assert queue.stale == 0


async def test_hanging_page_holds_one_place_and_no_other_page(site: FixtureSite) -> None:
    site.set_below("/hang/", hanging)
    site.set("/page", ChangingPage(LINES))
    queue = FakeQueue()
    plan = plan_for(site)
    plan = replace(plan, worker=replace(plan.worker, concurrency=2))
    queue.add(site.url(0, "/hang/1"), WHOLE)
    pages = [queue.add(site.url(host, "/page"), WHOLE) for host in range(1, 6)]
    async with working(queue, plan):
        await queue.until(lambda: all(page.outcomes == ["first"] for page in pages))


async def test_rehearsal_sleeps_and_asks_no_site(site: FixtureSite) -> None:
    queue = FakeQueue()
    page = queue.add(site.url(0, "/page"), WHOLE)
    plan = plan_for(site)
    plan = replace(plan, worker=replace(plan.worker, dry_run=True, rehearsal_ms=10))
    async with working(queue, plan):
        await queue.until(lambda: page.outcomes == ["rehearsed"])

    assert not site.log
