"""TLS of the robots client: the system's roots decide, or the ones that the caller gives."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from comity.polite.egress import Egress
from comity.polite.robots import fetch_robots
from comity.polite.rules.addresses import egress_rules
from comity.polite.trust import TlsTrust

HERE = Egress(egress_rules("127.0.0.1"))


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed one for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fixture")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "site.pem", folder / "site.key"
    public.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


@pytest.fixture
async def secure_site(tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    public, private = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\nUser-agent: *")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", public


async def test_certificate_that_the_system_does_not_know_is_refused(secure_site: tuple[str, Path]) -> None:
    fetch = await fetch_robots(secure_site[0], egress=HERE)
    assert fetch.outcome == "unreachable"
    assert "CERTIFICATE_VERIFY_FAILED" in fetch.detail


async def test_certificate_of_a_given_root_is_accepted(secure_site: tuple[str, Path]) -> None:
    origin, root = secure_site
    fetch = await fetch_robots(origin, trust=TlsTrust(roots_pem=root.read_text()), egress=HERE)
    assert fetch.outcome == "found"
