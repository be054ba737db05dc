"""A real ledger and real workers, each a process, in front of the fixture web."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blocks.clients.watch import WatchClient
from comity.contract.watch import AddPages, NewPage, WatchSettings, WholePage
from tests.integration.ledger.processes import environment
from tests.site import FixtureSite

WHOLE = WatchSettings(watched=WholePage())
BUDGET_S = 240.0


@dataclass
class Watched:
    """`people` speaks as the operator. `start()` as many workers as are wanted."""

    folder: Path
    url: str
    site: FixtureSite
    people: WatchClient
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self, **settings: str) -> "subprocess.Popen[bytes]":
        """A worker, with short limits."""
        environment = os.environ | {
            "COMITY_WATCH_TOTAL_MS": "3000",
            "COMITY_WATCH_LEASE_MS": "10000",
            "COMITY_WATCH_LEARN_AFTER_MS": "0",
            "COMITY_WATCH_REPORT_EVERY_MS": "300",
            **settings,
        }
        number = len(self.workers)
        command = [
            *(sys.executable, "-m", "comity.cli.main", "watch", "run", "--ledger-url", self.url),
            *("--token-file", str(self.folder / "data" / "tokens" / "flows")),
            *("--allow-private", ",".join(self.site.hosts)),
        ]
        with (self.folder / f"worker-{number}.log").open("wb") as log:
            worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.workers.append(worker)
        return worker

    def add(self, *urls: str) -> list[str]:
        ids: list[str] = []
        for first in range(0, len(urls), 200):
            pages = [NewPage(url=url, settings=WHOLE) for url in urls[first : first + 200]]
            ids += self.people.add_pages(AddPages(pages=pages)).page_ids
        return ids

    def visits_of(self, page_id: str) -> int:
        return self.people.watched_page(page_id).counters.visits

    def log_of(self, number: int) -> str:
        return (self.folder / f"worker-{number}.log").read_text(errors="replace")


@contextlib.contextmanager
def ledger(folder: Path, **settings: str) -> Iterator[str]:
    """Where it listens. Its log goes into a file: thousands of pages would fill a pipe, and it would stand still."""
    with (folder / "ledger.log").open("wb") as log:
        command = [sys.executable, "-W", "error", "-m", "ledger"]
        process = subprocess.Popen(command, env=environment(folder, **settings), stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, (folder / "ledger.log").read_text()
        yield str(json.loads(said)["listening"])
    finally:
        process.kill()
        process.communicate(timeout=150)


@contextlib.contextmanager
def watched(
    folder: Path, site: FixtureSite, *, delay_ms: int = 50, database_url: str | None = None
) -> Iterator[Watched]:
    """A ledger whose watchers keep this gap, on SQLite or on the database given. What was started is ended."""
    settings = {"LEDGER_DATABASE_URL": database_url} if database_url is not None else {}
    with ledger(folder, LEDGER_WATCH_HOST_DELAY_MS=str(delay_ms), **settings) as url:
        token = (folder / "data" / "tokens" / "operator").read_text().strip()
        with WatchClient(url, token, "", timeout_ms=120_000) as people:
            running = Watched(folder, url, site, people)
            try:
                yield running
            finally:
                for worker in running.workers:
                    if worker.poll() is None:
                        worker.kill()
                    worker.wait(timeout=150)


def until(holds: Callable[[], object], what: str, budget_s: float = BUDGET_S, every_s: float = 0.1) -> None:
    ends_s = time.monotonic() + budget_s
    while not holds():
        assert time.monotonic() < ends_s, f"{what}: not within {budget_s:g} s"
        time.sleep(every_s)


def kill_now_and_then(at: Watched, kills: int, seed: int, done: Callable[[], bool]) -> int:
    """Two workers, one of them killed with SIGKILL and replaced so many times, until it is done. How many it were."""
    chance = random.Random(seed)
    at.start()
    at.start()
    killed = 0
    while killed < kills and not done():
        time.sleep(chance.uniform(0.5, 3.0))
        alive = [worker for worker in at.workers if worker.poll() is None]
        victim = chance.choice(alive)
        victim.send_signal(signal.SIGKILL)
        victim.wait(timeout=150)
        killed += 1
        at.start()
    return killed
