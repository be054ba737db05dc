"""A crawl from its start to its end, as a flow drives it."""

from tests.integration.ledger.desk import Desk

SITE = "http://127.0.0.2:8000"


def test_crawl_of_three_levels_succeeds_and_tells_its_pages(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=2)
    links = {
        f"{SITE}/": [f"{SITE}/a", f"{SITE}/b#part", "http://127.0.0.3/elsewhere", "mailto:a@b.example"],
        f"{SITE}/a": [f"{SITE}/", f"{SITE}/b", f"{SITE}/c"],
    }
    first = desk.do_level(crawl_id, 0, links)
    assert first == {
        "next": [
            {"url": f"{SITE}/a", "host": "127.0.0.2:8000", "depth": 1},
            {"url": f"{SITE}/b", "host": "127.0.0.2:8000", "depth": 1},
        ],
        "stopReason": None,
    }
    second = desk.do_level(crawl_id, 1, links)
    assert [page["url"] for page in second["next"]] == [f"{SITE}/c"]
    third = desk.do_level(crawl_id, 2)
    assert third == {"next": [], "stopReason": "max_depth"}
    view = desk.crawl(crawl_id)
    assert view["state"] == "succeeded"
    assert view["counts"] == {"pending": 0, "captured": 4, "failed": 0, "skipped": 0}
    pages = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    assert [(page["url"], page["depth"], page["state"]) for page in pages] == [
        (f"{SITE}/", 0, "captured"),
        (f"{SITE}/a", 1, "captured"),
        (f"{SITE}/b", 1, "captured"),
        (f"{SITE}/c", 2, "captured"),
    ]
    assert all(len(page["visits"]) == 1 and page["artifacts"]["wacz"] for page in pages)
    desk.start("http://127.0.0.2/again")  # the slot is free


def test_each_level_gets_one_run_with_the_key_of_the_level(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    desk.do_level(crawl_id, 0, {f"{SITE}/": [f"{SITE}/a"]})
    desk.run_id(crawl_id, 1)
    assert [(run["parameters"], run["idempotency_key"]) for run in desk.prefect.runs.values()] == [
        ({"crawl_id": crawl_id, "depth": 0, "attempt": 1}, f"{crawl_id}:0:1"),
        ({"crawl_id": crawl_id, "depth": 1, "attempt": 1}, f"{crawl_id}:1:1"),
    ]
    tags = next(iter(desk.prefect.runs.values()))["tags"]
    assert tags == [f"crawl:{crawl_id}", "depth:0", "host:127.0.0.2:8000"]


def test_links_are_asked_for_only_where_another_level_can_follow(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    assert desk.order(crawl_id, 0)["capture"]["formats"]["links"] is True
    desk.do_level(crawl_id, 0, {f"{SITE}/": [f"{SITE}/a"]})
    assert desk.order(crawl_id, 1)["capture"]["formats"]["links"] is False
