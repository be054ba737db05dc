"""The typed calls of watching against a real ledger."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from blocks.clients.errors import ServiceRefused
from blocks.clients.watch import MAX_REPORT_BYTES, WatchClient
from comity.contract.watch import AddPages, ChangeList, ChangePage, NewList, NewPage
from comity.contract.watch_queue import Content, FirstContent, Job, NotModified, SiteVisit
from tests.integration.ledger.desk import Desk
from tests.integration.ledger.watching import content, visit

pytestmark = pytest.mark.one_database

WORKER = "worker-1"


@pytest.fixture
def clients(desk: Desk) -> Iterator[tuple[WatchClient, WatchClient]]:
    """What a person uses, and what a worker does."""
    with ExitStack() as stack:
        people, worker = (
            stack.enter_context(WatchClient(desk.url, token, "")) for token in (desk.token, desk.flows_token)
        )
        yield people, worker


def test_pages_are_kept_visited_and_shown_through_the_client(clients: tuple[WatchClient, WatchClient]) -> None:
    people, worker = clients
    antenna = people.add_list(NewList(name="antenna"))
    url = "http://127.0.0.2/"
    page_id = people.add_pages(AddPages(pages=[NewPage(url=url, lists=[antenna.list_id])])).page_ids[0]
    job = worker.claim(WORKER, most=5, lease_ms=60_000).jobs[0]
    assert worker.renew([job.token], lease_ms=90_000)[0].expires_in_ms is not None
    said = FirstContent(
        token=job.token,
        outcome="first",
        content=Content.model_validate(content("text")),
        visits=[SiteVisit.model_validate(visit(url))],
    )
    answer = worker.complete(WORKER, [said, NotModified(token="gone", outcome="not-modified")])
    assert [(one.accepted, one.why) for one in answer] == [(True, None), (False, "stale")]
    assert worker.content(page_id).text == "text"
    assert people.watched_page(page_id).counters.visits == 1
    assert [page.page_id for page in people.watched_pages(url=url).pages] == [page_id]
    assert [one.outcome for one in people.history(page_id).visits] == ["first"]
    assert people.page_events(page_id).events == []
    assert people.listed_pages(antenna.list_id).pages[0].page_id == page_id
    assert people.freshness(antenna.list_id).visited_within_hour == 1
    assert people.counts().visits.queued == 1
    assert people.visit_now(page_id).in_progress is False
    assert people.change_list(antenna.list_id, ChangeList(remove=[page_id])).pages == 0
    assert people.change_page(page_id, ChangePage(paused=True)).paused is True
    people.remove_list(antenna.list_id)
    people.remove_page(page_id)
    assert people.watch_lists().lists == []
    with pytest.raises(ServiceRefused, match="404"):
        people.watched_page(page_id)


def test_jobs_are_given_back_through_the_client(clients: tuple[WatchClient, WatchClient]) -> None:
    people, worker = clients
    people.add_pages(AddPages(pages=[NewPage(url="http://127.0.0.2/")]))
    job = worker.claim(WORKER, most=5, lease_ms=60_000).jobs[0]
    assert [one.accepted for one in worker.return_jobs([job.token, "none"])] == [True, False]
    assert worker.claim(WORKER, most=5, lease_ms=60_000).jobs[0].page_id == job.page_id


def test_reports_that_are_too_much_for_one_call_go_in_several(clients: tuple[WatchClient, WatchClient]) -> None:
    people, worker = clients
    text = "あ" * 170_000
    count = 2 * MAX_REPORT_BYTES // len(text.encode()) + 2
    urls = [f"http://127.0.1.{number}/" for number in range(1, count + 1)]
    people.add_pages(AddPages(pages=[NewPage(url=url) for url in urls]))
    jobs: list[Job] = []
    while len(jobs) < count:
        jobs += worker.claim(WORKER, most=100, lease_ms=600_000).jobs
    reports = [
        FirstContent(token=job.token, outcome="first", content=Content.model_validate(content(text))) for job in jobs
    ]
    assert [one.token for one in worker.complete(WORKER, reports)] == [job.token for job in jobs]
