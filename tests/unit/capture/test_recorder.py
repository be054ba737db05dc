"""What the recorder still hears once the archive is being packed."""

from typing import Any

from comity.capture.egress.book import Book
from comity.capture.policies import Policies
from comity.capture.recorder import Recorder
from comity.capture.tally import Limits
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
