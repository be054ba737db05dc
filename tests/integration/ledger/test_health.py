"""What operators and their machines ask: readiness, metrics, the list of crawls, one log line per page."""

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at, wait_until

SITE = "http://127.0.0.2:8000"


def _parts(answer: Json) -> dict[str, Json]:
    return {part["name"]: part for part in answer["parts"]}


def test_ready_ledger_names_its_parts_to_anybody(desk: Desk) -> None:
    answer = httpx.get(desk.url + "/readyz", trust_env=False)
    assert answer.status_code == 200
    assert answer.json()["ready"] is True
    parts = _parts(answer.json())
    assert {name: part["required"] for name, part in parts.items()} == {
        "database": True,
        "schema": True,
        "artifacts": True,
        "space": False,
        "prefect": False,
    }
    assert all(part["ok"] for part in parts.values())


def test_prefect_that_is_away_is_named_and_results_still_come_in(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    desk.prefect.away = True
    answer = desk.get("/readyz")
    assert (answer["ready"], _parts(answer)["prefect"]["ok"]) == (True, False)
    assert desk.prefect.url not in str(answer)
    desk.do_level(crawl_id)


def test_missing_artifacts_and_another_schema_are_not_ready(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        (tmp_path / "store").rename(tmp_path / "away")
        answer = desk.get("/readyz", 503)
        assert (answer["ready"], _parts(answer)["artifacts"]["ok"]) == (False, False)
        assert str(tmp_path) not in str(answer)
        (tmp_path / "away").rename(tmp_path / "store")
        assert desk.get("/readyz")["ready"] is True
        store = desk.parts.store
        with store.writing() as tx:
            was = tx.connection().exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
            tx.connection().exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        try:
            answer = desk.get("/readyz", 503)
            assert _parts(answer)["schema"]["ok"] is False
        finally:
            with store.writing() as tx:
                tx.connection().exec_driver_sql(f"UPDATE alembic_version SET version_num = '{was}'")


def _metrics(desk: Desk) -> dict[str, float]:
    lines = desk.client.get("/metrics").text.splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def test_metrics_count_what_happened(desk: Desk) -> None:
    before = _metrics(desk)
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages = desk.order(crawl_id)["frontier"]
    failed = {"pageId": pages[1]["pageId"], "url": pages[1]["url"], "status": "failed", "reason": "x"}
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0]), failed])
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0])], runId="other")
    desk.reconcile()
    after = _metrics(desk)

    def more(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert after['comity_ledger_crawls{state="running"}'] == 1
    assert more('comity_ledger_pages_settled_total{outcome="captured"}') == 1
    assert more('comity_ledger_pages_settled_total{outcome="failed"}') == 1
    assert more("comity_ledger_results_total") == 3
    assert more('comity_ledger_stale_reports_total{kind="results"}') == 1
    assert sum(value for name, value in after.items() if name.startswith("comity_ledger_reconciler_verdicts_total")) > 0
    route = 'code="2xx",method="POST",route="/api/crawls/{crawl_id}/results"'
    assert more(f"comity_ledger_request_duration_seconds_count{{{route}}}") == 2
    assert after["comity_ledger_free_bytes"] > 0
    assert not [name for name in after if crawl_id in name or "127.0.0.2" in name]


def test_metrics_want_no_token_on_loopback_and_unknown_paths_share_a_label(desk: Desk) -> None:
    for path in ("/nothing/1", "/nothing/2"):
        httpx.get(desk.url + path, trust_env=False)
    answer = httpx.get(desk.url + "/metrics", trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "nothing/1" not in answer.text
    assert 'route="none"' in answer.text


def test_metrics_want_a_token_where_the_ledger_is_open_to_others(tmp_path: Path, prefect: FakePrefect) -> None:
    # Demanded there, and not read here: the test listens on loopback.
    tls: dict[str, Any] = {"tls_cert": tmp_path / "cert", "tls_key": tmp_path / "key"}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, host="0.0.0.0", **tls) as desk:
        for headers in ({}, {"Authorization": "Bearer made-up"}):
            refused = httpx.get(desk.url + "/metrics", headers=headers, trust_env=False)
            assert (refused.status_code, "comity_ledger" in refused.text) == (401, False)
        token = {"subject": "scraper", "role": "viewer", "organizations": ["acme"], "expiresInDays": 1}
        viewer = desk.post("/api/tokens", token, 201)["token"]
        told = httpx.get(desk.url + "/metrics", headers={"Authorization": f"Bearer {viewer}"}, trust_env=False)
        assert (told.status_code, "comity_ledger_crawls" in told.text) == (200, True)
        assert httpx.get(desk.url + "/healthz", trust_env=False).status_code == 200


def test_list_shows_few_seeds_and_goes_on_where_it_ended(desk: Desk) -> None:
    seeds = [f"{SITE}/{number}" for number in range(20)]
    ids = []
    for _ in range(5):
        ids.append(desk.start(*seeds))
        desk.post(f"/api/crawls/{ids[-1]}/cancel")
    ids.reverse()
    first = desk.get("/api/crawls", limit=2)
    assert [crawl["id"] for crawl in first["crawls"]] == ids[:2]
    assert (first["crawls"][0]["seeds"], first["crawls"][0]["seedCount"]) == (seeds[:5], 20)
    found, before = [], first["nextBefore"]
    while before:
        page = desk.get("/api/crawls", limit=2, before=before)
        found += [crawl["id"] for crawl in page["crawls"]]
        before = page["nextBefore"]
    assert found == ids[2:]
    view = desk.crawl(ids[0])
    assert (view["seeds"], view["seedCount"]) == (seeds, 20)
    assert desk.get("/api/crawls", 400, before="c0")["fields"][0]["field"] == "before"
    assert desk.get("/api/crawls", 400, limit=101)["fields"][0]["field"] == "limit"


def test_each_page_has_one_line_in_the_log(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ledger")
    crawl_id = desk.start(f"{SITE}/a")
    [page] = desk.order(crawl_id)["frontier"]
    for _ in range(2):
        desk.report(crawl_id, [desk.captured(crawl_id, page)])
    wait_until(lambda: "page_settled" in caplog.messages, "the page is in the log")
    [facts] = [vars(record)["facts"] for record in caplog.records if record.message == "page_settled"]
    assert (facts["crawl_id"], facts["host"], facts["state"]) == (crawl_id, "127.0.0.2:8000", "captured")
