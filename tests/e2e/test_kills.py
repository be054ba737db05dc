"""Parts of the stack killed at random while it crawls: every crawl ends by itself, and nothing is lost or repeated.

The draw is seeded: COMITY_KILL_SEED repeats one, COMITY_KILLS says how many kills the long run takes.
"""

import json
import os
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.contract.ledger import CrawlView
from tests.e2e.conftest import COMITY, Stack, start_stack, stop_stack
from tests.e2e.kills import HOSTS, Killer, grow
from tests.site import FixtureSite
from tests.site.visits import gaps_s, overlapping, visits_of

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]

DELAY_MS = 400
KILLS_PER_CRAWL = 5
PAGES = 60
ENDS_WITHIN_S = 900
SEED = int(os.environ.get("COMITY_KILL_SEED", "20"))


@pytest.fixture
def grove() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=HOSTS, crawl_delay={}) as running:
        yield running


@pytest.fixture
def own_stack(tmp_path: Path) -> Iterator[Stack]:
    running = start_stack(tmp_path / "data")
    yield running
    stop_stack(running)


@pytest.mark.timeout(1200)
def test_three_kills_lose_nothing_and_hurt_no_host(own_stack: Stack, grove: FixtureSite) -> None:
    killer = Killer(own_stack.data, SEED, rest_s=(3.0, 6.0))
    _crawl_under_fire(own_stack, grove, killer, kills=3, max_pages=24)
    assert len(killer.done) == 3
    _judge(own_stack, grove, killer)


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
def test_many_kills_lose_nothing_and_hurt_no_host(own_stack: Stack, grove: FixtureSite) -> None:
    killer = Killer(own_stack.data, SEED)
    kills = int(os.environ.get("COMITY_KILLS", "50"))
    while (left := kills - len(killer.done)) > 0:
        _crawl_under_fire(own_stack, grove, killer, kills=min(left, KILLS_PER_CRAWL), max_pages=PAGES)
        print(f"{len(killer.done)} of {kills} kills: {dict(killer.counts)}", flush=True)
    _judge(own_stack, grove, killer)


def _crawl_under_fire(stack: Stack, site: FixtureSite, killer: Killer, *, kills: int, max_pages: int) -> CrawlView:
    crawl_id = stack.start(
        seeds=grow(site), maxDepth=2, maxPages=max_pages, perHostDelayMs=DELAY_MS, hostParallelism=4, scripts=[]
    )
    for _ in range(kills):
        if not killer.kill_one(lambda: stack.is_running(crawl_id)):
            break
    crawl = stack.finished(crawl_id, within_s=ENDS_WITHIN_S)
    assert crawl.state == "succeeded" or crawl.error, f"{crawl_id} ended {crawl.state} and does not say why"
    return crawl


def _judge(stack: Stack, site: FixtureSite, killer: Killer) -> None:
    """From the files, the ledger's rows and the site's own log."""
    settled: Counter[str] = Counter()
    crawls = [stack.ledger.crawl(crawl.id) for crawl in stack.ledger.crawls().crawls]
    for crawl in crawls:
        rows = stack.ledger.pages(crawl.id).pages
        assert Counter(row.state for row in rows) == Counter(
            {state: count for state, count in crawl.counts.model_dump().items() if count}
        )
        settled += Counter(row.host for row in rows if row.state != "pending")
        captured = {row.page_id for row in rows if row.state == "captured"}
        assert _captured_by_manifests(stack.data, crawl.id) <= captured, "a capture is not in the ledger"
        for row in rows:
            if row.state == "captured":
                _readable(row.artifacts["wacz"])
    visits = visits_of(entry for entry in site.log if entry.path.startswith("/grove/"))
    assert overlapping(visits) == ()
    for host in site.hosts:
        shortest = min(gaps_s(visits, host), default=DELAY_MS / 1000)
        assert shortest >= DELAY_MS / 1000, f"{host} had {shortest:.3f} s between two visits; kills: {killer.done}"
        again = sum(visit.host == host for visit in visits) - settled[host]
        assert again <= len(killer.done), f"{host} was visited {again} times again; kills: {killer.done}"
    audit = subprocess.run(
        [COMITY, "audit", "--all", "--data", str(stack.data)], capture_output=True, text=True, timeout=300, check=False
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr


def _captured_by_manifests(data: Path, crawl_id: str) -> set[str]:
    """The pages of the crawl that some capture server says it captured, whoever heard of it."""
    pages = set()
    for manifest in (data / "artifacts").rglob("*.result.json"):
        told = json.loads(manifest.read_text())
        crawl, page, *_ = (told.get("correlationId") or "..").split(".")
        if crawl == crawl_id and told["status"] == "success":
            pages.add(page)
    return pages


def _readable(location: str) -> None:
    with zipfile.ZipFile(location.removeprefix("file://")) as archive:
        assert archive.testzip() is None
        assert any(name.endswith(".warc.gz") for name in archive.namelist())
