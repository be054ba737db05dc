"""TLS towards our own services: one private CA and nothing else.

There is no mode with the system's roots on purpose. Services that need a public certificate would stand on the public
internet, and a CA that was left out by mistake would silently trust everyone that the system trusts.
"""

import ssl

from blocks.rules import certificates


def context_for(ca_pem: str) -> ssl.SSLContext:
    """A client context that trusts exactly the certificates in `ca_pem` and checks the server's name.

    TLS 1.2 or later. Raises ValueError where `ca_pem` holds no certificate.
    """
    try:
        # The system's roots are loaded by create_default_context only where no CA is given at all.
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=ca_pem.strip() + "\n")
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"holds no certificate in PEM form (-----BEGIN CERTIFICATE----- ...): {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def context_trusting_nobody() -> ssl.SSLContext:
    """For plaintext addresses: should anything ever speak TLS there after all, it is refused."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def usable_ca(field: str, text: str) -> str:
    """`text` as clean PEM that a client can trust, or "" where it is blank. Raises ValueError naming `field`."""
    pem = certificates(field, text)
    if pem:
        try:
            context_for(pem)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    return pem
