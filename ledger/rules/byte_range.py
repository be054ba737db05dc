"""Which bytes a request asks for (RFC 9110, section 14)."""

import re
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

_ONE_RANGE = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.IGNORECASE)


class Unsatisfiable(ValueError):  # noqa: N818  the name of the status
    """416: the range begins behind the end."""


def byte_range(asked: str | None, size_bytes: int) -> range | None:
    """The bytes of a single range; None for the whole, also where the header is no range, or several.

    A suffix longer than the file is the whole file as a range. Raises Unsatisfiable.
    """
    found = _ONE_RANGE.fullmatch(asked.strip()) if asked else None
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if first and last and int(last) < int(first):
        return None  # no valid range: the header is ignored
    start = int(first) if first else max(0, size_bytes - int(last))
    end = size_bytes if not first or not last else min(int(last) + 1, size_bytes)
    if start >= size_bytes or (not first and int(last) == 0):
        raise Unsatisfiable
    return range(start, end)


def still_the_same(if_range: str | None, *, tag: str, modified_at: datetime) -> bool:
    """Whether `If-Range` lets the range stand: no header, our strong entity tag, or our very date (13.1.5)."""
    if if_range is None:
        return True
    given = if_range.strip()
    if given.startswith('"'):
        return given == f'"{tag}"'
    try:
        date = parsedate_to_datetime(given)
    except (ValueError, TypeError):
        return False
    if date.tzinfo is None:
        return False
    # A date is strong only where the file is older than the date's own grain, a second, could confuse.
    return timedelta(0) <= modified_at - date < timedelta(seconds=1)
