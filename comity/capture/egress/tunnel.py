"""Bytes in both directions between two connections, unread and unchanged, with bounded buffers.

How one side ends is passed on: an end of data as one, a reset as a reset. A page must see the fault that its site made,
and not a polite end of ours.
"""

import asyncio
import contextlib
import socket
import struct

CHUNK_BYTES = 64 * 1024
LINGER_S = 10.0
"""Once the site has ended, the browser may take so long to end too."""
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class _ResetError(Exception):
    """One side broke off."""


async def carry(
    browser: tuple[asyncio.StreamReader, asyncio.StreamWriter], site: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Until the browser has hung up, or the site has and the browser has read it. Closes only what a reset breaks.

    A browser never ends its half alone: its end is a hang-up, whatever the site still had to say.
    """
    up = asyncio.create_task(_pump(browser[0], site[1]))
    down = asyncio.create_task(_pump(site[0], browser[1]))
    try:
        await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        if down.done() and down.exception() is None:
            await asyncio.wait({up}, timeout=LINGER_S)
    except asyncio.CancelledError:
        for _, writer in (browser, site):
            reset(writer)  # a side that does not read must not hold up the end
        raise
    finally:
        broken = any(task.done() and not task.cancelled() and task.exception() is not None for task in (up, down))
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)
        if broken:
            for _, writer in (browser, site):
                reset(writer)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError as error:
        raise _ResetError from error


def reset(writer: asyncio.StreamWriter) -> None:
    """Breaks the connection off, so that the other end sees it."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
    writer.transport.abort()
