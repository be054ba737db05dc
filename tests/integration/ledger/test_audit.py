"""`GET /api/audit`: what the ledger's own rows say of politeness, across crawls."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried

HOST = "127.0.0.2:8000"
DELAY_MS = 2000


class Visits:
    """Two crawls that visit hosts through the gate, on a clock that the test moves."""

    def __init__(self, desk: Desk, clock: ShiftedClock) -> None:
        self.desk = desk
        self.clock = clock

    def crawl(self, *hosts: str, pages: int = 3) -> str:
        seeds = [f"http://{host}/{number}" for host in hosts or (HOST,) for number in range(pages)]
        return self.desk.start(*seeds, maxDepth=0, maxPages=500, perHostDelayMs=DELAY_MS)

    def visit(
        self, crawl_id: str, host: str = HOST, *, off_s: float = 0, waits: bool = True, took_s: float = 1
    ) -> Json:
        """The next page of that host, by a run whose clock is off by so much. Its result as the ledger got it."""
        page = next(one for one in self.desk.order(crawl_id)["frontier"] if one["host"] == host)
        holder = {"crawlId": crawl_id, "depth": 0, "attempt": 1}
        lease = self.desk.post("/api/hosts/lease", {"host": host, "holder": holder, "delayMs": DELAY_MS})
        waited_ms = lease["waitMs"] if waits else 0
        self.clock.advance(waited_ms / 1000)
        began = self.clock() + timedelta(seconds=off_s)
        self.clock.advance(took_s)
        ended = self.clock() + timedelta(seconds=off_s)
        self.desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
        result = self.desk.captured(crawl_id, page)
        facts = {
            "submittedAt": began.isoformat(),
            "finishedAt": ended.isoformat(),
            "promisedGapMs": lease["gapMs"],
            "leaseId": lease["leaseId"],
            "waitedMs": waited_ms,
        }
        result["tries"] = [{**one, **facts} for one in result["tries"]]
        self.desk.report(crawl_id, [result])
        return result

    def audit(self, crawl: str | None = None, **more: Any) -> list[Json]:
        if crawl is not None:
            more["crawl"] = crawl
        hosts: list[Json] = self.desk.get("/api/audit", **more)["hosts"]
        return hosts


@pytest.fixture
def visits(tmp_path: Path, prefect: FakePrefect) -> Iterator[Visits]:
    clock = ShiftedClock()
    settings: dict[str, Any] = {"max_running_crawls": 3, "clock": clock}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:
        yield Visits(desk, clock)


def test_nothing_visited_is_an_empty_audit(visits: Visits) -> None:
    crawl = visits.crawl()
    assert visits.desk.get("/api/audit") == {"hosts": [], "next": None}
    assert visits.audit(crawl) == []
    visits.desk.get("/api/audit", 404, crawl="c0")


def test_crawls_that_go_in_turns_kept_every_promise_whatever_their_clocks_say(visits: Visits) -> None:
    one, two = visits.crawl(), visits.crawl()
    for _ in range(2):
        visits.visit(one, off_s=600)
        visits.visit(two, off_s=-600)
    [host] = visits.audit()
    assert (host["host"], host["visits"], host["crawls"]) == (HOST, 4, 2)
    assert (host["kept"], host["clock"], host["promisedMs"]) == (True, "ledger", DELAY_MS)
    assert DELAY_MS <= host["smallestGapMs"] < DELAY_MS + 5_000
    for crawl in (one, two):
        [mine] = visits.audit(crawl)
        assert (mine["visits"], mine["crawls"], mine["kept"]) == (2, 2, True)


def test_run_that_did_not_wait_is_found_though_its_clock_says_that_it_did(visits: Visits) -> None:
    one, two = visits.crawl(), visits.crawl()
    visits.visit(one)
    visits.visit(two, off_s=600, waits=False)
    [host] = visits.audit(two)
    assert (host["kept"], host["broken"]) == (False, 1)
    [violation] = host["violations"]
    assert (violation["kind"], violation["clock"], violation["promisedMs"]) == ("short-gap", "ledger", DELAY_MS)
    assert (violation["earlier"]["crawlId"], violation["later"]["crawlId"]) == (one, two)
    assert violation["later"]["url"] == f"http://{HOST}/0"
    assert visits.audit(one)[0]["broken"] == 1  # it suffered as much as the other did
    third = visits.crawl()
    visits.visit(third)
    assert visits.audit(third)[0]["kept"] is True  # what others did to each other is not its own


def test_doctored_row_is_found(visits: Visits) -> None:
    crawl = visits.crawl()
    for _ in range(3):
        visits.visit(crawl)
    assert visits.audit()[0]["kept"] is True
    with visits.desk.parts.store.writing() as tx:
        last = "(SELECT max(id) FROM visit)"
        query = (
            f"UPDATE visit SET submitted_at = (SELECT submitted_at FROM visit WHERE id = {last} - 1) WHERE id = {last}"
        )
        tx.connection().exec_driver_sql(query)
    [host] = visits.audit()
    assert (host["kept"], host["violations"][0]["kind"], host["violations"][0]["clock"]) == (False, "overlap", "run")


def test_tries_that_never_reached_the_site_do_not_count(visits: Visits) -> None:
    crawl = visits.crawl()
    result = visits.visit(crawl)
    page = visits.desk.order(crawl)["frontier"][0]
    busy = [tried("busy", number, promisedGapMs=DELAY_MS) for number in (1, 2)]
    failed = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "x", "tries": busy}
    visits.desk.report(crawl, [failed])
    [host] = visits.audit()
    assert (host["visits"], host["kept"]) == (1, True)
    assert result["tries"][0]["outcome"] == "success"


def test_visits_without_leases_are_judged_by_what_clocks_said(visits: Visits) -> None:
    one, two = visits.crawl(), visits.crawl()
    for crawl in (one, two):
        [page, *_] = visits.desk.order(crawl)["frontier"]
        now = datetime.now(UTC)
        result = visits.desk.captured(crawl, page)
        result["tries"] = [tried(task_id=result["taskId"], submittedAt=now.isoformat(), finishedAt=now.isoformat())]
        visits.desk.report(crawl, [result])
    [host] = visits.audit()
    assert (host["kept"], host["clock"], host["promisedMs"]) == (False, "reported", DELAY_MS)


def test_hosts_come_by_name_a_few_at_a_time(visits: Visits) -> None:
    hosts = [f"127.0.0.{number}" for number in range(2, 7)]
    crawl = visits.crawl(*hosts, pages=1)
    for host in hosts:
        visits.visit(crawl, host)
    abouts: list[dict[str, Any]] = [{}, {"crawl": crawl}]
    for about in abouts:
        seen, after = [], ""
        while True:
            page = visits.desk.get("/api/audit", limit=2, after=after, **about)
            seen += [host["host"] for host in page["hosts"]]
            if page["next"] is None:
                break
            after = page["next"]
        assert seen == hosts


def test_another_organisations_visits_count_and_are_not_named(visits: Visits) -> None:
    one, two = visits.crawl(), visits.crawl()
    visits.visit(one)
    visits.visit(two, waits=False)
    with visits.desk.parts.store.writing() as tx:
        tx.connection().exec_driver_sql(f"UPDATE crawl SET organization = 'other' WHERE id = '{two}'")
    audits = visits.desk.parts.audits
    page = audits.page(crawl_id=one, after="", limit=10, organizations=["default"])
    [violation] = page.hosts[0].violations
    assert (violation.earlier.crawl_id, violation.later.crawl_id, violation.later.url) == (one, "", "")
    whole = audits.page(crawl_id=None, after="", limit=10, organizations=["default"])
    assert (whole.hosts[0].visits, whole.hosts[0].broken) == (1, 1)
    assert audits.page(crawl_id=None, after="", limit=10, organizations=["nobody"]).hosts == []


@pytest.mark.parametrize(
    ("query", "field"), [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"after": "\0"}, "after")]
)
def test_bad_question_is_refused_by_its_field(shared_desk: Desk, query: Json, field: str) -> None:
    refusal = shared_desk.get("/api/audit", 400, **query)
    assert [problem["field"] for problem in refusal["fields"]] == [field]
