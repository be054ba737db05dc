"""What watching leaves behind: what is removed of it after its days, and what is kept for good."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from ledger.store.models_gate import HostLease
from ledger.store.models_watch import WatchRequest
from ledger.store.models_watch_queue import WatchTally
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import ledger_at
from tests.integration.ledger.watching import StoppedClock, Watch, changed, content

DAY_S = 86_400
DAYS = 90
URL = "http://127.0.0.2:8000/a"


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = StoppedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, watch_history_days=DAYS) as desk:
        yield Watch(desk, clock)


def tidy(watch: Watch) -> int:
    return watch.desk.parts.watching.tidy.once()


def rows(watch: Watch, model: Any, *where: Any) -> int:
    with watch.desk.parts.store.reading() as tx:
        return tx.scalar(select(func.count()).select_from(model).where(*where)) or 0


def visited(watch: Watch, page_id: str, *texts: str) -> None:
    """A visit for each text, each told where it is another one."""
    for before, after in zip((None, *texts), texts, strict=False):
        watch.desk.post(f"/api/watch/pages/{page_id}/visit")
        watch.wait(60)
        job = watch.only()
        if before is None:
            watch.done(job, "first", content=content(after))
        else:
            watch.done(job, "changed", **changed(before, after))


def test_history_and_evidence_go_after_their_days_and_what_was_told_stays(watch: Watch) -> None:
    [page_id] = watch.add(URL)
    visited(watch, page_id, "one", "two", "three")
    events = [one["eventId"] for one in watch.events(page_id)]
    assert len(events) == 2
    watch.wait(DAYS * DAY_S - 3600)
    assert tidy(watch) == 0
    assert (len(watch.history(page_id)), rows(watch, WatchRequest), rows(watch, HostLease)) == (3, 3, 3)
    before = watch.page(page_id)

    watch.wait(2 * 3600)
    assert tidy(watch) == 9
    assert (watch.history(page_id), rows(watch, WatchRequest), rows(watch, HostLease)) == ([], 0, 0)
    assert watch.page(page_id) == before
    assert [one["eventId"] for one in watch.events(page_id)] == events
    assert watch.desk.get(f"/api/watch/pages/{page_id}/events/{events[0]}")["diff"]["addedLines"] == 1
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "three"
    assert tidy(watch) == 0


def test_only_what_is_old_goes_and_a_page_in_flight_keeps_its_lease(watch: Watch) -> None:
    [page_id] = watch.add(URL)
    visited(watch, page_id, "one")
    watch.wait(DAYS * DAY_S - 10)
    watch.desk.post(f"/api/watch/pages/{page_id}/visit")
    job = watch.only()
    watch.wait(20)
    assert tidy(watch) == 3
    watch.done(job, "unchanged")
    assert [one["outcome"] for one in watch.history(page_id)] == ["unchanged"]
    assert (rows(watch, WatchRequest), rows(watch, HostLease)) == (1, 1)


def test_evidence_of_a_page_that_was_removed_goes_with_its_days_too(watch: Watch) -> None:
    [page_id] = watch.add(URL)
    visited(watch, page_id, "one")
    watch.remove(page_id)
    assert rows(watch, WatchRequest) == 1
    watch.wait(DAYS * DAY_S + 60)
    tidy(watch)
    assert rows(watch, WatchRequest) == 0


def test_leases_of_previews_go_and_those_of_crawls_stay(watch: Watch) -> None:
    service = watch.desk.parts.preview
    lease = service.lease("127.0.0.3:80")
    assert lease is not None
    service.release(lease.lease_id, visited=True)
    crawl_id = watch.desk.start("http://127.0.0.4/")
    watch.desk.order(crawl_id)
    holder = {"crawlId": crawl_id, "depth": 0, "attempt": 1}
    held = watch.desk.post("/api/hosts/lease", {"host": "127.0.0.4:80", "delayMs": 1000, "holder": holder})
    watch.desk.post("/api/hosts/release", {"leaseId": held["leaseId"]})
    watch.wait(DAYS * DAY_S + 60)
    tidy(watch)
    assert rows(watch, HostLease, HostLease.holder_kind == "preview") == 0
    assert rows(watch, HostLease) == 1


def test_counts_of_past_minutes_go_once_they_are_nothing_and_late_pages_are_still_counted(watch: Watch) -> None:
    pages = watch.add(*(f"http://127.0.0.{number}/" for number in range(2, 12)))
    watch.wait(120)
    jobs = watch.claim(9)
    for job in jobs:
        watch.done(job, "first", content=content("x"))
    late = watch.counts()
    past = WatchTally.minute.between(0, int((watch.clock() - timedelta(minutes=1)).timestamp()) // 60)
    assert rows(watch, WatchTally, past) > 0
    tidy(watch)
    assert watch.counts() == late == (0, 1, 9)
    watch.wait(60)
    [job] = watch.claim()
    watch.done(job, "first", content=content("x"))
    tidy(watch)
    assert rows(watch, WatchTally, past) == 0
    assert sum(watch.counts()) == len(pages)


def test_nothing_is_removed_while_another_ledger_is_at_it(watch: Watch) -> None:
    [page_id] = watch.add(URL)
    visited(watch, page_id, "one")
    watch.wait(DAYS * DAY_S + 60)
    with watch.desk.parts.store.exclusively("watch-tidy") as alone:
        assert alone
        assert tidy(watch) == 0
        assert len(watch.history(page_id)) == 1
    assert tidy(watch) == 3
