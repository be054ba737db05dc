"""Crawls beside each other: hosts get their rest between all of them, as their own log shows; the audit agrees."""

import asyncio
import json
import sqlite3
import time
from datetime import datetime

import pytest

from tests.e2e.conftest import CRAWLS_AT_ONCE, Stack
from tests.site import FixtureSite, visits_of
from tests.site.robots import allow_all
from tests.site.visits import gaps_s
from tests.site.wire import Request, Response, html

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]

HOSTS = (0, 2)
PAGES = 2
DELAY_S = 1.0
LONGEST_HOLD_S = 40
"""Under what a capture server waits for the first byte of a page."""


def hold_until_all_have_planned(site: FixtureSite) -> None:
    """The first page of the first host is slow until every crawl has asked for robots.txt: no crawl ends before."""
    planned: list[Request] = []

    def count(request: Request) -> Response:
        planned.append(request)
        return allow_all()

    async def hold(request: Request) -> Response:
        ends_s = time.monotonic() + LONGEST_HOLD_S
        while len(planned) < CRAWLS_AT_ONCE and time.monotonic() < ends_s:
            await asyncio.sleep(0.1)
        return html("<title>held</title>")

    site.set("/robots.txt", count, host=HOSTS[0])
    site.set("/", hold, host=HOSTS[0])


def visit_times(stack: Stack, crawl_id: str) -> list[datetime]:
    """When the crawl's visits began, by this machine's clock."""
    return [visit.submitted_at for page in stack.ledger.pages(crawl_id).pages for visit in page.visits]


def test_three_crawls_at_once_keep_the_gap_between_them_and_the_audit_agrees(stack: Stack, site: FixtureSite) -> None:
    hold_until_all_have_planned(site)
    seeds = [page for host in HOSTS for page in site.pages(host)[:PAGES]]
    wanted = {"maxDepth": 0, "perHostDelayMs": round(DELAY_S * 1000), "hostParallelism": 2, "scripts": []}
    crawl_ids = [stack.start(seeds=seeds, **wanted) for _ in range(CRAWLS_AT_ONCE)]
    crawls = [stack.finished(crawl_id, within_s=400) for crawl_id in crawl_ids]
    assert [(crawl.state, crawl.counts.captured) for crawl in crawls] == [("succeeded", len(seeds))] * CRAWLS_AT_ONCE
    times = [visit_times(stack, crawl_id) for crawl_id in crawl_ids]
    assert max(min(one) for one in times) < min(max(one) for one in times), "the crawls did not run beside each other"

    assert site.overlapping_visits() == ()
    visits = visits_of(site.log)
    for host in HOSTS:
        gaps = gaps_s(visits, site.hosts[host])
        assert len(gaps) == CRAWLS_AT_ONCE * PAGES - 1
        assert min(gaps) >= DELAY_S, (host, gaps)

    everything = stack.comity("audit", "--all")
    assert everything.returncode == 0, everything.stdout + everything.stderr
    assert "every promise was kept" in everything.stdout
    one = stack.comity("audit", crawl_ids[1], "--json")
    assert one.returncode == 0, one.stdout + one.stderr
    hosts = {host["host"]: host for host in json.loads(one.stdout)["hosts"]}
    assert set(hosts) == {site.hosts[host] for host in HOSTS}
    for host in hosts.values():
        assert (host["visits"], host["crawls"], host["kept"]) == (PAGES, CRAWLS_AT_ONCE, True)
        assert host["smallestGapMs"] >= DELAY_S * 1000


def test_audit_finds_a_visit_that_came_too_soon(stack: Stack, site: FixtureSite) -> None:
    seeds = list(site.pages(3)[:2])
    crawl_id = stack.start(seeds=seeds, maxDepth=0, perHostDelayMs=500, scripts=[])
    assert stack.finished(crawl_id).state == "succeeded"
    assert stack.comity("audit", crawl_id).returncode == 0
    mine = "page_id IN (SELECT id FROM page WHERE crawl_id = ?)"
    with sqlite3.connect(stack.data / "ledger" / "ledger.db", timeout=30) as database:
        database.execute(f"UPDATE visit SET promised_gap_ms = 3600000 WHERE {mine}", [crawl_id])
    try:
        found = stack.comity("audit", crawl_id)
        assert found.returncode == 1, found.stdout + found.stderr
        [row] = [line for line in found.stdout.splitlines() if "short-gap" in line]
        assert site.hosts[3] in row
        assert "3600.00 s" in row
        assert stack.comity("audit", "--all", "--json").returncode == 1
    finally:
        with sqlite3.connect(stack.data / "ledger" / "ledger.db", timeout=30) as database:
            database.execute(f"UPDATE visit SET promised_gap_ms = 500 WHERE {mine}", [crawl_id])
    assert stack.comity("audit", "c0000000000000000").returncode == 2
