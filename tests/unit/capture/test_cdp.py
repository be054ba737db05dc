"""The connection over real pipes: answers, events, large values, and the other end silent or gone."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from comity.capture.cdp import (
    BrowserLostError,
    CallRefusedError,
    CallTimeoutError,
    Connection,
    SessionLostError,
    parse,
    value_bytes,
)


class Peer:
    """The browser's side of the pipe."""

    def __init__(self, connection: Connection, reader: asyncio.StreamReader, write_to: int) -> None:
        self.connection = connection
        self._reader = reader
        self._write_to = write_to

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self._reader.readuntil(b"\0"))[:-1])
        return message

    def send(self, *messages: dict[str, Any]) -> None:
        os.write(self._write_to, b"".join(json.dumps(message).encode() + b"\0" for message in messages))

    def hang_up(self) -> None:
        os.close(self._write_to)
        self._write_to = -1

    def close(self) -> None:
        if self._write_to >= 0:
            os.close(self._write_to)


async def pipe_reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    return reader, transport


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    loop = asyncio.get_running_loop()
    to_us, from_peer = os.pipe()
    to_peer, from_us = os.pipe()
    reader, one = await pipe_reader(to_us)
    peer_reader, two = await pipe_reader(to_peer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(from_us, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    connection = Connection(reader, writer)
    made = Peer(connection, peer_reader, from_peer)
    yield made
    await connection.close()
    made.close()
    for open_transport in (one, two):
        open_transport.close()
    await asyncio.sleep(0)


async def test_call_gets_its_own_answer(peer: Peer) -> None:
    first = asyncio.create_task(peer.connection.root.call("A.a", {"x": 1}))
    second = asyncio.create_task(peer.connection.session("s").call("B.b"))
    one, two = await peer.next(), await peer.next()
    assert (one["method"], one["params"], "sessionId" in one) == ("A.a", {"x": 1}, False)
    assert two["sessionId"] == "s"
    peer.send({"id": two["id"], "sessionId": "s", "result": {"n": 2}}, {"id": one["id"], "result": {"n": 1}})
    assert [await first, await second] == [{"n": 1}, {"n": 2}]


async def test_refused_call_raises_with_the_browsers_words(peer: Peer) -> None:
    call = asyncio.create_task(peer.connection.root.call("A.a"))
    asked = await peer.next()
    peer.send({"id": asked["id"], "error": {"code": -32000, "message": "No such thing"}})
    with pytest.raises(CallRefusedError, match="No such thing"):
        await call


async def test_silent_call_ends_with_its_budget(peer: Peer) -> None:
    with pytest.raises(CallTimeoutError, match=r"within 0\.05 s"):
        await peer.connection.root.call("A.a", budget_s=0.05)


async def test_crashed_session_fails_only_its_own_calls(peer: Peer) -> None:
    lost = asyncio.create_task(peer.connection.session("s").call("A.a"))
    kept = asyncio.create_task(peer.connection.session("t").call("A.a"))
    asked = [await peer.next(), await peer.next()]
    peer.connection.fail_calls("s", "crashed")
    with pytest.raises(SessionLostError, match="crashed"):
        await lost
    peer.send({"id": asked[1]["id"], "sessionId": "t", "result": {}})
    assert await kept == {}


async def test_closed_pipe_fails_every_call(peer: Peer) -> None:
    call = asyncio.create_task(peer.connection.root.call("A.a"))
    await peer.next()
    peer.hang_up()
    with pytest.raises(BrowserLostError):
        await call
    assert peer.connection.closed.is_set()
    with pytest.raises(BrowserLostError):
        await peer.connection.root.call("A.b")


async def test_events_go_to_their_session_in_order(peer: Peer) -> None:
    heard: list[tuple[str, str, Any]] = []
    done = asyncio.Event()

    def on_session(method: str, params: dict[str, Any]) -> None:
        heard.append(("s", method, params))
        if params.get("last"):
            done.set()

    peer.connection.root.listener = lambda method, params: heard.append(("root", method, params))
    peer.connection.session("s").listener = on_session
    peer.send(
        {"method": "A.a", "params": {"n": 1}},
        {"method": "B.b", "params": {}, "sessionId": "unknown"},
        {"method": "C.c", "params": {"last": True}, "sessionId": "s"},
    )
    async with asyncio.timeout(5):
        await done.wait()
    assert heard == [("root", "A.a", {"n": 1}), ("s", "C.c", {"last": True})]


@pytest.mark.parametrize("size", [10, 3_000_000])
@pytest.mark.parametrize("name", ["body", "data"])
def test_binary_value_is_decoded_whatever_its_size(size: int, name: str) -> None:
    value = bytes(range(256)) * (size // 256 + 1)
    text = base64.b64encode(value).decode()
    message = f'{{"id":7,"result":{{"{name}":"{text}","base64Encoded":true}},"sessionId":"s"}}'
    parsed = parse(bytearray(message.encode()))
    assert (parsed["id"], parsed["sessionId"]) == (7, "s")
    assert value_bytes(parsed["result"], name) == value


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_text_value_keeps_its_characters(size: int) -> None:
    text = 'q"\\é灯\n' * (size // 8 + 1)
    message = json.dumps({"id": 1, "result": {"body": text, "base64Encoded": False}}, separators=(",", ":"))
    assert value_bytes(parse(bytearray(message.encode()))["result"], "body") == text.encode()
