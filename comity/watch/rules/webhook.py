"""Signatures of webhooks, as the Standard Webhooks specification has them (standardwebhooks.com, 1.0.0)."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with is none
LEAST_SECRET_BYTES, MOST_SECRET_BYTES = 24, 64
TOLERANCE_S = 300
"""Receivers refuse what is older, so that a message that somebody kept cannot be played again."""


class WebhookSecretError(ValueError):
    """A secret that is none; says what one looks like."""


def secret_text(secret: bytes) -> str:
    """The secret as it is shown and configured."""
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def secret_bytes(text: str) -> bytes:
    """The key behind a shown secret. Raises WebhookSecretError."""
    try:
        secret = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not text.startswith(SECRET_PREFIX) or not LEAST_SECRET_BYTES <= len(secret) <= MOST_SECRET_BYTES:
        raise WebhookSecretError(
            f"a webhook secret is {SECRET_PREFIX} and {LEAST_SECRET_BYTES} to {MOST_SECRET_BYTES} bytes in base64"
        )
    return secret


def headers(message_id: str, body: bytes, *, at: datetime, secrets: tuple[bytes, ...]) -> dict[str, str]:
    """The headers that prove who sent `body` and when. Several secrets: one is being replaced by another."""
    seconds = int(at.timestamp())
    signatures = " ".join(_signature(message_id, seconds, body, secret) for secret in secrets)
    return {"webhook-id": message_id, "webhook-timestamp": str(seconds), "webhook-signature": signatures}


def verified(given: Mapping[str, str], body: bytes, *, now: datetime, secret: bytes) -> bool:
    """Whether the headers (lower-case names) prove that whoever has `secret` sent `body` in the last five minutes."""
    try:
        seconds = int(given["webhook-timestamp"])
        message_id, signatures = given["webhook-id"], given["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        return False
    if abs(now.timestamp() - seconds) > TOLERANCE_S:
        return False
    right = _signature(message_id, seconds, body, secret).encode()
    # All are compared, so that the time taken tells nothing.
    return sum(hmac.compare_digest(right, one.encode()) for one in signatures) > 0


def _signature(message_id: str, seconds: int, body: bytes, secret: bytes) -> str:
    signed = b".".join((message_id.encode(), str(seconds).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(secret, signed, sha256)).decode()
