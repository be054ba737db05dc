"""`Retry-After` (RFC 9110, section 10.2.3): how long a host wants to be left alone."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_MS = 366 * 24 * 3600 * 1000
"""A year: more is a broken clock or a joke."""


def retry_after_ms(value: str | None, now: datetime) -> int | None:
    """`Retry-After` (RFC 9110, 10.2.3), seconds or a date, as milliseconds from `now`; None where absent or broken."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:12]) * 1000, MAX_RETRY_AFTER_MS)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, min(round((moment - now).total_seconds() * 1000), MAX_RETRY_AFTER_MS))
