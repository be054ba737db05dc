"""Crawls and watchers at one gate: one gap for both, whoever was there before; and many workers at once."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from comity.contract.watch import ChangePage
from comity.contract.watch_queue import ClaimJobs, CompleteJobs, Job, ReturnJobs
from ledger.errors import StoreBusy, WrongState
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried
from tests.integration.ledger.watching import HOST, SITE, StoppedClock, Watch, content, report, visit

T = TypeVar("T")
WORKERS = 8
DEADLINE_S = 120


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = StoppedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, watch_visits_per_s=1000) as desk:
        yield Watch(desk, clock)


def _lease(desk: Desk, crawl_id: str, status: int = 200, *, delay_ms: int = 10_000) -> Json:
    holder = {"crawlId": crawl_id, "depth": 0, "attempt": 1}
    return desk.post("/api/hosts/lease", {"host": HOST, "holder": holder, "delayMs": delay_ms}, status)


def _crawl(desk: Desk) -> str:
    crawl_id = desk.start(f"{SITE}/", maxDepth=0)
    desk.order(crawl_id)
    return crawl_id


def test_crawl_and_watcher_take_turns_and_keep_one_gap(watch: Watch) -> None:
    desk, crawl_id = watch.desk, _crawl(watch.desk)
    watch.add(f"{SITE}/a")
    lease = _lease(desk, crawl_id)
    assert watch.claim() == [], "the crawl is there"
    desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
    refusal = _lease(desk, crawl_id, 409)
    assert "turn of others" in refusal["error"], "a crawl that goes from page to page keeps no watcher out"
    watch.wait(1)
    job = watch.only()
    assert 0 < job["waitMs"] <= 5_000, "what remains of the watcher's gap since the crawl was there"
    _lease(desk, crawl_id, 409)
    watch.done(job, "first", content=content("x"))
    lease = _lease(desk, crawl_id)
    assert 5_000 < lease["waitMs"] <= 10_000, "and of the crawl's since the watcher was there"
    desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})


def test_rest_that_a_watcher_was_asked_for_is_the_crawls_too(watch: Watch) -> None:
    crawl_id = _crawl(watch.desk)
    watch.add(f"{SITE}/a")
    watch.done(watch.only(), "failed", retryAfterMs=90_000, crawlDelayMs=20_000)
    lease = _lease(watch.desk, crawl_id, delay_ms=0)
    assert 80_000 < lease["waitMs"] <= 90_000
    watch.desk.post("/api/hosts/release", {"leaseId": lease["leaseId"], "visited": False})
    watch.wait(90)
    assert _lease(watch.desk, crawl_id, delay_ms=0)["gapMs"] == 20_000


def test_rest_that_a_crawl_was_asked_for_keeps_the_watcher_away(watch: Watch) -> None:
    crawl_id = _crawl(watch.desk)
    watch.add(f"{SITE}/a")
    lease = _lease(watch.desk, crawl_id)
    watch.desk.post("/api/hosts/release", {"leaseId": lease["leaseId"], "retryAfterMs": 3_600_000})
    watch.wait(100)
    assert watch.claim() == []
    watch.wait(3_450)
    assert watch.claim() == []
    watch.wait(51)
    assert watch.only()["waitMs"] == 0


def test_audit_sees_crawls_and_watchers_on_one_host(watch: Watch) -> None:
    desk, crawl_id = watch.desk, _crawl(watch.desk)
    page = desk.order(crawl_id)["frontier"][0]
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.wait(1)
    watch.done(watch.only(), "first", content=content("x"))
    watch.wait(1)
    lease = _lease(desk, crawl_id, delay_ms=4_000)
    watch.wait(lease["waitMs"] / 1000 + 1)
    told = {"leaseId": lease["leaseId"], "waitedMs": lease["waitMs"], "promisedGapMs": lease["gapMs"]}
    result = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "x"}
    desk.report(crawl_id, [{**result, "tries": [tried("connection: x", **told)]}])
    desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
    watch.wait(6)
    assert watch.complete(report(watch.only(), "first", content=content("y")), worker="worker-2")[0]["accepted"]
    audit = desk.get("/api/audit")["hosts"]
    assert [(one["host"], one["visits"], one["crawls"], one["kept"]) for one in audit] == [(HOST, 3, 1, True)]
    of_crawl = desk.get("/api/audit", crawl=crawl_id)["hosts"]
    assert [one["visits"] for one in of_crawl] == [1]


def test_visit_that_did_not_wait_for_its_turn_is_told_by_the_audit(watch: Watch) -> None:
    desk, crawl_id = watch.desk, _crawl(watch.desk)
    watch.add(f"{SITE}/a")
    lease = _lease(desk, crawl_id)
    page = desk.order(crawl_id)["frontier"][0]
    told = {"leaseId": lease["leaseId"], "waitedMs": 0, "promisedGapMs": lease["gapMs"]}
    result = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "x"}
    desk.report(crawl_id, [{**result, "tries": [tried("connection: x", **told)]}])
    desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
    job = watch.only()
    assert job["waitMs"] > 1_000
    hasty = report(job, "first", content=content("x"))
    hasty["visits"][0]["waitedMs"] = 0
    assert watch.complete(hasty)[0]["accepted"]
    host = desk.get("/api/audit")["hosts"][0]
    assert (host["kept"], host["broken"]) == (False, 1)
    violation = host["violations"][0]
    assert (violation["kind"], violation["clock"]) == ("short-gap", "ledger")
    assert (violation["earlier"]["work"], violation["later"]["work"]) == ("crawl", "watch")
    assert (violation["later"]["pageId"], violation["later"]["runId"]) == (job["pageId"], "worker-1")


def test_job_may_hold_another_host_for_a_redirect_and_no_longer_than_it_lives(watch: Watch) -> None:
    watch.add(f"{SITE}/a")
    job = watch.only()
    order = {"host": "127.0.0.9", "holder": {"kind": "watch", "token": job["token"]}, "delayMs": 5_000}
    lease = watch.desk.post("/api/hosts/lease", order)
    watch.add("http://127.0.0.9/")
    assert watch.claim() == []
    watch.desk.post("/api/hosts/renew", {"leaseId": lease["leaseId"]})
    watch.desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
    watch.desk.post("/api/hosts/renew", {"leaseId": job["token"]}, 404)
    watch.desk.post("/api/hosts/release", {"leaseId": job["token"]}, 404)
    watch.give_back(job["token"])
    over = watch.desk.post("/api/hosts/lease", order, 409)
    assert over["stop"] is True


def patiently(call: Callable[[], T]) -> T:
    """A database that is busy is asked again, as every worker does."""
    for _ in range(20):
        with suppress(StoreBusy):
            return call()
    return call()


class _Crew:
    """Workers at one queue, and what they saw of each other."""

    def __init__(self, desk: Desk, pages: int) -> None:
        self.watching = desk.parts.watching
        self.pages = pages
        self.lock = threading.Lock()
        self.at: set[str] = set()
        self.done: list[str] = []
        self.overlaps: list[str] = []
        self.ends_s = time.monotonic() + DEADLINE_S

    def work(self, number: int) -> None:
        dice, name = random.Random(number), f"worker-{number}"
        while len(self.done) < self.pages and time.monotonic() < self.ends_s:
            order = ClaimJobs(worker=name, max=dice.randint(1, 20), lease_ms=600_000)
            claimed = patiently(partial(self.watching.claims.claim, order))
            with self.lock:
                self.overlaps += [job.host for job in claimed.jobs if job.host in self.at]
                self.at |= {job.host for job in claimed.jobs}
            for job in claimed.jobs:
                self.end(job, name, dice.random())
            if not claimed.jobs:
                time.sleep(0.05)

    def visit_some(self, number: int) -> None:
        """Visits that may turn out to be of pages that are others by now."""
        name = f"worker-{number}"
        while len(self.done) < self.pages and time.monotonic() < self.ends_s:
            order = ClaimJobs(worker=name, max=5, lease_ms=600_000)
            claimed = patiently(partial(self.watching.claims.claim, order))
            said = [report(job.to_wire(), "first", content=content(job.url)) for job in claimed.jobs]
            if said:
                done = CompleteJobs.model_validate({"worker": name, "jobs": said})
                answers = patiently(partial(self.watching.completions.complete, done)).jobs
                self.done += [answer.token for answer in answers if answer.accepted]
            else:
                time.sleep(0.05)

    def end(self, job: Job, name: str, chance: float) -> None:
        with self.lock:
            self.at.discard(job.host)  # before it is said: whoever claims the host from then on is right
        if chance < 0.2:
            patiently(partial(self.watching.claims.give_back, ReturnJobs(tokens=[job.token])))
            return
        time.sleep(job.wait_ms / 1000)
        there = visit(job.url, began_s=0, took_s=0, waited_ms=job.wait_ms)
        said = report(job.to_wire(), "first", content=content(job.url), visits=[there])
        order = CompleteJobs.model_validate({"worker": name, "jobs": [said]})
        answer = patiently(partial(self.watching.completions.complete, order)).jobs[0]
        assert answer.accepted, answer
        with self.lock:
            self.done.append(job.page_id)


def test_many_workers_at_once_meet_on_no_host_and_lose_no_page(tmp_path: Path, prefect: FakePrefect) -> None:
    settings: dict[str, Any] = {"watch_host_delay_ms": 1, "watch_visits_per_s": 100_000}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:
        watch = Watch(desk, ShiftedClock())
        pages = watch.add(*(f"http://127.0.1.{host}/{page}" for host in range(1, 21) for page in range(8)))
        crew = _Crew(desk, len(pages))
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(crew.work, range(WORKERS)))
        assert crew.overlaps == []
        assert sorted(crew.done) == sorted(pages), "each page once, none twice"
        assert watch.counts() == (0, 0, len(pages))
        with desk.parts.store.reading() as tx:
            query = "SELECT count(*) FROM host_lease WHERE holder_kind = 'watch' AND ended_at IS NULL"
            assert tx.connection().exec_driver_sql(query).scalar() == 0
        assert all(host["kept"] for host in desk.get("/api/audit", limit=100)["hosts"])


def test_people_and_workers_at_once_stand_in_nobodys_way(tmp_path: Path, prefect: FakePrefect) -> None:
    """Pages are paused, changed, asked for, removed and added while workers visit them: all counts come out right."""
    settings: dict[str, Any] = {"watch_host_delay_ms": 1, "watch_visits_per_s": 100_000}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:
        watch = Watch(desk, ShiftedClock())
        pages = watch.add(*(f"http://127.0.1.{host}/{page}" for host in range(1, 6) for page in range(8)))
        crew, keeper = _Crew(desk, len(pages)), desk.parts.watching.pages
        crew.ends_s = time.monotonic() + 10

        def keep(number: int) -> None:
            dice = random.Random(number)
            while time.monotonic() < crew.ends_s and len(crew.done) < len(pages):
                page = dice.choice(pages)
                with suppress(StoreBusy, WrongState):
                    patiently(partial(keeper.visit_now, page, None))
                for paused in (True, False):
                    patiently(partial(keeper.change, page, ChangePage(paused=paused), None))
                patiently(
                    partial(keeper.change, page, ChangePage(url=f"http://127.0.1.9/{page}/{dice.random()}"), None)
                )

        with ThreadPoolExecutor(WORKERS) as pool:
            workers = [pool.submit(crew.visit_some, number) for number in range(5)]
            keepers = [pool.submit(keep, number) for number in range(3)]
            for task in (*workers, *keepers):
                task.result()
        for job in watch.claim(100):
            watch.give_back(job["token"])
        processing, delayed, queued = watch.counts()
        assert (processing, delayed + queued) == (0, len(pages))
        with desk.parts.store.reading() as tx:
            connection = tx.connection()
            assert connection.exec_driver_sql("SELECT count(*) FROM watch_due").scalar() == len(pages)
            assert connection.exec_driver_sql("SELECT count(*) FROM watch_job").scalar() == 0
