"""Whether a signature holds: each of the specification's checks as a step.

Trust is the caller's: roots of domains' certificates and of time stamp authorities. With none given, a chain that holds
together is `skipped`, and named; with some given, a chain to another root has failed.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_der_public_key

from comity.archive.signing.certificates import (
    Chain,
    broken_links,
    described,
    distrusted,
    fingerprint,
    is_self_signed,
    names,
    read_chain,
    readable,
)
from comity.archive.signing.signed_data import STAMP_WITHIN_S, matches
from comity.archive.signing.time_stamp import BadStampError, Stamp, from_base64
from comity.archive.verify.steps import Step, failed, judged, ok, skipped

FORM, HASH, KEY, CHAIN, DOMAIN = "signature-form", "signature-hash", "signature", "signature-chain", "signature-domain"
STAMP, STAMP_CHAIN = "time-stamp", "time-stamp-chain"
COMMON = frozenset({"hash", "created", "software", "version", "signature"})
BY_DOMAIN = COMMON | {"domain", "domainCert", "timeSignature", "timestampCert"}
ANONYMOUS = COMMON | {"publicKey"}
OPTIONAL = frozenset({"crossSignedCert"})


@dataclass(frozen=True, slots=True)
class Trust:
    """`given`: the caller chose these roots, so a chain to none of them has failed. `domain`: who must have signed."""

    domain_roots: tuple[x509.Certificate, ...] = ()
    stamp_roots: tuple[x509.Certificate, ...] = ()
    given: bool = False
    domain: str | None = None


def check_signature(signed: object, digest: str, trust: Trust) -> list[Step]:
    """The steps over `signedData`, where `digest` is the true `sha256:…` of `datapackage.json`."""
    try:
        with readable():  # certificates are taken apart when they are looked at, not when they are read
            return _steps(signed, digest, trust)
    except ValueError as error:
        return [failed(FORM, f"a certificate in signedData cannot be read: {error}")]


def _steps(signed: object, digest: str, trust: Trust) -> list[Step]:
    form, problem = _form(signed)
    if not isinstance(signed, Mapping) or problem:
        return [failed(FORM, problem)]
    same = judged(HASH, digest, [] if signed["hash"] == digest else [f"signed is {signed['hash']}, there is {digest}"])
    first = [ok(FORM, form), same]
    signature = _base64(signed["signature"])
    if "publicKey" in signed:
        return [*first, _anonymous(signed, signature), skipped(DOMAIN, "signed anonymously: the key names nobody")]
    try:
        chain = read_chain(signed["domainCert"])
    except ValueError as error:
        return [*first, failed(CHAIN, f"domainCert is no PEM chain: {error}")]
    stamp = _read_stamp(signed)
    moment = stamp.moment if isinstance(stamp, Stamp) else _time(signed["created"])
    return [
        *first,
        _key(signed, signature, chain),
        _chain(signed, chain, moment, trust),
        _domain(signed, chain, trust),
        *(_stamp(signed, stamp, trust) if isinstance(stamp, Stamp) else [stamp]),
    ]


def _form(signed: object) -> tuple[str, str]:
    """What the form is, and what is wrong with it."""
    if not isinstance(signed, Mapping):
        return "", "signedData is not an object"
    wanted, form = (ANONYMOUS, "anonymous") if "publicKey" in signed else (BY_DOMAIN, "domain identity and time stamp")
    missing = sorted(name for name in wanted if not isinstance(signed.get(name), str))
    unknown = sorted(str(name) for name, value in signed.items() if name not in wanted | OPTIONAL and value is not None)
    if missing:
        return form, f"signedData lacks {', '.join(missing)}"
    if unknown:
        return form, f"signedData has {', '.join(unknown)}, which the format does not know"
    if _time(signed["created"]) is None:
        return form, f"created is no time: {signed['created']}"
    return f"{form}, by {signed['software']}", ""


def _anonymous(signed: Mapping[str, Any], signature: bytes) -> Step:
    try:
        key = load_der_public_key(_base64(signed["publicKey"]))
    except ValueError:
        return failed(KEY, "publicKey is no public key in DER and base64")
    good = matches(signed["hash"], signature, key)
    return judged(KEY, "is of publicKey", [] if good else ["is not of publicKey over this hash"])


def _key(signed: Mapping[str, Any], signature: bytes, chain: Chain) -> Step:
    problems: list[str] = []
    if not matches(signed["hash"], signature, chain[0].public_key()):
        problems.append("is not of domainCert's key over this hash")
    if isinstance(signed.get("crossSignedCert"), str):
        try:
            cross = read_chain(signed["crossSignedCert"])
        except ValueError as error:
            problems.append(f"crossSignedCert is no PEM chain: {error}")
        else:
            if cross[0].public_key() != chain[0].public_key():
                problems.append("crossSignedCert is of another key than domainCert")
    return judged(KEY, "is of domainCert's key", problems)


def _chain(signed: Mapping[str, Any], chain: Chain, moment: datetime | None, trust: Trust) -> Step:
    if broken := broken_links(chain):
        return failed(CHAIN, broken[0], broken[1:])
    at = moment or datetime.min.replace(tzinfo=UTC)
    if not (why := distrusted(chain, trust.domain_roots, signed["domain"], at)):
        return ok(CHAIN, f"leads to a trusted certificate, valid when signed ({_wire(at)})")
    outdated = [one for one in chain if not one.not_valid_before_utc <= at <= one.not_valid_after_utc]
    if outdated:
        return failed(CHAIN, f"{described(outdated[0])} was not valid when signed ({_wire(at)})")
    if trust.given:
        return failed(CHAIN, f"leads to no trusted certificate: {why}")
    return skipped(CHAIN, f"holds together; whether to trust it is yours to say: {_last(chain)}")


def _domain(signed: Mapping[str, Any], chain: Chain, trust: Trust) -> Step:
    domain = signed["domain"]
    problems = (
        [] if domain in names(chain[0]) else [f"{domain} is not a name of domainCert ({', '.join(names(chain[0]))})"]
    )
    if trust.domain is not None and domain != trust.domain:
        problems.append(f"signed by {domain}, expected was {trust.domain}")
    return judged(DOMAIN, domain, problems)


def _read_stamp(signed: Mapping[str, Any]) -> Stamp | Step:
    try:
        return from_base64(signed["timeSignature"])
    except BadStampError as error:
        return failed(STAMP, str(error))


def _stamp(signed: Mapping[str, Any], stamp: Stamp, trust: Trust) -> list[Step]:
    try:
        told = read_chain(signed["timestampCert"])
    except ValueError as error:
        return [failed(STAMP, f"timestampCert is no PEM chain: {error}")]
    data = signed["signature"].encode("utf-8")
    untrusted = stamp.check(data, trust.stamp_roots, told)
    own_roots = [one for one in (*told, *stamp.chain) if is_self_signed(one)]
    wrong = untrusted and stamp.check(data, own_roots, told)
    problems: list[str] = []
    if wrong and own_roots:
        problems.append(wrong)
    if stamp.chain[0] != told[0]:
        problems.append(f"timestampCert begins with {described(told[0])}, signed by {described(stamp.chain[0])}")
    created = _time(signed["created"])
    if created is None or abs((stamp.moment - created).total_seconds()) > STAMP_WITHIN_S:
        problems.append(f"stamped at {_wire(stamp.moment)}, more than {STAMP_WITHIN_S // 60} minutes from created")
    if problems:
        return [failed(STAMP, problems[0], problems[1:])]
    by = f"{_wire(stamp.moment)} by {described(stamp.chain[0])}"
    if not untrusted:
        return [ok(STAMP, by), ok(STAMP_CHAIN, "leads to a trusted authority")]
    if trust.given:
        unsure = [] if own_roots else [skipped(STAMP, "its authority's root is not in the archive and not among yours")]
        held = [ok(STAMP, by)] if own_roots else unsure
        return [*held, failed(STAMP_CHAIN, f"leads to no trusted authority: {untrusted}")]
    if not own_roots:
        return [skipped(STAMP, f"{by}: cannot be checked without its authority's root; give it")]
    return [ok(STAMP, by), skipped(STAMP_CHAIN, f"holds together; whether to trust it is yours to say: {_last(told)}")]


def _last(chain: Chain) -> str:
    return f"{described(chain[-1])}, sha256 {fingerprint(chain[-1])}"


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _wire(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
