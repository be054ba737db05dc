"""The server's side of SOCKS5 (RFC 1928): CONNECT without authentication, which is all that the browser asks for."""

import asyncio
import struct
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

VERSION = 5
NO_AUTHENTICATION, NO_METHOD = 0, 0xFF
CONNECT = 1
ADDRESS_V4, NAME, ADDRESS_V6 = 1, 3, 4


class Reply(IntEnum):
    """RFC 1928, section 6."""

    SUCCEEDED = 0
    FAILED = 1
    NOT_ALLOWED = 2
    HOST_UNREACHABLE = 4
    REFUSED = 5
    COMMAND_UNKNOWN = 7
    ADDRESS_UNKNOWN = 8


class BadHandshakeError(Exception):
    """What connected does not speak SOCKS5 as a browser does. `reply` is sent before hanging up, if any."""

    def __init__(self, why: str, reply: bytes = b"") -> None:
        super().__init__(why)
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Target:
    """Where the browser wants to go: a name, or an address in its canonical form."""

    host: str
    port: int


async def read_target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Target:
    """Greeting and request. Raises BadHandshakeError, or asyncio.IncompleteReadError where the other side hangs up."""
    version, methods = await reader.readexactly(2)
    if version != VERSION:
        raise BadHandshakeError(f"version {version}, not SOCKS5")
    if NO_AUTHENTICATION not in await reader.readexactly(methods):
        raise BadHandshakeError("no method in common", bytes((VERSION, NO_METHOD)))
    writer.write(bytes((VERSION, NO_AUTHENTICATION)))
    version, command, _, kind = await reader.readexactly(4)
    if version != VERSION:
        raise BadHandshakeError(f"version {version} in the request")
    if command != CONNECT:
        raise BadHandshakeError(f"command {command}", reply_bytes(Reply.COMMAND_UNKNOWN))
    host = await _read_host(reader, kind)
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    return Target(host, port)


async def _read_host(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == ADDRESS_V4:
        return str(IPv4Address(await reader.readexactly(4)))
    if kind == ADDRESS_V6:
        return str(IPv6Address(await reader.readexactly(16)))
    if kind != NAME:
        raise BadHandshakeError(f"address type {kind}", reply_bytes(Reply.ADDRESS_UNKNOWN))
    (length,) = await reader.readexactly(1)
    try:
        return (await reader.readexactly(length)).decode("ascii")
    except UnicodeDecodeError:
        raise BadHandshakeError("the name is not ASCII", reply_bytes(Reply.ADDRESS_UNKNOWN)) from None


def reply_bytes(reply: Reply) -> bytes:
    """A reply. Its bound address is left empty: the browser does not read it, and `Book` knows better."""
    return bytes((VERSION, reply, 0, ADDRESS_V4, 0, 0, 0, 0, 0, 0))
