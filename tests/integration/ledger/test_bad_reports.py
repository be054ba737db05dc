"""Reports as no flow should send them: at once, out of order, of others, with NULs and megabytes."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from ledger.store.models import Base
from tests.integration.ledger.desk import Desk, Json, tried

SITE = "http://127.0.0.2:8000"
MEGABYTE = 1024 * 1024
NOTHING = {"typescript": "7.0", "hostTypes": "1", "scripts": []}


def _rows(desk: Desk) -> dict[str, int]:
    with desk.parts.store.reading() as tx:
        return {
            table.name: tx.scalar(select(func.count()).select_from(table)) or 0 for table in Base.metadata.sorted_tables
        }


def _crawl(desk: Desk) -> tuple[str, list[Json]]:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=1)
    pages: list[Json] = desk.order(crawl_id)["frontier"]
    return crawl_id, pages


def test_two_different_reports_of_a_page_at_once_leave_one_outcome(desk: Desk) -> None:
    crawl_id, pages = _crawl(desk)
    good = desk.captured(crawl_id, pages[0], number=2)
    bad = {
        "pageId": pages[0]["pageId"],
        "url": pages[0]["url"],
        "status": "failed",
        "reason": "x",
        "tries": [tried("lost", 1)],
    }
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(desk.report, crawl_id, [one]) for one in (good, bad) * 4]:
            assert future.result() == {"stop": False, "reason": None}
    [page, _] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    assert page["state"] == "captured"
    assert [visit["try"] for visit in page["visits"]] == [1, 2]


def test_reports_of_the_same_hosts_at_once_do_not_block_each_other(desk: Desk) -> None:
    seeds = [f"http://127.0.0.{number}/" for number in range(2, 22)]
    crawl_id = desk.start(*seeds)
    pages = desk.order(crawl_id)["frontier"]
    results = [desk.captured(crawl_id, page) for page in pages]
    with ThreadPoolExecutor(8) as pool:
        orders = [results, results[::-1], results[10:] + results[:10], results[::2] + results[1::2]] * 2
        for future in [pool.submit(desk.report, crawl_id, order) for order in orders]:
            assert future.result()["stop"] is False
    assert desk.crawl(crawl_id)["counts"]["captured"] == 20


def test_tries_out_of_order_are_shown_in_order(desk: Desk) -> None:
    crawl_id, pages = _crawl(desk)
    fields = {"pageId": pages[0]["pageId"], "url": pages[0]["url"], "status": "failed", "reason": "x"}
    for number in (3, 1, 2):
        desk.report(crawl_id, [{**fields, "tries": [tried("lost", number)]}])
    [page, _] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    assert [visit["try"] for visit in page["visits"]] == [1, 2, 3]


def test_report_while_the_level_closes_is_whole_or_missing(desk: Desk) -> None:
    crawl_id, pages = _crawl(desk)
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0])])
    result = desk.captured(crawl_id, pages[1], [f"{SITE}/c"])
    body = {**desk.fence(crawl_id), "results": [], "compiled": NOTHING}
    with ThreadPoolExecutor(2) as pool:
        closing = pool.submit(lambda: desk.client.post(f"/api/crawls/{crawl_id}/pages", json=body))
        desk.report(crawl_id, [result])
        answer = closing.result()
    assert answer.status_code in (200, 409)
    closed = desk.post(f"/api/crawls/{crawl_id}/pages", body)
    assert [page["url"] for page in closed["next"]] in ([f"{SITE}/c"], [])
    assert desk.crawl(crawl_id)["counts"]["captured"] == 2


def test_foreign_task_proves_nothing_and_takes_nothing(desk: Desk) -> None:
    crawl_id, pages = _crawl(desk)
    theirs = desk.captured(crawl_id, pages[1])
    stolen = {**theirs, "pageId": pages[0]["pageId"], "url": pages[0]["url"]}
    desk.report(crawl_id, [stolen])
    [first, second] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    assert (first["state"], first["artifacts"]) == ("failed", {})
    assert second["state"] == "pending"
    desk.report(crawl_id, [theirs])
    assert desk.crawl(crawl_id)["counts"]["captured"] == 1


@pytest.mark.parametrize(
    "field", ["reason", "taskId", "manifestLocation", "linksLocation", "endpoint", "outcome", "url"]
)
@pytest.mark.parametrize("value", ["a\0b", "x" * MEGABYTE, "\ud800"], ids=["nul", "megabyte", "surrogate"])
def test_unstorable_and_huge_strings_are_refused_by_name_and_change_nothing(desk: Desk, field: str, value: str) -> None:
    crawl_id, pages = _crawl(desk)
    result: Json = desk.captured(crawl_id, pages[0])
    result["reason"] = "x"
    place: dict[str, Any] = result["tries"][0] if field in ("endpoint", "outcome") else result
    place[field] = value
    before = _rows(desk)
    raw = json.dumps({**desk.fence(crawl_id), "results": [result]}).encode()
    answer = desk.client.post(f"/api/crawls/{crawl_id}/results", content=raw)
    assert answer.status_code == 400, answer.text[:500]
    assert len(answer.text) < 5000
    assert _rows(desk) == before
    assert desk.crawl(crawl_id)["counts"]["pending"] == 2


@pytest.mark.parametrize("change", [{"depth": 2**40}, {"attempt": 2**40}, {"try": 2**40}, {"try": 2**70}])
def test_numbers_that_no_column_holds_are_refused(desk: Desk, change: Json) -> None:
    crawl_id, pages = _crawl(desk)
    result: Json = desk.captured(crawl_id, pages[0])
    fence = {**desk.fence(crawl_id), **{name: value for name, value in change.items() if name != "try"}}
    result["tries"][0].update({name: value for name, value in change.items() if name == "try"})
    desk.post(f"/api/crawls/{crawl_id}/results", {**fence, "results": [result]}, 400)
    assert desk.crawl(crawl_id)["counts"]["pending"] == 2


@pytest.mark.parametrize("name", ["runId", "reason", "outcome"])
def test_end_of_a_run_with_a_nul_is_refused(desk: Desk, name: str) -> None:
    crawl_id, _ = _crawl(desk)
    body = {**desk.fence(crawl_id), "outcome": "failed", "reason": "x", name: "a\0b"}
    desk.post(f"/api/crawls/{crawl_id}/failed", body, 400)
    assert desk.crawl(crawl_id)["state"] == "running"


@pytest.mark.parametrize(
    "path", ["/api/crawls/%00", "/api/crawls/a%00b/pages", "/api/targets/%00", "/api/crawls?before=%00"]
)
def test_nul_in_a_path_or_query_is_a_refusal(desk: Desk, path: str) -> None:
    assert desk.client.get(path).status_code in (400, 404, 405)


def test_nul_in_a_manifest_is_no_failure_of_ours(desk: Desk) -> None:
    crawl_id, pages = _crawl(desk)
    links: list[Any] = [{"href": f"{SITE}/\0c", "rel": "x\0"}, f"{SITE}/d"]
    details = {"type": "http", "message": "the site said \0 nothing \ud83d\ude00"}
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0], links, status="http_error", errorDetails=details)])
    desk.report(crawl_id, [desk.captured(crawl_id, pages[1], links)])
    [first, second] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    assert first["state"] == "failed"
    assert second["state"] == "captured"
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == [f"{SITE}/d"]


def test_key_of_a_start_with_a_nul_is_refused(desk: Desk) -> None:
    order = {"seeds": [f"{SITE}/"], "scripts": []}
    # h11 refuses NUL in headers by itself; what gets through must be printable.
    assert desk.client.post("/api/crawls", json=order, headers={"Idempotency-Key": "a\x7fb"}).status_code == 400
