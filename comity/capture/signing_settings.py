"""Settings of signing, `CAPTURE_SIGNING…`, read once at startup with every file that they name.

SigningSettingsError    half-configured, or a file does not hold what it should: the server does not start
"""

import ipaddress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.archive.signing.certificates import Chain, broken_links, distrusted, is_self_signed, read_chain
from comity.archive.signing.checks import Trust
from comity.archive.signing.signed_data import Identity, read_identity
from comity.capture.signing import LocalSigner, RemoteSigner, Signer, Signing
from comity.contract.capture import SigningPolicy

PREFIX = "CAPTURE_SIGNING"
LOCAL = ("key", "chain", "tsa_url")


class SigningSettingsError(ValueError):
    """One line per setting that is wrong, each with what it needs."""


class SigningSettings(BaseSettings):
    """Environment variables `CAPTURE_SIGNING` (the policy) and `CAPTURE_SIGNING_…`. PEM files, http(s) URLs."""

    model_config = SettingsConfigDict(
        env_prefix=f"{PREFIX}_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    policy: Annotated[SigningPolicy, Field(validation_alias=PREFIX)] = "off"
    key: Path | None = None
    """EC key on P-256, without a password."""
    chain: Path | None = None
    """The certificate of the key first, then its issuers."""
    tsa_url: str | None = None
    """RFC 3161 time stamp authority."""
    tsa_ca: Path | None = None
    """Roots that a time stamp must lead to."""
    url: str | None = None
    """A signing service, instead of a key."""
    token: SecretStr = SecretStr("")
    """Bearer token for the service."""
    ca: Path | None = None
    """Roots that the signer's certificate must lead to. With a key: else the root at the end of its chain."""
    domain: str | None = None
    """Who must have signed. With a key it is the key's own."""
    budget_ms: Annotated[int, Field(ge=100, le=60_000)] = 15_000
    """For each signature with its time stamp."""


def read_signing(software: str) -> Signing:
    """What the environment says; `software` is told in signatures. Raises SigningSettingsError."""
    try:
        settings = SigningSettings()
    except ValidationError as error:
        raise SigningSettingsError("\n".join(_line(problem) for problem in error.errors())) from None
    return signing_from(settings, software)


def signing_from(settings: SigningSettings, software: str) -> Signing:
    """The signer with all its files read. Raises SigningSettingsError."""
    if settings.policy == "off":
        given = [name for name in ("key", "chain", "tsa_url", "url") if getattr(settings, name) is not None]
        if given:
            message = f"{_named(given[0])} is set but {PREFIX} is off: set it to on-request or required, or unset both"
            raise SigningSettingsError(message)
        return Signing()
    _check_whole(settings)
    stamp_roots = _chain_of("tsa_ca", settings.tsa_ca)
    signer: Signer
    if settings.url is not None:
        trust = Trust(_chain_of("ca", settings.ca), stamp_roots, given=True, domain=settings.domain)
        signer = RemoteSigner(settings.url, settings.token.get_secret_value(), settings.budget_ms)
        return Signing(settings.policy, signer, trust, settings.budget_ms)
    identity = _identity(settings)
    roots = _chain_of("ca", settings.ca) if settings.ca else _own_root(identity)
    domain = settings.domain or identity.domain
    if domain != identity.domain:
        raise SigningSettingsError(f"{_named('domain')}={domain}: the certificate is of {identity.domain}")
    if why := distrusted(identity.chain, roots, domain, datetime.now(UTC)):
        raise SigningSettingsError(f"{_named('chain')}: does not stand up for {domain} today: {why}")
    signer = LocalSigner(identity, settings.tsa_url or "", stamp_roots, software, settings.budget_ms)
    trust = Trust(roots, stamp_roots, given=True, domain=domain)
    return Signing(settings.policy, signer, trust, settings.budget_ms)


def _check_whole(settings: SigningSettings) -> None:
    local = [name for name in LOCAL if getattr(settings, name) is not None]
    if settings.url is not None:
        if local:
            raise SigningSettingsError(
                f"{_named('url')} and {_named(local[0])} exclude each other: a service, or a key"
            )
        needed: tuple[str, ...] = ("ca", "tsa_ca")
    else:
        needed = (*LOCAL, "tsa_ca")
    missing = [_named(name) for name in needed if getattr(settings, name) is None]
    if missing:
        either = "" if settings.url or local else f"; or {_named('url')} for a signing service"
        raise SigningSettingsError(f"{PREFIX}={settings.policy} needs {', '.join(missing)}{either}")
    for name in ("tsa_url", "url"):
        value: str | None = getattr(settings, name)
        if value is not None:
            _check_url(name, value, secret=name == "url" and bool(settings.token.get_secret_value()))


def _check_url(name: str, value: str, *, secret: bool) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SigningSettingsError(f"{_named(name)}={value}: must be a URL that begins with http:// or https://")
    if secret and parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise SigningSettingsError(f"{_named(name)}={value}: the token would travel in plain text; use https://")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _identity(settings: SigningSettings) -> Identity:
    try:
        return read_identity(_bytes("key", settings.key), _bytes("chain", settings.chain))
    except SigningSettingsError:
        raise
    except ValueError as error:
        raise SigningSettingsError(f"{_named('key')}, {_named('chain')}: {error}") from None


def _own_root(identity: Identity) -> Chain:
    root = identity.chain[-1]
    if broken := broken_links(identity.chain):
        raise SigningSettingsError(f"{_named('chain')}: {broken[0]}")
    if not is_self_signed(root):
        raise SigningSettingsError(f"{_named('chain')} does not end in a root: add it there, or set {_named('ca')}")
    return (root,)


def _chain_of(name: str, path: Path | None) -> Chain:
    try:
        return read_chain(_bytes(name, path))
    except SigningSettingsError:
        raise
    except ValueError as error:
        raise SigningSettingsError(f"{_named(name)}={path}: is no PEM list of certificates: {error}") from None


def _bytes(name: str, path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path is not None else b""
    except OSError as error:
        raise SigningSettingsError(f"{_named(name)}={path}: cannot be read ({error.strerror})") from None


def _named(name: str) -> str:
    return f"{PREFIX}_{name.upper()}"


def _line(problem: Any) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    return f"{name if name in ('', PREFIX) else _named(name)}: {problem['msg'].removeprefix('Value error, ')}"
