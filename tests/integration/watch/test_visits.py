"""What hosts may do to a visit: each has its outcome, and the other pages go on."""

import asyncio
import gzip
import itertools
from collections.abc import AsyncIterator
from dataclasses import replace

from comity.contract.watch import BySelector, WatchSettings, WholePage
from comity.contract.watch_queue import Failed, Skipped, VisitOverrides
from comity.watch.rules.named_proxies import named_proxies
from tests.fakes.watch_queue import FakeQueue, Page
from tests.integration.polite.raw_site import answering, raw_site
from tests.integration.watch.conftest import plan_for, visit_all, working
from tests.site import FixtureSite
from tests.site.changing import ChangingPage
from tests.site.wire import Request, Response, redirect, text

WHOLE = WatchSettings(watched=WholePage())
LINES = ("A page about the harbour", "The ferry leaves at nine")


def code_of(page: Page) -> str:
    [report] = page.reports
    assert isinstance(report, Failed), report
    return report.code


async def endless() -> AsyncIterator[bytes]:
    yield b"<p>An endless page"
    while True:
        yield b"<p>and on" * 1000


async def test_hostile_answers_are_outcomes_and_the_rest_goes_on(site: FixtureSite) -> None:
    plan = plan_for(site)
    plan = replace(plan, visits=replace(plan.visits, total_ms=4_000, first_byte_ms=1_500, max_body_bytes=1_000_000))
    bomb = gzip.compress(b"<p>boom " * 8_000_000)
    site.set("/bomb", Response(body=bomb, headers=(("Content-Encoding", "gzip"),)), host=0)
    site.set("/endless", Response(body=endless), host=1)
    site.set("/silent", Response(silent=True), host=2)
    site.set("/inside", redirect("http://169.254.169.254/latest/meta-data"), host=3)
    site.set("/missing", Response(status=404), host=4)
    site.set("/garbled", Response(body=b"<p>\x80\x81\xff\xfe kept", content_type="text/html; charset=utf-8"), host=5)
    site.set("/fine", ChangingPage(LINES), host=5)
    queue = FakeQueue()
    paths = ("bomb", "endless", "silent", "inside", "missing", "garbled", "fine")
    pages = {path: queue.add(site.url(min(at, 5), f"/{path}"), WHOLE) for at, path in enumerate(paths)}
    nowhere = queue.add("http://10.1.2.3/", WHOLE)
    await visit_all(queue, plan)

    assert pages["bomb"].outcomes == pages["endless"].outcomes == ["first"], "cut, and read as far as they went"
    assert code_of(pages["silent"]) == "E_TIMEOUT"
    assert code_of(pages["inside"]) == "E_URL_POLICY"
    assert code_of(pages["missing"]) == "E_HTTP_STATUS"
    assert pages["garbled"].outcomes == pages["fine"].outcomes == ["first"]
    assert isinstance(nowhere.reports[0], Skipped)
    assert not queue.leases


async def test_page_that_means_harm_holds_nobody_up(site: FixtureSite) -> None:
    site.set("/deep", Response(body=b"<a><div>" * 150_000 + b"x"), host=0)
    site.set("/fine", ChangingPage(LINES), host=1)
    queue = FakeQueue()
    deep = queue.add(site.url(0, "/deep"), WatchSettings())  # main content
    fine = queue.add(site.url(1, "/fine"), WHOLE)
    async with working(queue, plan_for(site)) as worker:
        worker._visiting.reading._budget_s = 2.0
        await queue.until(lambda: fine.outcomes == ["first"])
        assert not deep.reports
        await queue.until_idle()

    assert code_of(deep) == "E_CONTENT_COSTLY"


async def test_robots_is_asked_once_and_kept(site: FixtureSite) -> None:
    queue = FakeQueue()
    site.set("/robots.txt", text("User-agent: comity\nDisallow: /closed\nCrawl-delay: 0.2\n"), host=0)
    site.set("/open", ChangingPage(LINES), host=0)
    opened, closed = queue.add(site.url(0, "/open"), WHOLE), queue.add(site.url(0, "/closed"), WHOLE)
    async with working(queue, plan_for(site)):
        for _ in range(3):
            await queue.until_idle()
            queue.due_again(opened, closed)
        await queue.until_idle()

    assert len(site.asked_for("/robots.txt", 0)) == 1
    assert not site.asked_for("/closed")
    assert closed.outcomes == ["skipped"] * 4
    assert {report.crawl_delay_ms for report in opened.reports} == {200}  # type: ignore[union-attr]
    times = sorted((one.started_s, one.finished_s or 0.0) for one in site.requests(0))[:3]
    assert min(after[0] - before[1] for before, after in itertools.pairwise(times)) >= 0.19


