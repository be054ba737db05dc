"""New ids: short, URL-safe, without `.` and `_`, so that they join into correlation ids and file names."""

import secrets
from collections.abc import Iterator


def new_id(kind: str) -> str:
    """`kind` is one letter: c(rawl), p(age), t(arget). 64 random bits: a ledger never holds enough rows to collide."""
    return f"{kind}{secrets.token_hex(8)}"


def new_ids(kind: str, count: int) -> Iterator[str]:
    """So many at once: a level of 100,000 pages asks for its random bits a single time."""
    digits = secrets.token_hex(8 * count)
    return (f"{kind}{digits[start : start + 16]}" for start in range(0, 16 * count, 16))
