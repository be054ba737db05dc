"""Filling the gap where a server sends its certificate without the intermediate that a root signed.

Browsers fill it from memory or from the issuer URL in the certificate (RFC 5280, section 4.2.2.1); we do the latter.
What is fetched proves itself by its signature and becomes no root; the handshake that counts verifies everything anew.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from cryptography import x509

from comity.polite.rules.certificates import certificates_in, issuer_among, issuer_urls
from comity.polite.trust import TlsTrust

MAX_STEPS = 4
"""From a server's certificate up; chains in use have one or two intermediates."""
MAX_BYTES = 64 * 1024
"""Of a certificate file; a PKCS #7 bundle has a few kilobytes."""
FAILED_KEPT_S = 600.0
"""A URL that gave nothing is not asked again for so long."""
MAX_FAILED = 1000

Fetch = Callable[[str], Awaitable[bytes | None]]
"""The content of a plain http URL, through the guard; None where there is none to be had."""


class ChainCompleter:
    """Fetches missing issuers into a trust. Belongs to one event loop."""

    def __init__(self, trust: TlsTrust, fetch: Fetch) -> None:
        self._trust = trust
        self._fetch = fetch
        self._failed: dict[str, float] = {}
        self._turns: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    async def complete(self, leaf: bytes) -> bool:
        """Whether the chain above `leaf` (DER) may be whole now: another handshake is worth it."""
        try:
            below = x509.load_der_x509_certificate(leaf)
        except ValueError:
            return False
        turn = self._turns.setdefault(below.issuer.public_bytes(), asyncio.Lock())
        async with turn:  # connections to one host fail together; the first fetches for all
            filled = False
            for _ in range(MAX_STEPS):
                if self._trust.has_issuer_of(below):
                    return True
                issuer = await self._issuer_of(below)
                if issuer is None:
                    return filled
                self._trust.add(issuer)
                filled = True
                below = issuer
            return filled

    async def _issuer_of(self, below: x509.Certificate) -> x509.Certificate | None:
        now = datetime.now(UTC)
        known = issuer_among(self._trust.intermediates_of(below), below, now)
        if known is not None:
            return known
        for url in issuer_urls(below):
            if time.monotonic() < self._failed.get(url, 0):
                continue
            content = await self._fetch(url)
            issuer = issuer_among(certificates_in(content or b""), below, now)
            if issuer is not None:
                return issuer
            if len(self._failed) >= MAX_FAILED:
                self._failed.clear()
            self._failed[url] = time.monotonic() + FAILED_KEPT_S
        return None
