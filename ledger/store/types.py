"""Column types that mean the same on every database."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, DateTime
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC time. SQLite keeps no zone, so what comes back gets UTC; a naive time is refused going in."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("naive time: the ledger keeps aware UTC times only")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class UtcMillis(TypeDecorator[datetime]):
    """An aware UTC time as whole milliseconds since 1970: 8 bytes at most where a queue of millions orders by it.

    What goes in is cut to the millisecond, never rounded up, so that a moment that is stored is not in the future.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        del dialect
        return None if value is None else to_millis(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        del dialect
        return None if value is None else from_millis(value)


def to_millis(value: datetime) -> int:
    """Whole milliseconds since 1970."""
    if value.tzinfo is None:
        raise ValueError("naive time: the ledger keeps aware UTC times only")
    return (value - EPOCH) // MILLISECOND


def from_millis(value: int) -> datetime:
    """The moment so many milliseconds after 1970."""
    return EPOCH + value * MILLISECOND
