"""Artifacts in an object store: the same admissions, adoptions and readings as in a folder, over real HTTP."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from obstore.store import S3Store
from pydantic import SecretStr

from ledger.artifacts.bucket import Bucket
from ledger.artifacts.place import Away, Elsewhere, Missing, Unreadable
from ledger.artifacts.s3_settings import S3Settings, read_s3_settings
from ledger.errors import SettingsRefused
from tests.fakes.prefect_api import FakePrefect
from tests.fakes.s3 import S3Server, s3_server
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at
from tests.integration.ledger.stored import Put, store
from tests.integration.ledger.watching import StoppedClock, Watch, changed, content, report

pytestmark = pytest.mark.one_database

SITE = "http://127.0.0.2:8000"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


def _settings(s3: S3Server, **change: Any) -> S3Settings:
    given: dict[str, Any] = {
        "endpoint": s3.endpoint,
        "bucket": s3.bucket,
        "region": s3.region,
        "access_key_id": SecretStr(s3.access_key_id),
        "secret_access_key": SecretStr(s3.secret_access_key),
    }
    return S3Settings(**{**given, **change})


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, s3: S3Server) -> Iterator[Desk]:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, s3=_settings(s3)) as running:
        yield running


def _into(s3: S3Server, bucket: str | None = None) -> Put:
    there = s3.bucket_store(bucket)

    def put(key: str, data: bytes) -> str:
        there.put(key, data)
        return f"s3://{bucket or s3.bucket}/{key}"

    return put


def _first(desk: Desk, **policy: Any) -> tuple[str, Json]:
    crawl_id = desk.start(f"{SITE}/", **policy)
    page: Json = desk.order(crawl_id)["frontier"][0]
    return crawl_id, page


def _page(desk: Desk, crawl_id: str) -> Json:
    page: Json = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"][0]
    return page


def test_capture_in_the_bucket_is_admitted_followed_indexed_and_handed_out(desk: Desk, s3: S3Server) -> None:
    crawl_id, page = _first(desk, maxDepth=1)
    stored = store(_into(s3), crawl_id, page, title="雲", text="遠くの倉庫から", links=[f"{SITE}/next"])
    desk.report(crawl_id, [stored.result])
    assert _page(desk, crawl_id)["artifacts"] == stored.artifacts
    assert [following["url"] for following in desk.close(crawl_id)["next"]] == [f"{SITE}/next"]
    assert desk.post(f"/api/crawls/{crawl_id}/index", status=202) == {"indexed": 1, "pages": 1}
    [hit] = desk.get("/api/search", q="倉庫")["hits"]
    answer = desk.post(f"/api/archives/{hit['archiveId']}/url")
    assert answer["url"].startswith(f"{s3.endpoint}/{s3.bucket}/")
    assert "X-Amz-Expires=300" in answer["url"]
    fetched = httpx.get(answer["url"], headers={"Range": "bytes=0-1"}, trust_env=False)
    assert (fetched.status_code, fetched.content) == (206, b"PK")


def test_unreported_capture_in_the_bucket_is_adopted(desk: Desk, s3: S3Server) -> None:
    crawl_id, page = _first(desk)
    stored = store(_into(s3), crawl_id, page)
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    assert desk.post(f"/api/crawls/{crawl_id}/reconcile")["adopted"] == 1
    assert _page(desk, crawl_id)["manifestLocation"] == stored.manifest


def test_manifest_in_another_bucket_is_recorded_and_never_read(desk: Desk, s3: S3Server) -> None:
    s3.make_bucket("another")
    crawl_id, page = _first(desk)
    stored = store(_into(s3, "another"), crawl_id, page)
    desk.report(crawl_id, [stored.result])
    row = _page(desk, crawl_id)
    assert (row["artifacts"], row["manifestLocation"]) == ({}, stored.manifest)
    assert "never read" in row["reason"]


def test_prune_removes_what_an_old_crawl_left_in_the_bucket_and_nothing_else(
    tmp_path: Path, prefect: FakePrefect, s3: S3Server
) -> None:
    clock, there = ShiftedClock(), s3.bucket_store()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, s3=_settings(s3), clock=clock) as desk:
        crawl_id, page = _first(desk, maxDepth=0)
        stored = store(_into(s3), crawl_id, page)
        desk.report(crawl_id, [stored.result])
        desk.close(crawl_id)
        today = f"{datetime.now(UTC):%Y/%m/%d}"
        others = {f"{today}/t_cother.p1.1.1.wacz", f"t_{crawl_id}.p9.1.1.wacz", f"{today}/notes.txt"}
        for key in (*others, f"{today}/t_{crawl_id}.p2.1.1.wacz"):  # the last: a try that nobody reported
            there.put(key, b"x" * 1000)
        clock.advance(31 * 86_400)
        pruning = desk.parts.pruning
        would = pruning.prune(30, dry_run=True)
        assert would.crawls == [crawl_id]
        assert would.size_bytes > 1000
        assert _keys(there) > others
        with s3.suspend():
            [trouble] = pruning.prune(30).troubles
        assert crawl_id in trouble
        assert desk.crawl(crawl_id)["state"] == "succeeded"  # its rows stay, so that its artifacts are not forgotten
        for place in desk.parts.artifacts.places:
            if isinstance(place, Bucket):
                place.ask_again()
        done = pruning.prune(30)
        assert (done.crawls, done.files, done.size_bytes, done.troubles) == (
            [crawl_id],
            would.files,
            would.size_bytes,
            [],
        )
        assert {key for key in _keys(there) if crawl_id in key or key in others} == others
        desk.get(f"/api/crawls/{crawl_id}", 404)
    there.delete(sorted(others))


def _keys(there: S3Store) -> set[str]:
    return {entry["path"] for chunk in there.list() for entry in chunk}


@pytest.fixture
def hurried_desk(tmp_path: Path, prefect: FakePrefect, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Waits for 2 s where others wait for 7."""
    monkeypatch.setattr("ledger.artifacts.bucket.READ_S", 2)
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, s3=_settings(s3)) as running:
        yield running


