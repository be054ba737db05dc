"""What the recorder still hears once the archive is being packed, and which bodies it takes from their beginning."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from comity.capture.bodies import RENDERER_KEEPS_BYTES
from comity.capture.egress.book import Book
from comity.capture.policies import Policies
from comity.capture.recorder import Recorder
from comity.capture.tally import Limits
from comity.capture.warc_records import Exchanges
from comity.contract.capture import UrlPolicy

DENIED = "wss://a.example/secret"


def listening() -> tuple[Recorder, list[str]]:
    policies = Policies([UrlPolicy(pattern="wss://*/secret", action="deny")], [])
    recorder = Recorder(None, policies=policies, limits=Limits(1000, 1000, 10), egress=Book())
    told: list[str] = []
    recorder.on_denied_socket = told.append
    return recorder, told


def tell(recorder: Recorder, method: str, params: dict[str, Any]) -> None:
    recorder.on_network(None, method, params)  # type: ignore[arg-type]  # no handler that is reached asks for it


async def test_denied_socket_fails_the_page_while_it_is_recorded() -> None:
    recorder, told = listening()
    tell(recorder, "Network.webSocketCreated", {"url": DENIED})
    assert told == [DENIED]
    assert recorder.fault is not None
    assert recorder.tally.denied == {DENIED: "denied by policy"}


async def test_denied_socket_is_kept_from_leaving_even_while_the_page_is_closed() -> None:
    recorder, told = listening()
    recorder.end()
    tell(recorder, "Network.webSocketCreated", {"url": DENIED})
    assert told == [DENIED]
    assert recorder.fault is None
    assert not recorder.tally.denied


async def test_request_after_the_end_is_not_heard() -> None:
    recorder, _ = listening()
    recorder.end()
    tell(recorder, "Network.requestWillBeSent", {"requestId": "1", "request": {"url": "http://a.example/"}})
    assert recorder.open_requests == 0


class Teller:
    """A session with a keeper; `asked` has the streams that were asked of it."""

    session_id, keeper = "s1", object()

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(self, method: str, params: dict[str, Any], **_: object) -> dict[str, Any]:
        assert method == "Network.streamResourceContent"
        self.asked.append(params["requestId"])
        return {"bufferedData": ""}


@pytest.mark.parametrize(
    ("limit_bytes", "kind", "asked"),
    [
        (RENDERER_KEEPS_BYTES + 1, "Fetch", ["1"]),
        (RENDERER_KEEPS_BYTES + 1, "Image", []),
        (RENDERER_KEEPS_BYTES, "Fetch", []),
    ],
)
async def test_body_is_taken_from_its_beginning_where_the_renderer_may_not_keep_it(
    tmp_path: Path, limit_bytes: int, kind: str, asked: list[str]
) -> None:
    exchanges, teller = Exchanges(tmp_path / "data.warc.gz"), Teller()
    limits = Limits(limit_bytes, 2 * limit_bytes, 10)
    recorder = Recorder(exchanges, policies=Policies([], []), limits=limits, egress=Book())
    request = {"url": "http://a.example/long", "method": "GET", "headers": {}}
    told = {"requestId": "1", "request": request, "type": kind, "wallTime": 0}
    recorder.on_network(teller, "Network.requestWillBeSent", told)  # type: ignore[arg-type]  # as much of a session as is asked
    await asyncio.sleep(0)
    assert teller.asked == asked
    await recorder.drain(1)
    recorder.end()
    exchanges.close()
