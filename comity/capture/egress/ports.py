"""Where the browser finds the egress guard."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProxyPorts:
    """On loopback; WebSockets have one of their own."""

    pages: int
    sockets: int
