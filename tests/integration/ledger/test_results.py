"""`POST …/results` and the work order: evidence, proof, and who is heard."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from ledger.store.models import StaleReport
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried

SITE = "http://127.0.0.2:8000"


def _page(desk: Desk, crawl_id: str, place: int = 0) -> Json:
    page: Json = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"][place]
    return page


def _first(desk: Desk, **policy: Any) -> tuple[str, Json]:
    crawl_id = desk.start(f"{SITE}/", **policy)
    page: Json = desk.order(crawl_id)["frontier"][0]
    return crawl_id, page


def _bare(page: Json, status: str = "failed", **change: Any) -> Json:
    return {"pageId": page["pageId"], "url": page["url"], "status": status, **change}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pageId": "p0"}, "results.0.pageId"),
        ({"url": f"{SITE}/other"}, "results.0.url"),
        ({"taskId": "t"}, "results.0"),
        ({"taskId": "t", "manifestLocation": "file:///x", "manifestError": "y"}, "results.0"),
        ({"manifestLocation": "file:///x"}, "results.0"),
        ({"manifestError": "x"}, "results.0"),
        ({"status": "captured"}, "results.0"),
        ({"status": "skipped"}, "results.0"),
        ({"status": "odd"}, "results.0.status"),
        ({"reason": "x" * 2001}, "results.0.reason"),
        ({"tries": [{"try": 0}]}, "results.0.tries.0.try"),
        ({"tries": [{**tried(), "finishedAt": "2030-01-01T00:00:00"}]}, "results.0.tries.0.finishedAt"),
        ({"unknown": 1}, "results.0.unknown"),
    ],
)
def test_bad_result_is_refused_by_its_field_and_changes_nothing(desk: Desk, change: Json, field: str) -> None:
    crawl_id, page = _first(desk)
    body = {**desk.fence(crawl_id), "results": [{**_bare(page), **change}]}
    refusal = desk.post(f"/api/crawls/{crawl_id}/results", body, 400)
    assert field in [problem["field"] for problem in refusal["fields"]], refusal
    assert _page(desk, crawl_id)["state"] == "pending"


def test_every_try_is_a_visit_and_the_same_report_changes_nothing(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    result = desk.captured(crawl_id, page, number=3)
    result["tries"] = [tried("busy", 1), tried("deadline 145000 ms passed", 2), *result["tries"]]
    assert desk.report(crawl_id, [result]) == {"stop": False, "reason": None}
    before = _page(desk, crawl_id)
    assert [(visit["try"], visit["outcome"], visit["attempt"]) for visit in before["visits"]] == [
        (1, "busy", 1),
        (2, "deadline 145000 ms passed", 1),
        (3, "success", 1),
    ]
    assert before["state"] == "captured"
    desk.report(crawl_id, [result, result])
    desk.report(crawl_id, [_bare(page, reason="late and wrong")])
    assert _page(desk, crawl_id) == before


def test_promised_gap_is_kept_with_the_visit(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    tries = [tried("busy", 1, promisedGapMs=0), tried("lost", 2, promisedGapMs=2**31 - 1), tried("lost", 3)]
    desk.report(crawl_id, [_bare(page, reason="lost", tries=tries)])
    assert [visit["promisedGapMs"] for visit in _page(desk, crawl_id)["visits"]] == [0, 2**31 - 1, None]


@pytest.mark.parametrize("promised", [-1, 2**31, 1.5, "1000", True])
def test_promised_gap_that_is_none_is_refused(desk: Desk, promised: object) -> None:
    crawl_id, page = _first(desk)
    result = _bare(page, reason="lost", tries=[tried("lost", promisedGapMs=promised)])
    refusal = desk.post(f"/api/crawls/{crawl_id}/results", {**desk.fence(crawl_id), "results": [result]}, 400)
    assert refusal["fields"][0]["field"] == "results.0.tries.0.promisedGapMs"


@pytest.mark.parametrize("reported", ["captured", "failed"])
def test_manifest_beats_the_report_both_ways(desk: Desk, reported: str) -> None:
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [desk.captured(crawl_id, page, reported=reported)])
    assert _page(desk, crawl_id)["state"] == "captured"
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [desk.captured(crawl_id, page, reported=reported, status="http_error")])
    row = _page(desk, crawl_id)
    assert (row["state"], row["reason"], row["httpStatus"]) == ("failed", "http_error: the site said 500", 500)
    assert desk.crawl(crawl_id)["failures"][0]["reason"] == "http_error: the site said 500"


@pytest.mark.parametrize(
    "change", [{"correlationId": "c1.p1.1.1"}, {"url": f"{SITE}/other"}, {"taskId": "other"}, {"labels": 7}]
)
def test_manifest_that_is_not_the_pages_proves_nothing(desk: Desk, change: Json) -> None:
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [desk.captured(crawl_id, page, **change)])
    row = _page(desk, crawl_id)
    assert row["state"] == "failed"
    assert row["artifacts"] == {}
    assert "manifest" in row["reason"]


def test_failed_page_becomes_captured_when_a_manifest_proves_it(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [_bare(page, reason="connection lost", tries=[tried("connection lost")])])
    assert _page(desk, crawl_id)["state"] == "failed"
    desk.report(crawl_id, [desk.captured(crawl_id, page, number=2)])
    row = _page(desk, crawl_id)
    assert (row["state"], row["reason"]) == ("captured", None)
    assert [visit["try"] for visit in row["visits"]] == [1, 2]


def _elsewhere(desk: Desk, tmp_path: Path, result: Json, kind: str) -> str:
    """A location that leads to a good manifest which is not below the root."""
    inside = Path(result["manifestLocation"].removeprefix("file://"))
    outside = tmp_path / "outside.result.json"
    inside.rename(outside)
    match kind:
        case "path":
            return outside.as_uri()
        case "dots":
            return f"file://{desk.root}/../outside.result.json"
        case "escaped dots":
            return f"file://{desk.root}/%2e%2e/outside.result.json"
        case "link":
            inside.symlink_to(outside)
            return inside.as_uri()
        case "folder link":
            (desk.root / "folder").symlink_to(tmp_path)
            return f"file://{desk.root}/folder/outside.result.json"
        case "bucket":
            return "s3://bucket/outside.result.json"
        case "host":
            return f"file://elsewhere.example{outside}"
        case "web":
            return f"{desk.prefect.url}/outside"
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["path", "dots", "escaped dots", "link", "folder link", "bucket", "host", "web"])
def test_manifest_elsewhere_is_recorded_and_never_read(desk: Desk, tmp_path: Path, kind: str) -> None:
    crawl_id, page = _first(desk, maxDepth=1)
    result = desk.captured(crawl_id, page, [f"{SITE}/a"], httpStatusCode=234)
    result["manifestLocation"] = _elsewhere(desk, tmp_path, result, kind)
    calls = len(desk.prefect.calls)
    desk.report(crawl_id, [result])
    row = _page(desk, crawl_id)
    assert row["manifestLocation"] == result["manifestLocation"]
    assert (row["httpStatus"], row["artifacts"]) == (None, {})
    assert "never read" in row["reason"]
    assert desk.close(crawl_id)["next"] == []
    assert not [path for _, path in desk.prefect.calls[calls:] if "outside" in path]


def test_location_that_is_no_plain_file_is_not_waited_for(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    os.mkfifo(desk.root / "pipe")
    for name, words in (("pipe", "plain file"), ("", "plain file")):
        result = {**desk.captured(crawl_id, page), "manifestLocation": (desk.root / name).as_uri()}
        desk.report(crawl_id, [result])
        row = _page(desk, crawl_id)
        assert row["state"] == "failed"
        assert words in row["reason"]
        desk.post(f"/api/crawls/{crawl_id}/cancel")
        crawl_id, page = _first(desk)


def test_first_run_that_takes_the_order_holds_the_level(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    looked = desk.get(f"/api/crawls/{crawl_id}/levels/0")
    assert [page["url"] for page in looked["frontier"]] == [f"{SITE}/"]
    ours = desk.order(crawl_id)
    assert desk.order(crawl_id) == ours
    for params in ({"runId": "other"}, {"attempt": 2}):
        assert "error" in desk.order(crawl_id, status=409, **params)
    for depth in (1, 5):
        desk.get(f"/api/crawls/{crawl_id}/levels/{depth}", 409, runId=desk.run_id(crawl_id, 0))


def test_order_has_every_field_so_that_a_forgotten_one_is_an_error(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    order = desk.order(crawl_id)
    assert set(order) == {
        *("crawlId", "depth", "attempt", "frontier", "perHostDelayMs", "hostParallelism", "respectRobots"),
        *("sitemaps", "maxHostDelayMs", "capture", "scripts", "artifactSink"),
    }
    assert order["frontier"][0] == {
        "pageId": order["frontier"][0]["pageId"],
        "url": f"{SITE}/",
        "host": "127.0.0.2:8000",
        "hostIdleMs": None,
    }


def test_order_holds_what_is_still_pending(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", f"{SITE}/c")
    pages = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, pages[1])])
    assert [page["url"] for page in desk.order(crawl_id)["frontier"]] == [f"{SITE}/a", f"{SITE}/c"]


def test_stale_report_is_kept_as_evidence_and_changes_nothing(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    result = desk.captured(crawl_id, page)
    for fence in ({"runId": "other"}, {"attempt": 2}, {"depth": 1}):
        body = {**desk.fence(crawl_id), **fence, "results": [result]}
        answer = desk.post(f"/api/crawls/{crawl_id}/results", body)
        assert answer["stop"] is True
        assert answer["reason"]
        row = _page(desk, crawl_id)
        assert (row["state"], row["visits"]) == ("pending", [])
        desk.post(
            f"/api/crawls/{crawl_id}/failed", {**desk.fence(crawl_id), **fence, "outcome": "failed", "reason": "x"}
        )
        assert desk.crawl(crawl_id)["state"] == "running"
    with desk.parts.store.reading() as tx:
        rows = tx.scalars(select(StaleReport).order_by(StaleReport.id)).all()
    assert [row.kind for row in rows] == ["results", "failed"] * 3
    assert rows[0].body["results"][0]["pageId"] == page["pageId"]


def test_results_after_the_end_are_kept_and_answered_stop(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    answer = desk.report(crawl_id, [desk.captured(crawl_id, page)])
    assert answer == {"stop": True, "reason": "the crawl is cancelled"}
    view = desk.crawl(crawl_id)
    assert (view["state"], view["counts"]["captured"]) == ("cancelled", 1)
    desk.order(crawl_id, status=409)
    desk.close(crawl_id, status=409)


def test_host_idle_is_measured_by_our_clock_whoever_touched_it(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", "http://127.0.0.3/")
        pages = desk.order(crawl_id)["frontier"]
        assert [page["hostIdleMs"] for page in pages] == [None, None, None]
        result = desk.captured(crawl_id, pages[0])
        result["tries"][0]["submittedAt"] = result["tries"][0]["finishedAt"] = "2001-01-01T00:00:00Z"
        desk.report(crawl_id, [result])
        clock.advance(7)
        desk.report(crawl_id, [])  # a sign of life touches no host
        idle = {page["url"]: page["hostIdleMs"] for page in desk.order(crawl_id)["frontier"]}
        assert 7000 <= idle[f"{SITE}/b"] < 9000
        assert idle["http://127.0.0.3/"] is None
        # Pages may be in flight when a crawl is ended: their hosts count as touched at that moment.
        desk.post(f"/api/crawls/{crawl_id}/cancel")
        clock.advance(3)
        again = desk.order(desk.start(f"{SITE}/a", "http://127.0.0.3/"))["frontier"]
        assert all(3000 <= page["hostIdleMs"] < 5000 for page in again)


def test_redirect_touches_the_host_that_it_led_to(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [desk.captured(crawl_id, page, final_url="http://127.0.0.9/landed")])
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    [landed] = desk.order(desk.start("http://127.0.0.9/x"))["frontier"]
    assert landed["hostIdleMs"] is not None


def test_skipped_page_without_a_visit_touches_no_host(desk: Desk) -> None:
    crawl_id, page = _first(desk)
    desk.report(crawl_id, [_bare(page, "skipped", skipReason="robots")])
    assert _page(desk, crawl_id)["reason"] == "robots"
    desk.close(crawl_id)
    [again] = desk.order(desk.start(f"{SITE}/"))["frontier"]
    assert again["hostIdleMs"] is None


def test_pages_are_filtered_by_depth_and_state(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=1)
    pages = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0], [f"{SITE}/c"]), _bare(pages[1], reason="x")])
    desk.close(crawl_id)

    def urls(**filters: Any) -> list[str]:
        return [page["url"] for page in desk.get(f"/api/crawls/{crawl_id}/pages", **filters)["pages"]]

    assert urls() == [f"{SITE}/a", f"{SITE}/b", f"{SITE}/c"]
    assert urls(depth=0, state="failed") == [f"{SITE}/b"]
    assert urls(depth=1) == [f"{SITE}/c"]
    assert urls(state="captured") == [f"{SITE}/a"]
    assert urls(depth=7) == []


def test_clock_of_tests_is_ahead_by_what_was_added() -> None:
    clock = ShiftedClock()
    before = clock()
    clock.advance(60)
    assert clock() - before >= timedelta(seconds=60)
