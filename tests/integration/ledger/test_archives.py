"""Archives: the list, signed URLs, and what such a URL answers to whom."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from ledger.errors import Unknown
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at
from tests.integration.ledger.stored import Stored, into, store

SITE = "http://127.0.0.2:8000"
PLAYER = "https://replay.example"


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, clock: ShiftedClock) -> Iterator[Desk]:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, replay_origins=(PLAYER,)) as running:
        yield running


def _captured(desk: Desk, *paths: str) -> list[Stored]:
    """A crawl of these pages, each captured and reported, one after the other."""
    crawl_id = desk.start(*(f"{SITE}{path}" for path in paths), maxDepth=0)
    found = []
    for page in desk.order(crawl_id)["frontier"]:
        found.append(store(into(desk.root), crawl_id, page))
        desk.report(crawl_id, [found[-1].result])
    desk.close(crawl_id)
    return found


def _one(desk: Desk) -> tuple[str, bytes]:
    """A signed URL, and the bytes behind it."""
    [stored] = _captured(desk, "/")
    [archive] = desk.get("/api/archives")["archives"]
    answer = desk.post(f"/api/archives/{archive['id']}/url")
    assert answer["expiresIn"] == 300
    return answer["url"], Path(stored.artifacts["wacz"].removeprefix("file://")).read_bytes()


def _ask(url: str, method: str = "GET", **headers: str) -> httpx.Response:
    return httpx.request(method, url, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_archives_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    _captured(desk, "/a", "/b", "/c")
    crawl_id = desk.start(f"{SITE}/", maxDepth=0)
    [page] = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [store(into(desk.root), crawl_id, page, without=("wacz",), html="<p>x").result])
    first = desk.get("/api/archives", limit=2)
    assert [archive["url"] for archive in first["archives"]] == [f"{SITE}/c", f"{SITE}/b"]
    second = desk.get("/api/archives", limit=2, before=first["next"])
    assert [archive["url"] for archive in second["archives"]] == [f"{SITE}/a"]
    assert second["next"] is None
    assert {archive["organization"] for archive in first["archives"]} == {"default"}
    assert {archive["startedBy"] for archive in first["archives"]} == {"operator"}


@pytest.mark.parametrize("before", ["x", "!", "MjAzMA", "eCB5", "MjAzMC0wMS0wMSBwMQ"])
def test_cursor_that_is_none_of_ours_is_refused(shared_desk: Desk, before: str) -> None:
    refusal = shared_desk.get("/api/archives", 400, before=before)
    assert [problem["field"] for problem in refusal["fields"]] == ["before"]


def test_other_organisation_sees_and_gets_nothing(desk: Desk) -> None:
    _captured(desk, "/")
    archives = desk.parts.archives
    [archive] = archives.newest(before=None, limit=10, organizations=["default"]).archives
    assert archives.newest(before=None, limit=10, organizations=["other"]).archives == []
    assert archives.newest(before=None, limit=10, organizations=[]).archives == []
    archives.url(archive.id, base_url=desk.url, organizations=["default"])
    assert archive.task_id is not None
    archives.origin(archive.task_id, organizations=["default"])
    with pytest.raises(Unknown):
        archives.url(archive.id, base_url=desk.url, organizations=["other"])
    with pytest.raises(Unknown):
        archives.origin(archive.task_id, organizations=["other"])


def test_signed_url_reads_the_archive_without_a_token_and_runs_nothing(desk: Desk) -> None:
    url, whole = _one(desk)
    answer = _ask(url)
    assert (answer.status_code, answer.content) == (200, whole)
    assert answer.headers["content-type"] == "application/wacz"
    assert re.fullmatch(r'attachment; filename="[\w.-]+\.wacz"', answer.headers["content-disposition"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["accept-ranges"] == "bytes"
    assert not {"set-cookie", "access-control-allow-origin"} & set(answer.headers)
    head = _ask(url, "HEAD", range="bytes=0-3")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole))


@pytest.mark.parametrize(
    ("asked", "first", "last"), [("bytes=5-9", 5, 9), ("bytes=299990-", 299990, -1), ("bytes=-7", -7, -1)]
)
def test_range_is_answered_with_206(desk: Desk, asked: str, first: int, last: int) -> None:
    url, whole = _one(desk)
    answer = _ask(url, range=asked)
    begin, end = first % len(whole), last % len(whole)
    assert (answer.status_code, answer.content) == (206, whole[begin : end + 1])
    assert answer.headers["content-range"] == f"bytes {begin}-{end}/{len(whole)}"
    assert answer.headers["content-length"] == str(end - begin + 1)
    same = _ask(url, range=asked, if_range=answer.headers["etag"])
    assert same.status_code == 206
    dated = _ask(url, range=asked, if_range=answer.headers["last-modified"])
    assert dated.status_code == 206
    for other in ('"other"', "Thu, 01 Jan 1970 00:00:00 GMT"):
        assert _ask(url, range=asked, if_range=other).content == whole


def test_range_behind_the_end_is_416_and_tells_the_size(desk: Desk) -> None:
    url, whole = _one(desk)
    answer = _ask(url, range=f"bytes={len(whole)}-")
    assert (answer.status_code, answer.content) == (416, b"")
    assert answer.headers["content-range"] == f"bytes */{len(whole)}"
    assert _ask(url, range="bytes=1-2,5-6").content == whole


def _changed(url: str, **change: str) -> str:
    parts = urlsplit(url)
    return parts._replace(query=urlencode({**dict(parse_qsl(parts.query)), **change})).geturl()


def test_wrong_and_expired_signatures_answer_the_same(desk: Desk, clock: ShiftedClock) -> None:
    url, _ = _one(desk)
    given = dict(parse_qsl(urlsplit(url).query))
    other = "A" if given["signature"][0] != "A" else "B"
    wrong = [
        _changed(url, signature=other + given["signature"][1:]),
        _changed(url, signature=""),
        _changed(url, expires=str(int(given["expires"]) + 1)),
        _changed(url, expires="soon"),
        urlsplit(url)._replace(query="").geturl(),
    ]
    answers = [_ask(one) for one in wrong]
    assert _ask(url).status_code == 200
    clock.advance(301)
    answers.append(_ask(url))
    assert {answer.status_code for answer in answers} == {404}
    assert len({(answer.text, str(sorted(set(answer.headers) - {"date"}))) for answer in answers}) == 1
    elsewhere = _ask(url.replace("/archives/p", "/archives/p0"))
    assert elsewhere.status_code == 404


def test_archive_that_is_gone_or_lies_elsewhere_is_refused(desk: Desk, tmp_path: Path) -> None:
    url, _ = _one(desk)
    [archive] = desk.get("/api/archives")["archives"]
    [page] = desk.get(f"/api/crawls/{archive['crawlId']}/pages")["pages"]
    file = Path(page["artifacts"]["wacz"].removeprefix("file://"))
    outside = tmp_path / "outside.wacz"
    file.rename(outside)
    assert "cannot be read" in desk.post(f"/api/archives/{archive['id']}/url", status=409)["error"]
    assert _ask(url).status_code == 404
    file.symlink_to(outside)
    assert desk.post(f"/api/archives/{archive['id']}/url", status=409)["error"]
    assert _ask(url).status_code == 404
    desk.post("/api/archives/p0/url", status=404)


@pytest.mark.parametrize("kind", ["outside", "another crawl's"])
def test_archive_that_a_manifest_claims_and_that_is_not_the_crawls_is_never_served(
    desk: Desk, tmp_path: Path, kind: str
) -> None:
    [others] = _captured(desk, "/")
    crawl_id = desk.start(f"{SITE}/", maxDepth=0)
    [page] = desk.order(crawl_id)["frontier"]
    outside = tmp_path / f"t1_{crawl_id}.{page['pageId']}.1.1.wacz"
    outside.write_bytes(b"secret")
    claimed = outside.as_uri() if kind == "outside" else others.artifacts["wacz"]
    desk.report(crawl_id, [store(into(desk.root), crawl_id, page, artifacts={"wacz": claimed}).result])
    archive = desk.get("/api/archives")["archives"][0]
    assert archive["crawlId"] == crawl_id
    desk.post(f"/api/archives/{archive['id']}/url", status=409 if kind == "outside" else 404)
    answer: Json = desk.post(f"/api/crawls/{crawl_id}/index", status=202)
    assert answer == {"indexed": 0, "pages": 1}


def test_player_of_a_named_origin_may_read_and_no_other(desk: Desk) -> None:
    url, whole = _one(desk)
    answer = _ask(url, origin=PLAYER, range="bytes=0-9")
    assert (answer.status_code, answer.content) == (206, whole[:10])
    assert answer.headers["access-control-allow-origin"] == PLAYER
    assert "Content-Range" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    asked = _ask(url, "OPTIONS", origin=PLAYER, access_control_request_method="GET")
    assert asked.status_code == 204
    assert "Range" in asked.headers["access-control-allow-headers"]
    for foreign in ("https://evil.example", "null", "http://replay.example"):
        for method in ("GET", "OPTIONS"):
            assert _ask(url, method, origin=foreign).status_code == 421
    # The named player reads archives, and nothing else of the ledger.
    headers = {"Origin": PLAYER, "Authorization": f"Bearer {desk.token}"}
    assert httpx.get(f"{desk.url}/api/archives", headers=headers).status_code == 421
