"""A host that speaks HTTP/2 over TLS, for one browser that was told to trust its key."""

import asyncio
import base64
import contextlib
import hashlib
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from comity.capture.processes import find_browser

Answers = dict[str, tuple[str, bytes]]
DER = serialization.Encoding.DER


def certificate(
    common_name: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """Signed by `signer`, whose name is always the authority's."""
    now = datetime.now(UTC)
    is_authority = key is signer
    names = [x509.IPAddress(ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )


class TlsHost:
    """`with TlsHost(folder, answers) as host:` serves `answers` (path to content type and body) at `host.url`.

    It takes WebSockets over HTTP/2 too (RFC 8441), as far as asking goes. `asked` lists methods and paths.
    """

    def __init__(self, folder: Path, answers: Answers) -> None:
        authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        self.chain = (certificate("test host", own, authority), certificate("test authority", authority, authority))
        self._answers = answers
        pem = serialization.Encoding.PEM
        (folder / "chain.pem").write_bytes(b"".join(one.public_bytes(pem) for one in self.chain))
        private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (folder / "key.pem").write_bytes(private)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
        self._context.set_alpn_protocols(["h2"])
        public = own.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.browser = folder / "trusting-browser"
        spki = base64.b64encode(hashlib.sha256(public).digest()).decode()
        self.browser.write_text(
            f'#!/bin/sh\nexec {find_browser(None)} --ignore-certificate-errors-spki-list={spki} "$@"\n'
        )
        self.browser.chmod(0o755)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls-host", daemon=True)
        self.url = ""
        self.asked: list[tuple[str, str]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context), self._loop
        ).result(10)
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        connection.initiate_connection()
        connection.update_settings({SettingCodes.ENABLE_CONNECT_PROTOCOL: 1})
        asked: dict[int, str] = {}
        with contextlib.suppress(ConnectionError, ssl.SSLError, ProtocolError):
            writer.write(connection.data_to_send())
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, RequestReceived):
                        named = {name.decode(): value.decode() for name, value in event.headers}
                        asked[event.stream_id] = named[":path"]
                        self.asked.append((named[":method"], named[":path"]))
                    elif isinstance(event, DataReceived):
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, StreamEnded):
                        self._answer(connection, event.stream_id, asked[event.stream_id])
                writer.write(connection.data_to_send())
                await writer.drain()
        writer.close()

    def _answer(self, connection: H2Connection, stream: int, path: str) -> None:
        kind, body = self._answers.get(path, ("text/plain", b"nothing here"))
        status = "200" if path in self._answers else "404"
        headers = [(":status", status), ("content-type", kind), ("content-length", str(len(body))), ("x-odd", "seen")]
        connection.send_headers(stream, headers)
        connection.send_data(stream, body, end_stream=True)
