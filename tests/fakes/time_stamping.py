"""An RFC 3161 time stamp authority of the tests' own: OpenSSL's `ts` command behind HTTP, and its verdicts."""

import datetime
import subprocess
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

REFUSAL = b"\x30\x12\x30\x10\x02\x01\x02\x30\x0b\x0c\x09not today"
"""A TimeStampResp of status 2, rejection, with its reason (RFC 3161, 2.4.2)."""
Mood = Literal["honest", "silent", "broken", "refusing", "replaying", "error", "endless"]
Issued = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]

CONFIGURATION = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@dataclass(frozen=True)
class Authority:
    """Root, one authority below it, and below that the stamping certificate; files in `folder`."""

    folder: Path
    root: x509.Certificate

    @property
    def root_file(self) -> Path:
        return self.folder / "root.pem"

    def reply(self, query: bytes) -> bytes:
        """The answer to a question, certificates leaf first as most authorities send them."""
        asked = self.folder / f"query-{threading.get_ident()}"
        asked.write_bytes(query)
        return self._openssl(
            "-reply",
            "-config",
            self.folder / "tsa.cnf",
            "-queryfile",
            asked,
            "-inkey",
            self.folder / "key.pem",
            "-signer",
            self.folder / "leaf.pem",
            "-chain",
            self.folder / "between.pem",
        )

    def verify(self, data: bytes, reply: bytes) -> None:
        """OpenSSL's own verdict; raises CalledProcessError where it is not a stamp of `data` by this authority."""
        (self.folder / "data").write_bytes(data)
        (self.folder / "reply").write_bytes(reply)
        self._openssl(
            "-verify",
            "-data",
            self.folder / "data",
            "-in",
            self.folder / "reply",
            "-CAfile",
            self.root_file,
            "-untrusted",
            self.folder / "between.pem",
        )

    @staticmethod
    def _openssl(*arguments: object) -> bytes:
        command = ["openssl", "ts", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


def make_authority(folder: Path, name: str = "Stamping") -> Authority:
    folder.mkdir(parents=True, exist_ok=True)
    root = _issue(f"{name} root", None, ca=True)
    between = _issue(f"{name} authority", root, ca=True)
    leaf = _issue(f"{name} 1", between, ca=False)
    for file, certificate in (("root.pem", root), ("between.pem", between), ("leaf.pem", leaf)):
        (folder / file).write_bytes(certificate[0].public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(leaf[1].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(CONFIGURATION.format(folder=folder))
    return Authority(folder, root[0])


def _issue(name: str, issuer: Issued | None, *, ca: bool) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        stamping = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(stamping, critical=True)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


class TimeStampServer:
    """The authority over HTTP. Its `mood` can be changed between questions."""

    def __init__(self, authority: Authority, mood: Mood = "honest") -> None:
        self.authority = authority
        self.mood: Mood = mood
        self.asked = 0
        self.released = threading.Event()
        self._first: bytes | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/tsr"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, query: bytes) -> tuple[int, bytes]:
        self.asked += 1
        match self.mood:
            case "silent":
                self.released.wait(30)
                return 200, b""
            case "error":
                return 503, b"closed on Sundays"
            case "broken":
                return 200, b"\x30\x82 this is not a time stamp"
            case "endless":
                return 200, b"\x30" * 4_000_000
            case "refusing":
                return 200, REFUSAL
            case "replaying":
                self._first = self._first or self.authority.reply(query)
                return 200, self._first
            case _:
                return 200, self.authority.reply(query)


def _handler(server: TimeStampServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            status, body = server.answer(query)
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                return  # the asker's patience was shorter

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of http.server
            pass

    return Handler
