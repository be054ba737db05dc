"""40 workers killed with SIGKILL over 3,000 pages: none lost, no host visited twice at once, every gap kept."""

import itertools
import os
from pathlib import Path

import pytest

from tests.e2e.watching import Watched, kill_now_and_then, until, watched
from tests.site import FixtureSite
from tests.site.changing import ChangingPage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
HOSTS = 100
PAGES_PER_HOST = int(os.environ.get("COMITY_KILL_PAGES", "3000")) // HOSTS
KILLS = int(os.environ.get("COMITY_KILLS", "40"))
DELAY_MS = 200


def unvisited(at: Watched) -> int:
    """Pages of which nobody has reported anything yet."""
    count, after = 0, None
    while True:
        found = at.people.watched_pages(after=after, limit=200)
        count += sum(page.last_outcome is None for page in found.pages)
        after = found.next
        if after is None:
            return count


def test_no_page_is_lost_and_no_host_hurried_over_forty_kills(tmp_path: Path) -> None:
    seed = int(os.environ.get("COMITY_KILL_SEED", "1"))
    with FixtureSite(hosts=HOSTS, crawl_delay={}) as site:
        for page in range(PAGES_PER_HOST):
            site.set(f"/page/{page}", ChangingPage(("A page", f"number {page}")))
        with watched(tmp_path, site, delay_ms=DELAY_MS) as at:
            ids = at.add(*(site.url(host, f"/page/{page}") for page in range(PAGES_PER_HOST) for host in range(HOSTS)))
            killed = kill_now_and_then(at, KILLS, seed, lambda: False)

            until(lambda: unvisited(at) == 0, "every page is visited", 900, every_s=5)
        gaps = []
        for host in range(HOSTS):
            times = sorted((one.started_s, one.finished_s or one.started_s) for one in site.requests(host))
            gaps += [after[0] - before[1] for before, after in itertools.pairwise(times)]

    print(f"{killed} kills, {len(ids)} pages, {len(gaps)} gaps, the smallest {min(gaps):.3f} s")
    assert killed == KILLS
    assert min(gaps) >= DELAY_MS / 1000 - 0.02
