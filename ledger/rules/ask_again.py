"""When a Prefect that refuses for a moment is asked again.

On SQLite its server answers 503 as soon as two requests want to write at once, and takes the same request a moment
later: a transaction that has read cannot wait its turn to write (SQLITE_BUSY_SNAPSHOT), whatever the time limits say.
A proxy before it says 429, 502 or 504. None of these is a verdict.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

PASSING = frozenset({408, 425, 429})
"""Besides every status from 500 on."""


def is_passing(status: int) -> bool:
    """Whether the same request may be taken a moment later."""
    return status >= 500 or status in PASSING


@dataclass(frozen=True, slots=True)
class Patience:
    """Pauses double from `first_pause_s` up to `longest_pause_s`; nothing is begun once `budget_s` are over."""

    budget_s: float
    first_pause_s: float = 0.2
    longest_pause_s: float = 2.0

    def pause_s(self, *, tries: int, waited_s: float, retry_after: str | None, now: datetime) -> float | None:
        """The pause after so many tries, the first of them `waited_s` ago; None where there is to be no other.

        A `Retry-After` (RFC 9110, seconds or a date) that asks for more is kept to. One that reaches beyond the budget
        is an answer: no other try.
        """
        doubled = self.first_pause_s * 2.0 ** min(tries - 1, 30)
        pause_s = max(min(doubled, self.longest_pause_s), asked_pause_s(retry_after, now))
        return pause_s if waited_s + pause_s < self.budget_s else None


def asked_pause_s(retry_after: str | None, now: datetime) -> float:
    """Seconds that a `Retry-After` asks for; 0 where there is none, or none that can be understood."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    asked_s = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    return asked_s if math.isfinite(asked_s) and asked_s > 0 else 0.0