async def test_rest_that_a_host_asks_for_is_reported(site: FixtureSite) -> None:
    site.set("/busy", Response(status=503, headers=(("Retry-After", "120"),)), host=0)
    queue = FakeQueue()
    page = queue.add(site.url(0, "/busy"), WHOLE)
    await visit_all(queue, plan_for(site))

    [report] = page.reports
    assert isinstance(report, Failed)
    assert (report.code, report.http_status, report.retry_after_ms) == ("E_HTTP_STATUS", 503, 120_000)


async def test_redirect_to_another_host_waits_for_its_lease_and_obeys_its_robots(site: FixtureSite) -> None:
    site.set("/robots.txt", text("User-agent: *\nDisallow: /closed\n"), host=1)
    site.set("/moved", redirect(site.url(1, "/new")), host=0)
    site.set("/forbidden", redirect(site.url(1, "/closed")), host=0)
    site.set("/new", ChangingPage(LINES), host=1)
    queue = FakeQueue(gap_ms=50)
    moved, forbidden = queue.add(site.url(0, "/moved"), WHOLE), queue.add(site.url(0, "/forbidden"), WHOLE)
    await visit_all(queue, plan_for(site))

    assert moved.outcomes == ["first"]
    assert {visit.lease_id is None for visit in moved.reports[0].visits} == {True, False}  # type: ignore[union-attr]
    assert code_of(forbidden) == "E_URL_POLICY"
    assert not site.asked_for("/closed")
    assert not queue.leases


async def test_canary_is_visited_with_its_own_settings(site: FixtureSite) -> None:
    async def late(request: Request) -> Response:
        await asyncio.sleep(1.5)
        return Response(body=b"<p>late")

    site.set_below("/late/", late)
    plan = plan_for(site)
    plan = replace(plan, visits=replace(plan.visits, first_byte_ms=300))
    queue = FakeQueue()
    hasty = queue.add(site.url(0, "/late/1"), WHOLE)
    patient = queue.add(site.url(1, "/late/2"), WatchSettings(watched=WholePage(), canary="patient"))
    patient.visit = VisitOverrides(first_byte_ms=20_000, learn_fetches=False)
    await visit_all(queue, plan)

    assert code_of(hasty) == "E_TIMEOUT"
    assert patient.outcomes == ["first"]
    assert len(site.asked_for("/late/2")) == 1


async def test_selector_that_is_none_is_a_failure_that_names_it(site: FixtureSite) -> None:
    site.set("/page", ChangingPage(LINES), host=0)
    queue = FakeQueue()
    page = queue.add(site.url(0, "/page"), WatchSettings(watched=BySelector(selector="p[[")))
    await visit_all(queue, plan_for(site))

    [report] = page.reports
    assert isinstance(report, Failed)
    assert (report.code, "p[[" in report.reason) == ("E_CONTENT_MISSING", True)


async def test_page_that_names_a_proxy_goes_through_it_and_an_unknown_one_is_skipped(site: FixtureSite) -> None:
    site.set("/straight", ChangingPage(LINES), host=0)
    by_proxy = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<p>by proxy"
    async with raw_site(answering(by_proxy)) as proxy:
        plan = replace(plan_for(site), named_proxies=named_proxies(f'{{"abroad": "http://127.0.0.1:{proxy.port}"}}'))
        queue = FakeQueue()
        through = queue.add("http://far-away.example.org/page", WatchSettings(watched=WholePage(), proxy="abroad"))
        straight = queue.add(site.url(0, "/straight"), WHOLE)
        unknown = queue.add(site.url(1, "/never"), WatchSettings(watched=WholePage(), proxy="moon"))
        await visit_all(queue, plan)

    assert through.outcomes == straight.outcomes == ["first"]
    asked = [call.target for call in proxy.calls]
    assert "http://far-away.example.org/page" in asked
    assert not any("/straight" in target for target in asked)
    [report] = unknown.reports
    assert isinstance(report, Skipped)
    assert "COMITY_WATCH_PROXIES" in report.reason
    assert not site.asked_for("/never")
