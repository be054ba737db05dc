"""TLS as the browser told it, host by host. An observation, not a proof: nobody can check afterwards what was seen.

Kept in the WARC as one `metadata` record a host, and in `datapackage.json` under `tlsAsObserved`; the names say so.
"""

import base64
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from comity.capture.cdp import CdpError, Params, Session
from comity.contract.wire import rfc3339

MAX_HOSTS = 100
CALL_BUDGET_S = 2.0
CHAIN_BUDGET_HOSTS = 30
"""Hosts whose certificate chain is asked for, in the order of their first answer."""


@dataclass(slots=True)
class Observation:
    """What the first TLS response of one origin came with. `chain` is DER, the host's own certificate first."""

    origin: str
    observed_at: datetime
    details: Params
    chain: tuple[bytes, ...] = ()

    def facts(self) -> dict[str, Any]:
        """For `datapackage.json`: certificates by the SHA-256 of their DER."""
        told: dict[str, Any] = {"origin": self.origin, "observedAt": rfc3339(self.observed_at)}
        for name in ("protocol", "cipher", "keyExchangeGroup", "subjectName", "issuer", "sanList"):
            if self.details.get(name):
                told[name] = self.details[name]
        for name in ("validFrom", "validTo"):
            if self.details.get(name) is not None:
                told[name] = rfc3339(datetime.fromtimestamp(float(self.details[name]), UTC))
        if self.chain:
            told["chainSha256"] = [hashlib.sha256(der).hexdigest() for der in self.chain]
        return told

    def fields(self) -> list[tuple[str, str]]:
        """For the WARC: the same, each name led by `tls-observed-`, and the certificates themselves."""
        named: list[tuple[str, str]] = []
        for name, value in self.facts().items():
            if name not in ("origin", "chainSha256"):
                text = ", ".join(value) if isinstance(value, list) else str(value)
                named.append((f"tls-observed-{name}", text))
        named += [("tls-observed-certificate", base64.b64encode(der).decode("ascii")) for der in self.chain]
        return named


class TlsObserver:
    """Feed `note` with every response."""

    def __init__(self) -> None:
        self._found: dict[str, Observation] = {}

    @property
    def observations(self) -> tuple[Observation, ...]:
        """By first sight."""
        return tuple(self._found.values())

    def note(self, response: Params) -> None:
        """One response as the browser tells it."""
        details = response.get("securityDetails")
        if not details:
            return
        parts = urlsplit(str(response.get("url", "")))
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if origin not in self._found and len(self._found) < MAX_HOSTS:
            self._found[origin] = Observation(origin, datetime.now(UTC), details)

    async def fetch_chains(self, session: Session) -> None:
        """Asks the browser for the certificates that it was shown. Never raises: without them the rest stands."""
        for seen in list(self._found.values())[:CHAIN_BUDGET_HOSTS]:
            try:
                answer = await session.call("Network.getCertificate", {"origin": seen.origin}, budget_s=CALL_BUDGET_S)
                seen.chain = tuple(base64.b64decode(der) for der in answer.get("tableNames", []))
            except (CdpError, ValueError):
                return
