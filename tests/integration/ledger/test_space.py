"""Room: the quota of a crawl, the floor of free space, and what pruning removes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ledger.clock import utc_now
from ledger.errors import SettingsRefused
from ledger.services.prune import PruneService
from ledger.store.models import Base
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, wait_until

SITE = "http://127.0.0.2:8000"
MUCH = 2**60
DAY_S = 86_400


def _kept(desk: Desk, crawl_id: str, page: Json, size_bytes: int = 1000, **more: Any) -> Json:
    """A capture whose archive has this size."""
    result = desk.captured(crawl_id, page, **more)
    stem = result["manifestLocation"].removeprefix("file://").removesuffix(".result.json")
    Path(f"{stem}.wacz").write_bytes(b"x" * size_bytes)
    return result


def test_what_a_crawl_keeps_is_counted_once(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages = desk.order(crawl_id)["frontier"]
    for _ in range(2):
        desk.report(crawl_id, [_kept(desk, crawl_id, pages[0], 5000)])
    on_disk = sum(file.stat().st_size for file in desk.root.iterdir())
    assert desk.crawl(crawl_id)["keptBytes"] == on_disk > 5000
    desk.report(crawl_id, [{"pageId": pages[1]["pageId"], "url": pages[1]["url"], "status": "failed", "reason": "x"}])
    assert desk.crawl(crawl_id)["keptBytes"] == on_disk


def test_crawl_over_its_quota_ends_with_what_it_has(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", f"{SITE}/c", maxBytes=8000)
    pages = desk.order(crawl_id)["frontier"]
    assert desk.report(crawl_id, [_kept(desk, crawl_id, pages[0], 5000)])["stop"] is False
    answer = desk.report(crawl_id, [_kept(desk, crawl_id, pages[1], 5000)])
    assert answer["stop"] is True
    view = desk.crawl(crawl_id)
    assert (view["state"], view["stopReason"]) == ("succeeded", "max_bytes")
    assert "8000" in view["error"]
    assert view["counts"] == {"pending": 1, "captured": 2, "failed": 0, "skipped": 0}
    assert desk.report(crawl_id, [_kept(desk, crawl_id, pages[2])])["stop"] is True  # it was in flight: kept as well
    assert desk.crawl(crawl_id)["counts"]["captured"] == 3
    desk.close(crawl_id, status=409)
    desk.start(f"{SITE}/")


def test_quota_of_the_deployment_holds_and_may_only_be_tightened(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, max_crawl_bytes=10_000) as desk:
        order = {"seeds": [f"{SITE}/"], "scripts": [], "maxBytes": 10_001}
        refusal = desk.post("/api/crawls", order, 400)
        assert refusal["fields"][0]["field"] == "maxBytes"
        for asked, given in (({}, 10_000), ({"maxBytes": 10_000}, 10_000), ({"maxBytes": 5}, 5)):
            crawl_id = desk.start(f"{SITE}/", **asked)
            assert desk.crawl(crawl_id)["policy"]["maxBytes"] == given
            desk.post(f"/api/crawls/{crawl_id}/cancel")


def test_below_the_floor_nothing_is_begun(tmp_path: Path, prefect: FakePrefect) -> None:
    data, store = tmp_path / "data", tmp_path / "store"
    with ledger_at(data, store, prefect) as desk:
        crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    with ledger_at(data, store, prefect, min_free_bytes=MUCH) as desk:
        answer = desk.do_level(crawl_id, links={f"{SITE}/": [f"{SITE}/a"]})
        assert answer == {"next": [], "stopReason": "no_space"}
        view = desk.crawl(crawl_id)
        assert view["state"] == "failed"
        assert "LEDGER_MIN_FREE_BYTES" in view["error"]
        assert view["counts"] == {"pending": 0, "captured": 1, "failed": 0, "skipped": 0}
        refusal = desk.post("/api/crawls", {"seeds": [f"{SITE}/"], "scripts": []}, 409)
        assert refusal["code"] == "no-space"
        assert len(desk.get("/api/crawls")["crawls"]) == 1
        assert {part["name"]: part["ok"] for part in desk.get("/readyz")["parts"]}["space"] is False


def test_floor_does_not_touch_a_crawl_that_is_over_anyway(tmp_path: Path, prefect: FakePrefect) -> None:
    data, store = tmp_path / "data", tmp_path / "store"
    with ledger_at(data, store, prefect) as desk:
        crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    with ledger_at(data, store, prefect, min_free_bytes=MUCH) as desk:
        assert desk.do_level(crawl_id)["stopReason"] == "completed"
        assert desk.crawl(crawl_id)["state"] == "succeeded"


def _rows(desk: Desk) -> dict[str, int]:
    with desk.parts.store.reading() as tx:
        return {
            table.name: tx.connection().exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one()
            for table in Base.metadata.sorted_tables
        }


def _finished(desk: Desk, *, unreported: bool = False) -> str:
    """A crawl that is over, with everything that one can leave."""
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    [page] = desk.order(crawl_id)["frontier"]
    holder = {"kind": "crawl", "crawlId": crawl_id, "depth": 0, "attempt": 1, "runId": desk.fence(crawl_id)["runId"]}
    lease = desk.post("/api/hosts/lease", {"host": page["host"], "holder": holder, "delayMs": 0})
    desk.post("/api/hosts/release", {"leaseId": lease["leaseId"]})
    desk.report(crawl_id, [_kept(desk, crawl_id, page, links=[f"{SITE}/a"])])
    stale = {**desk.fence(crawl_id), "runId": "other", "results": [desk.captured(crawl_id, page)]}
    desk.post(f"/api/crawls/{crawl_id}/results", stale)
    desk.close(crawl_id)
    desk.do_level(crawl_id, 1)
    if unreported:
        today = desk.root / f"{datetime.now(UTC):%Y/%m/%d}"
        today.mkdir(parents=True, exist_ok=True)
        (today / f"task_{crawl_id}.p1.1.1.wacz").write_bytes(b"nobody reported this")
        sunk = desk.root / "sink" / crawl_id
        sunk.mkdir(parents=True)
        (sunk / f"task_{crawl_id}.p2.1.1.wacz").write_bytes(b"nor this")
    return crawl_id


def test_prune_removes_old_crawls_whole_and_nothing_else(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    data, store = tmp_path / "data", tmp_path / "store"
    with ledger_at(data, store, prefect, clock=clock, max_running_crawls=2) as desk:
        empty = _rows(desk)
        long_running = desk.start(f"{SITE}/long")
        desk.report(long_running, [_kept(desk, long_running, desk.order(long_running)["frontier"][0])])
        kept = {file.name for file in store.iterdir()} | {"foreign.txt"}
        (store / "foreign.txt").write_text("not ours")
        before, hosts = _rows(desk), 1
        old = _finished(desk, unreported=True)
        clock.advance(31 * DAY_S)
        pruning = desk.parts.pruning
        would = pruning.prune(30, dry_run=True)
        assert would.crawls == [old]
        assert desk.crawl(old)["state"] == "succeeded"
        assert (would.files, would.size_bytes > 1000) == (7, True)
        assert pruning.prune(32).crawls == []
        done = pruning.prune(30)
        assert (done.crawls, done.files, done.size_bytes, done.troubles) == ([old], 7, would.size_bytes, [])
        assert {path.name for path in store.rglob("*")} == kept | {"sink"}
        desk.get(f"/api/crawls/{old}", 404)
        assert desk.crawl(long_running)["state"] == "running"
        after = _rows(desk)
        assert after == {**before, "host": after["host"]}
        assert empty["crawl"] == 0
        assert after["host"] == hosts
        assert pruning.prune(30).crawls == []


def test_prune_leaves_what_lies_elsewhere(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        old = _finished(desk)
        outside = tmp_path / f"t_{old}.p.1.1.wacz"
        outside.write_text("elsewhere")
        with desk.parts.store.writing() as tx:
            tx.connection().exec_driver_sql(f"UPDATE page SET links_location = '{outside.as_uri()}'")
        clock.advance(31 * DAY_S)
        done = desk.parts.pruning.prune(30)
        assert done.crawls == [old]
        assert done.elsewhere == 2
        assert outside.read_text() == "elsewhere"


def test_manifest_that_claims_another_crawls_file_cannot_have_it_removed(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        theirs = desk.root / "t_cother.p.1.1.wacz"
        theirs.write_text("another crawl's")
        crawl_id = desk.start(f"{SITE}/", maxDepth=0)
        [page] = desk.order(crawl_id)["frontier"]
        desk.report(crawl_id, [desk.captured(crawl_id, page, artifacts={"wacz": theirs.as_uri()})])
        desk.close(crawl_id)
        clock.advance(31 * DAY_S)
        done = desk.parts.pruning.prune(30)
        assert (done.crawls, done.elsewhere) == ([crawl_id], 1)
        assert theirs.exists()


def test_retention_prunes_by_itself(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    data, store = tmp_path / "data", tmp_path / "store"
    with ledger_at(data, store, prefect, clock=clock) as desk:
        old = _finished(desk)
    clock.advance(31 * DAY_S)
    with ledger_at(data, store, prefect, clock=clock, retention_days=30) as desk:
        wait_until(lambda: not desk.get("/api/crawls")["crawls"], f"{old} is pruned")
        assert not list(store.iterdir())


@pytest.mark.one_database
def test_two_prunings_at_once_take_turns(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        with desk.parts.store.exclusively("prune"):
            assert PruneService(desk.parts.store, desk.parts.artifacts.places, utc_now).prune(1).other_at_it
        assert not desk.parts.pruning.prune(1).other_at_it


@pytest.mark.one_database
def test_retention_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ledger.settings import read_settings
    from tests.integration.ledger.processes import environment

    for name, value in environment(tmp_path, LEDGER_RETENTION_DAYS="0", LEDGER_MIN_FREE_BYTES="-1").items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsRefused, match=r"(?s)LEDGER_MIN_FREE_BYTES.*LEDGER_RETENTION_DAYS"):
        read_settings()
