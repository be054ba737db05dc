"""A small OpenID Connect issuer over TLS: a discovery document, a key set, and keys that change when a test says so."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.fakes.certificates import Authority, authority
from tests.fakes.http_server import Asked, FakeServer, Reply

AUDIENCE = "comity-ledger"
CLAIMS = {"sub": "alice", "organizations": ["acme"], "role": "submitter"}

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def new_key(algorithm: str = "ES256") -> Key:
    """A private key that signs by this algorithm."""
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Key, key_id: str, algorithm: str) -> dict[str, Any]:
    """The public half, as a key set lists it."""
    kinds = jwt.algorithms.get_default_algorithms()
    described: Any = kinds[algorithm].to_jwk(key.public_key())
    return {**(json.loads(described) if isinstance(described, str) else described), "kid": key_id, "use": "sig"}


class FakeIssuer(FakeServer):
    """Signs with the newest of its keys. `answers` overrides a document by the end of its path."""

    def __init__(self, folder: Path, ca: Authority | None = None) -> None:
        self.ca = ca or authority()
        self.ca_file = folder / "issuer-ca.pem"
        self.ca_file.write_text(self.ca.pem)
        self.keys: dict[str, tuple[Key, str]] = {}
        self.extra_keys: list[dict[str, Any]] = []
        self.answers: dict[str, Reply] = {}
        super().__init__(self._answer, tls=self.ca.server_context(folder))
        self.rotate()

    def rotate(self, algorithm: str = "ES256") -> str:
        """A new key, and none of the old ones. Its id."""
        key_id = f"k{len(self.of('GET', ''))}-{time.monotonic_ns()}"
        self.keys = {key_id: (new_key(algorithm), algorithm)}
        return key_id

    def token(self, *, headers: dict[str, Any] | None = None, lasts_s: float = 300, **claims: Any) -> str:
        """A good token; `claims` changes it, None leaves a claim out."""
        key_id, (key, algorithm) = next(iter(self.keys.items()))
        now = int(time.time())
        every = {"iss": self.url, "aud": AUDIENCE, "iat": now, "exp": now + int(lasts_s), **CLAIMS, **claims}
        kept = {name: value for name, value in every.items() if value is not None}
        return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": key_id, **(headers or {})})

    @property
    def asked_for_keys(self) -> int:
        """How often somebody fetched the key set."""
        return len(self.of("GET", "/keys"))

    def _answer(self, asked: Asked) -> Reply:
        for ending, reply in self.answers.items():
            if asked.path.endswith(ending):
                return reply
        if asked.path == "/.well-known/openid-configuration":
            return Reply(body={"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        if asked.path == "/keys":
            listed = [public_jwk(key, key_id, algorithm) for key_id, (key, algorithm) in self.keys.items()]
            return Reply(body={"keys": [*self.extra_keys, *listed]})
        return Reply(404)
