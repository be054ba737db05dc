"""`PUT /api/sink/{crawlId}/{filename}`: whole artifacts, once, for whoever has the work order's token."""

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, wait_until

LIMIT_BYTES = 200_000


class Sink:
    """A ledger as sink of one running crawl."""

    def __init__(self, desk: Desk, clock: ShiftedClock) -> None:
        self.desk = desk
        self.clock = clock
        self.crawl_id = desk.start("http://127.0.0.2/", maxDepth=0)
        self.order: Json = desk.order(self.crawl_id)["artifactSink"]

    def name(self, rest: str = ".wacz") -> str:
        return f"t0011223344556677_{self.crawl_id}.p1.1.1{rest}"

    def put(self, name: str, content: bytes | Iterator[bytes], token: str | None = None) -> httpx.Response:
        url = f"{self.order['url']}/{quote(name, safe='')}"
        headers = {"Authorization": f"Bearer {self.order['token'] if token is None else token}"}
        return httpx.put(url, content=content, headers=headers, trust_env=False, timeout=30)

    def files(self) -> list[Path]:
        return [path for path in (self.desk.root / "sink").rglob("*") if path.is_file()]


@pytest.fixture
def sink(tmp_path: Path, prefect: FakePrefect) -> Iterator[Sink]:
    clock = ShiftedClock()
    with ledger_at(
        tmp_path / "data",
        tmp_path / "store",
        prefect,
        clock=clock,
        sink=True,
        max_artifact_bytes=LIMIT_BYTES,
    ) as desk:
        yield Sink(desk, clock)


def test_artifact_is_kept_whole_and_its_location_told(sink: Sink) -> None:
    content = bytes(range(256)) * 700
    answer = sink.put(sink.name(), content)
    assert answer.status_code == 201
    path = Path(unquote(urlsplit(answer.json()["location"]).path))
    assert path.read_bytes() == content
    assert path.is_relative_to(sink.desk.root)
    assert path.stat().st_mode & 0o077 == 0
    assert sink.files() == [path]


def test_same_bytes_again_are_fine_and_other_bytes_change_nothing(sink: Sink) -> None:
    first = sink.put(sink.name(), b"one")
    again = sink.put(sink.name(), iter([b"o", b"ne"]))
    assert (again.status_code, again.json()) == (200, first.json())
    other = sink.put(sink.name(), b"two")
    assert other.status_code == 409
    assert other.json()["code"] == "name-taken"
    assert [path.read_bytes() for path in sink.files()] == [b"one"]
    assert sink.put(sink.name(".html"), b"two").status_code == 201


def test_of_many_writers_of_one_name_one_wins(sink: Sink) -> None:
    with ThreadPoolExecutor(6) as pool:
        contents = [bytes([65 + number]) * 50_000 for number in range(6)]
        statuses = list(pool.map(lambda content: sink.put(sink.name(), content).status_code, contents))
    assert sorted(statuses) == [201, 409, 409, 409, 409, 409]
    assert [path.read_bytes() for path in sink.files()] == [contents[statuses.index(201)]]


def test_wrong_expired_and_foreign_tokens_get_one_answer(sink: Sink) -> None:
    expires, _, mac = sink.order["token"].partition(".")
    wrong = ["wrong", f"{int(expires) + 1}.{mac}", f"{expires}.{mac[::-1]}", sink.desk.token]
    answers = [sink.put(sink.name(), b"x", token) for token in wrong]
    answers.append(httpx.put(f"{sink.order['url']}/{sink.name()}", content=b"x", trust_env=False))
    other = sink.order["url"].replace(sink.crawl_id, "c0000000000000000")
    headers = {"Authorization": f"Bearer {sink.order['token']}"}
    answers.append(httpx.put(f"{other}/{sink.name()}", content=b"x", headers=headers, trust_env=False))
    sink.clock.advance(3 * 3600 + 1)
    answers.append(sink.put(sink.name(), b"x"))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert sink.files() == []


