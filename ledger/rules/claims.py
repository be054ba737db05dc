"""What the claims of an issuer's token say about its holder (OpenID Connect Core 1.0, RFC 7519)."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from comity.contract.identity import ORGANIZATION_PATTERN, Role
from ledger.principal import Principal

PREFIX = "oidc:"
"""Marks subjects that an issuer vouches for: no token of ours can have a name with a colon."""
MAX_SUBJECT_CHARACTERS = 64
MAX_ORGANIZATIONS = 100
ROLES: tuple[Role, ...] = ("admin", "submitter", "viewer")
"""What an issuer may give, the most powerful first. `flows` is not among it: flow runs have tokens of the ledger."""


@dataclass(frozen=True)
class NoMember:
    """The token is good, and its holder has no place here; `why` names the claim."""

    why: str


def member(claims: Mapping[str, object], *, organizations_claim: str, role_claim: str) -> Principal | NoMember:
    """The caller of a token whose signature, issuer, audience and times were checked already."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        return NoMember("sub: is no text")
    organizations = _texts(claims.get(organizations_claim))
    if not organizations:
        return NoMember(f"{organizations_claim}: names no organisation")
    if len(organizations) > MAX_ORGANIZATIONS:
        return NoMember(f"{organizations_claim}: names more than {MAX_ORGANIZATIONS} organisations")
    if not all(re.fullmatch(ORGANIZATION_PATTERN, name) for name in organizations):
        return NoMember(f"{organizations_claim}: a name is not of the form {ORGANIZATION_PATTERN}")
    given = _texts(claims.get(role_claim))
    role = next((role for role in ROLES if role in given), None)
    if role is None:
        return NoMember(f"{role_claim}: names none of {', '.join(ROLES)}")
    return Principal(subject_name(subject), organizations, role)


def subject_name(subject: str) -> str:
    """How the ledger names the issuer's subject: as it is, or by its hash where it is long or not plain ASCII."""
    name = f"{PREFIX}{subject}"
    if len(name) <= MAX_SUBJECT_CHARACTERS and subject.isascii() and subject.isprintable():
        return name
    return f"{PREFIX}sha256-{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()[:48]}"


def _texts(value: object) -> tuple[str, ...]:
    """A claim that is one text or a list of texts, each once; anything else is none."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(dict.fromkeys(value))
    return ()
