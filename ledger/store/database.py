"""The ledger's database: one engine, transactions for reading and for writing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from ledger import metrics
from ledger.errors import SettingsRefused, StoreAway, StoreBusy, StoreFull
from ledger.store import dialect, exclusive

Tx = Session
"""An open transaction, as services pass it on."""

POOL_SIZE = 8
POOL_OVERFLOW = 32
"""Together the worker threads of the HTTP server (40): a request never waits for a connection, only for the writer."""
CLOSE_WAIT_S = 2
"""Work of threads that nobody awaits any more ends within it; the whole process ends within five."""


@dataclass(frozen=True)
class Outage:
    """A time in which nothing could be written. `until` is None while it lasts."""

    since: datetime
    until: datetime | None = None


class Store:
    """Opens transactions. Each ends with its `with` block: committed when it ends well, rolled back otherwise.

    Raises SettingsRefused for a URL that opens no database; StoreBusy where one could not be entered in time.
    """

    def __init__(self, url: str) -> None:
        try:
            self._engine = create_engine(
                dialect.with_driver(url),
                pool_size=POOL_SIZE,
                max_overflow=POOL_OVERFLOW,
                pool_timeout=10,
                **dialect.engine_options(url),
            )
        except (ArgumentError, ImportError, TypeError, ValueError) as error:
            raise SettingsRefused(
                f"LEDGER_DATABASE_URL: not a database that this ledger can use ({type(error).__name__}); "
                "give postgresql://user@host/name or sqlite:////absolute/path, or leave it out"
            ) from None
        dialect.prepare(self._engine)
        self._inside_changed = threading.Condition()
        self._inside, self._closed = 0, False
        self.outage: Outage | None = None
        """The last time that nothing could be written, as far as this process noticed."""
        self._reading = self._engine.execution_options(**dialect.reading_options(self._engine))
        self._writing = self._engine.execution_options(**{dialect.WRITES: True})

    @property
    def engine(self) -> Engine:
        """For migrations, backups and measurements only."""
        return self._engine

    @contextmanager
    def reading(self) -> Iterator[Tx]:
        """One consistent view of the data."""
        with self._translated(), Session(self._reading, expire_on_commit=False) as tx:
            yield tx

    @contextmanager
    def writing(self) -> Iterator[Tx]:
        """A transaction that may write. On SQLite there is one at a time."""
        with self._translated(), Session(self._writing, expire_on_commit=False) as tx:
            yield tx
            tx.commit()
            self._note_written()

    @contextmanager
    def exclusively(self, name: str, *, wait_s: float = 0) -> Iterator[bool]:
        """Be the only one under this name among all ledgers of the database, for the length of the block.

        False where somebody else was for all of `wait_s`: then leave the work to them. A database that goes away takes
        the lock along, so what is done under it must bear being done twice.
        """
        with self._translated(), exclusive.held(self._engine, name, wait_s=wait_s) as alone:
            yield alone

    def ping(self) -> None:
        """Ask the database anything. Raises StoreBusy where it does not answer."""
        with self.reading() as tx:
            tx.execute(text("SELECT 1"))

    def prove_writable(self) -> None:
        """Write something that changes nothing, which ends an outage. Raises StoreFull where it cannot be done."""
        with self.writing() as tx:
            tx.execute(text("UPDATE alembic_version SET version_num = version_num"))

    def close(self) -> None:
        """Let in no more, wait a little for who is inside, and give all connections back."""
        with self._inside_changed:
            self._closed = True
            self._inside_changed.wait_for(lambda: self._inside == 0, CLOSE_WAIT_S)
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with self._counted():
                yield
        except PoolTimeout as error:
            metrics.database_busy()
            raise StoreBusy from error
        except DBAPIError as error:
            match dialect.trouble(error):
                case "full":
                    self._note_unwritable()
                    raise StoreFull from error
                case "busy":
                    metrics.database_busy()
                    raise StoreBusy from error
                case "away":
                    raise StoreAway from error
            raise

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._inside_changed:
            if self._closed:
                raise StoreBusy
            self._inside += 1
        try:
            yield
        finally:
            with self._inside_changed:
                self._inside -= 1
                self._inside_changed.notify_all()

    def _note_unwritable(self) -> None:
        if self.outage is None or self.outage.until is not None:
            self.outage = Outage(datetime.now(UTC))

    def _note_written(self) -> None:
        if self.outage is not None and self.outage.until is None:
            self.outage = Outage(self.outage.since, datetime.now(UTC))
