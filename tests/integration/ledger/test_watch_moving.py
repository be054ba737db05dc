"""Pages move in from another system, a part at a time, and may go back: no update is lost, and none is told twice."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at

MOVING = "/api/watch/moving"


@dataclass
class World:
    desk: Desk
    clock: ShiftedClock

    def at(self, hours: float) -> str:
        return (self.clock() + timedelta(hours=hours)).isoformat()

    def take_in(self, *pages: Json, status: int = 200, **more: object) -> Json:
        return self.desk.post(f"{MOVING}/pages", {"pages": list(pages), **more}, status)

    def switch(self, version: int, **which: object) -> int:
        """All calls that it takes; how many pages changed."""
        switched: int = 0
        after = None
        for _ in range(50):
            order = {"version": version, **which, **({"after": after} if after else {})}
            answer: Json = self.desk.post(f"{MOVING}/switch", order)
            switched += answer["switched"]
            after = answer["next"]
            if after is None:
                return switched
        raise AssertionError("switching does not come to an end")

    def claim(self, most: int = 500, *, dry_run: bool = False) -> list[Json]:
        order = {"worker": "w1", "max": most, "leaseMs": 60_000, "dryRun": dry_run}
        return list(self.desk.post("/api/watch/queue/claim", order)["jobs"])

    def page(self, name: str) -> Json:
        return self.desk.get(f"/api/watch/pages/{name}")


@pytest.fixture
def world(tmp_path: Path, prefect: FakePrefect) -> Iterator[World]:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        yield World(desk, clock)


def old(number: int, **more: object) -> Json:
    return {"url": f"https://h{number}.example/", "title": f"Page {number}", **more}


def test_pages_come_with_their_times_and_stay_with_the_other_system(world: World) -> None:
    list_id = world.desk.post("/api/watch/lists", {"name": "mine"}, 201)["listId"]
    times = [world.at(-1), world.at(-3), None]
    taken = world.take_in(*(old(n, lists=[list_id], updatedAt=times[n]) for n in range(3)))
    assert (taken["added"], taken["newer"], taken["contents"]) == (3, 2, 0)
    shown = world.desk.get(f"/api/watch/lists/{list_id}/pages")["pages"]
    assert [page["title"] for page in shown] == ["Page 0", "Page 1", "Page 2"]
    assert world.page(taken["pageIds"][0])["version"] == 1
    world.clock.advance(3600)
    assert world.claim() == []
    assert world.desk.get(MOVING) == {"oldSystem": 3, "ours": 0, "newPagesVersion": 2, "visitsPerDay": 3}


def test_day_has_a_visit_for_each_page_that_is_not_paused(world: World) -> None:
    names = world.take_in(*(old(n) for n in range(3)))["pageIds"]
    paused = world.desk.client.patch(f"/api/watch/pages/{names[0]}", json={"paused": True})
    assert paused.status_code == 200
    world.switch(2, toPage=names[1])
    assert world.desk.get(MOVING) == {"oldSystem": 1, "ours": 2, "newPagesVersion": 2, "visitsPerDay": 2}


def test_day_has_as_many_visits_as_the_deployment_says(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, watch_visits_per_day=12_000) as desk:
        assert desk.get(MOVING)["visitsPerDay"] == 12_000


def test_import_again_adds_nothing_and_the_newest_time_wins(world: World) -> None:
    early, late = world.at(-5), world.at(-2)
    first = world.take_in(old(1, updatedAt=late))
    assert world.take_in(old(1, updatedAt=early)) == {**first, "added": 0, "newer": 0}
    assert world.take_in(old(1, updatedAt=world.at(-1)))["newer"] == 1


def test_wrong_page_or_time_adds_none_and_is_named(world: World) -> None:
    refusal = world.take_in(old(1), {"url": "ftp://x.example/"}, status=400)
    assert [one["field"] for one in refusal["fields"]] == ["pages.1.url"]
    refusal = world.take_in(old(1), old(2, updatedAt=world.at(5)), status=400)
    assert [one["field"] for one in refusal["fields"]] == ["pages.1.updatedAt"]
    assert world.desk.get("/api/watch/pages")["pages"] == []


def test_rehearsal_takes_pages_of_the_other_system_and_changes_nothing_of_them(world: World) -> None:
    names = world.take_in(*(old(n) for n in range(5)))["pageIds"]
    world.clock.advance(3600)
    jobs = world.claim(dry_run=True)
    assert {job["pageId"] for job in jobs} == set(names)
    done = {"worker": "w1", "jobs": [{"token": job["token"], "outcome": "rehearsed"} for job in jobs]}
    answers = world.desk.post("/api/watch/queue/complete", done)["jobs"]
    assert all(answer["accepted"] for answer in answers)
    assert all(world.page(name)["counters"]["visits"] == 0 for name in names)


def test_parts_are_switched_again_and_again_and_back(world: World) -> None:
    world.take_in(*(old(n) for n in range(400)))
    few = world.switch(2, percent=1)
    half = world.switch(2, percent=50)
    assert 0 < few < 20
    assert 150 < few + half < 250
    assert world.switch(2, percent=50) == 0
    assert world.desk.get(MOVING)["ours"] == few + half
    assert world.switch(2) == 400 - few - half
    assert world.desk.get(MOVING) == {"oldSystem": 0, "ours": 400, "newPagesVersion": 2, "visitsPerDay": 400}
    world.clock.advance(3600)
    assert len({job["pageId"] for job in world.claim()}) > 0
    assert world.switch(1) == 400
    assert world.claim() == []
    counts = world.desk.get("/api/watch/counts")
    assert counts["rehearsal"]["processing"] + counts["rehearsal"]["delayed"] + counts["rehearsal"]["queued"] == 400


def test_range_and_list_choose_what_is_switched(world: World) -> None:
    list_id = world.desk.post("/api/watch/lists", {"name": "mine"}, 201)["listId"]
    names = world.take_in(*(old(n, lists=[list_id] if n == 9 else []) for n in range(10)))["pageIds"]
    assert world.switch(2, fromPage=names[2], toPage=names[4]) == 3
    assert world.switch(2, listId=list_id) == 1
    assert [world.page(name)["version"] for name in names] == [1, 1, 2, 2, 2, 1, 1, 1, 1, 2]
    refusal = world.desk.post(f"{MOVING}/switch", {"version": 2, "listId": "a" + "0" * 16}, 400)
    assert refusal["fields"][0]["field"] == "listId"


def test_pages_that_are_overdue_do_not_come_all_at_once(world: World) -> None:
    world.take_in(*(old(n) for n in range(300)))
    world.clock.advance(86_400)
    world.switch(2)
    pages = world.desk.get("/api/watch/pages", limit=1000)["pages"]
    dues = sorted(datetime.fromisoformat(page["next"]["dueAt"]) for page in pages)
    assert dues[-1] - dues[0] > timedelta(seconds=2.5)  # 100 a second


def test_first_visit_is_compared_with_what_the_other_system_kept(world: World) -> None:
    taken = world.take_in(old(1, content="old words"))
    assert taken["contents"] == 1
    world.switch(2)
    world.clock.advance(60)
    (job,) = world.claim()
    assert job["state"]["contentSha256"]
    assert job["state"]["volatileLines"] == ["basis imported"]
    assert world.desk.get(f"/api/watch/pages/{job['pageId']}/content")["text"] == "old words"


def test_newest_text_is_compared_with_until_a_page_is_ours(world: World) -> None:
    def text() -> str:
        return str(world.desk.get(f"/api/watch/pages/{name}/content")["text"])

    name = world.take_in(old(1, content="one", updatedAt=world.at(-5)))["pageIds"][0]
    assert world.take_in(old(1, content="one"))["contents"] == 0
    assert world.take_in(old(1, content="two"))["contents"] == 1
    world.switch(2)
    assert world.take_in(old(1, content="three"))["contents"] == 0
    assert world.take_in(old(1, content="three", updatedAt=world.at(-6)))["contents"] == 0
    assert text() == "two"
    # What the other system found before it left the page alone is not found again.
    assert world.take_in(old(1, content="four", updatedAt=world.at(-1)))["contents"] == 1
    assert text() == "four"
    seen = world.at(-0.5)  # its time came before its text
    world.desk.post("/api/watch/updates", {"updates": [{"pageId": name, "updatedAt": seen}]})
    assert world.take_in(old(1, content="five", updatedAt=seen))["contents"] == 1
    world.clock.advance(60)
    (job,) = world.claim()
    assert job["state"]["volatileLines"] == ["basis imported"]
    assert job["state"]["contentSha256"] == hashlib.sha256(b"five").hexdigest()


def test_times_travel_both_ways_and_the_newest_wins(world: World) -> None:
    name = world.take_in(old(1))["pageIds"][0]
    seen = world.at(-1)
    updates = [
        {"url": "https://h1.example/", "updatedAt": world.at(-2)},
        {"pageId": name, "updatedAt": seen},
        {"url": "https://nobody.example/", "updatedAt": seen},
        {"url": "not an address", "updatedAt": seen},
    ]
    answer = world.desk.post("/api/watch/updates", {"updates": updates})
    assert (answer["newer"], answer["unknown"]) == (1, [2, 3])
    again = world.desk.post("/api/watch/updates", {"updates": updates[:2]})
    assert (again["newer"], again["older"]) == (0, 2)
    assert world.desk.get("/api/watch/updates")["updates"] == []  # what the other system found it knows
    future = world.desk.post("/api/watch/updates", {"updates": [{"pageId": name, "updatedAt": world.at(2)}]}, 400)
    assert future["fields"][0]["field"] == "updates.0.updatedAt"


def test_change_that_we_found_is_told_to_the_other_system_until_it_has_settled(world: World) -> None:
    name = world.take_in(old(1, content="one two three four"))["pageIds"][0]
    world.switch(2)
    world.clock.advance(60)
    (job,) = world.claim()
    text = "one two three five"
    change = {
        "token": job["token"],
        "outcome": "changed",
        "beforeSha256": job["state"]["contentSha256"],
        "content": {"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "diff": {
            "hunks": [{"beforeLine": 1, "afterLine": 1, "removed": ["four"], "added": ["five"]}],
            "removedLines": 1,
            "addedLines": 1,
        },
        "visits": [],
    }
    done = world.desk.post("/api/watch/queue/complete", {"worker": "w1", "jobs": [change]})
    assert done["jobs"][0]["accepted"], done
    first = world.desk.get("/api/watch/updates")
    assert [(one["pageId"], one["version"]) for one in first["updates"]] == [(name, 2)]
    repeated = world.desk.get("/api/watch/updates", after=first["next"])
    assert repeated["updates"] == first["updates"]
    world.clock.advance(120)
    settled = world.desk.get("/api/watch/updates", after=first["next"])
    assert world.desk.get("/api/watch/updates", after=settled["next"])["updates"] == []
    assert world.switch(1) == 1
    assert world.page(name)["updatedAt"] == first["updates"][0]["updatedAt"]
    world.desk.get("/api/watch/updates", 400, after="nonsense")
