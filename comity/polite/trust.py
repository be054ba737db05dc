"""Whose certificates are believed, and what fills the gaps of chains that servers send incomplete."""

import ssl
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from comity.polite.rules.certificates import certificates_in, is_intermediate

ROOTS_SETTING = "COMITY_WEB_ROOTS_FILE"
INTERMEDIATES_SETTING = "COMITY_INTERMEDIATES_FILE"
COMPLETE_SETTING = "COMITY_COMPLETE_CHAINS"
MAX_ADDED = 1000
"""Certificates that were fetched and are kept; there are a few thousand intermediates in the world."""


class BadTrustError(ValueError):
    """A setting of certificates cannot be used. Names it and the next step."""


class TlsTrust:
    """Roots, and certificates that lead to them. Verification is never off; nothing but a root ends a chain.

    `roots_pem`: roots besides the system's, or with `system_roots` off instead of them. `intermediates_pem`: a bundle
    that fills gaps. `complete`: whether further ones are fetched from where a server's certificate says they are.
    Raises BadTrustError for texts that hold no certificate, or where the bundle holds what is no intermediate.
    """

    def __init__(
        self,
        *,
        roots_pem: str = "",
        intermediates_pem: str = "",
        complete: bool = True,
        system_roots: bool = True,
    ) -> None:
        self.complete = complete
        self._system_roots = system_roots
        self._roots = _read(roots_pem, "roots") if roots_pem else ()
        self._bundle = _read(intermediates_pem, "the intermediates") if intermediates_pem else ()
        now = datetime.now(UTC)
        for one in self._bundle:
            if not is_intermediate(one, now):
                raise BadTrustError(
                    f"the intermediates hold {one.subject.rfc4514_string()[:200]!r}, which is no CA certificate that "
                    "another CA issued and that is valid now; take it out (a root belongs with the roots)"
                )
        self._added: dict[x509.Certificate, None] = {}
        self._context: ssl.SSLContext | None = None
        self._building = threading.Lock()

    def context(self) -> ssl.SSLContext:
        """What a client verifies servers by. Reads files at the first call: call it where that does not hurt."""
        if self._context is None:
            with (
                self._building
            ):  # two that ask at once must get the same, or what is added to one is missed by the other
                self._context = self._context or self._built()
        return self._context

    @property
    def ready(self) -> bool:
        """Whether `context` answers at once."""
        return self._context is not None

    def add(self, certificate: x509.Certificate) -> bool:
        """Take an intermediate in. False: it was in already. The caller has checked that it is one."""
        if certificate in self._added:
            return False
        if len(self._added) >= MAX_ADDED:
            self._added.clear()
            self._context = self._built()
        self._added[certificate] = None
        self.context().load_verify_locations(cadata=certificate.public_bytes(Encoding.DER))
        return True

    def intermediates_of(self, below: x509.Certificate) -> tuple[x509.Certificate, ...]:
        """Those that are known and bear the name of the issuer of `below`."""
        return tuple(one for one in (*self._bundle, *self._added) if one.subject == below.issuer)

    def has_issuer_of(self, certificate: x509.Certificate) -> bool:
        """Whether a root of that name is known: nothing above `certificate` needs fetching."""
        wanted = certificate.issuer.public_bytes()
        own = (one.public_bytes(Encoding.DER) for one in self._roots)
        # A root bears its name twice. Where the bytes are elsewhere in it, climbing only ends early.
        return any(wanted in root for root in (*own, *(_system_roots() if self._system_roots else ())))

    def _built(self) -> ssl.SSLContext:
        context = ssl.create_default_context() if self._system_roots else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Interpreters from 3.13 on set this, and then every certificate of the store would end a chain.
        context.verify_flags &= ~ssl.VERIFY_X509_PARTIAL_CHAIN
        for one in (*self._roots, *self._bundle):
            context.load_verify_locations(cadata=one.public_bytes(Encoding.DER))
        context.set_alpn_protocols(["http/1.1"])
        return context


@lru_cache(maxsize=1)
def _system_roots() -> tuple[bytes, ...]:
    return tuple(ssl.create_default_context().get_ca_certs(binary_form=True))


@lru_cache(maxsize=1)
def system_trust() -> TlsTrust:
    """The system's roots, gaps filled; one for the whole process, so that each gap is filled once."""
    return TlsTrust()


def _read(pem: str, what: str) -> Iterable[x509.Certificate]:
    found = certificates_in(pem.encode())
    if not found:
        raise BadTrustError(f"{what} hold no certificate; give PEM, with BEGIN CERTIFICATE lines")
    return found


def trust_of(environment: Mapping[str, str]) -> TlsTrust:
    """What the settings say. Raises BadTrustError, naming the setting."""
    files = {name: environment.get(name, "").strip() for name in (ROOTS_SETTING, INTERMEDIATES_SETTING)}
    switch = environment.get(COMPLETE_SETTING, "").strip().lower() or "true"
    if switch not in ("true", "false"):
        raise BadTrustError(f"{COMPLETE_SETTING}: {switch[:40]!r} is neither true nor false")
    if not any(files.values()) and switch == "true":
        return system_trust()
    texts = {name: _file(name, path) for name, path in files.items() if path}
    try:
        return TlsTrust(
            roots_pem=texts.get(ROOTS_SETTING, ""),
            intermediates_pem=texts.get(INTERMEDIATES_SETTING, ""),
            complete=switch == "true",
        )
    except BadTrustError as error:
        raise BadTrustError(f"{', '.join(texts)}: {error}") from None


def _file(name: str, path: str) -> str:
    try:
        return Path(path).read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise BadTrustError(f"{name}: {path} cannot be read: {error}") from None
