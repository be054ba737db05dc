"""Which certificate may fill the gap between a server's own and a root (RFC 5280).

A candidate comes from whoever answers at a URL, so it proves itself: it must have signed the certificate below it. It
never becomes a root: what issued itself is refused, and OpenSSL accepts a chain only where it ends at a root of the
trust store. Pure: certificates and the time go in.
"""

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import AuthorityInformationAccessOID as AccessMethod

MAX_URLS = 2
"""Of the issuer URLs that a certificate names; one is usual."""
_PEM_MARK = b"-----BEGIN "
_BROKEN = (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature, x509.InvalidVersion)


def issuer_urls(certificate: x509.Certificate) -> tuple[str, ...]:
    """Where the certificate says that its issuer's can be fetched (section 4.2.2.1), plain http only.

    Plain, because what is fetched there proves itself, and https could need the same help again.
    """
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (*_BROKEN, x509.ExtensionNotFound, x509.DuplicateExtension):
        return ()
    named = (
        entry.access_location.value
        for entry in access
        if entry.access_method == AccessMethod.CA_ISSUERS
        and isinstance(entry.access_location, x509.UniformResourceIdentifier)
    )
    return tuple(dict.fromkeys(url for url in named if url.lower().startswith("http://")))[:MAX_URLS]


def certificates_in(content: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a file as CAs publish them: DER, PEM, or a PKCS #7 bundle. Empty where it is none."""
    readers = (
        (x509.load_pem_x509_certificates, pkcs7.load_pem_pkcs7_certificates)
        if _PEM_MARK in content
        else (_one_der, pkcs7.load_der_pkcs7_certificates)
    )
    for read in readers:
        try:
            return tuple(read(content))
        except _BROKEN:
            continue
    return ()


def _one_der(content: bytes) -> list[x509.Certificate]:
    return [x509.load_der_x509_certificate(content)]


def issuer_among(
    candidates: Iterable[x509.Certificate], below: x509.Certificate, now: datetime
) -> x509.Certificate | None:
    """The candidate that signed `below`, may do so, and is valid now; None where none did."""
    for candidate in candidates:
        if is_intermediate(candidate, now) and _signed(candidate, below):
            return candidate
    return None


def is_intermediate(certificate: x509.Certificate, now: datetime) -> bool:
    """A CA's certificate, valid now, that somebody else issued."""
    try:
        if certificate.issuer == certificate.subject:
            return False
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        return constraints.ca and certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
    except (*_BROKEN, x509.ExtensionNotFound, x509.DuplicateExtension):
        return False


def _signed(candidate: x509.Certificate, below: x509.Certificate) -> bool:
    try:
        below.verify_directly_issued_by(candidate)
    except _BROKEN:
        return False
    return True
