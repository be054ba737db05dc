"""A manifest that is not there yet: the page is settled by its report, and the proof is looked for."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, wait_until
from tests.integration.ledger.stored import Stored, into, store

SITE = "http://127.0.0.2:8000"
LIMIT_S = 600
NOTHING = {"admitted": 0, "absent": 0, "waiting": 0, "adopted": 0}


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, clock: ShiftedClock) -> Iterator[Desk]:
    with ledger_at(
        tmp_path / "data", tmp_path / "store", prefect, clock=clock, late_manifest_limit_s=LIMIT_S
    ) as running:
        yield running


def _page(desk: Desk, crawl_id: str) -> Json:
    page: Json = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"][0]
    return page


def _late(desk: Desk, *, reported: str = "captured", **policy: int) -> tuple[str, Stored, Path]:
    """A reported capture whose manifest has been taken away, and where it was put."""
    crawl_id = desk.start(f"{SITE}/", **policy)
    [page] = desk.order(crawl_id)["frontier"]
    stored = store(into(desk.root), crawl_id, page, links=[f"{SITE}/next"], reported=reported)
    place = Path(stored.manifest.removeprefix("file://"))
    aside = place.with_suffix(".aside")
    place.rename(aside)
    desk.report(crawl_id, [stored.result])
    return crawl_id, stored, aside


def _comes(stored: Stored, aside: Path) -> None:
    aside.rename(Path(stored.manifest.removeprefix("file://")))


def _caught_up(desk: Desk, crawl_id: str) -> Json:
    answer = desk.post(f"/api/crawls/{crawl_id}/reconcile")
    answer.pop("indexed")
    return answer


@pytest.mark.parametrize("reported", ["captured", "failed"])
def test_late_manifest_leaves_the_page_to_its_report_until_it_comes(desk: Desk, reported: str) -> None:
    crawl_id, stored, aside = _late(desk, reported=reported)
    row = _page(desk, crawl_id)
    assert (row["state"], row["artifacts"]) == (reported, {})
    assert "not proved yet" in row["reason"]
    assert desk.get("/api/archives")["archives"] == []
    assert _caught_up(desk, crawl_id) == {**NOTHING, "waiting": 1}
    _comes(stored, aside)
    assert _caught_up(desk, crawl_id) == {**NOTHING, "admitted": 1}
    row = _page(desk, crawl_id)
    assert (row["state"], row["reason"], row["artifacts"]) == ("captured", None, stored.artifacts)
    assert desk.crawl(crawl_id)["counts"]["captured"] == 1
    assert _caught_up(desk, crawl_id) == NOTHING


def test_late_manifest_brings_its_links_while_the_level_is_open(desk: Desk) -> None:
    crawl_id, stored, aside = _late(desk, maxDepth=1)
    _comes(stored, aside)
    _caught_up(desk, crawl_id)
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == [f"{SITE}/next"]


def test_manifest_that_never_comes_takes_the_claim_back(desk: Desk, clock: ShiftedClock) -> None:
    crawl_id, *_ = _late(desk, maxDepth=0)
    desk.close(crawl_id)
    assert desk.crawl(crawl_id)["state"] == "succeeded"
    clock.advance(LIMIT_S + 1)
    assert _caught_up(desk, crawl_id) == {**NOTHING, "absent": 1}
    row = _page(desk, crawl_id)
    assert row["state"] == "failed"
    assert "never came" in row["reason"]
    # The crawl captured nothing after all, and says so.
    crawl = desk.crawl(crawl_id)
    assert (crawl["state"], crawl["stopReason"]) == ("failed", "failed")
    assert "of 1 pages 1 failed" in crawl["error"]


def test_crawl_that_failed_for_want_of_captures_succeeds_when_the_proof_comes(desk: Desk) -> None:
    crawl_id, stored, aside = _late(desk, reported="failed", maxDepth=0)
    desk.close(crawl_id)
    before = desk.crawl(crawl_id)
    assert before["state"] == "failed"
    _comes(stored, aside)
    assert _caught_up(desk, crawl_id)["admitted"] == 1
    after = desk.crawl(crawl_id)
    assert (after["state"], after["stopReason"], after["error"]) == ("succeeded", "max_depth", None)
    assert after["finishedAt"] == before["finishedAt"]


def test_cancelled_crawl_stays_cancelled_whatever_comes(desk: Desk) -> None:
    crawl_id, stored, aside = _late(desk, reported="failed")
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    _comes(stored, aside)
    assert _caught_up(desk, crawl_id)["admitted"] == 1
    crawl = desk.crawl(crawl_id)
    assert (crawl["state"], crawl["counts"]["captured"]) == ("cancelled", 1)


def test_what_comes_late_and_is_no_manifest_proves_nothing(desk: Desk) -> None:
    crawl_id, stored, _ = _late(desk)
    Path(stored.manifest.removeprefix("file://")).write_text("{}")
    assert _caught_up(desk, crawl_id)["absent"] == 1
    row = _page(desk, crawl_id)
    assert row["state"] == "failed"
    assert "is not one" in row["reason"]


def test_timer_looks_by_itself_and_ever_more_seldom(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, catch_up_every_s=0.05) as desk:
        crawl_id, stored, aside = _late(desk)
        _comes(stored, aside)
        wait_until(lambda: _page(desk, crawl_id)["artifacts"], "the late manifest admitted")


def test_reconciling_what_is_not_there_is_refused(desk: Desk) -> None:
    desk.post("/api/crawls/c1/reconcile", status=404)
    assert desk.post("/api/reconcile") == {**NOTHING, "indexed": 0}


def test_admin_of_an_organisation_makes_good_what_is_its_own_alone(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, max_running_crawls=2) as desk:
        tokens = {name: _admin(desk, name) for name in ("acme", "other")}
        crawl_ids = {name: _late_and_unreported(desk, token) for name, token in tokens.items()}
        answer = _ask(desk, tokens["acme"], "/api/reconcile")
        assert answer == {"admitted": 1, "absent": 0, "waiting": 0, "adopted": 1, "indexed": 2}
        assert [page["artifacts"] != {} for page in _pages(desk, crawl_ids["acme"])] == [True, True]
        assert [page["artifacts"] != {} for page in _pages(desk, crawl_ids["other"])] == [False, False]
        assert desk.post("/api/reconcile") == answer  # the operator sees the rest
        assert [page["artifacts"] != {} for page in _pages(desk, crawl_ids["other"])] == [True, True]


def _admin(desk: Desk, organization: str) -> str:
    order = {"subject": organization, "role": "admin", "organizations": [organization], "expiresInDays": 1}
    token: str = desk.post("/api/tokens", order, 201)["token"]
    return token


def _ask(desk: Desk, token: str, path: str, body: Json | None = None) -> Json:
    headers = {"Authorization": f"Bearer {token}"}
    found: Json = httpx.post(f"{desk.url}{path}", json=body, headers=headers, trust_env=False, timeout=30).json()
    return found


def _late_and_unreported(desk: Desk, token: str) -> str:
    """A crawl with a capture whose manifest is back by now, and one that nobody reported."""
    body = {"seeds": [f"{SITE}/a", f"{SITE}/b"], "scripts": [], "maxDepth": 0}
    crawl_id: str = _ask(desk, token, "/api/crawls", body)["crawlId"]
    desk.run_id(crawl_id, 0)
    first, second = desk.order(crawl_id)["frontier"]
    stored = store(into(desk.root), crawl_id, first)
    place = Path(stored.manifest.removeprefix("file://"))
    aside = place.with_suffix(".aside")
    place.rename(aside)
    desk.report(crawl_id, [stored.result])
    _comes(stored, aside)
    given_up = {"pageId": second["pageId"], "url": second["url"], "status": "failed", "reason": "deadline passed"}
    desk.report(crawl_id, [given_up])
    store(into(desk.root), crawl_id, second)
    return crawl_id


def _pages(desk: Desk, crawl_id: str) -> list[Json]:
    pages: list[Json] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    return pages
