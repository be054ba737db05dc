"""Signatures of URLs that read one artifact for a short time: HMAC-SHA256 over what is read and until when."""

import base64
import hashlib
import hmac

SECONDS = 300


def signature(key: bytes, ident: str, expires_s: int) -> str:
    """The signature, URL-safe. `expires_s` is in seconds since 1970."""
    digest = hmac.new(key, f"archive\n{ident}\n{expires_s}".encode("utf-8", "surrogateescape"), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def holds(key: bytes, ident: str, expires: str, given: str, *, now_s: float) -> bool:
    """Whether the signature is ours and its time is not over. Compared in constant time, and always to the end."""
    well_formed = expires.isascii() and expires.isdigit() and len(expires) <= 12
    expires_s = int(expires) if well_formed else 0
    ours = hmac.compare_digest(signature(key, ident, expires_s), given if given.isascii() else "")
    return ours and well_formed and now_s < expires_s <= now_s + SECONDS
