"""Named locks that all ledgers of one database share: one at a time, over threads, processes and machines.

On PostgreSQL they are advisory locks of a session (its documentation, section 13.3.5), so that a ledger that dies lets
go at once; on SQLite, whose ledgers share a machine, locks of a file beside the database (flock(2)), which do the same.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, text
from sqlalchemy.engine import Connection

POLL_S = 0.1
LOCK_SPACE = 0x636F6D69
"""First half of every advisory key of ours ("comi"): other programs on the same database have keys of their own."""


@contextmanager
def held(engine: Engine, name: str, *, wait_s: float) -> Iterator[bool]:
    """Hold the lock for the length of the block. False where somebody else held it for all of `wait_s`."""
    taking = _advisory(engine, name, wait_s) if engine.dialect.name == "postgresql" else _file(engine, name, wait_s)
    with taking as taken:
        yield taken


@contextmanager
def _advisory(engine: Engine, name: str, wait_s: float) -> Iterator[bool]:
    key = {"space": LOCK_SPACE, "name": name}
    # No transaction: a lock that is held for minutes must not keep PostgreSQL from cleaning up behind it.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        taken = _until(lambda: _ask(connection, "pg_try_advisory_lock", key), wait_s)
        try:
            yield taken
        finally:
            if taken:
                _give_back(connection, key)


def _ask(connection: Connection, function: str, key: dict[str, object]) -> bool:
    return bool(connection.scalar(text(f"SELECT {function}(:space, hashtext(:name))"), key))


def _give_back(connection: Connection, key: dict[str, object]) -> None:
    try:
        _ask(connection, "pg_advisory_unlock", key)
    except Exception:
        connection.invalidate()  # the session ends, and the lock with it
        raise


@contextmanager
def _file(engine: Engine, name: str, wait_s: float) -> Iterator[bool]:
    descriptor = os.open(f"{engine.url.database}.{name}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield _until(lambda: _try_flock(descriptor), wait_s)
    finally:
        os.close(descriptor)


def _try_flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _until(take: Callable[[], bool], wait_s: float) -> bool:
    ends = time.monotonic() + wait_s
    while not take():
        if time.monotonic() >= ends:
            return False
        time.sleep(POLL_S)
    return True
