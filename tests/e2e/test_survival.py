"""Processes killed in mid-level: the crawl is resumed and finished, politely, and its pages are kept."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from comity.cli.data_folder import DataFolder
from comity.cli.stack.prepare import RUN_MODULE
from comity.cli.stack.state import running_stack
from tests.e2e.conftest import Stack, start_stack, stop_stack
from tests.site import FixtureSite
from tests.site.wire import html

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect, pytest.mark.timeout(900)]

RESUMED_WITHIN_S = 300
DELAY_S = 1.0
GAP_SLACK_S = 0.02
"""Between the end of a page's last request at the site and the clock that the gap is counted from."""
STUCK = "/stuck"
"""The first visit to it gets no answer, so that the kill comes in mid-capture; the next one does."""


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack, whose parts are killed by every test here in turn."""
    running = start_stack(tmp_path_factory.mktemp("survivor") / "data", browsers=1)
    yield running
    stop_stack(running)


@pytest.fixture
def own_stack(survivor: Stack) -> Stack:
    """It, whole again."""
    deadline = time.monotonic() + 180
    while (state := running_stack(DataFolder(survivor.data))) is None or not state.ready:
        assert time.monotonic() < deadline, state
        time.sleep(0.1)
    return survivor


def processes(data: Path, *words: str) -> list[psutil.Process]:
    """Processes of that stack whose command line holds every word."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(data) in process.environ().get("COMITY_DATA", "") and all(
                word in " ".join(process.cmdline()) for word in words
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def crawl_in_mid_level(stack: Stack, site: FixtureSite) -> str:
    """A crawl with two pages captured, one under way, and two to come."""
    site.set(STUCK, html("<!doctype html><title>here after all</title>"), host=0)
    site.fail(STUCK, "silent", host=0, times=1)
    seeds = [site.seeds[0], site.seeds[2], site.url(0, STUCK), *site.pages(0)[1:3]]
    crawl_id = stack.start(
        seeds=seeds, maxDepth=0, perHostDelayMs=int(DELAY_S * 1000), hostParallelism=1, respectRobots=False, scripts=[]
    )
    assert site.wait_until(lambda log: any(entry.path == STUCK for entry in log), within_s=180)
    deadline = time.monotonic() + 120
    while stack.ledger.crawl(crawl_id).counts.captured < 1:
        assert time.monotonic() < deadline, stack.ledger.crawl(crawl_id)
        time.sleep(0.1)
    return crawl_id


def kill(found: list[psutil.Process]) -> None:
    assert found
    for process in found:
        with suppress(ProcessLookupError):  # it may have ended with its parent, killed before it
            os.kill(process.pid, signal.SIGKILL)


def assert_resumed(stack: Stack, site: FixtureSite, crawl_id: str, why: str) -> None:
    """One attempt died and the next finished; the site saw no page twice but the one in flight, and every gap kept."""
    crawl = stack.finished(crawl_id, within_s=RESUMED_WITHIN_S)
    assert (crawl.state, crawl.error, crawl.counts.captured) == ("succeeded", None, 5)
    [died] = crawl.attempts
    assert (died.depth, died.attempt) == (0, 1)
    assert why in died.ended
    assert crawl.last_run is not None
    assert crawl.last_run.attempt == 2
    asked = Counter((entry.host, entry.path) for entry in site.page_requests())
    assert asked.pop((site.hosts[0], STUCK)) == 2
    assert set(asked.values()) == {1}, asked
    assert site.overlapping_visits() == ()
    smallest_s = site.smallest_gap_s(0)
    assert smallest_s is not None
    assert smallest_s >= DELAY_S - GAP_SLACK_S
    after = stack.finished(stack.start(seeds=[site.seeds[1]], maxDepth=0, scripts=[]))
    assert after.state == "succeeded", after.error


def test_a_killed_flow_process_is_followed_by_another(own_stack: Stack, site: FixtureSite) -> None:
    crawl_id = crawl_in_mid_level(own_stack, site)
    kill(processes(own_stack.data, RUN_MODULE))
    assert_resumed(own_stack, site, crawl_id, "crashed")


def test_flow_and_worker_killed_together_are_followed_by_others(own_stack: Stack, site: FixtureSite) -> None:
    crawl_id = crawl_in_mid_level(own_stack, site)
    kill(processes(own_stack.data, "comity.cli.stack.workers") + processes(own_stack.data, RUN_MODULE))
    assert_resumed(own_stack, site, crawl_id, "crashed")


def test_a_stack_killed_whole_and_started_again_resumes_its_crawl(own_stack: Stack, site: FixtureSite) -> None:
    """The last one here: the stack that the others had is gone."""
    data = own_stack.data
    crawl_id = crawl_in_mid_level(own_stack, site)
    kill([psutil.Process(own_stack.process.pid), *processes(data)])
    own_stack.process.wait(60)
    again = start_stack(data, browsers=1)
    try:
        assert_resumed(again, site, crawl_id, "crashed")
    finally:
        stop_stack(again)
    deadline = time.monotonic() + 120
    while left := processes(data):
        assert time.monotonic() < deadline, [process.cmdline() for process in left]
        time.sleep(0.1)
