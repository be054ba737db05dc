"""Certificates below a root: intermediates, and servers' own that say where their issuer's can be fetched."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Issuer:
    """A CA of any height."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def issuer(self, name: str, *, issuer_url: str = "", ca: bool = True, ended: bool = False) -> "Issuer":
        """One below this; with `ca` off it calls itself none, with `ended` its time is over."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(name, self.certificate.subject, key, ended=ended, issuer_url=issuer_url)
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        return Issuer(builder.sign(self.key, hashes.SHA256()), key)

    def server(
        self, folder: Path, *, names: tuple[str, ...] = ("127.0.0.1",), issuer_url: str = "", ended: bool = False
    ) -> ssl.SSLContext:
        """A server's TLS that sends its own certificate alone."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(names[0], self.certificate.subject, key, ended=ended, issuer_url=issuer_url)
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(one) for one in names]), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        path = folder / f"{certificate.serial_number}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def root(name: str = "Comity test root") -> Issuer:
    """A new root."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(name, subject, key)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Issuer(builder.sign(key, hashes.SHA256()), key)


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, ended: bool = False, issuer_url: str = ""
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * DAY)
        .not_valid_after(now - DAY if ended else now + DAY)
    )
    if not issuer_url:
        return builder
    place = x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier(issuer_url))
    return builder.add_extension(x509.AuthorityInformationAccess([place]), critical=False)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
