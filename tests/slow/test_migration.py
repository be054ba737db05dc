"""50,000 pages move in from another system: a rehearsal, 1 %, 50 %, all, and back again, while pages change all along.

No change is lost and none is told twice, whoever found it; and both systems end with the same times.
"""

import hashlib
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
PAGES = int(os.environ.get("COMITY_MIGRATION_PAGES", "50000"))
HOSTS, AT_ONCE = PAGES // 10, 500
CHANGES = PAGES // 125
"""In each part of the move."""
Change = tuple[int, int]
"""A page, and which of its contents it was."""


def url(page: int) -> str:
    return f"https://h{page % HOSTS}.example/{page}"


def text(page: int, number: int) -> str:
    return f"page {page}\nsays {number}"


def sha256(page: int, number: int) -> str:
    return hashlib.sha256(text(page, number).encode()).hexdigest()


@dataclass
class Web:
    """What the pages say. A page changes again only after somebody told its last change."""

    chance: random.Random
    says: list[int] = field(default_factory=lambda: [0] * PAGES)
    untold: set[int] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)

    def change(self, many: int) -> None:
        for page in self.chance.sample(range(PAGES), many):
            if page not in self.untold:
                self.says[page] += 1
                self.untold.add(page)
                self.changes.append((page, self.says[page]))


