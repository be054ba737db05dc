"""The ledger's clock, handed to whatever needs the time, so that tests can say what time it is."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Now, aware, UTC."""
    return datetime.now(UTC)
