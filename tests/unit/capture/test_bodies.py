"""A body that comes as a stream: in order whatever overtakes what, and only used where it is whole."""

import asyncio
import base64
from typing import Any

import pytest

from comity.capture.bodies import STREAMED_FROM_BYTES, Bodies, BodyStream
from comity.capture.cdp import CallRefusedError
from comity.capture.exchange import Chain, hop_of
from comity.capture.large_body import IN_MEMORY_BYTES, LargeBody


class Teller:
    """A session whose answer comes when the test says so."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def call(self, *_: object, **__: object) -> dict[str, Any]:
        return await self.answer


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def streamed(refused: bool = False) -> BodyStream:
    """`one two three`: the first comes with the answer, the second before the answer was read, the third after."""
    stream, teller = BodyStream(), Teller()
    beginning = asyncio.create_task(stream.begin(teller, "r1"))  # type: ignore[arg-type]  # as much of a session as is asked
    await asyncio.sleep(0)
    stream.take({"dataLength": 4, "data": encoded(b"two ")})
    if refused:
        teller.answer.set_exception(CallRefusedError("Network.streamResourceContent", -32000, "No resource"))
    else:
        teller.answer.set_result({"bufferedData": encoded(b"one ")})
    await beginning
    stream.take({"dataLength": 5, "data": encoded(b"three")})
    stream.take({"dataLength": 5})
    return stream


async def test_stream_is_in_order() -> None:
    stream = await streamed()
    body = await stream.whole(13)
    assert body is not None
    assert b"".join(body.pieces()) == b"one two three"
    stream.drop()


@pytest.mark.parametrize(("refused", "size"), [(True, 13), (False, 14), (False, 12)])
async def test_stream_that_is_not_whole_is_not_used(refused: bool, size: int) -> None:
    stream = await streamed(refused)
    assert await stream.whole(size) is None
    stream.drop()


async def test_dropped_stream_takes_nothing_more() -> None:
    stream = await streamed()
    stream.drop()
    stream.take({"dataLength": 5, "data": encoded(b"three")})
    assert await stream.whole(13) is None


async def test_stream_dropped_before_its_answer_takes_nothing() -> None:
    stream, teller = BodyStream(), Teller()
    beginning = asyncio.create_task(stream.begin(teller, "r1"))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    stream.drop()
    teller.answer.set_result({"bufferedData": encoded(b"one ")})
    await beginning
    assert await stream.whole(4) is None


@pytest.mark.parametrize("size", [0, 10, IN_MEMORY_BYTES + 10])
def test_large_body_is_read_again_and_again(size: int) -> None:
    with LargeBody() as body:
        data = b"x" * size
        body.write(data[:5])
        body.write(data[5:])
        assert len(body) == size
        assert b"".join(body.pieces()) == b"".join(body.pieces()) == data


class Keeper:
    """Has the whole body of everything."""

    keeper = None

    async def call(self, *_: object, **__: object) -> dict[str, Any]:
        return {"body": "whole, of the keeper"}


@pytest.mark.parametrize(
    ("told", "received_bytes", "error", "body"),
    [
        (b"all of it", 9, "", b"all of it"),
        (b"", 0, "", b"whole, of the keeper"),  # taken as a `Blob`: nothing was told of it
        (b"all of it", 9, "net::ERR_ABORTED", b"whole, of the keeper"),  # the page has not taken all that came
    ],
)
async def test_stream_is_the_body_only_where_it_may_hold_all_of_it(
    told: bytes, received_bytes: int, error: str, body: bytes
) -> None:
    assert received_bytes < STREAMED_FROM_BYTES
    keeper, teller = Keeper(), Teller()
    chain = Chain("r1", owner=keeper, sessions=[keeper])  # type: ignore[arg-type,list-item]
    chain.hops.append(hop_of({"request": {"url": "http://a.example/", "method": "GET"}, "wallTime": 0}))
    chain.received_bytes, chain.error = received_bytes, error
    chain.stream = BodyStream()
    teller.answer.set_result({"bufferedData": encoded(told)})
    await chain.stream.begin(teller, "r1")  # type: ignore[arg-type]
    found = await Bodies().of(chain, keeper)  # type: ignore[arg-type]
    assert (b"".join(found.pieces()) if isinstance(found, LargeBody) else found) == body
    chain.release()
