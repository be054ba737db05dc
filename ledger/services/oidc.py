"""Callers that an OpenID Connect issuer vouches for: their tokens are JWTs, checked with the issuer's own keys.

Keys are asked for when a token needs them and kept. An issuer that is away costs nobody whose key is known; it holds up
one caller for a few seconds every half minute, and answers the others with IssuerAway at once.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt

from ledger import log
from ledger.errors import IssuerAway, SettingsRefused
from ledger.principal import Principal
from ledger.rules.claims import NoMember, member
from ledger.rules.service_urls import keeps_secrets

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""Asymmetric ones only: with HS256 or none, whoever knows a public key could sign."""
LEEWAY_S = 30
"""Clocks differ."""
FRESH_S = 600
"""Keys are asked for anew after so long, so that one that the issuer has withdrawn is not believed for ever."""
ASK_AGAIN_S = 30
"""The least time between two questions: tokens with made-up key ids must not make us flood the issuer."""
MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_KEYS = 100


@dataclass(frozen=True)
class OidcTerms:
    """From settings. `ca_file`: certificates (PEM) that the issuer is verified by; None: the system's."""

    issuer: str
    audience: str
    organizations_claim: str
    role_claim: str
    ca_file: Path | None
    timeout_s: float


class _Wrong(Exception):  # noqa: N818  says what is so
    """The issuer answered, but not with what OpenID Connect Discovery 1.0 asks for."""


class OidcIssuer:
    """Tells whose an issuer's token is. Raises SettingsRefused for a CA file that is none."""

    def __init__(self, terms: OidcTerms, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._terms = terms
        self._monotonic = monotonic
        self._tls = _context(terms.ca_file)
        self._asking = asyncio.Lock()
        self._keys: list[jwt.PyJWK] = []
        self._fresh_until = self._ask_from = float("-inf")
        self._away = False

    async def principal_of(self, token: str) -> Principal | None:
        """Whose the token is; None for one that is not the issuer's, not for us, not valid now, or of no member.

        Raises IssuerAway where the key that it needs is not known and cannot be asked for.
        """
        try:
            header = jwt.get_unverified_header(token)
            issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except jwt.PyJWTError:
            return None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS or issuer != self._terms.issuer:
            return None
        key = await self._key(algorithm, key_id)
        return self._checked(token, key) if key is not None else None

    def _checked(self, token: str, key: jwt.PyJWK) -> Principal | None:
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._terms.audience,
                issuer=self._terms.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            log.event("token_refused", why=type(error).__name__)
            return None
        found = member(claims, organizations_claim=self._terms.organizations_claim, role_claim=self._terms.role_claim)
        if isinstance(found, NoMember):
            log.event("token_refused", why=found.why)
            return None
        return found

    async def _key(self, algorithm: str, key_id: object) -> jwt.PyJWK | None:
        known = self._find(algorithm, key_id)
        if known is not None and (self._monotonic() < self._fresh_until or self._asking.locked()):
            return known
        async with self._asking:
            known = self._find(algorithm, key_id)  # somebody else may have asked meanwhile
            now = self._monotonic()
            if (known is None or now >= self._fresh_until) and now >= self._ask_from:
                await self._ask()
                known = self._find(algorithm, key_id)
        if known is None and self._away:
            raise IssuerAway
        return known

    def _find(self, algorithm: str, key_id: object) -> jwt.PyJWK | None:
        fitting = [key for key in self._keys if key.algorithm_name == algorithm]
        if key_id is None:
            return fitting[0] if len(fitting) == 1 else None
        return next((key for key in fitting if key.key_id == key_id), None)

    async def _ask(self) -> None:
        """Keys by discovery. Where that fails, the ones that are known stay."""
        self._ask_from = self._monotonic() + ASK_AGAIN_S
        try:
            async with asyncio.timeout(self._terms.timeout_s):
                self._keys = await self._fetch()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, _Wrong) as error:
            self._away = True
            log.warning("oidc_issuer_away", issuer=self._terms.issuer, why=str(error) or type(error).__name__)
        else:
            self._away = False
            self._fresh_until = self._monotonic() + FRESH_S

    async def _fetch(self) -> list[jwt.PyJWK]:
        async with httpx.AsyncClient(trust_env=False, verify=self._tls, timeout=self._terms.timeout_s) as client:
            found = await _document(client, f"{self._terms.issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != self._terms.issuer:
                raise _Wrong("its discovery document names another issuer than LEDGER_OIDC_ISSUER")
            where = found.get("jwks_uri")
            if not isinstance(where, str) or not keeps_secrets(where):
                raise _Wrong("its discovery document has no jwks_uri that begins with https://")
            listed = (await _document(client, where)).get("keys")
        if not isinstance(listed, list):
            raise _Wrong("its key set has no list `keys`")
        return [key for one in listed[:MAX_KEYS] if (key := _usable(one)) is not None]


async def _document(client: httpx.AsyncClient, url: str) -> Mapping[str, Any]:
    """A JSON object; redirects are not followed."""
    read = bytearray()
    async with client.stream("GET", url, headers={"accept": "application/json"}) as answer:
        if answer.status_code != 200:
            raise _Wrong(f"{url} answered {answer.status_code}")
        async for piece in answer.aiter_bytes():
            read += piece
            if len(read) > MAX_DOCUMENT_BYTES:
                raise _Wrong(f"{url} is over {MAX_DOCUMENT_BYTES} bytes")
    try:
        found = json.loads(bytes(read))
    except (ValueError, RecursionError):
        raise _Wrong(f"{url} is not JSON") from None
    if not isinstance(found, dict):
        raise _Wrong(f"{url} is no JSON object")
    return found


def _usable(described: object) -> jwt.PyJWK | None:
    """A key that may sign for us, or None: one for encryption, a shared secret, or of a kind that we do not take."""
    if not isinstance(described, dict) or described.get("kty") == "oct" or described.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(described)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return key if key.algorithm_name in ALGORITHMS else None


def _context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError) as error:
        raise SettingsRefused(f"LEDGER_OIDC_CA: {ca_file} holds no certificates (PEM): {error}") from None
