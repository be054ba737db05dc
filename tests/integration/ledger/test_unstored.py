"""Pages that were captured and did not reach us: visited once more, by another attempt at their level."""

import pytest

from tests.integration.ledger.desk import Desk, Json, tried

SITE = "http://127.0.0.2:8000"


def _lost(page: Json, failure: str | None = "artifact_sink", **more: object) -> Json:
    """What a flow says of a capture whose artifacts no sink took: no manifest could be written either."""
    said = "failed: the artifact sink did not answer (at write)"
    return {
        "pageId": page["pageId"],
        "url": page["url"],
        "status": "failed",
        "reason": said,
        "failure": failure,
        "taskId": "0123456789abcdef",
        "manifestError": "no sink",
        "tries": [tried(said)],
        **more,
    }


def test_page_that_we_lost_is_visited_once_more_and_its_links_are_followed(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=1)
    first, second = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, first, [f"{SITE}/c"]), _lost(second)])
    run_id = desk.run_id(crawl_id, 0)
    closed = desk.close(crawl_id)
    assert (closed["next"], closed["stopReason"], closed["again"]) == ([], None, 1)
    again = desk.run_id(crawl_id, 0, attempt=2)
    assert desk.prefect.runs[run_id].get("cancelled") is None  # it had come to its end, and is left alone
    assert again != run_id
    view = desk.crawl(crawl_id)
    assert [(one["attempt"], one["ended"]) for one in view["attempts"]] == [(1, "unstored")]
    assert view["failures"] == []
    order = desk.order(crawl_id)
    assert [page["pageId"] for page in order["frontier"]] == [second["pageId"]]
    desk.report(crawl_id, [desk.captured(crawl_id, second, [f"{SITE}/d"], attempt=2)])
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == [f"{SITE}/c", f"{SITE}/d"]
    [_, page] = desk.get(f"/api/crawls/{crawl_id}/pages", depth=0)["pages"]
    assert page["state"] == "captured"
    assert [(visit["attempt"], visit["try"]) for visit in page["visits"]] == [(1, 1), (2, 1)]  # the evidence of both


def test_page_that_we_lose_twice_stays_failed_with_its_reason(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=0)
    first, second = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, first), _lost(second, "lost", taskId=None, manifestError=None)])
    assert desk.close(crawl_id)["again"] == 1
    desk.run_id(crawl_id, 0, attempt=2)
    desk.order(crawl_id)
    desk.report(crawl_id, [_lost(second)])
    closed = desk.close(crawl_id)
    assert (closed.get("again"), closed["stopReason"]) == (None, "max_depth")
    view = desk.crawl(crawl_id)
    assert (view["state"], view["counts"]["failed"]) == ("succeeded", 1)
    assert "artifact sink" in view["failures"][0]["reason"]


def test_level_of_which_nothing_could_be_stored_is_not_visited_again(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", maxDepth=0)
    [page] = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [_lost(page)])
    assert "again" not in desk.close(crawl_id)
    assert desk.crawl(crawl_id)["state"] == "failed"


@pytest.mark.parametrize("failure", ["http", "connection", "policy", None])
def test_page_that_failed_by_itself_is_not_visited_again(desk: Desk, failure: str | None) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=0)
    first, second = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, first), _lost(second, failure)])
    closed = desk.close(crawl_id)
    assert (closed.get("again"), closed["stopReason"]) == (None, "max_depth")


def test_closing_that_is_repeated_after_that_changes_nothing(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=0)
    fence = desk.fence(crawl_id)
    first, second = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, first), _lost(second)])
    desk.close(crawl_id)
    desk.run_id(crawl_id, 0, attempt=2)
    assert desk.close(crawl_id, status=409, **fence)["code"] == "stale-run"
    assert desk.crawl(crawl_id)["state"] == "running"
