"""The queue of watched pages as workers meet it: who gets which page, when, and what a report does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import ledger_at
from tests.integration.ledger.watching import HOST, SITE, SOON_S, StoppedClock, Watch, changed, content, report, visit


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = StoppedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, watch_visits_per_s=1000) as desk:
        yield Watch(desk, clock)


def test_page_is_claimed_once_with_all_that_a_worker_needs(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a", settings={"watched": {"kind": "selector", "selector": "main"}})[0]
    job = watch.only()
    assert (job["pageId"], job["url"], job["host"], job["waitMs"]) == (page_id, f"{SITE}/a", HOST, 0)
    assert job["settings"]["watched"] == {"kind": "selector", "selector": "main"}
    assert (job["state"]["visits"], job["state"]["contentSha256"]) == (0, None)
    assert job["expiresInMs"] == 120_000
    assert watch.claim() == []
    assert watch.page(page_id)["inProgress"] is True
    assert watch.page(page_id)["next"] is None


def test_one_page_of_a_host_is_in_flight_at_a_time_and_the_next_waits_for_the_gap(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b", "http://127.0.0.3/")
    watch.wait(1)
    jobs = watch.claim()
    assert sorted(job["host"] for job in jobs) == ["127.0.0.2:8000", "127.0.0.3"]
    mine = next(job for job in jobs if job["host"] == HOST)
    watch.done(mine, "first", content=content("x"))
    assert watch.claim() == []
    watch.wait(5)
    assert watch.only()["url"] == f"{SITE}/b"


def test_content_is_kept_and_a_change_is_told_once_with_its_diff(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a", title="Named")[0]
    answer = watch.done(watch.only(), "first", content=content("old"), etag='"1"', lastModified="Mon", title="T")
    assert (answer["outcome"], answer.get("eventId")) == ("first", None)
    assert watch.events(page_id) == []
    watch.wait(SOON_S)
    job = watch.only()
    assert job["state"]["etag"] == '"1"'
    assert job["state"]["contentSha256"] == content("old")["sha256"]
    found = watch.desk.get(f"/api/watch/pages/{page_id}/content")
    assert (found["text"], found["sha256"]) == ("old", content("old")["sha256"])
    said = report(job, "changed", **changed("old", "new"), volatileLines=["clock"])
    first, second = watch.complete(said)[0], watch.complete(said)[0]
    assert first == second, "a repeat gets the same answer"
    event = watch.events(page_id)[0]
    assert (len(watch.events(page_id)), event["eventId"], event["kind"]) == (1, first["eventId"], "changed")
    assert (event["title"], event["addedLines"], event["removedLines"]) == ("Named", 1, 1)
    assert (event["beforeSha256"], event["afterSha256"]) == (content("old")["sha256"], content("new")["sha256"])
    detail = watch.desk.get(f"/api/watch/pages/{page_id}/events/{event['eventId']}")
    assert detail["diff"]["hunks"][0] == {"beforeLine": 1, "afterLine": 1, "removed": ["old"], "added": ["new"]}
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "new"
    page = watch.page(page_id)
    assert page["updatedAt"] == event["at"]
    assert page["counters"] == {"visits": 2, "changes": 1, "notModified": 0, "failedVisits": 0, "failures": 0}
    assert [one["outcome"] for one in watch.history(page_id)] == ["changed", "first"]
    watch.wait(SOON_S)
    assert watch.only()["state"]["volatileLines"] == ["clock"]


def test_304_and_the_same_content_are_no_change(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    watch.done(watch.only(), "first", content=content("old"), etag='"1"')
    for outcome, more in (
        ("not-modified", {}),
        ("unchanged", {"content": content("old")}),
        ("changed", changed("older", "old")),
    ):
        watch.wait(SOON_S)
        answer = watch.done(watch.only(), outcome, **more)
        assert answer["outcome"] == ("not-modified" if outcome == "not-modified" else "unchanged")
    assert watch.events(page_id) == []
    assert watch.page(page_id)["counters"]["notModified"] == 1
    assert watch.page(page_id)["updatedAt"] is None


def test_old_contents_go_and_the_newest_stay(watch: Watch) -> None:
    watch.add(f"{SITE}/a")
    watch.done(watch.only(), "first", content=content("0"))
    for number in range(1, 5):
        watch.wait(SOON_S)
        watch.done(watch.only(), "changed", **changed(str(number - 1), str(number)))
    assert len(list((watch.desk.root / "watch").rglob("*.json.gz"))) == 2


def test_failures_are_told_once_at_the_threshold_and_so_is_the_recovery(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a", settings={"tellAfterFailures": 2})[0]
    watch.done(watch.only(), "first", content=content("x"))
    kinds = []
    for outcome in ("failed", "failed", "failed", "unchanged"):
        watch.wait(SOON_S)
        watch.done(watch.only(), outcome)
        kinds.append([event["kind"] for event in watch.events(page_id)])
    assert kinds == [[], ["failing"], ["failing"], ["recovered", "failing"]]
    page = watch.page(page_id)
    assert (page["counters"]["failedVisits"], page["counters"]["failures"]) == (3, 0)
    assert [one.get("code") for one in watch.history(page_id)] == [None, "E_TIMEOUT", "E_TIMEOUT", "E_TIMEOUT", None]


def test_page_that_broke_is_told_within_the_hour_and_counts_as_failing_until_it_is_well(watch: Watch) -> None:
    list_id = watch.desk.post("/api/watch/lists", {"name": "Harbours"}, 201)["listId"]
    page_id = watch.add(f"{SITE}/a", lists=[list_id])[0]

    def failing() -> int:
        found: int = watch.desk.get(f"/api/watch/lists/{list_id}/freshness")["failing"]
        return found

    watch.done(watch.only(), "first", content=content("x"))
    watch.wait(SOON_S)
    gone = {"code": "E_HTTP_STATUS", "reason": "HTTP 404", "httpStatus": 404}
    watch.done(watch.only(), "failed", **gone)
    assert failing() == 1
    assert watch.page(page_id)["next"]["because"].startswith("its last visit failed: HTTP 404; ")
    for minutes in (16, 32):
        assert watch.claim() == []
        watch.wait(minutes * 60)
        watch.done(watch.only(), "failed", **gone)
    assert [event["kind"] for event in watch.events(page_id)] == ["failing"]
    watch.wait(2.2 * 3600)
    watch.done(watch.only(), "unchanged", content=content("x"))
    assert failing() == 0


def test_host_that_asks_for_rest_gets_it_from_everybody(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.done(watch.only(), "failed", retryAfterMs=3_600_000, httpStatus=503)
    watch.wait(3_000)
    assert watch.claim() == []
    watch.wait(605)
    assert watch.only()["url"] == f"{SITE}/b"


def test_crawl_delay_that_a_worker_heard_is_the_hosts_gap(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.done(watch.only(), "first", content=content("x"), crawlDelayMs=40_000)
    watch.wait(30)
    assert watch.claim() == []
    watch.wait(11)
    job = watch.only()
    assert (job["waitMs"], job["gapMs"], job["crawlDelayMs"]) == (0, 40_000, 40_000)


def test_page_that_was_not_asked_for_leaves_its_host_as_it_was(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.done(watch.only(), "skipped", visited=False)
    assert watch.only()["url"] == f"{SITE}/b", "nobody was there: no gap"


def test_return_leaves_a_page_as_due_as_it_was_and_its_host_free_at_once(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    due = watch.page(page_id)["next"]["dueAt"]
    token = watch.only()["token"]
    assert watch.give_back(token, "j1x0000000000000000") == [True, False]
    assert watch.give_back(token) == [False]
    assert watch.page(page_id)["next"]["dueAt"] == due
    assert watch.only()["pageId"] == page_id


def test_job_that_runs_out_is_claimed_again_and_its_late_report_counts_nothing_but_evidence(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    lost = watch.only(leaseMs=10_000)
    watch.wait(9)
    assert watch.claim() == []
    watch.wait(1.5)
    assert watch.claim() == [], "the host may have been visited until the last moment: its gap runs from there"
    watch.wait(5)
    again = watch.only(worker="worker-2")
    assert (again["pageId"], again["token"] != lost["token"]) == (page_id, True)
    answer = watch.complete(report(lost, "first", content=content("late")))[0]
    assert (answer["accepted"], answer["why"]) == (False, "stale")
    assert watch.page(page_id)["counters"]["visits"] == 0
    assert watch.renew(lost["token"]) == [None]
    assert watch.give_back(lost["token"]) == [False]
    watch.done(again, "first", content=content("good"))
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "good"
    assert len(list((watch.desk.root / "watch").rglob("*.json.gz"))) == 1
    audit = watch.desk.get("/api/audit")["hosts"][0]
    assert audit["visits"] == 2, "the site saw the late one too"


def test_job_lasts_as_long_as_it_is_renewed(watch: Watch) -> None:
    watch.add(f"{SITE}/a")
    job = watch.only(leaseMs=10_000)
    for _ in range(3):
        watch.wait(8)
        left = watch.renew(job["token"], lease_ms=10_000)[0]
        assert left is not None
        assert 9_000 < left <= 10_000
    assert watch.claim() == []
    watch.done(job, "first", content=content("x"))


def test_page_that_takes_its_worker_along_each_time_is_left_for_longer_and_longer(watch: Watch) -> None:
    watch.add(f"{SITE}/a")
    for rest in (0, 60, 120):
        watch.wait(16)
        watch.wait(rest)
        watch.only(leaseMs=10_000)
    watch.wait(16)
    assert watch.claim() == []
    watch.wait(100)
    assert watch.claim() == []
    watch.wait(20)
    watch.done(watch.only(), "first", content=content("x"))


def test_removed_page_keeps_its_host_until_the_visit_is_over(watch: Watch) -> None:
    one, _ = watch.add(f"{SITE}/a", f"{SITE}/b")
    job = watch.only()
    watch.remove(one)
    assert watch.claim() == []
    assert watch.counts()[0] == 1
    answer = watch.complete(report(job, "first", content=content("x")))[0]
    assert (answer["accepted"], answer["why"]) == (False, "gone")
    assert watch.counts()[0] == 0
    assert watch.claim() == [], "it was visited"
    watch.wait(5)
    assert watch.only()["url"] == f"{SITE}/b"
    assert list((watch.desk.root / "watch").rglob("*.json.gz")) == []


def test_page_whose_address_changed_meanwhile_is_not_given_what_was_found_at_the_old_one(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    job = watch.only()
    watch.change(page_id, url="http://127.0.0.3/new")
    new = watch.only()
    assert new["url"] == "http://127.0.0.3/new"
    assert watch.complete(report(job, "first", content=content("old place")))[0]["accepted"] is False
    watch.done(new, "first", content=content("new place"))
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "new place"
    assert watch.counts()[0] == 0


def test_paused_page_is_in_no_queue_and_comes_back_as_it_was_due(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    assert watch.change(page_id, paused=True)["paused"] is True
    assert watch.claim() == []
    assert watch.desk.get("/api/watch/counts")["paused"] == 1
    watch.change(page_id, paused=False)
    assert watch.only()["pageId"] == page_id
    assert watch.desk.get("/api/watch/counts")["paused"] == 0


def test_page_that_is_paused_in_flight_takes_its_report_and_is_not_due_again(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    job = watch.only()
    watch.change(page_id, paused=True)
    assert watch.complete(report(job, "first", content=content("x")))[0]["accepted"] is False
    assert watch.page(page_id)["next"] is None
    assert watch.counts() == (0, 0, 0)


def test_visit_now_goes_before_all_others_of_the_host(watch: Watch) -> None:
    pages = watch.add(*(f"{SITE}/{number}" for number in range(5)))
    watch.wait(3600)
    answer = watch.desk.post(f"/api/watch/pages/{pages[3]}/visit")
    assert answer["inProgress"] is False
    job = watch.only()
    assert job["pageId"] == pages[3]
    assert watch.desk.post(f"/api/watch/pages/{pages[3]}/visit")["inProgress"] is True
    watch.done(job, "first", content=content("x"))
    watch.change(pages[4], paused=True)
    watch.desk.post(f"/api/watch/pages/{pages[4]}/visit", status=409)


def test_dry_run_claims_pages_of_the_old_system_alone_and_touches_nothing(watch: Watch) -> None:
    body = {"pages": [{"url": f"{SITE}/old"}, {"url": f"{SITE}/older"}], "version": 1}
    pages = watch.desk.post("/api/watch/pages", body, 201)["pageIds"]
    watch.wait(1)
    assert watch.claim() == []
    job = watch.only(dryRun=True)
    assert (job["pageId"], job["dryRun"]) == (pages[0], True)
    watch.add(f"{SITE}/ours")
    mine = watch.only()
    assert mine["url"] == f"{SITE}/ours", "a rehearsal holds no host back"
    refusal = watch.complete(report(job, "first", content=content("x")), status=400)[0]
    assert refusal["fields"][0]["field"] == "jobs.0.outcome"
    watch.done(job, "rehearsed")
    page = watch.page(pages[0])
    assert (page["counters"]["visits"], page["version"]) == (0, 1)
    assert page["lastVisitAt"] is None
    assert watch.history(pages[0]) == []


def test_version_of_a_page_decides_who_visits_it(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    watch.change(page_id, version=1)
    assert watch.claim() == []
    watch.change(page_id, version=2)
    assert watch.only()["pageId"] == page_id


def test_counters_follow_every_move(watch: Watch) -> None:
    pages = watch.add(*(f"http://127.0.0.{number}/" for number in range(2, 12)))
    assert watch.counts() == (0, 0, 10)
    watch.wait(120)
    assert watch.counts() == (0, 10, 0)
    assert watch.desk.get("/api/watch/counts")["visits"]["oldestLateMs"] >= 120_000
    jobs = watch.claim(4)
    assert watch.counts() == (4, 6, 0)
    watch.done(jobs[0], "first", content=content("x"))
    watch.give_back(jobs[1]["token"])
    assert watch.counts() == (2, 7, 1)
    watch.wait(121)
    watch.claim(1)
    assert watch.counts()[0] == 1, "two have run out, one was claimed"
    watch.remove(pages[9])
    assert sum(watch.counts()) == 9
    watch.desk.parts.watching.tidy.once()
    assert sum(watch.counts()) == 9


def test_pace_holds_back_what_is_late_all_at_once(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = StoppedClock()
    with ledger_at(tmp_path / "d2", tmp_path / "s2", prefect, clock=clock, watch_visits_per_s=5) as desk:
        watch = Watch(desk, clock)
        watch.add(*(f"http://127.0.0.{number}/" for number in range(2, 62)))
        watch.claim(1)
        watch.wait(86_400)
        first = desk.post("/api/watch/queue/claim", {"worker": "w", "max": 100})
        assert len(first["jobs"]) == 10, "two seconds' worth at most is saved up"
        assert first["askAgainMs"] >= 200
        again = desk.post("/api/watch/queue/claim", {"worker": "w", "max": 100})
        assert len(again["jobs"]) <= 5
        watch.give_back(*(job["token"] for job in first["jobs"]))
        assert len(watch.claim(100)) >= 10, "what did not begin may begin"


def test_one_bad_report_does_not_hide_the_good_ones_and_a_broken_call_changes_nothing(watch: Watch) -> None:
    watch.add(f"{SITE}/a", "http://127.0.0.3/")
    watch.wait(1)
    one, two = watch.claim()
    answers = watch.complete(report(one, "first", content=content("x")), {**report(two, "unchanged"), "token": "none"})
    assert [answer["accepted"] for answer in answers] == [True, False]
    twice = watch.complete(report(two, "unchanged"), report(two, "unchanged"), status=400)[0]
    assert twice["fields"][0]["field"] == "jobs.1.token"
    nowhere = {**report(two, "unchanged"), "visits": [visit("http://[")]}
    assert watch.complete(nowhere, status=400)[0]["fields"][0]["field"] == "jobs.0.visits.0.url"
    blank = report(two, "changed", **changed("x", "y", added=[" "]))
    blank["diff"]["hunks"][0]["removed"] = []
    assert watch.complete(blank, status=400)[0]["fields"][0]["field"] == "jobs.0.diff"
    watch.done(two, "unchanged")


def test_clock_that_is_set_back_lets_nobody_in_sooner(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.wait(1)
    job = watch.only()
    watch.done(job, "first", content=content("x"))
    watch.wait(-3600)
    assert watch.claim() == []
    watch.wait(6)
    assert watch.claim() == [], "the visit seems to lie ahead, and its gap with it"
    watch.wait(3600)
    assert watch.only()["url"] == f"{SITE}/b"


def test_clock_that_is_set_back_during_a_visit_ends_it_no_sooner(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b")
    watch.wait(1)
    job = watch.only(leaseMs=10_000)
    watch.wait(-3600)
    watch.wait(30)
    assert watch.claim() == []
    watch.done(job, "first", content=content("x"))