def test_sink_token_opens_nothing_else(sink: Sink) -> None:
    headers = {"Authorization": f"Bearer {sink.order['token']}"}
    assert httpx.get(sink.desk.url + "/api/me", headers=headers, trust_env=False).status_code == 401


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (".exe", 400),
        ("_" + "x" * 250 + ".wacz", 400),
        ("_a/../../b.wacz", 401),  # no such path, for whoever has no token for it
        ("_a%2f..%2fb.wacz", 201),  # a label may have a percent sign; it is no slash
        ("_a\x00b.wacz", 400),
        ("_ラベル.png", 201),
    ],
)
def test_only_names_of_captures_are_taken(sink: Sink, rest: str, status: int) -> None:
    answer = sink.put(sink.name(rest), b"x")
    assert answer.status_code == status
    assert len(sink.files()) == (status == 201)
    if status == 400:
        assert [problem["field"] for problem in answer.json()["fields"]] == ["filename"]


def test_artifact_over_the_limit_leaves_nothing(sink: Sink) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(LIMIT_BYTES // 1000 + 1):
            yield b"x" * 1000

    assert sink.put(sink.name(), b"x" * (LIMIT_BYTES + 1)).status_code == 413
    assert sink.put(sink.name(), endless()).status_code == 413
    assert sink.files() == []
    assert sink.put(sink.name(), b"x" * LIMIT_BYTES).status_code == 201


def test_upload_that_breaks_off_or_falls_silent_leaves_nothing(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.services.sink.SILENCE_S", 0.3)
    at = urlsplit(sink.order["url"])
    head = (
        f"PUT {at.path}/{sink.name()} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {sink.order['token']}\r\n\r\npart"
    )
    with socket.create_connection((at.hostname or "", at.port or 0), timeout=60) as silent:
        silent.sendall(head.encode())
        assert b" 408 " in silent.recv(1000)
    with socket.create_connection((at.hostname or "", at.port or 0), timeout=60) as gone:
        gone.sendall(head.encode())
    wait_until(lambda: not sink.files(), "the unfinished file is gone")
    assert sink.put(sink.name(), b"whole").status_code == 201


def test_full_disk_is_told_as_such(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ledger.services.sink._flush", full)
    assert sink.put(sink.name(), b"x").status_code == 507
    assert sink.files() == []


def test_every_order_brings_a_token_and_none_without_the_setting(
    sink: Sink, tmp_path: Path, prefect: FakePrefect
) -> None:
    sink.clock.advance(3 * 3600 - 60)
    renewed = sink.desk.order(sink.crawl_id)["artifactSink"]
    assert renewed["url"] == sink.order["url"] == f"{sink.desk.url}/api/sink/{sink.crawl_id}"
    sink.clock.advance(120)
    assert sink.put(sink.name(), b"x").status_code == 401
    assert sink.put(sink.name(), b"x", renewed["token"]).status_code == 201
    sink.desk.post(f"/api/crawls/{sink.crawl_id}/cancel")
    with ledger_at(tmp_path / "other", tmp_path / "other-store", prefect) as desk:
        assert desk.order(desk.start())["artifactSink"] is None


def test_key_outlives_a_restart_and_is_its_owners_alone(sink: Sink, tmp_path: Path, prefect: FakePrefect) -> None:
    key = sink.desk.data / "sink.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_text().strip() not in {path.read_text().strip() for path in (sink.desk.data / "tokens").iterdir()}
    with ledger_at(sink.desk.data, sink.desk.root, prefect, clock=sink.clock) as again:
        headers = {"Authorization": f"Bearer {sink.order['token']}"}
        url = f"{again.url}/api/sink/{sink.crawl_id}/{sink.name()}"
        assert httpx.put(url, content=b"x", headers=headers, trust_env=False).status_code == 201


def test_what_a_dead_process_left_is_swept(sink: Sink) -> None:

    folder = sink.desk.root / "sink" / ".incoming"
    folder.mkdir(parents=True)
    old, young = folder / "old", folder / "young"
    for path in (old, young):
        path.write_bytes(b"part")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    sink.desk.parts.sink.sweep()
    assert sink.files() == [young]
