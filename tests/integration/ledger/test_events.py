"""`GET /api/crawls/{id}/events`, read as a client of the stream reads it."""

import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

import ledger.api.events
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import DEADLINE_S, Desk, Json, ledger_at, wait_until

SITE = "http://127.0.0.2:8000"
Event = tuple[int | None, str, Json]


@dataclass
class Reader:
    """Reads a stream in a thread, until it ends or the test hangs up."""

    events: "queue.Queue[Event]" = field(default_factory=queue.Queue)
    comments: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Event:
        return self.events.get(timeout=DEADLINE_S)

    def rest(self) -> list[Event]:
        """Everything up to the end of the stream, which has to come."""
        assert self.over.wait(DEADLINE_S), "the stream goes on"
        found = []
        while not self.events.empty():
            found.append(self.events.get())
        return found

    def read(self, lines: Iterator[str]) -> None:
        message: dict[str, str] = {}
        try:
            for line in lines:
                name, _, value = line.partition(": ")
                if line.startswith(":"):
                    self.comments.append(value or line)
                elif line:
                    message[name] = value
                elif message:
                    ident = int(message["id"]) if "id" in message else None
                    self.events.put((ident, message["event"], json.loads(message["data"])))
                    message = {}
        except httpx.HTTPError:
            pass  # the test hung up, or the ledger was killed
        finally:
            self.over.set()


@contextmanager
def following(desk: Desk, crawl_id: str, after: int | None = None) -> Iterator[Reader]:
    reader = Reader()
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with desk.client.stream("GET", f"/api/crawls/{crawl_id}/events", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        thread = threading.Thread(target=reader.read, args=(answer.iter_lines(),), daemon=True)
        thread.start()
        yield reader
        with suppress(OSError):  # closing alone would not wake the thread that reads
            answer.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        thread.join(DEADLINE_S)


def kinds(events: list[Event]) -> list[str]:
    return [kind for _, kind, _ in events]


def test_crawl_is_told_as_it_happens_and_ends_with_end(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    with following(desk, crawl_id) as reader:
        _, kind, opened = reader.next()
        assert (kind, opened["depth"], opened["attempt"], opened["pages"]) == ("level-opened", 0, 1, 1)
        [page] = desk.order(crawl_id)["frontier"]
        desk.report(crawl_id, [desk.captured(crawl_id, page, [f"{SITE}/a", f"{SITE}/b"])])
        _, kind, settled = reader.next()
        assert kind == "page"
        assert settled.items() >= {"pageId": page["pageId"], "url": f"{SITE}/", "state": "captured", "depth": 0}.items()
        desk.close(crawl_id)
        assert [reader.next()[1], reader.next()[1]] == ["level-closed", "level-opened"]
        pages = desk.order(crawl_id, 1)["frontier"]
        failed = {"pageId": pages[0]["pageId"], "url": pages[0]["url"], "status": "failed", "reason": "timeout: 5 s"}
        desk.close(crawl_id, 1, results=[failed, desk.captured(crawl_id, pages[1])])
        rest = reader.rest()
    assert kinds(rest) == ["page", "page", "level-closed", "end"]
    assert (rest[0][2]["state"], rest[0][2]["reason"]) == ("failed", "timeout: 5 s")
    assert rest[2][2].items() >= {"depth": 1, "captured": 1, "failed": 1, "skipped": 0, "pending": 0}.items()
    assert rest[3][2].items() >= {"state": "succeeded", "stopReason": "max_depth"}.items()


def test_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(desk: Desk) -> None:
    crawl_id = desk.start(*(f"{SITE}/{number}" for number in range(5)))
    for page in desk.order(crawl_id)["frontier"]:
        desk.report(crawl_id, [desk.captured(crawl_id, page)])
    seen: list[Event] = []
    with following(desk, crawl_id) as reader:
        seen += [reader.next() for _ in range(3)]
    with following(desk, crawl_id, seen[-1][0]) as reader:
        seen += [reader.next() for _ in range(2)]
        desk.close(crawl_id)
        seen += reader.rest()
    assert kinds(seen) == ["level-opened", *["page"] * 5, "level-closed", "end"]
    assert [told["url"] for _, kind, told in seen if kind == "page"] == [f"{SITE}/{number}" for number in range(5)]
    with following(desk, crawl_id) as reader:
        assert reader.rest() == seen
    after_the_end = {"Last-Event-ID": str(seen[-1][0])}
    assert desk.client.get(f"/api/crawls/{crawl_id}/events", headers=after_the_end).status_code == 204


def test_crawl_that_is_cancelled_ends_the_stream(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    with following(desk, crawl_id) as reader:
        desk.post(f"/api/crawls/{crawl_id}/cancel")
        events = reader.rest()
    assert kinds(events) == ["level-opened", "level-closed", "end"]
    assert events[-1][2]["state"] == "cancelled"
    assert events[-1][2]["error"].startswith("cancelled by")


def test_nothing_happens_twice_in_the_stream_where_a_report_is_repeated(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    [page] = desk.order(crawl_id)["frontier"]
    failed = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "timeout"}
    for result in (failed, failed, desk.captured(crawl_id, page), desk.captured(crawl_id, page)):
        desk.report(crawl_id, [result])
    desk.close(crawl_id)
    with following(desk, crawl_id) as reader:
        events = reader.rest()
    assert [told["state"] for _, kind, told in events if kind == "page"] == ["failed", "captured"]


def test_crawl_older_than_its_events_still_ends(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    with desk.parts.store.writing() as tx:
        tx.execute(text("DELETE FROM crawl_event"))
    with following(desk, crawl_id) as reader:
        [(ident, kind, told)] = reader.rest()
    assert (ident, kind, told["state"]) == (None, "end", "cancelled")


def test_streams_are_bounded_and_a_client_that_left_frees_its_place(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, max_event_streams=1) as desk:
        crawl_id = desk.start(f"{SITE}/")
        with following(desk, crawl_id) as reader:
            reader.next()
            refusal = desk.client.get(f"/api/crawls/{crawl_id}/events")
            assert (refusal.status_code, refusal.headers["retry-after"]) == (503, "1")
            assert "LEDGER_MAX_EVENT_STREAMS" in refusal.json()["error"]

        def taken() -> bool:
            with desk.client.stream("GET", f"/api/crawls/{crawl_id}/events") as answer:
                return answer.status_code == 200

        wait_until(taken, "the place of the client that left is free")


def test_silence_is_told_from_death_by_comments(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger.api.events, "POLL_S", 0.05)
    monkeypatch.setattr(ledger.api.events, "HEARTBEAT_S", 0.1)
    crawl_id = desk.start(f"{SITE}/")
    with following(desk, crawl_id) as reader:
        wait_until(lambda: len(reader.comments) > 1, "comments come")
        assert not reader.over.is_set()


@pytest.mark.parametrize("header", ["x", "-1", "1.5", "9" * 19, "１"])
def test_id_that_is_none_is_refused_by_its_header(desk: Desk, header: str) -> None:
    crawl_id = desk.start(f"{SITE}/")
    path = f"/api/crawls/{crawl_id}/events"
    answer = desk.client.get(path, headers={b"Last-Event-ID": header.encode()})
    assert answer.status_code == 400
    assert answer.json()["fields"][0]["field"] == "Last-Event-ID"


def test_stream_of_no_crawl_is_not_found_and_needs_a_token(desk: Desk) -> None:
    desk.get("/api/crawls/c_none/events", 404)
    assert httpx.get(f"{desk.url}/api/crawls/c_none/events", trust_env=False).status_code == 401
