"""Watching with a real ledger: changes are told, a stop leaves nothing behind, a kill loses nothing."""

import asyncio
import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.contract.extraction import AddExtractor
from comity.contract.watch import AddPages, ByExtractor, NewPage, WatchSettings
from comity.watch.rules.rendering import as_text
from tests.e2e.watching import Watched, kill_now_and_then, until, watched
from tests.integration.ledger import databases
from tests.integration.ledger.databases import POSTGRESQL, SQLITE
from tests.integration.ledger.watching import OFFERS
from tests.site import FixtureSite
from tests.site.changing import ChangingPage
from tests.site.wire import Request, Response

pytestmark = pytest.mark.timeout(900)
DELAY_MS = 500
CLOCK_GRAIN_S = 0.01
LINES = ("A page about the harbour", "The ferry leaves at nine", "Tickets cost 12.50")


@pytest.fixture
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=6, crawl_delay={}) as running:
        yield running


def smallest_gap_s(site: FixtureSite, host: int) -> float:
    """From the beginning of any request to that of the next, as the site saw them.

    Not from the end: the site may write it down a good moment after the worker has the answer.
    """
    times = sorted(one.started_s for one in site.requests(host))
    return min((after - before for before, after in itertools.pairwise(times)), default=1.0)


def until_visited(at: Watched, ids: list[str], times: int) -> None:
    until(lambda: all(at.visits_of(one) >= times for one in ids), f"visit {times}")


@pytest.fixture(params=[SQLITE, POSTGRESQL])
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """None for SQLite. PostgreSQL where there is one."""
    if request.param == POSTGRESQL and databases.server() is None:
        pytest.skip(databases.NOT_HERE)
    with databases.database(request.param) as url:
        yield url


def test_change_is_an_event_with_its_diff_and_is_told_once(
    site: FixtureSite, tmp_path: Path, database_url: str | None
) -> None:
    noisy, japanese = ChangingPage(LINES, counter=True, ads=True), ChangingPage(("港", "茶"), encoding="euc_jp")
    site.set("/noisy", noisy, host=0)
    site.set("/japanese", japanese, host=2)
    with watched(tmp_path, site, database_url=database_url) as at:
        ids = at.add(site.url(0, "/noisy"), site.url(2, "/japanese"))
        at.start()
        for visits in (1, 2):
            until_visited(at, ids, visits)
            for one in ids:
                at.people.visit_now(one)
        until_visited(at, ids, 3)
        assert not any(at.people.page_events(one).events for one in ids)

        noisy.change(*LINES[:2], "Tickets cost 14.00")
        japanese.change("港", "珈琲")
        for visits in (4, 5):
            for one in ids:
                at.people.visit_now(one)
            until_visited(at, ids, visits)
        told = [[event for event in at.people.page_events(one).events if event.kind == "changed"] for one in ids]
        diffs = [at.people.page_event(one, events[0].event_id).diff for one, events in zip(ids, told, strict=True)]
        text = at.people.content(ids[1]).text

    assert [len(events) for events in told] == [1, 1]
    assert [as_text(diff).partition("\n")[2] for diff in diffs if diff is not None] == [
        "-Tickets cost 12.50\n+Tickets cost 14.00\n",
        "-茶\n+珈琲\n",
    ]
    assert text == "港\n珈琲"


def test_fields_of_an_extractor_are_watched_and_nothing_else(site: FixtureSite, tmp_path: Path) -> None:
    page = ChangingPage(('<h2 class="name">Ferry</h2>', '<b class="price">12.50</b>', "weather: fair"))
    site.set("/offer", page, host=0)
    with watched(tmp_path, site) as at:
        made = at.people.add_extractor(AddExtractor(id="offers", source=OFFERS))
        watching = WatchSettings(watched=ByExtractor(id="offers", version=made.version))
        [one] = at.people.add_pages(AddPages(pages=[NewPage(url=site.url(0, "/offer"), settings=watching)])).page_ids
        at.start()
        until_visited(at, [one], 1)
        for visits, changed in ((2, ("12.50", "weather: foul")), (3, ("14.00", "weather: foul"))):
            page.change(page.lines[0], f'<b class="price">{changed[0]}</b>', changed[1])
            at.people.visit_now(one)
            until_visited(at, [one], visits)
        events = [event for event in at.people.page_events(one).events if event.kind == "changed"]
        diffs = [at.people.page_event(one, event.event_id).diff for event in events]
        fields = at.people.content(one).fields

    assert [as_text(diff).partition("\n")[2] for diff in diffs if diff is not None] == [
        "-price: 12.50\n+price: 14.00\n"
    ]
    assert fields == {"name": "Ferry", "price": "14.00"}


def test_sigterm_leaves_no_lease_and_no_page_behind(site: FixtureSite, tmp_path: Path) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(60)
        return Response(body=b"late")

    site.set_below("/slow/", slow)
    with watched(tmp_path, site) as at:
        at.add(*(site.url(host, f"/slow/{page}") for host in range(6) for page in range(5)))
        worker = at.start(COMITY_WATCH_TOTAL_MS="60000", COMITY_WATCH_FIRST_BYTE_MS="60000")
        assert site.wait_until(lambda log: len([one for one in log if one.path.startswith("/slow/")]) == 6, 60)
        busy = at.people.counts().visits.processing
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=150) == 0, at.log_of(0)
        left = at.people.counts().visits

    assert busy == 6
    assert left.processing == 0
    assert left.queued + left.delayed == 30


def test_killed_workers_lose_no_page_and_hurry_no_host(site: FixtureSite, tmp_path: Path) -> None:
    for page in range(6):
        site.set(f"/page/{page}", ChangingPage(LINES))
    with watched(tmp_path, site, delay_ms=DELAY_MS) as at:
        ids = at.add(*(site.url(host, f"/page/{page}") for page in range(6) for host in range(6)))
        kill_now_and_then(at, 2, 7, lambda: False)
        until_visited(at, ids, 1)

    assert not site.overlapping_visits()
    assert min(smallest_gap_s(site, host) for host in range(6)) >= DELAY_MS / 1000 - CLOCK_GRAIN_S
