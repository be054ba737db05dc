"""A change on the web reaches a webhook and a feed reader, each once, by the commands that a person would type."""

import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import feedparser
import httpx
import pytest

from blocks.clients.watch import WatchClient
from comity.watch.rules.webhook import secret_bytes, verified
from tests.e2e.conftest import COMITY, ROOT, Stack
from tests.e2e.watching import until
from tests.fakes.webhook_receiver import Receiver, receiver
from tests.site import FixtureSite
from tests.site.changing import ChangingPage

pytestmark = pytest.mark.timeout(400)
LINES = ("A page about the harbour", "The ferry leaves at nine", "Tickets cost 12.50")


@pytest.fixture
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=2, crawl_delay={}) as running:
        yield running


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as here:
        yield here


def said(stack: Stack, *arguments: str) -> str:
    done = stack.comity("watch", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def worker(stack: Stack, log: Path) -> "subprocess.Popen[bytes]":
    settings = {"COMITY_WATCH_LEARN_AFTER_MS": "0", "COMITY_WATCH_REPORT_EVERY_MS": "100"}
    command = [COMITY, "watch", "run", "--data", str(stack.data)]  # may visit what its stack may
    with log.open("wb") as sink:
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stdout=sink, stderr=sink)


def test_change_is_told_once_by_webhook_and_stands_in_the_feed(
    stack: Stack, site: FixtureSite, hook: Receiver, tmp_path: Path
) -> None:
    page = ChangingPage(LINES, counter=True)
    site.set("/harbour", page, host=0)
    url = site.url(0, "/harbour")
    said(stack, "add", url, "--whole", "--list", "Harbours")
    secret = (
        said(stack, "channels", "add", hook.url, "--name", "hook", "--list", "Harbours").rpartition(": ")[2].strip()
    )
    feed = said(stack, "feeds", "add", "--list", "Harbours").split("Atom")[1].split()[0]

    token = (stack.data / "ledger" / "tokens" / "operator").read_text().strip()

    def visited(times: int) -> None:
        said(stack, "now", url)
        with WatchClient(stack.addresses["ledger"], token, "") as people:
            (found,) = people.watched_pages(url=url).pages
            until(lambda: people.watched_page(found.page_id).counters.visits >= times, f"visit {times}")

    running = worker(stack, tmp_path / "worker.log")
    try:
        visited(1)
        visited(2)
        assert hook.got == []
        page.change(*LINES[:2], "Tickets cost 14.00")
        visited(3)
        until(lambda: hook.got, "the webhook is told")
        visited(4)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0, (tmp_path / "worker.log").read_text()
    finally:
        if running.poll() is None:
            running.kill()
            running.wait(timeout=60)

    ((headers, body),) = hook.got
    assert verified(headers, body, now=datetime.now(UTC), secret=secret_bytes(secret))
    (told,) = hook.bodies()[0]["data"]["events"]
    assert told["url"] == url
    assert told["diff"].partition("\n")[2] == "-Tickets cost 12.50\n+Tickets cost 14.00\n"
    assert said(stack, "diff", url) == told["diff"]
    read = feedparser.parse(httpx.get(feed, trust_env=False, timeout=30).content)
    assert not read.bozo
    assert [entry.link for entry in read.entries] == [url]
    assert "Tickets cost 14.00" in read.entries[0].content[0].value
    assert "0 processing" in said(stack, "migrate", "status")
    said(stack, "rm", url)
