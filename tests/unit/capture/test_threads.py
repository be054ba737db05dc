"""Work in threads that others keep waiting does not keep the server's end waiting."""

import asyncio
import threading
import time

from comity.capture.__main__ import Threads

LONG_S = 30.0


def test_end_waits_for_no_thread() -> None:
    begun, released = threading.Event(), threading.Event()

    def blocks() -> None:
        begun.set()
        released.wait(LONG_S)

    async def serve() -> str:
        asyncio.get_running_loop().set_default_executor(Threads())
        waits = asyncio.create_task(asyncio.to_thread(blocks))
        assert await asyncio.to_thread(begun.wait, LONG_S)
        assert not waits.done()
        return "ended"

    started_s = time.monotonic()
    assert asyncio.run(serve()) == "ended"
    assert time.monotonic() - started_s < LONG_S / 2
    released.set()
