"""A certificate authority for development: signs like a real one, and nobody can take it for one.

Its names say NOT FOR PRODUCTION, its domain ends in `.invalid` (RFC 2606), and its key is thrown away once it has
issued the one certificate.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from comity.archive.signing.certificates import write_chain

WARNING = "NOT FOR PRODUCTION"
DOMAIN = "not-for-production.comity.invalid"
VALID_FOR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class DevelopmentFiles:
    """PEM texts: the signing key, the chain of its certificate, and the authority's own certificate."""

    key: bytes
    chain: str
    authority: str


def make_development_files(now: datetime) -> DevelopmentFiles:
    """Valid from `now` for a year."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = _name(f"{WARNING} comity development CA")
    usage = x509.SubjectKeyIdentifier.from_public_key
    root = (
        _begun(root_name, root_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(usage(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    leaf = (
        _begun(_name(DOMAIN), root_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(DOMAIN)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .add_extension(usage(key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return DevelopmentFiles(
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        chain=write_chain((leaf, root)),
        authority=write_chain((root,)),
    )


def _name(common: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, WARNING),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALID_FOR)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
