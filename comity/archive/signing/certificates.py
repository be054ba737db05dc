"""Certificates and chains: read, written, linked, trusted."""

import ssl
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

Chain = tuple[x509.Certificate, ...]
UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What taking a broken certificate apart raises: some parts of it are read only when they are looked at."""


def read_chain(pem: str | bytes) -> Chain:
    """The certificates of a PEM text in their order. Raises ValueError where there is none, or one is broken."""
    data = pem.encode("utf-8") if isinstance(pem, str) else pem
    with readable():
        return tuple(x509.load_pem_x509_certificates(data))


def read_certificate(der: bytes) -> x509.Certificate:
    """One certificate. Raises ValueError for what is none."""
    with readable():
        return x509.load_der_x509_certificate(der)


@contextmanager
def readable() -> Iterator[None]:
    """One kind of error for every way not to be a certificate; and no warnings: the reader did not write it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            yield
    except UNREADABLE as error:
        raise ValueError(" ".join(str(error).split())) from None


def write_chain(chain: Iterable[x509.Certificate]) -> str:
    """PEM with an empty line between certificates: players split there to find the first."""
    return "\n".join(certificate.public_bytes(Encoding.PEM).decode("ascii") for certificate in chain)


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the certificate, as lists of trusted roots name it."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Domains that it is for: its common name, then its alternative names."""
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    found = [str(attribute.value) for attribute in common]
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        found += extension.value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        pass
    return tuple(dict.fromkeys(found))


def described(certificate: x509.Certificate) -> str:
    """Its subject, for people."""
    return certificate.subject.rfc4514_string() or f"certificate {certificate.serial_number:x}"


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Whether it vouches for itself, as roots do, and is whole."""
    itself = certificate.issuer == certificate.subject and not broken_links((certificate, certificate))
    return itself and is_whole(certificate)


def is_whole(certificate: x509.Certificate) -> bool:
    """Whether OpenSSL can read it too: the verifier of time stamps panics over one that it was given and cannot."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate.public_bytes(Encoding.DER))
    except (ssl.SSLError, ValueError):
        return False
    return True


def broken_links(chain: Sequence[x509.Certificate]) -> list[str]:
    """Certificates of the chain that the next one has not issued."""
    problems: list[str] = []
    for one, issuer in pairwise(chain):
        try:
            one.verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature):
            problems.append(f"{described(one)} was not issued by {described(issuer)}")
    return problems


def distrusted(chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], domain: str, at: datetime) -> str:
    """Why the chain is no TLS chain for `domain` to one of `roots`, valid at `at` (RFC 5280); empty: it is one."""
    if not roots:
        return "no trusted certificates are given"
    try:
        verifier = PolicyBuilder().store(Store(list(roots))).time(at).build_server_verifier(x509.DNSName(domain))
        verifier.verify(chain[0], [one for one in chain[1:] if one.issuer != one.subject])
    except (VerificationError, ValueError) as error:
        return " ".join(str(error).split())
    return ""