def test_store_that_is_away_keeps_nobody_waiting_and_loses_nothing(hurried_desk: Desk, s3: S3Server) -> None:
    desk = hurried_desk
    crawl_id, page = _first(desk)
    stored = store(_into(s3), crawl_id, page)
    with s3.suspend():
        desk.report(crawl_id, [stored.result])
        assert "not proved yet" in _page(desk, crawl_id)["reason"]
        assert desk.post(f"/api/crawls/{crawl_id}/reconcile")["waiting"] == 1
    for place in desk.parts.artifacts.places:
        if isinstance(place, Bucket):
            place.ask_again()
    assert desk.post(f"/api/crawls/{crawl_id}/reconcile")["admitted"] == 1
    assert _page(desk, crawl_id)["artifacts"] == stored.artifacts


def _contents(s3: S3Server) -> set[str]:
    """Keys of contents of watched pages."""
    return {key for key in _keys(s3.bucket_store()) if key.startswith("watch/")}


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    monkeypatch.setattr("ledger.artifacts.bucket.READ_S", 2)
    clock = StoppedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, s3=_settings(s3), clock=clock) as desk:
        yield Watch(desk, clock)


def _job(watch: Watch, page_id: str) -> Json:
    watch.desk.post(f"/api/watch/pages/{page_id}/visit")
    watch.wait(60)
    return watch.only()


def test_contents_of_watched_pages_lie_in_the_bucket_are_read_from_it_and_go_with_their_page(
    watch: Watch, s3: S3Server
) -> None:
    there = _contents(s3)
    page_id = watch.add(f"{SITE}/watched")[0]
    watch.done(_job(watch, page_id), "first", content={**content("港"), "fields": {"price": "12.50"}})
    [first] = _contents(s3) - there
    said = json.loads(gzip.decompress(bytes(s3.bucket_store().get(first).bytes())))
    assert said == {"text": "港", "fields": {"price": "12.50"}}
    assert not (watch.desk.root / "watch").exists(), "the folder is not used beside a bucket"
    for before, after in (("港", "two"), ("two", "three")):
        watch.done(_job(watch, page_id), "changed", **changed(before, after))
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "three"
    kept = _contents(s3) - there
    assert len(kept) == 2, "as many as are kept of a page"
    assert first not in kept
    watch.remove(page_id)
    assert _contents(s3) == there


