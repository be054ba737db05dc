"""`signedData` of `datapackage-digest.json`: made from a key and a time stamp."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from comity.archive.signing.certificates import Chain, names, read_chain, write_chain

VERSION = "0.1.0"
STAMP_WITHIN_S = 600
"""`created` and the time stamp are at most so far apart (wacz-auth, Verification 7)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who signs: a P-256 key and the chain of its certificate, the domain's own first."""

    key: ec.EllipticCurvePrivateKey
    chain: Chain

    @property
    def domain(self) -> str:
        return names(self.chain[0])[0]


def read_identity(key_pem: bytes, chain_pem: bytes) -> Identity:
    """Raises ValueError that says which of the two is wrong, and how."""
    try:
        key = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the key is no PEM private key without a password: {error}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key must be an EC key on P-256")
    try:
        chain = read_chain(chain_pem)
    except ValueError as error:
        raise ValueError(f"the chain is no PEM list of certificates: {error}") from None
    if chain[0].public_key() != key.public_key():
        raise ValueError("the chain's first certificate is not of this key")
    if not names(chain[0]):
        raise ValueError("the chain's first certificate names no domain")
    return Identity(key, chain)


def sign(digest: str, identity: Identity) -> str:
    """The signature over the text `sha256:…`: ECDSA with SHA-256, DER in base64."""
    return base64.b64encode(identity.key.sign(digest.encode("ascii"), ec.ECDSA(hashes.SHA256()))).decode("ascii")


def matches(digest: str, signature: bytes, key: object) -> bool:
    """Whether the signature over the text is of this key. Browsers write its two numbers without DER (IEEE P1363)."""
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    half = (key.curve.key_size + 7) // 8
    forms = [signature]
    if len(signature) == 2 * half:
        forms.append(encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:])))
    for form in forms:
        try:
            key.verify(form, digest.encode("utf-8"), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            continue
        return True
    return False


def signed_data(
    *,
    digest: str,
    created: datetime,
    software: str,
    signature: str,
    identity: Identity,
    stamp: bytes,
    stamp_chain: Chain,
) -> dict[str, Any]:
    """The form "Domain-Ownership Identity + Signed Timestamp". `stamp` is the authority's answer as it came."""
    return {
        "hash": digest,
        "created": wire_time(created),
        "software": software,
        "version": VERSION,
        "signature": signature,
        "domain": identity.domain,
        "domainCert": write_chain(identity.chain),
        "timeSignature": base64.b64encode(stamp).decode("ascii"),
        "timestampCert": write_chain(stamp_chain),
    }


def wire_time(moment: datetime) -> str:
    """Whole seconds in UTC: a time stamp is no finer."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