@dataclass
class OldSystem:
    """Visits the pages that are its own, tells changes, and keeps contents and times."""

    web: Web
    clock: ShiftedClock
    own: set[int] = field(default_factory=lambda: set(range(PAGES)))
    seen: list[int] = field(default_factory=lambda: [0] * PAGES)
    updated_at: dict[int, datetime] = field(default_factory=dict)
    told: Counter[Change] = field(default_factory=Counter)
    behind: set[int] = field(default_factory=set)
    """What it knows that we found, and has no content of."""
    unsent: dict[int, datetime] = field(default_factory=dict)

    def visit(self) -> None:
        """All of its pages."""
        for page in sorted(self.own & self.web.untold):
            now = self.clock()
            if self.seen[page] != self.web.says[page]:
                self.seen[page] = self.web.says[page]
                self.updated_at[page] = self.unsent[page] = now.replace(microsecond=now.microsecond // 1000 * 1000)
                self.told[page, self.seen[page]] += 1
                self.web.untold.discard(page)

    def export(self, pages: Iterable[int]) -> Iterator[Json]:
        for page in pages:
            row: Json = {"url": url(page), "title": f"Page {page}", "content": text(page, self.seen[page])}
            at = self.updated_at.get(page)
            yield row if at is None else {**row, "updatedAt": at.isoformat()}


@dataclass
class Move:
    """Both systems, and the calls that go between them."""

    desk: Desk
    clock: ShiftedClock
    web: Web
    old: OldSystem
    told: Counter[Change] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    cursor: str | None = None
    visits: int = 0

    def take_in(self, pages: list[int]) -> Json:
        """The other system's export of these pages, while the web goes on changing."""
        total: Json = {"added": 0, "newer": 0, "contents": 0, "pageIds": []}
        for start in range(0, len(pages), AT_ONCE):
            rows = list(self.old.export(pages[start : start + AT_ONCE]))
            answer = self.desk.post("/api/watch/moving/pages", {"pages": rows})
            total = {name: total[name] + answer[name] for name in total}
        return total

    def switch(self, version: int, percent: float = 100) -> int:
        switched, after = 0, None
        while True:
            order: Json = {"version": version, "percent": percent, **({"after": after} if after else {})}
            answer = self.desk.post("/api/watch/moving/switch", order)
            switched, after = switched + answer["switched"], answer["next"]
            if after is None:
                return int(switched)

    def hand_over(self, percent: float) -> int:
        """Pages become ours: the other system reads which, leaves them alone, and gives what it found until then."""
        switched = self.switch(2, percent)
        self.web.change(CHANGES // 4)
        self.old.visit()  # it does not know yet
        gone = {self.numbers[page["pageId"]] for page in self.pages() if page["version"] == 2} & self.old.own
        self.old.own -= gone
        assert len(gone) == switched
        self.take_in(sorted(gone))
        return switched

    def give_back(self) -> None:
        """All pages are the other system's again: it takes the times, and the contents of what it did not find."""
        self.switch(1)
        self.exchange_times()
        for page in sorted(self.old.behind):
            self._take_content(page)
        self.old.behind.clear()
        self.old.own = set(range(PAGES))

    def _take_content(self, page: int) -> None:
        found = self.desk.get(f"/api/watch/pages/{self.names[page]}/content")["text"]
        self.old.seen[page] = int(found.rpartition(" ")[2])

    def exchange_times(self) -> None:
        """What each system found, to the other. Ours until all of it has settled."""
        sent = sorted(self.old.unsent.items())
        for start in range(0, len(sent), AT_ONCE):
            updates = [{"url": url(page), "updatedAt": at.isoformat()} for page, at in sent[start : start + AT_ONCE]]
            answer = self.desk.post("/api/watch/updates", {"updates": updates})
            assert answer["unknown"] == []
        self.old.unsent.clear()
        self.clock.advance(120)
        while True:
            more: Json = {} if self.cursor is None else {"after": self.cursor}
            answer = self.desk.get("/api/watch/updates", limit=AT_ONCE, **more)
            for one in answer["updates"]:
                page, at = self.numbers[one["pageId"]], datetime.fromisoformat(one["updatedAt"])
                if at > self.old.updated_at.get(page, datetime.min.replace(tzinfo=at.tzinfo)):
                    self.old.updated_at[page] = at
                    self.old.behind.add(page)
            if answer["next"] == self.cursor:
                return
            self.cursor = answer["next"]

    def pages(self) -> Iterator[Json]:
        after = None
        while True:
            more: Json = {"after": after} if after else {}
            answer = self.desk.get("/api/watch/pages", limit=1000, **more)
            yield from answer["pages"]
            after = answer["next"]
            if after is None:
                return

    def claim(self, *, dry_run: bool = False) -> list[Json]:
        order = {"worker": "mover", "max": AT_ONCE, "dryRun": dry_run}
        return list(self.desk.post("/api/watch/queue/claim", order)["jobs"])

    def complete(self, reports: list[Json]) -> list[Json]:
        return list(self.desk.post("/api/watch/queue/complete", {"worker": "mover", "jobs": reports})["jobs"])

    def rehearse(self, pages: int) -> float:
        """Claim and sleep; returns pages a second."""
        begun_s, done = time.monotonic(), 0
        while done < pages:
            jobs = self.claim(dry_run=True)
            if not jobs:
                self.clock.advance(10)
                continue
            answers = self.complete([{"token": job["token"], "outcome": "rehearsed"} for job in jobs])
            assert all(answer["accepted"] for answer in answers)
            done += len(jobs)
        return done / (time.monotonic() - begun_s)

    def visit(self, pages: int) -> None:
        """Our workers, until so many pages were visited; the other system and the web go on meanwhile."""
        done: set[str] = set()
        waits = 0
        while len(done) < pages:
            jobs = self.claim()
            if not jobs:
                waits += 1
                assert waits < 300, f"{pages - len(done)} pages do not come"
                # A host's rest at first; then those that have been rehearsed, which are due in hours.
                self.clock.advance(10 if waits % 10 else 6 * 3600)
                continue
            reports = [self._report(job) for job in jobs]
            if len(done) % (10 * AT_ONCE) < AT_ONCE:
                self.web.change(CHANGES // 10)
                self.old.visit()
            self._counted(jobs, reports)
            done.update(job["pageId"] for job in jobs)
        self.visits += len(done)

    def _report(self, job: Json) -> Json:
        """What a worker finds at this moment."""
        page = self.numbers[job["pageId"]]
        before, now = job["state"]["contentSha256"], self.web.says[page]
        base: Json = {"token": job["token"], "httpStatus": 200}
        if before == sha256(page, now):
            return {**base, "outcome": "unchanged"}
        said = text(page, now)
        hunk = {"beforeLine": 2, "afterLine": 2, "removed": ["says less"], "added": [f"says {now}"]}
        return {
            **base,
            "outcome": "changed",
            "beforeSha256": before,
            "content": {"text": said, "sha256": sha256(page, now)},
            "diff": {"hunks": [hunk], "removedLines": 1, "addedLines": 1},
        }

    def _counted(self, jobs: list[Json], reports: list[Json]) -> None:
        for job, report, answer in zip(jobs, reports, self.complete(reports), strict=True):
            assert answer["accepted"], answer
            if answer.get("eventId") is None:
                continue
            page = self.numbers[job["pageId"]]
            number = int(report["content"]["text"].rpartition(" ")[2])
            self.told[page, number] += 1
            if self.web.says[page] == number:
                self.web.untold.discard(page)


@contextmanager
def moving(folder: Path) -> Iterator[Move]:
    clock, web = ShiftedClock(), Web(random.Random(7))
    settings: dict[str, Any] = {"watch_visits_per_s": 10_000, "watch_host_delay_ms": 100}
    with (
        pytest.MonkeyPatch.context() as patch,
        FakePrefect() as prefect,
        ledger_at(folder / "data", folder / "store", prefect, clock=clock, **settings) as desk,
    ):
        # Each of 50,000 texts would wait for the disk, for a quarter of an hour in all; no power fails here.
        patch.setattr(os, "fsync", lambda descriptor: None)
        desk.client.timeout = httpx.Timeout(120)
        yield Move(desk, clock, web, OldSystem(web, clock))


def test_fifty_thousand_pages_move_in_and_back_and_every_change_is_told_once(tmp_path: Path) -> None:
    with moving(tmp_path) as move:
        web, old = move.web, move.old
        web.change(CHANGES)
        old.visit()
        taken = move.take_in(list(range(PAGES)))
        assert (taken["added"], taken["contents"]) == (PAGES, PAGES)
        move.names = taken["pageIds"]
        move.numbers = {name: page for page, name in enumerate(move.names)}
        web.change(CHANGES)

        assert move.claim() == []
        rate = move.rehearse(PAGES // 10)
        assert rate > 0
        old.visit()
        assert not move.told

        few = move.hand_over(1)
        assert PAGES * 0.008 < few < PAGES * 0.012
        move.visit(few)
        half = few + move.hand_over(50)
        assert PAGES * 0.48 < half < PAGES * 0.52
        move.visit(half - few)
        move.exchange_times()
        move.hand_over(100)
        move.clock.advance(timedelta(days=40).total_seconds())
        move.visit(PAGES)
        assert old.own == set()
        web.change(CHANGES)  # found by nobody before they go back

        move.give_back()
        assert move.claim() == []
        old.visit()
        web.change(CHANGES)
        old.visit()
        move.exchange_times()

        told = old.told + move.told
        assert not web.untold
        assert set(told) == set(web.changes)
        assert max(told.values()) == 1
        assert min(len(old.told), len(move.told)) > CHANGES // 4
        events = Counter(one["pageId"] for one in every_update(move))
        assert events == Counter(move.names[page] for page, _ in move.told)
        times = {move.numbers[page["pageId"]]: page.get("updatedAt") for page in move.pages()}
        assert {page: at and datetime.fromisoformat(at) for page, at in times.items()} == {
            page: old.updated_at.get(page) for page in range(PAGES)
        }
        state = move.desk.get("/api/watch/moving")
        assert (state["oldSystem"], state["ours"]) == (PAGES, 0)


def every_update(move: Move) -> Iterator[Json]:
    after = "e0"
    while True:
        answer = move.desk.get("/api/watch/updates", limit=AT_ONCE, after=after)
        if answer["next"] == after:
            return
        yield from answer["updates"]
        after = answer["next"]