def test_store_that_is_away_takes_no_content_loses_no_report_and_is_said_to_be_away(watch: Watch, s3: S3Server) -> None:
    page_id = watch.add(f"{SITE}/watched")[0]
    watch.done(_job(watch, page_id), "first", content=content("one"))
    job = _job(watch, page_id)
    news = report(job, "changed", **changed("one", "two"))
    with s3.suspend():
        watch.complete(news, status=503)
        watch.desk.get(f"/api/watch/pages/{page_id}/content", 503)
    for place in watch.desk.parts.artifacts.places:
        if isinstance(place, Bucket):
            place.ask_again()
    assert watch.events(page_id) == []
    [answer] = watch.complete(news)
    assert answer["accepted"]
    assert answer["eventId"] == watch.events(page_id)[0]["eventId"]
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "two"


def test_content_that_is_gone_from_the_bucket_is_one_that_is_not_kept(watch: Watch, s3: S3Server) -> None:
    there = _contents(s3)
    page_id = watch.add(f"{SITE}/watched")[0]
    watch.done(_job(watch, page_id), "first", content=content("one"))
    s3.bucket_store().delete(sorted(_contents(s3) - there))
    watch.desk.get(f"/api/watch/pages/{page_id}/content", 404)
    watch.done(_job(watch, page_id), "changed", **changed("one", "two"))
    assert watch.desk.get(f"/api/watch/pages/{page_id}/content")["text"] == "two"
    watch.remove(page_id)
    assert _contents(s3) == there


@pytest.mark.parametrize(
    "location",
    [
        "s3://other/key",
        "s3://comity-archives",
        "s3://comity-archives/",
        "s3://comity-archives/a/../b",
        "s3://comity-archives//a",
        "S3://comity-archives/a",
    ],
)
def test_location_outside_the_bucket_is_elsewhere(s3: S3Server, location: str) -> None:
    bucket = Bucket(_settings(s3))
    assert bucket.owns(location)
    with pytest.raises(Elsewhere):
        bucket.read(location, 10)


def test_object_is_read_within_its_limit_and_by_pieces(s3: S3Server) -> None:
    location = _into(s3)("2030/01/31/some thing%20é.bin", bytes(range(256)) * 4096)
    bucket = Bucket(_settings(s3))
    assert bucket.read(location, 1 << 20) == bytes(range(256)) * 4096
    with pytest.raises(Unreadable, match="over"):
        bucket.read(location, (1 << 20) - 1)
    with pytest.raises(Missing):
        bucket.read(f"s3://{s3.bucket}/nothing", 10)
    with bucket.open(location) as file:
        file.seek(-2, 2)
        assert file.read() == b"\xfe\xff"
        file.seek(3)
        assert file.read(2) == b"\x03\x04"
    assert bucket.stat(location).size_bytes == 1 << 20
    assert [found.location for found in bucket.listing("2030/01/31", ".bin")] == [location]
    assert list(bucket.listing("2030/01", ".bin")) == []


def test_store_that_refuses_connections_is_away(s3: S3Server) -> None:
    bucket = Bucket(_settings(s3, endpoint="http://127.0.0.1:9"))
    for _ in range(20):  # asked once, then left alone for a while
        with pytest.raises(Away) as refused:
            bucket.read(f"s3://{s3.bucket}/a", 10)
        assert "127.0.0.1" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"COMITY_S3_BUCKET": ""}, "COMITY_S3_BUCKET"),
        ({"COMITY_S3_ACCESS_KEY_ID": ""}, "COMITY_S3_ACCESS_KEY_ID"),
        ({"COMITY_S3_SECRET_ACCESS_KEY": ""}, "COMITY_S3_SECRET_ACCESS_KEY"),
        ({"COMITY_S3_ENDPOINT": "http://store.example"}, "COMITY_S3_ENDPOINT"),
        ({"COMITY_S3_ENDPOINT": "ftp://127.0.0.1"}, "COMITY_S3_ENDPOINT"),
        ({"COMITY_S3_BUCKET": "No Bucket"}, "COMITY_S3_BUCKET"),
        ({"COMITY_S3_CA_PEM_FILE": "/nowhere/ca.pem"}, "COMITY_S3_CA_PEM_FILE"),
    ],
)
def test_half_of_a_bucket_is_refused_by_its_setting(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], named: str
) -> None:
    for name, value in s3.settings.items():
        monkeypatch.setenv(name, value)
    assert read_s3_settings().bucket == s3.bucket
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsRefused, match=named):
        read_s3_settings()


def test_no_bucket_at_all_is_fine(monkeypatch: pytest.MonkeyPatch, s3: S3Server) -> None:
    for name in s3.settings:
        monkeypatch.delenv(name, raising=False)
    assert read_s3_settings().bucket is None
