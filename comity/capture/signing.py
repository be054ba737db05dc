"""Signing while an archive is packed: by our own key with an authority's time stamp, or by a service.

Both fail closed. What was signed, by whomever, is checked before the archive may call itself signed, and one check that
does not hold ends the capture without artifacts.

SigningError            the archive is not signed; `checks` say how far it got
"""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Protocol

import httpx

from comity.archive.signing.certificates import Chain
from comity.archive.signing.checks import Trust, check_signature
from comity.archive.signing.signed_data import Identity, sign, signed_data, wire_time
from comity.archive.signing.time_stamp import BadStampError, ask, completed, read_stamp
from comity.archive.verify.steps import Step
from comity.contract.capture import SigningPolicy

NOBODY = Trust(given=True)
MOST_ANSWER_BYTES = 1 << 20
PAUSE_S = 0.5
"""Before the one more try that a lost connection or a 5xx gets."""


class SigningError(Exception):
    """The archive cannot be signed. The message is one line that says who failed and what to look at."""

    def __init__(self, message: str, checks: tuple[Step, ...] = ()) -> None:
        super().__init__(message)
        self.checks = checks

    def report(self) -> dict[str, Any]:
        """As the capture's report tells it."""
        return {"signed": False, "checks": [step.as_json() for step in self.checks]}


@dataclass(frozen=True, slots=True)
class Signed:
    """`signedData`, and the checks that it stood up to."""

    data: Mapping[str, Any]
    checks: tuple[Step, ...]

    def report(self) -> dict[str, Any]:
        """As the capture's report tells it."""
        told = {name: self.data[name] for name in ("hash", "created", "domain", "software")}
        return {"signed": True} | told | {"checks": [step.as_json() for step in self.checks]}


class Signer(Protocol):
    """Gives `signedData` for a hash. Blocks for its budget at most; raises SigningError."""

    def sign(self, digest: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Signing:
    """What this server signs, and whom it trusts to have signed."""

    policy: SigningPolicy = "off"
    signer: Signer | None = None
    trust: Trust = NOBODY
    budget_ms: int = 0
    """What one signature may take."""

    def wanted(self, asked: bool | None) -> bool:
        """Whether an archive gets signed whose request asked so."""
        return self.policy == "required" or (self.policy == "on-request" and bool(asked))

    def sign(self, digest: str) -> Signed:
        """The checked signature over `digest` (`sha256:…`). Blocks; raises SigningError."""
        if self.signer is None:
            raise SigningError("this server has no signer: set CAPTURE_SIGNING_KEY or CAPTURE_SIGNING_URL")
        data = self.signer.sign(digest)
        checks = tuple(check_signature(data, digest, self.trust))
        bad = [f"{step.name}: {step.reason}" for step in checks if step.outcome != "ok"]
        if bad:
            raise SigningError(f"the signature does not stand up to its checks: {'; '.join(bad)}", checks)
        return Signed(data, checks)


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """Our own key, and a time stamp from the authority at `stamp_url`."""

    identity: Identity
    stamp_url: str
    stamp_roots: Chain
    software: str
    """What the signature says that it was made with."""
    budget_ms: int

    def sign(self, digest: str) -> Mapping[str, Any]:
        created = datetime.now(UTC)
        signature = sign(digest, self.identity)
        question = ask(signature.encode("ascii"))
        whom = f"the time stamp authority {self.stamp_url}"
        reply = post(
            self.stamp_url, question.der, {"content-type": "application/timestamp-query"}, whom, self.budget_ms
        )
        try:
            stamp = read_stamp(reply)
        except BadStampError as error:
            raise SigningError(f"{whom}: {error}") from None
        if wrong := stamp.check(signature.encode("ascii"), self.stamp_roots, nonce=question.nonce):
            raise SigningError(f"{whom}: its time stamp does not stand up: {wrong}; see CAPTURE_SIGNING_TSA_CA")
        return signed_data(
            digest=digest,
            created=created,
            software=self.software,
            signature=signature,
            identity=self.identity,
            stamp=reply,
            stamp_chain=completed(stamp.chain, self.stamp_roots),
        )


@dataclass(frozen=True, slots=True)
class RemoteSigner:
    """A signing service that speaks as `authsign` does: `POST {hash, created}` answers `signedData`."""

    url: str
    token: str = field(repr=False)
    budget_ms: int

    def sign(self, digest: str) -> Mapping[str, Any]:
        whom = f"the signing service {self.url}"
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"bearer {self.token}"  # the service compares the scheme as it is written here
        body = json.dumps({"hash": digest, "created": wire_time(datetime.now(UTC))}).encode("ascii")
        reply = post(self.url, body, headers, whom, self.budget_ms)
        try:
            answer = json.loads(reply)
        except (ValueError, RecursionError):
            raise SigningError(f"{whom}: its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise SigningError(f"{whom}: its answer is not an object")
        # Absent optionals come as null, which the format does not know.
        return {name: value for name, value in answer.items() if value is not None}


def post(url: str, body: bytes, headers: Mapping[str, str], whom: str, budget_ms: int) -> bytes:
    """The body of a 200 within the budget, sent once more after a lost connection or a 5xx. Raises SigningError."""
    ends_s = time.monotonic() + budget_ms / 1000
    try:
        return asyncio.run(_post(url, body, headers, whom, ends_s))
    except TimeoutError:
        raise SigningError(f"{whom} did not answer within {budget_ms} ms") from None
    except httpx.HTTPError as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise SigningError(f"{whom} cannot be reached: {said}") from None


async def _post(url: str, body: bytes, headers: Mapping[str, str], whom: str, ends_s: float) -> bytes:
    async with (
        asyncio.timeout(ends_s - time.monotonic()),
        httpx.AsyncClient(trust_env=False, verify=_tls(), timeout=None) as client,  # noqa: S113 - the line above
    ):
        for last in (False, True):
            try:
                status, answer = await _once(client, url, body, headers, whom)
            except httpx.HTTPError:
                if last:
                    raise
            else:
                if status == 200:
                    return answer
                if last or status < 500:
                    raise SigningError(f"{whom} answered {status}: {_line(answer)}")
            await asyncio.sleep(PAUSE_S)
    raise AssertionError("the last try returns or raises")


@cache
def _tls() -> ssl.SSLContext:
    """This machine's trusted certificates; reading them takes tens of milliseconds."""
    return ssl.create_default_context()


async def _once(
    client: httpx.AsyncClient, url: str, body: bytes, headers: Mapping[str, str], whom: str
) -> tuple[int, bytes]:
    answer = bytearray()
    async with client.stream("POST", url, content=body, headers=dict(headers)) as response:
        async for piece in response.aiter_bytes():
            answer += piece
            if len(answer) > MOST_ANSWER_BYTES:
                raise SigningError(f"{whom}: its answer is over {MOST_ANSWER_BYTES} bytes")
    return response.status_code, bytes(answer)


def _line(answer: bytes) -> str:
    return " ".join(answer[:200].decode("utf-8", "replace").split()) or "no reason given"
